//! The row `deep`: recursion a million levels deep, with a bound on the native stack that is stated
//! first.

mod levels;
mod overflow;
mod uts;

use roving::Pool;

use crate::row::{BrokenPromise, Outcome, RowFigure, RowRun};
use levels::{LevelStorage, Nesting, SHAPES};

pub(crate) use overflow::overflow;

/// Levels.
const DEPTH: u64 = 1_000_000;
/// Levels by which the size of one is measured: more than a task stack has slots, because a level
/// without one takes more.
const PROBE: u64 = 20_000;
/// Native stack that the levels may take together; where frames are too large for that (a debug
/// build), there are fewer levels.
const STACK_MAX: u64 = 1 << 30;
/// Native stack beyond what the levels take.
const MARGIN: u64 = 256 << 10;

fn pool(workers: usize, stack_size: u64, run: &RowRun<'_>) -> Result<Pool, BrokenPromise> {
    Pool::builder()
        .workers(workers)
        .name("deep")
        .stack_size(stack_size as usize)
        .on_start(|_| levels::begin_thread())
        .build()
        .map_err(|error| run.failure(error.to_string()))
}

pub(crate) fn run(run: &RowRun<'_>) -> Outcome {
    let mut figures = Vec::new();
    for shape in &SHAPES {
        let leash = run.dog.watch(format!("deep: {}", shape.name), run.replay());
        figures.extend(one(shape, run)?);
        drop(leash);
        run.tell(|| shape.name.to_owned());
    }
    figures.extend(overflow::figures(run)?);
    figures.extend(uts::figures(run)?);
    Ok(figures)
}

/// The bound, from a small depth on one worker; and what four workers take at the full depth.
fn one(shape: &Nesting, run: &RowRun<'_>) -> Outcome {
    let probe = pool(1, STACK_MAX, run)?;
    let small = levels::stack_used(&probe, shape, PROBE).map_err(|text| run.failure(text))?;
    let large = levels::stack_used(&probe, shape, 2 * PROBE).map_err(|text| run.failure(text))?;
    drop(probe);
    let level = large.saturating_sub(small).div_ceil(PROBE);
    // Ten seconds have time for all of them.
    let most = DEPTH as f64 * (run.time.as_secs_f64() / 10.0).clamp(0.05, 1.0);
    let most = most as u64;
    let (depth, bound) = match shape.kind {
        LevelStorage::Native => {
            let depth = most.min(STACK_MAX / (2 * level.max(1)));
            // A thief's first level comes with frames of the runtime, and a worker that waits may
            // run levels below on top: a level takes at most twice what it takes alone.
            (depth, 2 * level * depth + MARGIN)
        }
        // The levels lie in frames of their own, not on the native stack.
        LevelStorage::Frames => (most, small + MARGIN),
    };
    let deep = pool(4, bound + MARGIN, run)?;
    let mut used = 0;
    for _ in 0..3 {
        let once = levels::stack_used(&deep, shape, depth).map_err(|text| run.failure(text))?;
        used = used.max(once);
    }
    let name = shape.name;
    let levels = RowFigure::told(format!("levels of {name}"), depth as f64, "levels");
    let what = format!("native stack of a worker, {name}");
    Ok(vec![
        levels,
        RowFigure::told(
            format!("native stack of a level, {name}"),
            level as f64,
            "B",
        ),
        RowFigure::at_most(what, used as f64 / 1024.0, (bound / 1024) as f64, "KiB"),
    ])
}
