//! The rows about async tasks: what one costs, and how much a thief is to take.

use roving::Pool;
use roving::policy::Amount;

use super::Scale;
use super::probe::{self, Probe};
use super::record::{
    Bound::{AtLeast, AtMost},
    RowRecord,
};
use crate::compare::field::Field;
use crate::forms::tasks::Form;
use crate::io::figures::counted;
use crate::io::input::CommandFailure;
use crate::job::measure;
use crate::rivals::Runtime;
use crate::timing::lanes::SERIAL;
use crate::timing::lanes::{Series, TimedLane, find, interleave};
use crate::workloads::WorkloadJob;

/// Our two orders, and what must be reached of a million empty tasks on 1 and 2 workers, in ns a
/// task.
const ORDERS: [(Runtime, [(f64, f64); 2]); 2] = [
    (Runtime::RovingFork, [(20.0, 8.0), (25.0, 12.0)]),
    (Runtime::RovingSpawn, [(30.0, 15.0), (60.0, 25.0)]),
];

pub(super) fn field(workload: &str, input: &str) -> Result<Field, CommandFailure> {
    Field::new(WorkloadJob::parse(workload, Some(input))?)
}

/// One of ours in a form, on so many workers, with thieves that take this much.
pub(super) fn lane(
    field: &Field,
    runtime: Runtime,
    workers: usize,
    steal: Amount,
) -> Result<TimedLane<'_>, CommandFailure> {
    let form = runtime.form().expect("one of ours");
    let lane = field.ours(runtime, form, workers, steal)?;
    lane.map_err(|why| CommandFailure::Run(format!("{}: {}", runtime.name(), why.0)))
}

fn median(series: &[Series], name: &str, workers: usize) -> Result<f64, CommandFailure> {
    let one = find(series, name, workers);
    let one = one.ok_or_else(|| CommandFailure::Run(format!("{name} was not measured")))?;
    Ok(one.times.median())
}

/// The cost of a task: `fib`, of which each call is one, and a million empty ones.
pub(super) fn cost(scale: &Scale) -> Result<RowRecord, CommandFailure> {
    let mut record = RowRecord::default();
    let input = if scale.quick { "22" } else { "35" };
    let fib = field("fib", input)?;
    let mut lanes = vec![fib.serial()];
    for runtime in [Runtime::RovingFork, Runtime::RovingSpawn] {
        lanes.push(lane(&fib, runtime, 1, Amount::One)?);
        lanes.push(lane(&fib, runtime, 2, Amount::One)?);
    }
    let series = interleave(&mut lanes, scale.rounds(7)).map_err(CommandFailure::Run)?;
    drop(lanes);
    let of = format!("fib({input})");
    series
        .iter()
        .for_each(|one| record.series(&of, one, "s", 1.0));
    let beyond = median(&series, "roving-fork", 1)? - median(&series, SERIAL, 1)?;
    let what = format!("{of}, fork and call, 1 worker: time per node beyond the serial call");
    let nanos = beyond * 1e9 / fib.items() as f64;
    record.claim(what, "ns", nanos, AtMost(10.0), AtMost(7.0));
    empty(&mut record, scale)?;
    Ok(record)
}

/// A million empty tasks, beside tokio's.
fn empty(record: &mut RowRecord, scale: &Scale) -> Result<(), CommandFailure> {
    let flat = field("flat", scale.flat)?;
    let factor = 1e9 / flat.items() as f64;
    let mut lanes = Vec::new();
    for workers in [1, 2] {
        for (runtime, _) in ORDERS {
            lanes.push(lane(&flat, runtime, workers, Amount::One)?);
        }
        lanes.push(lane(&flat, Runtime::RovingBranch, workers, Amount::One)?);
    }
    match flat.runtime(Runtime::Tokio, 2)? {
        Ok(tokio) => lanes.push(tokio),
        Err(why) => record.absent.push(format!("tokio: {}", why.0)),
    }
    let series = interleave(&mut lanes, scale.rounds(9)).map_err(CommandFailure::Run)?;
    drop(lanes);
    let of = format!("async flat {}", scale.flat);
    series
        .iter()
        .for_each(|one| record.series(&of, one, "ns/task", factor));
    for (runtime, bounds) in ORDERS {
        let name = runtime.name();
        for (workers, (must, stretch)) in [1, 2].into_iter().zip(bounds) {
            let nanos = median(&series, name, workers)? * factor;
            let what = format!(
                "{of}, {name}, {}: time per task",
                counted(workers, "worker")
            );
            record.claim(what, "ns", nanos, AtMost(must), AtMost(stretch));
        }
    }
    if let Ok(tokio) = median(&series, "tokio", 2) {
        let ratio = tokio / median(&series, "roving-spawn", 2)?;
        let what = format!("{of}, 2 workers: a spawn of tokio's / ours");
        record.claim(what, "×", ratio, AtLeast(10.0), AtLeast(25.0));
    }
    memory(record, scale, &of)
}

