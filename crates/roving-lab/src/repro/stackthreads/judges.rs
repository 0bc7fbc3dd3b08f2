//! The rules by which the findings of the StackThreads/MP paper are judged.

use super::super::contest::taking;
use super::super::draw::{self, share};
use super::super::seen::{SERIAL, SeenPoints, TIME};
use super::super::spread::median;
use super::super::spread::number;
use super::super::verdict::RequiredRange::{Above, Below, Between};
use super::super::verdict::{
    Answer, Interval, Judgement, OF_EXTREMES, OF_TIMES, RequiredRange, Requirement,
};
use super::{FIXED, FIXED_UTS, last, lengths as amounts, sizes};
use crate::io::figures::counted;
use crate::rivals::Runtime;
use roving::policy::Amount;

/// The speed-up that the paper prints for Fibonacci with st_org, and on how many cores.
const FIB_SPEED: f64 = 1.90;
const FIB_CORES: usize = 24;

/// The names of the three strategies as series.
pub(super) fn names(fixed: usize) -> [String; 3] {
    super::strategies(fixed).map(|amount| taking(Runtime::RovingFork, amount))
}

/// Median speed-ups of the three strategies on so many workers.
fn speeds(seen: &SeenPoints<'_>, group: &str, fixed: usize, workers: usize) -> Option<[f64; 3]> {
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

/// The time of one strategy over that of another, by their places in [`names`].
fn over(
    seen: &SeenPoints<'_>,
    group: &str,
    fixed: usize,
    workers: usize,
    places: (usize, usize),
    line: RequiredRange,
) -> Option<Requirement> {
    let names = names(fixed);
    let times = |place: usize| seen.values(group, &names[place], workers, TIME);
    let (above, below) = (&names[places.0], &names[places.1]);
    let what = format!("{group}: time of {above} over that of {below}, {workers} workers");
    let ratio = Interval::ratio(times(places.0)?, times(places.1)?)?;
    Some(Requirement::new(what, ratio, line))
}

/// The runs' shares of a state.
fn shares_of<'a>(
    seen: &'a SeenPoints<'_>,
    group: &str,
    amount: &str,
    workers: usize,
    state: &str,
) -> Option<&'a [f64]> {
    seen.values(group, amount, workers, &format!("{state}_share"))
}

/// A judgement that needs so many cores: without them the claims are shown and decide nothing.
fn needing(needed: usize, cores: usize, claims: Vec<Requirement>, said: &str) -> Judgement {
    if cores < needed {
        return Judgement::too_few(needed, cores, claims, said);
    }
    Judgement::all(claims, format!("Here, {said}"))
}

/// Table 1: the sizes of the trees.
pub(super) fn table_1(seen: &SeenPoints<'_>) -> Option<Judgement> {
    let nodes = seen.median("st-uts-a", "items", 1, "items")?;
    let sentence = format!(
        "Tree A has {} nodes, as in the paper; of tree B the seed is not printed, and 30,399,117 nodes come from \
         the tree nearest to it, one more than the paper counts.",
        crate::io::input::grouped(nodes as u64)
    );
    let line = Between(4_112_897.0, 4_112_897.0);
    let claim = Requirement::new("nodes of tree A", Interval::counted(nodes), line);
    Some(Judgement::all(vec![claim], sentence))
}

