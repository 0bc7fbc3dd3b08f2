//! The table and the figures of Nornir's paper.

use super::super::draw::number;
use super::super::figure::{Figure, Form, Judgement, Paper, Reading, Sheet, X};
use super::super::seen::{Seen, TIME};
use super::super::spread::{Spread, median};
use super::{best, curves, divisions, kinds, label, speedups, stages, works};
use crate::networks::placement::Place;

fn none() -> Vec<Sheet> {
    Vec::new()
}

fn table_1() -> Vec<Sheet> {
    let sheet = Sheet::new(
        "Ring: 1000 processes, 1000 round-trips",
        "CPUs",
        "s",
        Form::Lines,
    );
    vec![sheet.printed(&[
        ("WS", 1usize, 1.33),
        ("WS", 2, 2.97),
        ("WS", 4, 2.59),
        ("WS", 6, 2.66),
        ("WS", 8, 2.86),
        ("GP", 1, 1.43),
        ("GP", 2, 1.65),
        ("GP", 4, 1.78),
        ("GP", 6, 1.58),
        ("GP", 8, 1.71),
    ])]
}

fn table_1_here(seen: &Seen<'_>) -> Vec<Sheet> {
    let (ws, gp, adaptive) = kinds();
    let mut sheet = Sheet::new(
        "Ring: 1000 processes, 1000 round-trips",
        "workers",
        "s",
        Form::Lines,
    );
    for (name, place) in [("WS", ws), ("GP", gp), ("adaptive", adaptive)] {
        for &workers in &seen.plan.workers {
            if let Some(times) = seen.values("nn-ring", &place.text(), workers, TIME) {
                sheet.push(name, workers, times.to_vec());
            }
        }
    }
    vec![sheet]
}

fn table_1_judge(seen: &Seen<'_>) -> Option<Judgement> {
    if seen.plan.cores < 2 {
        return Some(Judgement::too_few(
            2,
            seen.plan.cores,
            "there is no second worker to contend with.",
        ));
    }
    let (ws, gp, adaptive) = kinds();
    let growth = |place: Place| {
        let time = |workers| seen.time("nn-ring", &place.text(), workers);
        Some(time(2)? / time(1)?)
    };
    let (stealing, parts, ours) = (growth(ws)?, growth(gp)?, growth(adaptive)?);
    let hops = 1.0 / seen.time("nn-ring", &ws.text(), 1)?;
    let sentence = format!(
        "From 1 to 2 workers the time grows {} times under WS, {} times under GP and {} times under our adaptive \
         placement (the paper: 2.23 and 1.15); one worker does {} million hops a second (the paper: 0.75).",
        number(stealing),
        number(parts),
        number(ours),
        number(hops)
    );
    Some(Judgement::of(stealing > 1.5 && parts < 1.3, sentence))
}

/// What the x axis of the random networks is.
fn division_of(seen: &Seen<'_>) -> String {
    format!("work division d of {} ms", super::work_ms(seen.plan))
}

fn figure_4_here(seen: &Seen<'_>) -> Vec<Sheet> {
    // One size makes no curve.
    let one = stages(seen.plan).len() == 1;
    let form = if one { Form::Bars } else { Form::LogLog };
    let mut encoder = Sheet::new("H.264", "processes in a stage", "s", form);
    for processes in stages(seen.plan) {
        for (name, times) in curves(seen, &format!("nn-h264/{processes}"), TIME) {
            let x = if one {
                X::Word(format!("{processes} processes in a stage"))
            } else {
                X::Number(*processes as f64)
            };
            encoder.push(name, x, times);
        }
    }
    let mut sheets = vec![encoder];
    for letter in ["a", "b"] {
        let title = format!("RND-{}", letter.to_uppercase());
        let mut sheet = Sheet::new(title, &division_of(seen), "s", Form::LogLog);
        for division in divisions(seen.plan) {
            for (name, times) in curves(seen, &format!("nn-rnd-{letter}/{division}"), TIME) {
                sheet.push(name, division as f64, times);
            }
        }
        sheets.push(sheet);
    }
    sheets
}

