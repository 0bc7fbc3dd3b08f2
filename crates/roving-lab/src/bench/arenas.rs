//! The row about arenas: a share of an arena compared with a pool that has threads of its own.

use std::hint::black_box;
use std::thread::sleep;
use std::time::{Duration, Instant};

use roving::{Arena, BuildError, Pool};

use super::Scale;
use super::record::RowRecord;
use crate::forms::fork_join::Roving;
use crate::io::input::CommandFailure;
use crate::machine::cores;
use crate::timing::lanes::{TimedLane, interleave};
use crate::workloads::fib::fib;

/// How long the pool is left alone before a call that finds it idle.
const IDLE: Duration = Duration::from_micros(300);

/// Two pools of one kind: the one that is called, and one whose worker calls it.
struct Pair {
    kind: &'static str,
    called: Pool,
    caller: Pool,
}

/// Measures the same calls on both kinds of pool, in turn.
pub(super) fn arenas(scale: &Scale) -> Result<RowRecord, CommandFailure> {
    let pairs = pairs().map_err(|error| CommandFailure::Run(format!("no pool: {error}")))?;
    let (large, calls) = if scale.quick { (18, 5) } else { (32, 50) };
    let mut record = RowRecord::default();
    let mut measure = |of: &str, unit, factor, run: &dyn Fn(&Pair) -> Duration| {
        let lanes = pairs.iter();
        let lanes = lanes.map(|pair| TimedLane::new(pair.kind, cores(), move || Ok(run(pair))));
        let mut lanes: Vec<TimedLane<'_>> = lanes.collect();
        let series = interleave(&mut lanes, scale.rounds(31)).map_err(CommandFailure::Run)?;
        for one in &series {
            record.series(of, one, unit, factor);
        }
        Ok::<(), CommandFailure>(())
    };
    measure(&format!("fib({large}) by joins"), "ms", 1e3, &|pair| {
        once(|| pair.called.install(|| fib(&mut Roving, large)))
    })?;
    measure("install after 300 µs of idleness", "µs", 1e6, &|pair| {
        after_idleness(calls, || pair.called.install(|| ()))
    })?;
    measure("install, back to back", "µs", 1e6, &|pair| {
        back_to_back(20 * calls, || pair.called.install(|| ()))
    })?;
    measure(
        "install of fib(16) after 300 µs of idleness",
        "µs",
        1e6,
        &|pair| after_idleness(calls, || pair.called.install(|| fib(&mut Roving, 16))),
    )?;
    measure(
        "install into another pool, from a worker",
        "µs",
        1e6,
        &|pair| {
            let calls = || back_to_back(20 * calls, || pair.called.install(|| ()));
            pair.caller.install(calls)
        },
    )?;
    Ok(record)
}

fn pairs() -> Result<[Pair; 2], BuildError> {
    let arena = Arena::new(cores())?;
    let threads = || Pool::builder().workers(cores()).build();
    Ok([
        Pair {
            kind: "pool with threads",
            called: threads()?,
            caller: threads()?,
        },
        Pair {
            kind: "share",
            called: arena.pool().build()?,
            caller: arena.pool().build()?,
        },
    ])
}

fn once<T>(call: impl FnOnce() -> T) -> Duration {
    let start = Instant::now();
    black_box(call());
    start.elapsed()
}

/// The median time of a call that finds its pool idle.
fn after_idleness<T>(calls: u32, call: impl Fn() -> T) -> Duration {
    let mut times: Vec<Duration> = (0..calls)
        .map(|_| {
            sleep(IDLE);
            once(&call)
        })
        .collect();
    times.sort_unstable();
    times[times.len() / 2]
}

/// The mean time of calls of which each begins when the one before has ended.
fn back_to_back<T>(calls: u32, call: impl Fn() -> T) -> Duration {
    once(|| (0..calls).for_each(|_| drop(black_box(call())))) / calls
}
