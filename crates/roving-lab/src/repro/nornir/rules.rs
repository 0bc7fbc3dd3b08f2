//! The rules by which the findings of Nornir's paper are judged.

use super::super::seen::{SERIAL, SeenPoints, TIME};
use super::super::spread::number;
use super::super::spread::{Spread, median};
use super::super::verdict::RequiredRange::{Above, Below};
use super::super::verdict::{Allowance, Interval, Judgement, OF_EXTREMES, OF_TIMES, Requirement};
use super::{best, divisions, kinds, stages, taus, works};
use crate::networks::placement::NamedPlacement;

/// From which work division on the paper has GP faster than WS in RND-B.
const GP_FROM: u64 = 30_000;

/// How often a second processes were placed anew under GP, run by run.
pub(super) fn repartitions_per_s(
    seen: &SeenPoints<'_>,
    group: &str,
    workers: usize,
) -> Option<Vec<f64>> {
    let series = kinds().1.text();
    let counts = seen.values(group, &series, workers, "repartitions")?;
    let times = seen.values(group, &series, workers, TIME)?;
    let rates = counts.iter().zip(times);
    Some(rates.map(|(count, time)| count / time).collect())
}

/// Table 1: the ring.
pub(super) fn table_1(seen: &SeenPoints<'_>) -> Option<Judgement> {
    let cores = seen.plan.cores;
    if cores < 2 {
        let why = "there is no second worker to contend with.";
        return Some(Judgement::too_few(2, cores, Vec::new(), why));
    }
    let (ws, gp, adaptive) = kinds();
    let growth = |place: NamedPlacement| {
        let times = |workers| seen.values("nn-ring", &place.text(), workers, TIME);
        Interval::ratio(times(2)?, times(1)?)
    };
    let (stealing, parts, ours) = (growth(ws)?, growth(gp)?, growth(adaptive)?);
    let hops = 1.0 / seen.time("nn-ring", &ws.text(), 1)?;
    let sentence = format!(
        "From 1 to 2 workers the time grows {} times under WS, {} times under GP and {} times under our adaptive \
         placement (the paper: 2.23 and 1.15); one worker does {} million hops a second (the paper: 0.75).",
        number(stealing.seen),
        number(parts.seen),
        number(ours.seen),
        number(hops)
    );
    let claims = vec![
        Requirement::new("WS: time on 2 workers over that on 1", stealing, Above(1.5)),
        Requirement::new("GP: time on 2 workers over that on 1", parts, Below(1.3)),
    ];
    Some(Judgement::all(claims, sentence))
}

/// The text of section 3.3 about k-means.
pub(super) fn kmeans(seen: &SeenPoints<'_>) -> Option<Judgement> {
    let (group, most) = ("nn-kmeans", seen.plan.cores);
    if most < 2 {
        let why = "nothing is placed anew.";
        return Some(Judgement::too_few(2, most, Vec::new(), why));
    }
    let stealing = seen.values(group, &kinds().0.text(), most, TIME)?;
    let parts = seen.values(group, &best(seen, group)?, most, TIME)?;
    let all = taus().into_iter().skip(1);
    let all = all.filter_map(|(tau, series)| Some((tau, seen.values(group, &series, most, TIME)?)));
    let (tau, worst) = all.max_by(|one, other| median(one.1).total_cmp(&median(other.1)))?;
    let longer = Interval::ratio(parts, stealing)?;
    let slow = Interval::ratio(worst, stealing)?;
    let sentence = format!(
        "On {most} workers GP takes {} times as long as WS with its best τ (the paper: 1.09), and {} times with its \
         worst, {tau} µs (the paper: several minutes instead of 9.4 s).",
        number(longer.seen),
        number(slow.seen)
    );
    let claims = vec![
        Requirement::new(
            "time of GP with its best τ over that of WS",
            longer,
            Above(1.0),
        ),
        Requirement::new(
            "time of GP with its worst τ over that of WS",
            slow,
            Above(10.0),
        ),
    ];
    Some(Judgement::all(claims, sentence))
}