/// Table 2 and figure 10: what stealing costs under the three strategies.
pub(super) fn shares(seen: &SeenPoints<'_>) -> Option<Judgement> {
    let (group, most) = ("st-uts-a-profile", seen.most());
    let amounts = super::strategies(FIXED_UTS).map(|amount| amount.to_string());
    let mut steals = Vec::new();
    let mut beside = Vec::new();
    for amount in &amounts {
        let of = |state| share(seen, group, amount, most, state);
        steals.push(number(of("steal")?));
        beside.push(number(of("steal")? + of("switch")? + of("frame")?));
    }
    let said = format!(
        "on {}, stealing takes {} % of the time with one, fixed:{FIXED_UTS} and half (the paper, on 24: 28.7, 6.7 and \
         6.3 %), and all that is neither work nor idling {} % (the paper, from its table 2: 44.2, 19.4 and 17.6 %).",
        counted(most, "worker"),
        steals.join(", "),
        beside.join(", "),
    );
    let one = shares_of(seen, group, &amounts[0], most, "steal")?;
    let mut claims = Vec::new();
    for amount in &amounts[1..] {
        let several = shares_of(seen, group, amount, most, "steal")?;
        let ratio = Interval::of(&[several, one], OF_EXTREMES, |drawn| {
            median(drawn[0]) / median(drawn[1])
        })?;
        let what = format!("share of stealing with {amount} over that with one, {most} workers");
        claims.push(Requirement::new(what, ratio, Below(0.5)));
    }
    Some(needing(4, most, claims, &said))
}

/// Figure 11: how the cost of stealing grows with the workers.
pub(super) fn steals_grow(seen: &SeenPoints<'_>) -> Option<Judgement> {
    let (group, most) = ("st-uts-a-profile", seen.most());
    let of = |amount: &str, workers| shares_of(seen, group, amount, workers, "steal");
    let (one, half) = (of("one", most)?, of("half", most)?);
    let said = format!(
        "the paper sees it grow beyond two workers; on {} stealing takes {} % of the time with one and {} % with half.",
        counted(most, "worker"),
        number(median(one) * 100.0),
        number(median(half) * 100.0)
    );
    let less = Requirement::new(
        format!(
            "share of stealing with one less that with half, {most} workers, percentage points"
        ),
        Interval::points(one, half)?,
        Above(0.0),
    );
    let mut claims = vec![less];
    if most > 2 {
        let grown = Interval::points(one, of("one", 2)?)?;
        let what = format!("share of stealing with one on {most} workers less that on 2, points");
        claims.push(Requirement::new(what, grown, Above(0.0)));
    }
    Some(needing(4, most, claims, &said))
}

/// Figures 9, 12, 13 and 14: several at once beat one.
pub(super) fn several_win(seen: &SeenPoints<'_>, group: &str) -> Option<Judgement> {
    let most = seen.most();
    let said = said(speeds(seen, group, FIXED_UTS, most)?, FIXED_UTS, most);
    let said = format!("the paper's gap opens beyond two workers; {said}");
    let line = Above(1.05);
    let claims = vec![
        over(seen, group, FIXED_UTS, most, (0, 1), line)?,
        over(seen, group, FIXED_UTS, most, (0, 2), line)?,
    ];
    Some(needing(4, most, claims, &said))
}

/// Figure 7: the overhead of one worker in UTS is low.
pub(super) fn low_overhead(seen: &SeenPoints<'_>) -> Option<Judgement> {
    let group = "st-uts-a";
    let serial = seen.values(group, SERIAL, 1, TIME)?;
    let over = |name: &str| Interval::ratio(seen.values(group, name, 1, TIME)?, serial);
    let percent = |ratio: Interval| number((ratio.seen - 1.0) * 100.0);
    let mut claims = Vec::new();
    let mut mine = f64::NEG_INFINITY;
    for name in names(FIXED_UTS) {
        let ratio = over(&name)?;
        mine = mine.max((ratio.seen - 1.0) * 100.0);
        let what = format!("time of {name} on one worker over serial");
        claims.push(Requirement::new(what, ratio, Below(1.25)));
    }
    let peers = ["rayon", "tbb", "openmp"]
        .into_iter()
        .filter_map(|name| Some(format!("{name} {} %", percent(over(name)?))));
    let peers: Vec<String> = peers.collect();
    let sentence = format!(
        "One worker takes at most {} % longer than serial code under the three strategies; {}.",
        number(mine),
        peers.join(", ")
    );
    Some(Judgement::all(claims, sentence))
}