/// In how many of all programs stealing is at least as fast as the best partitioning, and where it is not.
fn figure_4_judge(seen: &Seen<'_>) -> Option<Judgement> {
    let most = seen.plan.cores;
    if most < 2 {
        return Some(Judgement::too_few(
            2,
            most,
            "there is nowhere to place processes.",
        ));
    }
    let (ws, gp, _) = kinds();
    let encoder = stages(seen.plan)
        .iter()
        .map(|n| (format!("nn-h264/{n}"), format!("H.264 with {n}")));
    let networks = ["A", "B"].into_iter().flat_map(|letter| {
        let group = move |d: u64| {
            (
                format!("nn-rnd-{}/{d}", letter.to_lowercase()),
                format!("RND-{letter} at d = {d}"),
            )
        };
        divisions(seen.plan).into_iter().map(group)
    });
    let (mut wins, mut losses) = (0, Vec::new());
    for (group, title) in encoder.chain(networks) {
        let parts = best(seen, &group).unwrap_or_else(|| gp.text());
        let pair = seen
            .time(&group, &ws.text(), most)
            .zip(seen.time(&group, &parts, most));
        match pair {
            Some((stealing, parts)) if stealing <= parts => wins += 1,
            Some(_) => losses.push(title),
            None => {}
        }
    }
    let all = wins + losses.len();
    if all == 0 {
        return None;
    }
    let but = if losses.is_empty() {
        String::new()
    } else {
        format!(", but not in {}", losses.join(", "))
    };
    let sentence =
        format!("On {most} workers WS has the least median time in {wins} of {all} programs{but}.");
    Some(Judgement::of(wins * 2 > all, sentence))
}

fn figure_5() -> Vec<Sheet> {
    let sheet = Sheet::new(
        "Messages that stay on one CPU, 8 CPUs",
        "policy",
        "% of messages",
        Form::Bars,
    );
    vec![sheet.printed(&[
        ("paper", "GP, at least", 70.0),
        ("paper", "WS, at most", 18.0),
    ])]
}

fn figure_5_here(seen: &Seen<'_>) -> Vec<Sheet> {
    let x = &division_of(seen);
    let mut speed = Sheet::new("RND-B: speed-up", x, "speed-up over serial", Form::LogLines);
    let mut local = Sheet::new("RND-B: local traffic", x, "% of messages", Form::LogLines);
    let mut rate = Sheet::new("RND-B: throughput", x, "million messages/s", Form::LogLog);
    for division in divisions(seen.plan) {
        let (group, x) = (format!("nn-rnd-b/{division}"), division as f64);
        for (name, values) in speedups(seen, &group) {
            speed.push(name, x, values);
        }
        for (name, values) in curves(seen, &group, "local_share") {
            local.push(name, x, values.iter().map(|share| share * 100.0).collect());
        }
        for (name, values) in curves(seen, &group, "messages_per_s") {
            rate.push(name, x, values.iter().map(|rate| rate / 1e6).collect());
        }
    }
    vec![speed, local, rate]
}

fn figure_5_judge(seen: &Seen<'_>) -> Option<Judgement> {
    let most = seen.plan.cores;
    if most < 2 {
        return Some(Judgement::too_few(2, most, "all traffic is local."));
    }
    let sheets = figure_5_here(seen);
    let (ws, gp) = (label("WS", most), label("GP, best τ", most));
    let peak = |series: &str| {
        let rows = sheets[0].rows.iter().filter(|row| row.series == series);
        let points = rows.map(|row| (row.x.text(), row.spread.median));
        points.max_by(|one, other| one.1.total_cmp(&other.1))
    };
    let least = |series: &str| {
        let rows = sheets[1].rows.iter().filter(|row| row.series == series);
        rows.map(|row| row.spread.median).min_by(f64::total_cmp)
    };
    let ((at, stealing), (parts_at, parts)) = (peak(&ws)?, peak(&gp)?);
    let (ws_local, gp_local) = (least(&ws)?, least(&gp)?);
    let sentence = format!(
        "On {most} workers WS peaks at {} times the serial speed (d = {at}) and GP at {} (d = {parts_at}); at least \
         {} % of the messages are local under GP and {} % under WS.",
        number(stealing),
        number(parts),
        number(gp_local),
        number(ws_local)
    );
    Some(Judgement::of(
        stealing >= parts && gp_local > ws_local,
        sentence,
    ))
}

fn figure_6() -> Vec<Sheet> {
    let sheet = Sheet::new(
        "Scatter/gather, 8 CPUs, as far as the text says",
        "",
        "speed-up",
        Form::Bars,
    );
    vec![sheet.printed(&[("paper", "greatest, at d = 100", 7.1)])]
}

