//! The row about loops: short ones that nobody helps with, a search that loops over the children of
//! each node, and flat ones of all lengths, compared with Rayon's parallel iterators.

use std::hint::black_box;
use std::time::{Duration, Instant};

use rayon::iter::{IntoParallelIterator, ParallelIterator};
use roving::Pool;

use super::Scale;
use super::record::{Bound, RowRecord};
use crate::io::input::CommandFailure;
use crate::timing::lanes::{Series, TimedLane, interleave};

use Bound::{AtLeast, AtMost};

/// Items of a short loop.
const SHORT: usize = 4;
/// Levels of the tree, with 1 to 11 children for each node.
const LEVELS: u32 = 8;

/// Measures the three kinds, each with its rivals in turn.
pub(super) fn loops(scale: &Scale) -> Result<RowRecord, CommandFailure> {
    let mut record = RowRecord::default();
    short(scale, &mut record)?;
    tree(scale, &mut record)?;
    flat(scale, &mut record)?;
    Ok(record)
}

/// The median of each of these lanes, each `times` times in one run.
fn measured(
    record: &mut RowRecord,
    of: &str,
    lanes: &mut [TimedLane<'_>],
    rounds: usize,
    (unit, factor): (&'static str, f64),
) -> Result<Vec<Series>, CommandFailure> {
    let series = interleave(lanes, rounds).map_err(CommandFailure::Run)?;
    for one in &series {
        record.series(of, one, unit, factor);
    }
    Ok(series)
}

fn pool(workers: usize) -> Result<Pool, CommandFailure> {
    Pool::new(workers).map_err(|error| CommandFailure::Run(format!("no pool: {error}")))
}

fn rayon_pool(workers: usize) -> Result<rayon::ThreadPool, CommandFailure> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(workers).build();
    pool.map_err(|error| CommandFailure::Run(format!("rayon: {error}")))
}

/// A lane on a pool, whose run is the same sum each time.
fn lane<'a>(
    name: &str,
    workers: usize,
    expected: u64,
    mut run: impl FnMut() -> (u64, Duration) + 'a,
) -> TimedLane<'a> {
    TimedLane::new(name, workers, move || match run() {
        (sum, time) if sum == expected => Ok(time),
        (sum, _) => Err(format!("the sum is {sum} where {expected} is right")),
    })
}

/// Calls `f`, and says how long that took.
fn timed<R>(f: impl FnOnce() -> R) -> (R, Duration) {
    let start = Instant::now();
    let result = f();
    (result, start.elapsed())
}

/// The cost of a loop over [`SHORT`] items beyond that of the plain one, where nobody is idle.
fn short(scale: &Scale, record: &mut RowRecord) -> Result<(), CommandFailure> {
    let calls: u64 = if scale.quick { 10_000 } else { 1_000_000 };
    let pool = pool(1)?;
    let item = |n: usize| black_box(n as u64);
    let expected = calls * (0..SHORT as u64).sum::<u64>();
    let times = |call: &(dyn Fn() -> u64 + Sync)| {
        pool.install(|| timed(|| (0..calls).map(|_| call()).sum::<u64>()))
    };
    let plain = || (0..black_box(SHORT)).map(item).sum::<u64>();
    let reduced = || roving::map_reduce(0..black_box(SHORT), 0, item, |a, b| a + b);
    let each = || {
        roving::par_for(0..black_box(SHORT), |n| {
            item(n);
        });
        (0..SHORT as u64).sum::<u64>()
    };
    let mut lanes = [
        lane("plain loop", 1, expected, || times(&plain)),
        lane("map_reduce", 1, expected, || times(&reduced)),
        lane("par_for", 1, expected, || times(&each)),
    ];
    let of = format!("{SHORT} items");
    let unit = ("ns/call", 1e9 / calls as f64);
    let series = measured(record, &of, &mut lanes, scale.rounds(31), unit)?;
    for one in &series[1..] {
        let beyond = (one.times.min() - series[0].times.min()) * unit.1;
        let what = format!("{of}, {}, 1 worker: a call beyond the plain loop", one.name);
        record.claim(what, "ns", beyond, AtMost(12.0), AtMost(5.0));
    }
    Ok(())
}

