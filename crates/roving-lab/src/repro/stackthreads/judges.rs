//! The rules by which the findings of the StackThreads/MP paper are judged.

use super::super::contest::taking;
use super::super::draw::{self, number, share};
use super::super::figure::Judgement;
use super::super::seen::{SERIAL, Seen, TIME};
use super::{FIXED, FIXED_UTS, LENGTHS, last, sizes};
use crate::report::counted;
use crate::rivals::Runtime;
use roving::Amount;

/// The names of the three strategies as series.
pub(super) fn names(fixed: usize) -> [String; 3] {
    super::strategies(fixed).map(|amount| taking(Runtime::RovingFork, amount))
}

/// Median speed-ups of the three strategies on so many workers.
fn speeds(seen: &Seen<'_>, group: &str, fixed: usize, workers: usize) -> Option<[f64; 3]> {
    let [org, sta, dyn_] = names(fixed);
    let of = |name: &str| seen.speedup(group, name, workers);
    Some([of(&org)?, of(&sta)?, of(&dyn_)?])
}

/// `1.9, 1.8 and 1.9` and what they are.
fn said(speeds: [f64; 3], fixed: usize, workers: usize) -> String {
    let [org, sta, dyn_] = speeds.map(number);
    format!(
        "on {}, taking one is {org} times as fast as serial code, fixed:{fixed} {sta} times, half {dyn_} times.",
        counted(workers, "worker")
    )
}

/// Table 1: the sizes of the trees.
pub(super) fn table_1(seen: &Seen<'_>) -> Option<Judgement> {
    let nodes = seen.median("st-uts-a", "items", 1, "items")? as u64;
    let sentence = format!(
        "Tree A has {} nodes, as in the paper; of tree B the seed is not printed, and 30,399,117 nodes come from \
         the tree nearest to it, one more than the paper counts.",
        crate::input::grouped(nodes)
    );
    Some(Judgement::of(nodes == 4_112_897, sentence))
}

/// Table 2 and figure 10: what stealing and frames cost under the three strategies.
pub(super) fn shares(seen: &Seen<'_>) -> Option<Judgement> {
    let (group, most) = ("st-uts-a-profile", seen.most());
    let fixed = Amount::Fixed(FIXED_UTS).to_string();
    let of = |amount: &str, state| share(seen, group, amount, most, state);
    let steals = [
        of("one", "steal")?,
        of(&fixed, "steal")?,
        of("half", "steal")?,
    ];
    let frames = [
        of("one", "frame")?,
        of(&fixed, "frame")?,
        of("half", "frame")?,
    ];
    let sentence = format!(
        "on {}, stealing takes {} % of the time with one, {} % with fixed:{FIXED_UTS}, {} % with half, and frames \
         {} %, {} % and {} % (the paper, on 24: 28.7 %, 6.7 %, 6.3 %, and 11.48 %, 6.9 %, 3.9 %).",
        counted(most, "worker"),
        number(steals[0]),
        number(steals[1]),
        number(steals[2]),
        number(frames[0]),
        number(frames[1]),
        number(frames[2])
    );
    if most < 4 {
        return Some(Judgement::too_few(4, most, sentence));
    }
    let less = steals[1] < steals[0] && steals[2] < steals[0];
    Some(Judgement::of(less, format!("Here, {sentence}")))
}

/// Figure 11: how the cost of stealing grows with the workers.
pub(super) fn steals_grow(seen: &Seen<'_>) -> Option<Judgement> {
    let most = seen.most();
    let of = |amount: &str, workers| share(seen, "st-uts-a-profile", amount, workers, "steal");
    let (one, half) = (of("one", most)?, of("half", most)?);
    let said = format!(
        "on {} stealing takes {} % of the time with one and {} % with half.",
        counted(most, "worker"),
        number(one),
        number(half)
    );
    if most < 4 {
        let said = format!("the paper sees it grow beyond two workers; {said}");
        return Some(Judgement::too_few(4, most, said));
    }
    let grows = one > of("one", 2)?;
    Some(Judgement::of(grows && half < one, format!("Here, {said}")))
}

/// Figures 9, 12, 13 and 14: several at once beat one.
pub(super) fn several_win(seen: &Seen<'_>, group: &str) -> Option<Judgement> {
    let most = seen.most();
    let speeds = speeds(seen, group, FIXED_UTS, most)?;
    let said = said(speeds, FIXED_UTS, most);
    if most < 4 {
        let said = format!("the paper's gap opens beyond two workers; {said}");
        return Some(Judgement::too_few(4, most, said));
    }
    let wins = speeds[1].min(speeds[2]) > speeds[0] * 1.05;
    Some(Judgement::of(wins, format!("Here, {said}")))
}

/// Figure 7: the overhead of one worker in UTS is low.
pub(super) fn low_overhead(seen: &Seen<'_>) -> Option<Judgement> {
    let group = "st-uts-a";
    let serial = seen.time(group, SERIAL, 1)?;
    let over = |name: &str| Some((seen.time(group, name, 1)? / serial - 1.0) * 100.0);
    let mine = names(FIXED_UTS)
        .into_iter()
        .filter_map(|name| over(&name))
        .fold(f64::NEG_INFINITY, f64::max);
    if !mine.is_finite() {
        return None;
    }
    let peers = ["rayon", "tbb", "openmp"]
        .into_iter()
        .filter_map(|name| Some((name, over(name)?)));
    let peers: Vec<String> = peers
        .map(|(name, over)| format!("{name} {} %", number(over)))
        .collect();
    let sentence = format!(
        "One worker takes at most {} % longer than serial code under the three strategies; {}.",
        number(mine),
        peers.join(", ")
    );
    Some(Judgement::of(mine < 25.0, sentence))
}