fn figure_6_here(seen: &Seen<'_>) -> Vec<Sheet> {
    let mut sheet = Sheet::new(
        "Scatter/gather under WS",
        "work of a message, µs",
        "speed-up over serial",
        Form::LogLines,
    );
    for (work_us, _) in works(seen.plan) {
        for (name, values) in speedups(seen, &format!("nn-scatter/{work_us}")) {
            sheet.push(name, work_us as f64, values);
        }
    }
    vec![sheet]
}

fn figure_6_judge(seen: &Seen<'_>) -> Option<Judgement> {
    let most = seen.plan.cores;
    if most < 2 {
        return Some(Judgement::too_few(2, most, "speed-up needs a second core."));
    }
    let sheet = figure_6_here(seen).remove(0);
    let ws = label("WS", most);
    let curve: Vec<(f64, f64)> = works(seen.plan)
        .iter()
        .filter_map(|(work_us, _)| Some((*work_us as f64, sheet.median(&ws, *work_us as f64)?)))
        .collect();
    let greatest = curve.iter().map(|point| point.1).fold(f64::NAN, f64::max);
    // From where on no finer work falls below nine tenths of the best; the coarsest may itself be below.
    let well = curve
        .iter()
        .rev()
        .take_while(|point| point.1 >= 0.9 * greatest);
    let enough = well.last().map(|point| point.0);
    let finest = curve.first()?;
    let from = match enough {
        Some(work_us) => format!("from {} µs of work a message on", number(work_us)),
        None => "at no end of the range".to_owned(),
    };
    let sentence = format!(
        "On {most} workers the speed-up is within 10 % of its best, {}, {from}, and {} at {} µs (the paper: well from \
         100 µs on, a ratio of computation to communication of about 75).",
        number(greatest),
        number(finest.1),
        number(finest.0)
    );
    let holds = finest.1 < 0.9 * greatest && enough.is_some_and(|work_us| work_us <= 100.0);
    Some(Judgement::of(holds, sentence))
}

/// The places of figure 7: 0 for stealing, then the idle times in µs.
fn taus() -> Vec<(String, String)> {
    let thresholds = Place::thresholds()
        .filter_map(|place| Some((place.threshold_us()?.to_string(), place.text())));
    std::iter::once(("0".to_owned(), kinds().0.text()))
        .chain(thresholds)
        .collect()
}

fn figure_7_here(seen: &Seen<'_>) -> Vec<Sheet> {
    let x = "idle threshold τ, µs; 0 is WS";
    let mut times = Sheet::new("RND-B, d = 1000: running time", x, "ms", Form::Boxes);
    let mut parts = Sheet::new(
        "RND-B, d = 1000: repartitionings",
        x,
        "in a run",
        Form::Boxes,
    );
    for (tau, series) in taus() {
        let values = |metric| seen.values("nn-variance", &series, seen.plan.cores, metric);
        if let Some(seconds) = values(TIME) {
            times.push(
                "here",
                tau.clone(),
                seconds.iter().map(|time| time * 1e3).collect(),
            );
        }
        if let Some(counts) = values("repartitions") {
            parts.push("here", tau, counts.to_vec());
        }
    }
    vec![times, parts]
}

fn figure_7_judge(seen: &Seen<'_>) -> Option<Judgement> {
    let most = seen.plan.cores;
    if most < 2 {
        return Some(Judgement::too_few(2, most, "nothing is placed anew."));
    }
    let values = |series: &str| seen.values("nn-variance", series, most, TIME);
    // The middle half of the runs over their median: one run that something else disturbed does not decide.
    let width =
        |values: &[f64]| Spread::of(values).map(|spread| spread.width() / spread.median * 100.0);
    let stealing = width(values(&kinds().0.text())?)?;
    let widths: Vec<f64> = taus()[1..]
        .iter()
        .filter_map(|(_, series)| width(values(series)?))
        .collect();
    let parts = median(&widths);
    if !parts.is_finite() {
        return None;
    }
    let all: Vec<f64> = taus()[1..]
        .iter()
        .filter_map(|(_, series)| values(series))
        .flatten()
        .copied()
        .collect();
    let spread = Spread::of(&all)?;
    let sentence = format!(
        "The middle half of the runs spans {} % of the median under WS and, for the median τ, {} % under GP; over \
         all τ the worst GP run took {} times the best (the paper: more than 4).",
        number(stealing),
        number(parts),
        number(spread.max / spread.min)
    );
    Some(Judgement::of(parts > 2.0 * stealing, sentence))
}