/// Figure 4: in how many of all programs it is as the paper says.
pub(super) fn figure_4(seen: &SeenPoints<'_>) -> Option<Judgement> {
    let most = seen.plan.cores;
    if most < 2 {
        let why = "there is nowhere to place processes.";
        return Some(Judgement::too_few(2, most, Vec::new(), why));
    }
    let stages = stages(seen.plan);
    let encoders = stages.iter().map(|n| format!("nn-h264/{n}"));
    let divisions = divisions(seen.plan);
    let networks = ["a", "b"].iter().flat_map(|letter| {
        divisions
            .iter()
            .map(move |d| format!("nn-rnd-{letter}/{d}"))
    });
    let (mut claims, mut wins) = (Vec::new(), 0);
    for group in encoders.chain(networks) {
        let parts = best(seen, &group).unwrap_or_else(|| kinds().1.text());
        let stealing = seen.values(&group, &kinds().0.text(), most, TIME)?;
        let ratio = Interval::ratio(seen.values(&group, &parts, most, TIME)?, stealing)?;
        wins += usize::from(ratio.seen >= 1.0);
        let fine = group
            .strip_prefix("nn-rnd-b/")
            .and_then(|d| d.parse::<u64>().ok());
        let line = match fine {
            Some(d) if d >= GP_FROM => Below(1.0),
            _ => Above(1.0),
        };
        let what = format!("{group}: time of GP with its best τ over that of WS");
        claims.push(Requirement::new(what, ratio, line));
    }
    let mut said = Vec::new();
    for n in &stages {
        let group = format!("nn-h264/{n}");
        let fastest = seen
            .plan
            .workers
            .iter()
            .filter_map(|&workers| seen.speedup(&group, &kinds().0.text(), workers));
        let fastest = fastest.fold(0.0, f64::max);
        let rate = median(&repartitions_per_s(seen, &group, most)?);
        said.push(format!(
            "H.264 with {n} is {} times as fast as serial code under WS (the paper: at most 2.8) and is partitioned anew \
             {} times a second under GP (the paper: 90 to 410)",
            number(fastest),
            number(rate)
        ));
    }
    let sentence = format!(
        "On {most} workers WS has the least median time in {wins} of {} programs; {}.",
        claims.len(),
        said.join("; ")
    );
    Some(Judgement::most(claims, sentence))
}

/// Figure 5: peaks and locality of RND-B.
pub(super) fn figure_5(seen: &SeenPoints<'_>) -> Option<Judgement> {
    let most = seen.plan.cores;
    if most < 2 {
        return Some(Judgement::too_few(
            2,
            most,
            Vec::new(),
            "all traffic is local.",
        ));
    }
    let stealing = kinds().0.text();
    // For each work division: serial, WS, GP with its best τ.
    let mut points = Vec::new();
    for division in divisions(seen.plan) {
        let group = format!("nn-rnd-b/{division}");
        let parts = best(seen, &group)?;
        points.push((division, group, parts));
    }
    let peak = |series: &dyn Fn(&str) -> String| {
        let speeds = points.iter().filter_map(|(division, group, parts)| {
            let series = series(parts);
            let speed = seen.speedup(group, &series, most)?;
            let serial = seen.values(group, SERIAL, 1, TIME)?;
            Some((
                *division,
                speed,
                serial,
                seen.values(group, &series, most, TIME)?,
            ))
        });
        speeds.max_by(|one, other| one.1.total_cmp(&other.1))
    };
    let ws = peak(&|_| stealing.clone())?;
    let gp = peak(&|parts| parts.to_owned())?;
    let higher = Interval::of(&[ws.2, ws.3, gp.2, gp.3], OF_TIMES, |drawn| {
        let [serial, stealing, other, parts] = [0, 1, 2, 3].map(|at| median(drawn[at]));
        serial / stealing / (other / parts)
    })?;
    let mut claims = vec![Requirement::new(
        "peak speed-up of WS over that of GP with its best τ",
        higher,
        Above(1.0),
    )];
    let most_local = (18.0 * 8.0 / most as f64).min(100.0);
    let (mut least, mut greatest) = (f64::INFINITY, f64::NEG_INFINITY);
    for (division, group, parts) in &points {
        let local = |series: &str| {
            let shares = seen.values(group, series, most, "local_share")?;
            Interval::of(&[shares], Allowance::Plus(1.0), |drawn| {
                median(drawn[0]) * 100.0
            })
        };
        let (parts, stealing) = (local(parts)?, local(&stealing)?);
        (least, greatest) = (least.min(parts.seen), greatest.max(stealing.seen));
        let what = |who: &str| format!("local messages of {who} at d = {division}, %");
        claims.push(Requirement::new(what("GP"), parts, Above(70.0)));
        claims.push(Requirement::new(what("WS"), stealing, Below(most_local)));
    }
    let sentence = format!(
        "On {most} workers WS peaks at {} times the serial speed (d = {}) and GP at {} (d = {}); of GP's messages at \
         least {} % are local, of WS's at most {} %.",
        number(ws.1),
        ws.0,
        number(gp.1),
        gp.0,
        number(least),
        number(greatest)
    );
    Some(Judgement::all(claims, sentence))
}

