//! The row about cycles: what fast paths take on one worker, by the length of a cycle here and
//! now. A count of instructions does not see that the processor waits, as it does for a wide load
//! of what was just stored in parts; these do.

use std::fs;
use std::hint::black_box;
use std::path::Path;
use std::time::Instant;

use roving::task::{call, fork};
use roving::{Pool, join};

use super::record::{Bound::AtMost, Measurement, RowRecord};
use super::{OUT, Scale};
use crate::io::csv::Csv;
use crate::io::input::CommandFailure;
use crate::networks::placement::NamedPlacement;
use crate::networks::{self, run::once};

/// How far a path may lie above the committed row, which may be another machine's.
const LIMIT: f64 = 2.0;
/// Cycles of one turn of [`turns`] on any processor: six operations, each on the last one's result.
const CYCLES_OF_TURN: f64 = 6.0;
/// The bounds to reach and to hope for on a spawn with its run, in ns.
const QUEUED: (f64, f64) = (5.0, 2.5);
const IN_PLACE: (f64, f64) = (4.0, 2.0);
/// Slots of a task stack that is to be full.
const SLOTS: u64 = 16;

/// Does something so many times.
type Times = fn(u64);

/// A join of two closures by each number of captured words: by reference, and by `move`.
macro_rules! joins {
    ($([$($word:ident)*])*) => {
        [$((
            |times| {
                $(let $word = black_box(1);)*
                for _ in 0..times {
                    let (a, b) = join(|| leaf() $(+ $word)*, || leaf() $(+ $word)*);
                    black_box(a + b);
                }
            },
            |times| {
                $(let $word = black_box(1);)*
                for _ in 0..times {
                    let (a, b) = join(move || leaf() $(+ $word)*, move || leaf() $(+ $word)*);
                    black_box(a + b);
                }
            },
        )),*]
    };
}

const JOINS: [(Times, Times); 7] = joins! {
    []
    [a]
    [a b]
    [a b c]
    [a b c d]
    [a b c d e]
    [a b c d e f]
};

#[inline(never)]
fn leaf() -> u64 {
    black_box(1)
}

/// Operations of which each waits for the last.
#[inline(never)]
fn turns(times: u64) {
    let mut value = black_box(88_172_645_463_325_252u64);
    for _ in 0..times {
        value ^= value << 13;
        value ^= value >> 7;
        value ^= value << 17;
    }
    black_box(value);
}

/// Spawns tasks of two words into a scope, which runs them at its end.
fn spawns(times: u64) {
    let base = black_box(7);
    roving::scope(|scope| {
        for number in 0..times {
            scope.spawn(move |_| {
                black_box(base + number);
            });
        }
    });
}

/// Spawns tasks of four words into a scope, more than a pair of registers holds.
fn spawns_of_four_words(times: u64) {
    let (a, b, c) = black_box((7, 8, 9));
    roving::scope(|scope| {
        for number in 0..times {
            scope.spawn(move |_| {
                black_box(a + b + c + number);
            });
        }
    });
}

/// Scopes of ten tasks each, one after the other; so many tasks.
fn scopes_of_ten(times: u64) {
    for _ in 0..times / 10 {
        spawns(10);
    }
}

async fn forks(times: u64) {
    for _ in 0..times {
        let child = fork(async { black_box(1) }).await;
        black_box(child.await);
    }
}

async fn calls(times: u64) {
    for _ in 0..times {
        black_box(call(async { black_box(1) }).await);
    }
}

/// How often what is measured.
#[derive(Clone, Copy)]
struct Effort {
    batches: usize,
    times: u64,
}

impl Effort {
    /// The least time of one operation among all batches, in ns.
    fn least(self, mut run: impl FnMut(u64)) -> f64 {
        let batch = |_| {
            let start = Instant::now();
            run(self.times);
            start.elapsed().as_nanos() as f64 / self.times as f64
        };
        (0..self.batches).map(batch).fold(f64::INFINITY, f64::min)
    }
}

