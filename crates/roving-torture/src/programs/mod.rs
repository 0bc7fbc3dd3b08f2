//! The row `programs`: random programs on random pools, each against its serial evaluation.

mod contexts;
#[cfg(target_os = "linux")]
mod disturbed;
mod generate;
mod node;
mod parallel;
mod reduction;
mod round;
mod serial;
mod setup;
mod shrink;
mod tasks;

#[cfg(target_os = "linux")]
pub(crate) use disturbed::Disturbed;

use std::thread;
use std::time::{Duration, Instant};

use crate::census::Census;
use crate::dog::Dog;
use crate::heap;
use crate::random::mix2;
use crate::row::{BrokenPromise, Outcome, RowFigure, RowRun};
use round::{CLIENTS_MAX, DrawnRound, RoundCounts, Wrong};

/// The goal of the full run.
const TASKS: f64 = 1e9;
const PROGRAMS: f64 = 1e6;
/// Most tasks of a program, about.
pub(crate) const TASKS_MAX: u64 = 1_000_000;
/// Blocks of memory that may be kept between two rounds: what threads, locks and the like keep for
/// good.
const BLOCKS_KEPT: i64 = 64;
/// Rounds before the blocks are counted.
const WARM_UP: u64 = 20;

fn censuses() -> Vec<&'static Census> {
    (0..CLIENTS_MAX).map(|_| Census::leak()).collect()
}

/// Rounds until the time is over.
pub(crate) fn run(run: &RowRun<'_>) -> Outcome {
    let censuses = censuses();
    let tasks_max = run.part_of(TASKS_MAX as f64, 10_000.0) as u64;
    let (tasks, programs) = (run.part_of(TASKS, 1e4), run.part_of(PROGRAMS, 10.0));
    let (mut sum, mut rounds) = (RoundCounts::default(), 0_u64);
    let mut blocks_least = i64::MAX;
    let mut blocks_kept = 0;
    while !run.is_over(sum.tasks as f64 >= tasks && sum.programs as f64 >= programs) {
        let plan = DrawnRound::new(mix2(run.seed, rounds), tasks_max);
        let done = round::run(&plan, None, &censuses, run.dog)
            .map_err(|wrong| failure(&plan, &wrong, run.dog))?;
        sum.add(&done);
        rounds += 1;
        tasks::settle_outside();
        let blocks = settled(blocks_least.saturating_add(BLOCKS_KEPT));
        if rounds <= WARM_UP {
            blocks_least = blocks;
        }
        blocks_least = blocks_least.min(blocks);
        blocks_kept = blocks - blocks_least;
        if blocks_kept > BLOCKS_KEPT {
            return Err(BrokenPromise {
                text: format!(
                    "after {rounds} rounds {blocks_kept} more blocks of memory are in use than \
                     before, with all pools gone ({})",
                    plan.setup
                ),
                replay: plan.replay(None),
            });
        }
        run.tell(|| {
            format!(
                "{} tasks in {} programs on {rounds} sets of pools",
                sum.tasks, sum.programs
            )
        });
    }
    Ok(figures(&sum, rounds, blocks_kept, tasks, programs, run))
}

/// The blocks in use: threads that have been waited for may still be on their way out, so what is
/// more than `most` is given some time.
fn settled(most: i64) -> i64 {
    let start = Instant::now();
    loop {
        let blocks = heap::in_use().blocks;
        if blocks <= most || start.elapsed() > Duration::from_secs(60) {
            return blocks;
        }
        thread::sleep(Duration::from_millis(1));
    }
}

fn figures(
    sum: &RoundCounts,
    rounds: u64,
    blocks_kept: i64,
    tasks: f64,
    programs: f64,
    run: &RowRun<'_>,
) -> Vec<RowFigure> {
    let none = |what: &str| RowFigure::at_most(what, 0.0, 0.0, "programs");
    vec![
        RowFigure::at_least("tasks run", sum.tasks as f64, tasks, "tasks"),
        RowFigure::at_least("programs run", sum.programs as f64, programs, "programs"),
        none("programs with a wrong value, panic or count"),
        none("programs that hang"),
        none("programs that leak a value or drop one twice"),
        RowFigure::at_most(
            "blocks of memory kept when all pools are gone",
            blocks_kept as f64,
            BLOCKS_KEPT as f64,
            "blocks",
        ),
        RowFigure::told("sets of pools", rounds as f64, "sets"),
        RowFigure::told(
            "programs that came to a value",
            sum.values as f64,
            "programs",
        ),
        RowFigure::told(
            "programs that panicked, as they must",
            sum.panics as f64,
            "programs",
        ),
        RowFigure::told("detached jobs", sum.jobs as f64, "jobs"),
        RowFigure::told(
            "tasks a second",
            sum.tasks as f64 / run.start.elapsed().as_secs_f64(),
            "tasks/s",
        ),
    ]
}

/// Describes a failure, with the smallest program that fails in the same way.
fn failure(plan: &DrawnRound, wrong: &Wrong, dog: &Dog) -> BrokenPromise {
    let mut text = format!("round {} on {}: {}", plan.seed, plan.setup, wrong.text);
    if let Some(number) = wrong.program {
        let (seed, limits) = plan.programs[number];
        // The others may still be used by what went wrong.
        let census = Census::leak();
        let program = generate::program(seed, limits);
        text.push_str(&match shrink::smallest(&program, plan, census, dog) {
            Some((node, why)) => format!("\nthe smallest program that fails ({why}):\n{node:?}"),
            None => "\nalone it does not fail again in a few tries".to_owned(),
        });
    }
    BrokenPromise {
        text,
        replay: plan.replay(wrong.program),
    }
}

/// Runs one round, or one program of it, again and again.
pub(crate) fn replay(
    seed: u64,
    tasks_max: u64,
    only: Option<usize>,
    times: u64,
    dog: &Dog,
) -> Result<String, BrokenPromise> {
    let plan = DrawnRound::new(seed, tasks_max);
    if let Some(only) = only.filter(|only| *only >= plan.programs.len()) {
        let last = plan.programs.len() - 1;
        return Err(BrokenPromise {
            text: format!("--only {only}: the round has programs 0 to {last}"),
            replay: plan.replay(None),
        });
    }
    let censuses = censuses();
    let mut sum = RoundCounts::default();
    for _ in 0..times {
        let done =
            round::run(&plan, only, &censuses, dog).map_err(|wrong| failure(&plan, &wrong, dog))?;
        sum.add(&done);
    }
    let (programs, tasks) = (sum.programs, sum.tasks);
    Ok(format!(
        "{} on {}: {programs} programs with {tasks} tasks, all right",
        plan.seed, plan.setup
    ))
}