/// Figure 8: the overhead of one worker in Fibonacci is high.
pub(super) fn high_overhead(seen: &SeenPoints<'_>) -> Option<Judgement> {
    let (fork, joins) = (Runtime::RovingFork.name(), Runtime::Roving.name());
    let times = |group: &str, name: &str| seen.values(group, name, 1, TIME);
    let over =
        |group: &str, name: &str| Interval::ratio(times(group, name)?, times(group, SERIAL)?);
    let (fib, uts) = (over("st-fib-30", fork)?, over("st-uts-a", fork)?);
    let closures = over("st-fib-30", joins)?;
    let samples = [
        times("st-fib-30", fork)?,
        times("st-fib-30", SERIAL)?,
        times("st-uts-a", fork)?,
        times("st-uts-a", SERIAL)?,
    ];
    let more = Interval::of(&samples, OF_TIMES, |drawn| {
        let [fib, fib_serial, uts, uts_serial] = [0, 1, 2, 3].map(|place| median(drawn[place]));
        fib / fib_serial / (uts / uts_serial)
    })?;
    let claims = vec![
        Requirement::new(
            "time of fib(30) with continuations over serial",
            fib,
            Above(2.0),
        ),
        Requirement::new("overhead of fib(30) over that of UTS", more, Above(1.0)),
    ];
    let sentence = format!(
        "With continuations fib(30) on one worker takes {} times the serial time and UTS {} times; with closures \
         fib(30) takes {} times.",
        number(fib.seen),
        number(uts.seen),
        number(closures.seen)
    );
    Some(Judgement::all(claims, sentence))
}

/// Figure 15: taking many continuations of Fibonacci at once makes busy the least of the three.
pub(super) fn lengths(seen: &SeenPoints<'_>) -> Option<Judgement> {
    let (group, most) = ("st-fib-lengths", seen.most());
    let amounts = amounts(seen.plan);
    let of = |length: usize, state: &str| {
        let amount = Amount::Fixed(length).to_string();
        // The amount of one is written so whichever way it is made.
        let one = || (length == 1).then(|| shares_of(seen, group, "one", most, state))?;
        shares_of(seen, group, &amount, most, state).or_else(one)
    };
    let (first, last) = (*amounts.first()?, *amounts.last()?);
    let (before, busy) = (of(first, "busy")?, of(last, "busy")?);
    let said = format!(
        "on {} busy time goes from {} % when thieves take {first} to {} % when they take {last} (the paper, on 24: \
         to 15.8 %, below stealing and idling); two workers cannot both be idle, so that half of the time is left.",
        counted(most, "worker"),
        number(median(before) * 100.0),
        number(median(busy) * 100.0)
    );
    let mut claims = Vec::new();
    for state in ["steal", "idle"] {
        let what = format!("share of {state} less that of busy, {last} at once, percentage points");
        let more = Interval::points(of(last, state)?, busy)?;
        claims.push(Requirement::new(what, more, Above(0.0)));
    }
    Some(needing(4, most, claims, &said))
}

/// Figure 16: continuations of Fibonacci reach 1.90 over serial code on 24 cores, and two or half
/// do as well.
pub(super) fn fib_speed(seen: &SeenPoints<'_>) -> Option<Judgement> {
    let most = seen.most();
    let [org, ..] = names(FIXED);
    let said = said(speeds(seen, "st-fib", FIXED, most)?, FIXED, most);
    let serial = seen.values("st-fib", SERIAL, 1, TIME)?;
    let speed = Interval::ratio(serial, seen.values("st-fib", &org, most, TIME)?)?;
    // With fewer cores than the paper's: what a perfect speed-up on the missing ones would still
    // come to.
    let missing = (FIB_CORES as f64 / most as f64).max(1.0);
    let best = speed.times(missing);
    let reach = Requirement::new(
        format!(
            "speed-up with one on {most} workers, times {} for missing cores",
            number(missing)
        ),
        best,
        Above(FIB_SPEED * 0.9),
    );
    let answer = reach.answer();
    if most < FIB_CORES && matches!(answer, Answer::Open | Answer::Few) {
        // Whether the paper's speed-up is within reach decides between two verdicts, so that where
        // the runs do not say, there is none.
        return Some(Judgement::all(vec![reach], format!("Here, {said}")));
    }
    let line = Between(0.8, 1.25);
    let claims = vec![
        reach,
        over(seen, "st-fib", FIXED, most, (1, 0), line)?,
        over(seen, "st-fib", FIXED, most, (2, 0), line)?,
    ];
    if answer == Answer::No {
        let sentence = format!(
            "Here, {said} Even a perfect speed-up on {FIB_CORES} cores would come to {}, where the paper has 1.90.",
            number(best.seen)
        );
        return Some(Judgement::all(claims, sentence));
    }
    Some(needing(FIB_CORES, most, claims, &said))
}

