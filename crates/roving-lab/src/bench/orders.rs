//! The row about the order of spawning on flat parallelism: what WORMS' paper left open.

use std::time::Duration;

use roving::policy::Amount;
use roving::{Pool, WorkerProfile};

use super::Scale;
use super::record::RowRecord;
use super::tasks::{field, lane};
use crate::io::figures::counted;
use crate::io::input::CommandFailure;
use crate::job::measure;
use crate::rivals::Runtime;
use crate::timing::lanes::interleave;
use crate::workloads::WorkloadJob;

/// A million empty tasks, as in the paper, and as long a time in tasks with something to do.
const INPUTS: [(&str, &str); 4] = [
    ("1e6", "2e4"),
    ("1e6x100ns", "1e4x100ns"),
    ("1e5x1us", "1e3x1us"),
    ("1e4x10us", "1e2x10us"),
];

const ORDERS: [Runtime; 3] = [
    Runtime::RovingFork,
    Runtime::RovingSpawn,
    Runtime::RovingBranch,
];

/// Times of each order, and what the profile says of one run more.
pub(super) fn flat(scale: &Scale) -> Result<RowRecord, CommandFailure> {
    let mut record = RowRecord::default();
    for (full, quick) in INPUTS {
        let input = if scale.quick { quick } else { full };
        let field = field("flat", input)?;
        let mut lanes = vec![field.serial()];
        for workers in [1, 2] {
            for runtime in ORDERS {
                lanes.push(lane(&field, runtime, workers, Amount::One)?);
            }
        }
        let series = interleave(&mut lanes, scale.rounds(9)).map_err(CommandFailure::Run)?;
        drop(lanes);
        let factor = 1e9 / field.items() as f64;
        for one in &series {
            record.series(&format!("flat {input}"), one, "ns/task", factor);
        }
        for workers in [1, 2] {
            for runtime in ORDERS {
                profiled(&mut record, input, runtime, workers)?;
            }
        }
    }
    Ok(record)
}

/// One run, the third of its pool, with statistics on: where the workers' time went, and what they
/// did for each task.
fn profiled(
    record: &mut RowRecord,
    input: &str,
    runtime: Runtime,
    workers: usize,
) -> Result<(), CommandFailure> {
    let mut job = WorkloadJob::parse("flat", Some(input))?;
    let pool = Pool::builder().workers(workers).profile(true).build();
    let pool = pool.map_err(|error| CommandFailure::Run(format!("no pool: {error}")))?;
    let form = runtime.form().expect("one of ours");
    for _ in 0..2 {
        measure::parallel(&mut job, &pool, form);
    }
    pool.reset_profile();
    measure::parallel(&mut job, &pool, form);
    let profile = pool.profile().total();
    let of = format!(
        "flat {input}, {}, {}",
        runtime.name(),
        counted(workers, "worker")
    );
    for (state, share) in shares(&profile) {
        record.single(&format!("{of}: {state}"), "%", share);
    }
    let counters = profile.counters;
    for (what, count) in [
        ("tasks stolen", counters.tasks_stolen),
        ("publications", counters.publications),
        ("frames made", counters.frames_allocated),
        ("most tasks waiting", counters.max_depth),
    ] {
        record.single(&format!("{of}: {what}"), "", count as f64);
    }
    Ok(())
}

/// The five states of the workers, in percent of their time.
fn shares(profile: &WorkerProfile) -> [(&'static str, f64); 5] {
    let states = [
        ("busy", profile.busy),
        ("steal", profile.steal),
        ("idle", profile.idle),
        ("switch", profile.switch),
        ("frame", profile.frame),
    ];
    let all: Duration = states.iter().map(|(_, time)| *time).sum();
    states.map(|(state, time)| {
        let share = time.as_secs_f64() / all.as_secs_f64().max(f64::MIN_POSITIVE);
        (state, share * 100.0)
    })
}