#[derive(Clone, Copy)]
struct NestedNode {
    value: u64,
    levels: u32,
}

impl NestedNode {
    fn children(self) -> usize {
        match self.levels {
            0 => 0,
            _ => 1 + (self.value >> 32) as usize % 11,
        }
    }

    fn child(self, number: usize) -> NestedNode {
        let mixed = (self.value ^ number as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        NestedNode {
            value: (mixed ^ (mixed >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9),
            levels: self.levels - 1,
        }
    }

    fn serial(self) -> u64 {
        let below = (0..self.children()).map(|number| self.child(number).serial());
        1 + below.sum::<u64>()
    }

    fn ours(self) -> u64 {
        let below = |number| self.child(number).ours();
        1 + roving::map_reduce(0..self.children(), 0, below, |a, b| a + b)
    }

    fn rayon(self) -> u64 {
        let children = (0..self.children()).into_par_iter();
        1 + children
            .map(|number| self.child(number).rayon())
            .sum::<u64>()
    }
}

/// The nested search in its natural form.
fn tree(scale: &Scale, record: &mut RowRecord) -> Result<(), CommandFailure> {
    let root = NestedNode {
        value: 5 << 32,
        levels: if scale.quick { 4 } else { LEVELS },
    };
    let nodes = root.serial();
    let (one, two, rayon) = (pool(1)?, pool(2)?, rayon_pool(2)?);
    let mut lanes = [
        lane("serial", 1, nodes, || timed(|| root.serial())),
        lane("roving", 1, nodes, || one.install(|| timed(|| root.ours()))),
        lane("roving", 2, nodes, || two.install(|| timed(|| root.ours()))),
        lane("rayon", 2, nodes, || {
            rayon.install(|| timed(|| root.rayon()))
        }),
    ];
    let of = format!("search of {nodes} nodes by loops");
    let series = measured(record, &of, &mut lanes, scale.rounds(15), ("ms", 1e3))?;
    let median = |index: usize| series[index].times.median();
    record.claim(
        format!("{of}: 1 worker over serial"),
        "×",
        median(1) / median(0),
        AtMost(1.15),
        AtMost(1.05),
    );
    record.claim(
        format!("{of}, 2 workers: speed over rayon's"),
        "×",
        median(3) / median(2),
        AtLeast(1.2),
        AtLeast(1.5),
    );
    Ok(())
}

/// Adds of one loop, in lengths that do and do not pay for a wake-up.
fn flat(scale: &Scale, record: &mut RowRecord) -> Result<(), CommandFailure> {
    let (pool, rayon) = (pool(2)?, rayon_pool(2)?);
    for (items, repeats, stretch) in [
        (1_000, 1000, 1.5),
        (1_000_000, 10, 1.1),
        (100_000_000, 1, 1.0),
    ] {
        if scale.quick && items > 1_000_000 {
            continue;
        }
        let add = |n: usize| (n as u64) ^ 1;
        let expected = (0..items).map(add).sum::<u64>() * repeats;
        let times = |sum: &dyn Fn() -> u64| timed(|| (0..repeats).map(|_| sum()).sum::<u64>());
        let ours = || roving::map_reduce(0..black_box(items), 0, add, |a, b| a + b);
        let theirs = || (0..black_box(items)).into_par_iter().map(add).sum::<u64>();
        let mut lanes = [
            lane("roving", 2, expected, || pool.install(|| times(&ours))),
            lane("rayon", 2, expected, || rayon.install(|| times(&theirs))),
        ];
        let of = format!("{items} adds");
        let unit = ("µs", 1e6 / repeats as f64);
        let series = measured(record, &of, &mut lanes, scale.rounds(31), unit)?;
        let speed = series[1].times.median() / series[0].times.median();
        let what = format!("{of}, 2 workers: speed over rayon's");
        record.claim(what, "×", speed, AtLeast(1.0), AtLeast(stretch));
    }
    Ok(())
}