/// Measures the cycles of each fast path.
pub(super) fn cycles(scale: &Scale) -> Result<RowRecord, CommandFailure> {
    let effort = match scale.quick {
        true => Effort {
            batches: 5,
            times: 100,
        },
        false => Effort {
            batches: 400,
            times: 2_000,
        },
    };
    let failed = |error| CommandFailure::Run(format!("no pool: {error}"));
    let here = || Pool::builder().caller_runs();
    let pool = here().build().map_err(failed)?;
    let full = here().task_slots(SLOTS as usize).build().map_err(failed)?;

    let cycle = effort.least(turns) / CYCLES_OF_TURN;
    let mut record = RowRecord::default();
    let mut add = |what: String, nanos: f64| {
        record.measurements.push(Measurement {
            what,
            unit: "cycles",
            median: nanos / cycle,
            min: nanos / cycle,
            runs: effort.batches,
        });
    };
    for (words, (by_reference, by_move)) in JOINS.into_iter().enumerate() {
        for (how, run) in [("by reference", by_reference), ("by move", by_move)] {
            let nanos = pool.install(|| effort.least(run));
            add(format!("join of {words} captured words {how}"), nanos);
        }
    }
    let queued = pool.install(|| effort.least(spawns));
    add("spawn into a scope, queued, and its run".into(), queued);
    let longer = pool.install(|| effort.least(spawns_of_four_words));
    add(
        "spawn of 4 captured words, queued, and its run".into(),
        longer,
    );
    let tens = pool.install(|| effort.least(scopes_of_ten));
    add("spawn into a scope of ten tasks, and its run".into(), tens);
    let in_place = full.install(|| effort.least(|times| spawns(SLOTS + times)));
    add(
        "spawn into a scope, in place on a full stack".into(),
        in_place,
    );
    let forked = effort.least(|times| pool.run(|_| forks(times)));
    add("fork of a task that awaits nothing".into(), forked);
    let called = effort.least(|times| pool.run(|_| calls(times)));
    add("call of a task that awaits nothing".into(), called);
    add("hop of a message in a ring".into(), hop(&pool, effort)?);
    for (how, nanos, (must, stretch)) in [
        ("queued on the task stack", queued, QUEUED),
        ("run in place on a full stack", in_place, IN_PLACE),
    ] {
        let what = format!("a spawn of two words into a scope, 1 worker: {how}");
        record.claim(what, "ns", nanos, AtMost(must), AtMost(stretch));
    }

    let before = fs::read_to_string(Path::new(OUT).join("cycles.csv")).ok();
    match before.and_then(|text| Csv::parse(&text).ok()) {
        Some(before) => compare(&mut record, &before),
        None => record
            .absent
            .push("no committed row to compare with".into()),
    }
    Ok(record)
}

/// The least time of a hop, in ns.
fn hop(pool: &Pool, effort: Effort) -> Result<f64, CommandFailure> {
    let (processes, rounds) = (10, effort.times / 10);
    let input = format!("processes={processes},rounds={rounds}");
    let job = networks::NetworkJob::parse("ring", Some(&input))?;
    let mut least = f64::INFINITY;
    for _ in 0..effort.batches {
        let time = once(&job, pool, NamedPlacement::default(), false)?.time;
        least = least.min(time.as_nanos() as f64 / (processes * rounds) as f64);
    }
    Ok(least)
}

/// Judges the row by the committed one, and names each path that takes too much longer.
fn compare(record: &mut RowRecord, before: &Csv) {
    let mut worst = 0.0f64;
    for (what, ratio) in ratios(&record.measurements, before) {
        worst = worst.max(ratio);
        if ratio > LIMIT {
            record.single(&format!("over the committed row: {what}"), "×", ratio);
        }
    }
    let what = "the path that is most over its committed row";
    record.claim(what, "×", worst, AtMost(LIMIT), None);
}

/// How much longer each path takes than in the committed row.
fn ratios(now: &[Measurement], before: &Csv) -> Vec<(String, f64)> {
    let least = |what: &str| {
        let of = |row: &&Vec<String>| before.field(row, "what").is_ok_and(|name| name == what);
        let row = before.rows.iter().find(of)?;
        before.field(row, "min").ok()?.parse::<f64>().ok()
    };
    let both = now.iter().filter_map(|one| Some((one, least(&one.what)?)));
    both.map(|(one, least)| (one.what.clone(), one.min / least))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(cycles: f64) -> RowRecord {
        let mut record = RowRecord::default();
        record.single("join of 3 captured words by reference", "cycles", cycles);
        record
    }

    #[test]
    fn a_path_is_named_when_it_takes_over_twice_its_committed_cycles() {
        let before = measured(10.0).csv("bench cycles", "a CPU");
        for (cycles, verdict, lines) in [(19.0, "reached", 1), (21.0, "missed", 2)] {
            let mut now = measured(cycles);
            compare(&mut now, &before);
            assert_eq!(now.claims[0].verdict(), verdict, "{cycles}");
            assert_eq!(now.measurements.len(), lines, "{cycles}");
        }
    }

    #[test]
    fn a_path_without_a_committed_row_is_not_judged() {
        let before = RowRecord::default().csv("bench cycles", "a CPU");
        assert!(ratios(&measured(10.0).measurements, &before).is_empty());
    }

    #[test]
    fn every_path_is_measured() {
        let quick = Scale {
            quick: true,
            ..Scale::QUICK
        };
        let record = cycles(&quick).unwrap();
        assert_eq!(record.measurements.len(), 2 * JOINS.len() + 7);
        assert!(record.measurements.iter().all(|one| one.min > 0.0));
    }
}