/// Figure 8: the overhead of one worker in Fibonacci is high.
pub(super) fn high_overhead(seen: &Seen<'_>) -> Option<Judgement> {
    let over =
        |group: &str, name: &str| Some(seen.time(group, name, 1)? / seen.time(group, SERIAL, 1)?);
    let fork = Runtime::RovingFork.name();
    let (fib, uts) = (over("st-fib-30", fork)?, over("st-uts-a", fork)?);
    let joins = over("st-fib-30", Runtime::Roving.name())?;
    let sentence = format!(
        "With continuations fib(30) on one worker takes {} times the serial time and UTS {} times; with closures \
         fib(30) takes {} times.",
        number(fib),
        number(uts),
        number(joins)
    );
    Some(Judgement::of(fib > 2.0 && fib > uts, sentence))
}

/// Figure 15: taking more than two continuations of Fibonacci at once costs busy time.
pub(super) fn lengths(seen: &Seen<'_>) -> Option<Judgement> {
    let most = seen.most();
    let busy = |length: usize| {
        let amount = Amount::Fixed(length).to_string();
        share(seen, "st-fib-lengths", &amount, most, "busy")
    };
    // The amount of one is written so whichever way it is made.
    let first = busy(LENGTHS[0]).or_else(|| share(seen, "st-fib-lengths", "one", most, "busy"))?;
    let last = busy(LENGTHS[LENGTHS.len() - 1])?;
    let said = format!(
        "on {} busy time goes from {} % when thieves take 1 to {} % when they take 16.",
        counted(most, "worker"),
        number(first),
        number(last)
    );
    if most < 2 {
        return Some(Judgement::too_few(2, most, "nobody steals."));
    }
    Some(Judgement::of(last < first * 0.9, format!("Here, {said}")))
}

/// Figure 16: taking two, or half, of Fibonacci loses nothing against taking one.
pub(super) fn fib_same(seen: &Seen<'_>) -> Option<Judgement> {
    let most = seen.most();
    if most < 2 {
        return Some(Judgement::too_few(2, most, "nobody steals."));
    }
    let speeds = speeds(seen, "st-fib", FIXED, most)?;
    let same = speeds[1..]
        .iter()
        .all(|speed| (speed / speeds[0] - 1.0).abs() < 0.1);
    Some(Judgement::of(
        same,
        format!("Here, {}", said(speeds, FIXED, most)),
    ))
}

/// Figures 17, 20 and 22: half does as well as one, and a fixed number worse.
pub(super) fn fixed_loses(seen: &Seen<'_>, program: &str) -> Option<Judgement> {
    let most = seen.most();
    let speeds = speeds(seen, &last(seen.plan, program), FIXED, most)?;
    let said = said(speeds, FIXED, most);
    if most < 4 {
        let said = format!("the paper's gap opens on many; {said}");
        return Some(Judgement::too_few(4, most, said));
    }
    let holds = speeds[2] > speeds[0] * 0.95 && speeds[1] < speeds[0] * 0.95;
    Some(Judgement::of(holds, format!("Here, {said}")))
}

/// Figures 18 and 23: a greater problem scales better with a fixed number.
pub(super) fn size_helps(seen: &Seen<'_>, program: &str) -> Option<Judgement> {
    let most = seen.most();
    if most < 2 {
        return Some(Judgement::too_few(2, most, "there is nothing to scale to."));
    }
    let [_, fixed, _] = names(FIXED);
    let mut speeds = Vec::new();
    for size in sizes(seen.plan, program) {
        speeds.push((
            *size,
            seen.speedup(&format!("st-{program}/{size}"), &fixed, most)?,
        ));
    }
    let listed: Vec<String> = speeds
        .iter()
        .map(|(size, speed)| format!("{size}: {}", number(*speed)))
        .collect();
    let (first, last) = (speeds.first()?.1, speeds.last()?.1);
    let sentence = format!(
        "Speed-up with fixed:{FIXED} on {} by problem size: {}.",
        counted(most, "worker"),
        listed.join(", ")
    );
    Some(Judgement::of(last > first * 1.02, sentence))
}

/// Figures 19, 21 and 24: with a fixed number less of the time is busy.
pub(super) fn fixed_idles(seen: &Seen<'_>, program: &str) -> Option<Judgement> {
    let (group, most) = (format!("st-{program}-profile"), seen.most());
    let fixed = Amount::Fixed(FIXED).to_string();
    let of = |amount: &str| share(seen, &group, amount, most, "busy");
    let (one, fixed, half) = (of("one")?, of(&fixed)?, of("half")?);
    let said = format!(
        "on {} the workers are busy {} % of the time with one, {} % with fixed:{FIXED}, {} % with half.",
        counted(most, "worker"),
        number(one),
        number(fixed),
        number(half)
    );
    if most < 4 {
        return Some(Judgement::too_few(4, most, said));
    }
    Some(Judgement::of(
        fixed < one && fixed < half,
        format!("Here, {said}"),
    ))
}

/// What there is of the serial times and overheads, for figure 7.
pub(super) fn overheads(seen: &Seen<'_>, group: &str, title: &str) -> super::super::figure::Sheet {
    use super::super::figure::{Form, Sheet};
    let mut sheet = Sheet::new(title, "system", "% over serial", Form::Bars);
    if let Some(serial) = seen.time(group, SERIAL, 1) {
        for name in draw::series(seen, group) {
            if let Some(times) = seen.values(group, &name, 1, TIME) {
                let over = times
                    .iter()
                    .map(|time| (time / serial - 1.0) * 100.0)
                    .collect();
                sheet.push("here", name, over);
            }
        }
    }
    sheet
}