const GP: &str = "GP is our placement “partitioned”, whose partitioner differs from PaToH; its τ are 0.2 ms to \
                  128 ms, for the paper names no unit, and the best is selected by the one-sided Mann-Whitney U test \
                  at 95 %, as in appendix A. Accounting is on, as in the paper. The paper \
                  divides about 1 s of work among d messages, we 4 ms with --quick and 50 ms with --full: at the \
                  same d a message carries less here.";

/// The table and the figures.
pub(in crate::repro) const FIGURES: [Figure; 5] = [
    Figure {
        name: "nornir-table-1",
        paper: Paper::Nornir,
        title: "Ring: what a message costs",
        finding: "WS takes 1.33 s on one CPU and 2.97 s on two, by contention over run queues; GP takes about the \
                  same on any number. One CPU does about 750,000 transactions a second.",
        source: "Table 1, section 3.3",
        reading: Reading::Printed,
        printed: table_1,
        here: "1,000 processes and 1,000 round-trips, as in the paper, with accounting on.",
        rule: "From 1 to 2 workers the median time grows more than 1.5 times under WS, and less than 1.3 times under \
               GP.",
        groups: &["nn-ring"],
        sheets: table_1_here,
        judge: table_1_judge,
    },
    Figure {
        name: "nornir-figure-4",
        paper: Paper::Nornir,
        title: "Running times of all programs under both policies",
        finding: "WS has the least median time in most workloads; GP is better only on the ring and on RND-B from \
                  d = 30,000 on.",
        source: "Figure 4, section 3.3",
        reading: Reading::PlotOnly,
        printed: none,
        here: GP,
        rule: "On all cores WS is at least as fast as GP with its best τ in more than half of the programs.",
        groups: &["nn-h264/", "nn-rnd-a/", "nn-rnd-b/"],
        sheets: figure_4_here,
        judge: figure_4_judge,
    },
    Figure {
        name: "nornir-figure-5",
        paper: Paper::Nornir,
        title: "More about RND-B: speed-up, locality, throughput",
        finding: "WS has the higher peak, at d = 100, GP a lower one at d = 1,000; at least 70 % of GP's messages \
                  stay local on 8 CPUs, at most 18 % of WS's, and locality buys no speed.",
        source: "Figure 5, sections 3.3 and 5",
        reading: Reading::SaidOfPlot,
        printed: figure_5,
        here: GP,
        rule: "On all cores the peak of WS is at least that of GP, and GP's least share of local messages is above \
               that of WS.",
        groups: &["nn-rnd-b/"],
        sheets: figure_5_here,
        judge: figure_5_judge,
    },
    Figure {
        name: "nornir-figure-6",
        paper: Paper::Nornir,
        title: "Scatter/gather: how much work a message must carry",
        finding: "The greatest speed-up is 7.1 on 8 CPUs; WS does well while a message carries at least 100 µs of \
                  work, a ratio of computation to communication of about 75, and drops sharply below.",
        source: "Figure 6, section 3.3",
        reading: Reading::SaidOfPlot,
        printed: figure_6,
        here: "50 workers around one process. The x axis here is the work of a message, not the paper's d.",
        rule: "The speed-up at the finest work is below nine tenths of the best, and within them from 100 µs on at \
               the latest.",
        groups: &["nn-scatter/"],
        sheets: figure_6_here,
        judge: figure_6_judge,
    },
    Figure {
        name: "nornir-figure-7",
        paper: Paper::Nornir,
        title: "How much running times vary under GP",
        finding: "WS has no variation that can be seen; under GP worst and best can differ more than 4 times, and \
                  repartitionings are the rarer the greater τ is.",
        source: "Figure 7, sections 3.3 and 5",
        reading: Reading::PlotOnly,
        printed: none,
        here: GP,
        rule: "The middle half of the runs, over their median, is more than twice as wide under GP (median over τ) as \
               under WS.",
        groups: &["nn-variance"],
        sheets: figure_7_here,
        judge: figure_7_judge,
    },
];