/// The memory of a million work-first tasks, over that before the pool.
fn memory(record: &mut RowRecord, scale: &Scale, of: &str) -> Result<(), CommandFailure> {
    if crate::machine::memory::restart_peak().is_none() {
        let why = "memory: this system does not say how much is held";
        record.absent.push(why.into());
        return Ok(());
    }
    for workers in [1, 2] {
        let runtime = Runtime::RovingFork;
        let tasks = scale.flat.to_owned();
        let bytes = probe::ask(&Probe::FlatMemory {
            runtime,
            workers,
            tasks,
        })?;
        let what = format!(
            "{of}, roving-fork, {}: peak memory over base",
            counted(workers, "worker")
        );
        record.claim(what, "MiB", bytes / f64::from(1 << 20), AtMost(1.0), None);
    }
    Ok(())
}

/// How much thieves take, in each comparison.
const AMOUNTS: [Amount; 4] = [
    Amount::One,
    Amount::Fixed(2),
    Amount::Fixed(4),
    Amount::Half,
];

/// Workloads and inputs for the comparison of amounts: of the paper's kinds, small ones and the
/// paper's own sizes.
const COMPARED: [(&str, &str); 15] = [
    ("fib", "33"),
    ("uts", "A"),
    ("uts", "B"),
    ("flat", "1e6"),
    ("strassen", "1024"),
    ("strassen", "2048"),
    ("strassen", "4096"),
    ("sparselu", "25x100"),
    ("sparselu", "50x100"),
    ("fft", "1M"),
    ("fft", "32M"),
    ("fft", "64M"),
    ("cholesky", "2000"),
    ("matmul", "512"),
    ("substring", "20"),
];
/// Those that take a second and more each: fewer rounds tell as much.
const LONG: [&str; 6] = ["B", "2048", "4096", "50x100", "32M", "64M"];

/// One, fixed and half, of continuations (work-first) and of tasks (help-first).
pub(super) fn amounts(scale: &Scale) -> Result<RowRecord, CommandFailure> {
    let mut record = RowRecord::default();
    for (workload, input) in COMPARED {
        let rounds = scale.rounds(if LONG.contains(&input) { 3 } else { 7 });
        let input = if scale.quick {
            quick_input(workload)
        } else {
            input
        };
        let field = field(workload, input)?;
        for runtime in [Runtime::RovingFork, Runtime::RovingSpawn] {
            compared(&mut record, &field, runtime, (workload, input), rounds)?;
        }
    }
    let input = if scale.quick { quick_input("uts") } else { "A" };
    thefts(&mut record, input)?;
    Ok(record)
}

fn quick_input(workload: &str) -> &'static str {
    match workload {
        "fib" => "20",
        "flat" => "10000",
        "strassen" => "128",
        "sparselu" => "5x10",
        "fft" => "4096",
        "cholesky" => "200",
        "matmul" => "64",
        "substring" => "12",
        _ => "T1",
    }
}

fn compared(
    record: &mut RowRecord,
    field: &Field,
    runtime: Runtime,
    (workload, input): (&str, &str),
    rounds: usize,
) -> Result<(), CommandFailure> {
    let mut lanes = vec![field.serial()];
    for steal in AMOUNTS {
        lanes.push(lane(field, runtime, 2, steal)?);
    }
    let series = interleave(&mut lanes, rounds).map_err(CommandFailure::Run)?;
    let of = format!("{workload} {input}");
    series
        .iter()
        .for_each(|one| record.series(&of, one, "s", 1.0));
    // In the order of the lanes: serial, one, the fixed ones, half.
    let medians: Vec<f64> = series.iter().map(|one| one.times.median()).collect();
    let (serial, one, half) = (medians[0], medians[1], medians[medians.len() - 1]);
    let best = medians[2..medians.len() - 1]
        .iter()
        .copied()
        .fold(one, f64::min);
    let name = runtime.name();
    let what = format!("{of}, {name}, 2 workers: time of half / best of one and fixed");
    record.claim(what, "×", half / best, AtMost(1.03), None);
    if workload == "uts" && runtime == Runtime::RovingFork {
        let what = format!("{of}, {name}, half, 2 workers: speed-up over serial");
        record.claim(what, "×", serial / half, AtLeast(1.8), AtLeast(1.9));
    }
    Ok(())
}

/// How many steals a search needs, by amount: one run each, with statistics on.
fn thefts(record: &mut RowRecord, input: &str) -> Result<(), CommandFailure> {
    let mut counts = Vec::new();
    for steal in [Amount::One, Amount::Half] {
        let mut job = WorkloadJob::parse("uts", Some(input))?;
        let pool = Pool::builder()
            .workers(2)
            .steal(steal)
            .profile(true)
            .build();
        let pool = pool.map_err(|error| CommandFailure::Run(format!("no pool: {error}")))?;
        let mut won = 0;
        for _ in 0..5 {
            pool.reset_profile();
            measure::parallel(&mut job, &pool, Form::Fork);
            won += pool.profile().total().counters.steals_won;
        }
        record.single(
            &format!("uts {input}, roving-fork {steal}: thefts in 5 runs"),
            "thefts",
            won as f64,
        );
        counts.push(won as f64);
    }
    let what = format!("uts {input}, roving-fork, 2 workers: thefts with half / with one");
    record.claim(
        what,
        "×",
        counts[1] / counts[0].max(1.0),
        AtMost(0.25),
        None,
    );
    Ok(())
}