/// Figures 17, 20 and 22: half does as well as one, and a fixed number worse.
pub(super) fn fixed_loses(seen: &SeenPoints<'_>, program: &str) -> Option<Judgement> {
    let most = seen.most();
    let group = last(seen.plan, program);
    let said = said(speeds(seen, &group, FIXED, most)?, FIXED, most);
    let said = format!("the paper's gap opens on many; {said}");
    let claims = vec![
        over(seen, &group, FIXED, most, (2, 0), Below(1.15))?,
        over(seen, &group, FIXED, most, (1, 0), Above(1.05))?,
    ];
    Some(needing(4, most, claims, &said))
}

/// Figures 18 and 23: a greater problem scales better with a fixed number.
pub(super) fn size_helps(seen: &SeenPoints<'_>, program: &str) -> Option<Judgement> {
    let most = seen.most();
    if most < 2 {
        let why = "there is nothing to scale to.";
        return Some(Judgement::too_few(2, most, Vec::new(), why));
    }
    let [_, fixed, _] = names(FIXED);
    let mut listed = Vec::new();
    for size in sizes(seen.plan, program) {
        let speed = seen.speedup(&format!("st-{program}/{size}"), &fixed, most)?;
        listed.push(format!("{size}: {}", number(speed)));
    }
    let sizes = sizes(seen.plan, program);
    let mut samples = Vec::new();
    for size in [sizes.last()?, sizes.first()?] {
        let group = format!("st-{program}/{size}");
        samples.push(seen.values(&group, SERIAL, 1, TIME)?);
        samples.push(seen.values(&group, &fixed, most, TIME)?);
    }
    let gain = Interval::of(&samples, OF_TIMES, |drawn| {
        let [much, much_time, little, little_time] = [0, 1, 2, 3].map(|at| median(drawn[at]));
        much / much_time / (little / little_time)
    })?;
    let sentence = format!(
        "Speed-up with fixed:{FIXED} on {} by problem size: {}.",
        counted(most, "worker"),
        listed.join(", ")
    );
    let what = "speed-up at the largest size over that at the smallest";
    Some(Judgement::all(
        vec![Requirement::new(what, gain, Above(1.0))],
        sentence,
    ))
}

/// Figures 19, 21 and 24: with a fixed number less of the time is busy.
pub(super) fn fixed_idles(seen: &SeenPoints<'_>, program: &str) -> Option<Judgement> {
    let (group, most) = (format!("st-{program}-profile"), seen.most());
    let fixed = Amount::Fixed(FIXED).to_string();
    let of = |amount: &str| shares_of(seen, &group, amount, most, "busy");
    let (one, fixed, half) = (of("one")?, of(&fixed)?, of("half")?);
    let [a, b, c] = [one, fixed, half].map(|shares| number(median(shares) * 100.0));
    let said = format!(
        "on {} the workers are busy {a} % of the time with one, {b} % with fixed:{FIXED}, {c} % with half.",
        counted(most, "worker"),
    );
    let mut claims = Vec::new();
    for (name, other) in [("one", one), ("half", half)] {
        let what = format!("share of busy with {name} less that with fixed:{FIXED}, points");
        claims.push(Requirement::new(
            what,
            Interval::points(other, fixed)?,
            Above(0.0),
        ));
    }
    Some(needing(4, most, claims, &said))
}

/// The serial times and overheads, for figure 7.
pub(super) fn overheads(
    seen: &SeenPoints<'_>,
    group: &str,
    title: &str,
) -> super::super::figure::Sheet {
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