/// Figure 6: how much work a message must carry.
pub(super) fn figure_6(seen: &SeenPoints<'_>) -> Option<Judgement> {
    let most = seen.plan.cores;
    if most < 2 {
        let why = "speed-up needs a second core.";
        return Some(Judgement::too_few(2, most, Vec::new(), why));
    }
    let ws = kinds().0.text();
    let mut curve = Vec::new();
    for (division, work_ns, _) in works(seen.plan) {
        let group = format!("nn-scatter/{division}");
        let serial = seen.values(&group, SERIAL, 1, TIME)?;
        let speed = seen.speedup(&group, &ws, most)?;
        curve.push((
            work_ns,
            speed,
            serial,
            seen.values(&group, &ws, most, TIME)?,
        ));
    }
    let best = curve
        .iter()
        .max_by(|one, other| one.1.total_cmp(&other.1))?;
    let mut claims = Vec::new();
    for point in &curve {
        let line = match point.0 {
            100_000.. => Above(0.8),
            10_000 => Below(0.8),
            _ => continue,
        };
        let part = Interval::of(&[point.2, point.3, best.2, best.3], OF_TIMES, |drawn| {
            let [serial, time, other, least] = [0, 1, 2, 3].map(|at| median(drawn[at]));
            serial / time / (other / least)
        })?;
        let what = format!(
            "speed-up at {} µs over the best",
            number(point.0 as f64 / 1e3)
        );
        claims.push(Requirement::new(what, part, line));
    }
    let listed: Vec<String> = curve
        .iter()
        .map(|point| format!("{} at {} µs", number(point.1), number(point.0 as f64 / 1e3)))
        .collect();
    let sentence = format!(
        "On {most} workers the speed-up is {} (the paper, on 8: 7.1 at its best, about half of that at 50 µs).",
        listed.join(", ")
    );
    Some(Judgement::all(claims, sentence))
}

/// Figure 7: how far runs under GP differ.
pub(super) fn figure_7(seen: &SeenPoints<'_>) -> Option<Judgement> {
    let most = seen.plan.cores;
    if most < 2 {
        return Some(Judgement::too_few(
            2,
            most,
            Vec::new(),
            "nothing is placed anew.",
        ));
    }
    let values = |series: &str| seen.values("nn-variance", series, most, TIME);
    let stealing = values(&kinds().0.text())?;
    let taus = taus();
    let parts: Vec<f64> = taus[1..]
        .iter()
        .filter_map(|(_, series)| values(series))
        .flatten()
        .copied()
        .collect();
    let range = |drawn: &[f64]| Spread::of(drawn).map_or(f64::NAN, |one| one.max / one.min);
    let wide = Interval::of(&[&parts], OF_EXTREMES, |drawn| range(drawn[0]))?;
    let wider = Interval::of(&[&parts, stealing], OF_EXTREMES, |drawn| {
        range(drawn[0]) / range(drawn[1])
    })?;
    let sentence = format!(
        "Over all τ the worst run under GP took {} times the best (the paper: more than 4), and {} times under WS (the \
         paper: no variation to be seen).",
        number(wide.seen),
        number(range(stealing))
    );
    let claims = vec![
        Requirement::new("GP: worst run over best", wide, Above(4.0)),
        Requirement::new("GP's worst over best, over that of WS", wider, Above(1.0)),
    ];
    Some(Judgement::all(claims, sentence))
}
