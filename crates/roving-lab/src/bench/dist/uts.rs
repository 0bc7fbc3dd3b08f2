//! The row about a search by ranks: how fast, and whether it is exact.

use std::time::Duration;

use roving::Pool;
use roving_dist::World;

use super::ask::{ask, has_ranks, word};
use crate::bench::Scale;
use crate::bench::record::{Bound::AtLeast, RowRecord};
use crate::dist::{failure, uts};
use crate::forms::tasks::Form;
use crate::io::input::{CommandFailure, number_in};
use crate::job::measure;
use crate::timing::lanes::{TimedLane, find, interleave};
use crate::timing::times::Times;
use crate::workloads::uts::{Uts, answer};
use crate::workloads::{Workload, WorkloadJob};

/// Two ranks of one worker against one rank of two workers; and the count in many runs.
pub(in crate::bench) fn uts(scale: &Scale) -> Result<RowRecord, CommandFailure> {
    let mut record = RowRecord::default();
    if !has_ranks(&mut record) {
        return Ok(record);
    }
    // Runs in one process, and processes.
    let trees = if scale.quick {
        [("T3", "2", 1), ("T1", "1", 1)]
    } else {
        [("T3", "9", 7), ("T1L", "1", 7)]
    };
    for (input, runs, rounds) in trees {
        one_tree(&mut record, input, runs, rounds)?;
    }
    let runs = scale.rounds(100);
    let mut exact = 0.0;
    for ranks in [1, 2, 4, 8] {
        let count = ask(ranks, &["dist-exact", &runs.to_string()])?;
        let what = format!("runs with the exact count, of {runs}, on so many ranks: {ranks}");
        record.single(&what, "runs", count[0]);
        exact += count[0];
    }
    let share = exact / (4 * runs) as f64;
    record.claim(
        "counts exact on 1, 2, 4 and 8 ranks",
        "of all",
        share,
        AtLeast(1.0),
        None,
    );
    Ok(record)
}

/// The two ways to use two cores, in turn.
fn one_tree(
    record: &mut RowRecord,
    input: &str,
    runs: &str,
    rounds: usize,
) -> Result<(), CommandFailure> {
    let timed = |ranks: usize, how: &'static str, workers: &'static str| {
        move || {
            let seconds = ask(ranks, &["dist-uts", how, input, workers, runs, "1"]);
            let seconds = seconds.map_err(|failure| failure.to_string())?;
            let mut times = Times::default();
            for second in seconds {
                times.push(Duration::from_secs_f64(second));
            }
            Ok(Duration::from_secs_f64(times.median()))
        }
    };
    let mut lanes = [
        TimedLane::new("bag, 2 ranks", 1, timed(2, "bag", "1")),
        TimedLane::new("bag, 1 rank", 2, timed(1, "bag", "2")),
        TimedLane::new("join, no ranks", 2, timed(1, "join", "2")),
    ];
    let series = interleave(&mut lanes, rounds).map_err(CommandFailure::Run)?;
    for one in &series {
        record.series(&format!("uts {input}"), one, "ms", 1e3);
    }
    let median = |name, workers| {
        let found = find(&series, name, workers);
        let missing = || CommandFailure::Run(format!("{name} was not measured"));
        Ok::<f64, CommandFailure>(found.ok_or_else(missing)?.times.median())
    };
    let speed = median("bag, 1 rank", 2)? / median("bag, 2 ranks", 1)?;
    let what = format!("uts {input}: 2 ranks of 1 worker, speed over 1 rank of 2 workers");
    record.claim(what, "×", speed, AtLeast(0.92), None);
    let speed = median("join, no ranks", 2)? / median("bag, 2 ranks", 1)?;
    record.single(
        &format!("uts {input}: 2 ranks of 1 worker, speed over joins of 2 workers"),
        "×",
        speed,
    );
    Ok(())
}

/// `dist-uts bag|join INPUT WORKERS RUNS FIRST`: the seconds of each run, after the first ones,
/// which warm up.
pub(super) fn times(world: &World, words: &[String]) -> Result<Vec<f64>, CommandFailure> {
    let form = "dist-uts bag|join INPUT WORKERS RUNS FIRST";
    let (how, input) = (word(words, 0, form)?, word(words, 1, form)?);
    let workers = number_in("workers", word(words, 2, form)?, 1..=64, form)? as usize;
    let runs = number_in("runs", word(words, 3, form)?, 1..=1000, form)?;
    let first = number_in("first runs", word(words, 4, form)?, 0..=1000, form)?;
    let mut job = WorkloadJob::parse("uts", Some(input))?;
    let work = Uts::parse(input)?;
    let pool = Pool::builder()
        .workers(workers)
        .stack_size(job.stack_bytes())
        .build();
    let pool = pool.map_err(|error| CommandFailure::Run(format!("no pool: {error}")))?;
    let expected = work.expected().map(|(expected, _)| expected);
    let mut seconds = Vec::new();
    for _ in 0..first + runs {
        let (time, found) = match how {
            "join" => measure::parallel(&mut job, &pool, Form::Join),
            _ => {
                let (time, found) = uts::search(world, &pool, &work, None)?;
                (time, answer(&found))
            }
        };
        if expected.is_some_and(|expected| expected != found) {
            return Err(CommandFailure::Run(format!(
                "uts {input}: found {:?}",
                found.0
            )));
        }
        seconds.push(time.as_secs_f64());
    }
    Ok(seconds.split_off(first as usize))
}

/// `dist-exact RUNS`: how many of so many searches, each of another small tree, find what a serial
/// one does.
pub(super) fn exact(world: &World, words: &[String]) -> Result<Vec<f64>, CommandFailure> {
    let form = "dist-exact RUNS";
    let runs = number_in("runs", word(words, 0, form)?, 1..=10_000, form)?;
    let pool = Pool::new(1).map_err(|error| CommandFailure::Run(format!("no pool: {error}")))?;
    let mut exact = 0;
    for run in 0..runs {
        let mut work = Uts::parse(&format!("-t0 -b200 -q0.124875 -m8 -r{run}"))?;
        let (_, found) = uts::search(world, &pool, &work, None)?;
        measure::on_stack(work.stack_bytes(), || work.run_serial())?;
        exact += u64::from(answer(&found) == work.answer());
    }
    world.barrier().map_err(failure)?;
    Ok(vec![exact as f64])
}
