//! The row `idle`: workers park and are woken, over and over, in every way that there is to wake
//! one; a wake-up that is lost is a round that does not end.

mod ways;

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

use roving::Pool;

use crate::random::{SplitMix, mix2};
use crate::row::{BrokenPromise, Outcome, RowFigure, RowRun};
use ways::WAYS;

/// The goal of the full run.
const PARKS: f64 = 1e7;
/// Pools at the same time, each with a thread that hands work in.
const POOLS: usize = 4;
/// Rounds between two looks at the counters.
const ROUNDS: u64 = 200;

pub(crate) fn run(run: &RowRun<'_>) -> Outcome {
    let wanted = run.part_of(PARKS, 1000.0);
    let parks = AtomicU64::new(0);
    let rounds: Vec<AtomicU64> = WAYS.iter().map(|_| AtomicU64::new(0)).collect();
    let results: Vec<Result<(), BrokenPromise>> = thread::scope(|threads| {
        let (parks, rounds) = (&parks, &rounds);
        let driver = |number| threads.spawn(move || drive(number, wanted, parks, rounds, run));
        let drivers: Vec<_> = (0..POOLS as u64).map(driver).collect();
        let ends = drivers.into_iter().map(|driver| {
            let ended = driver.join();
            ended.unwrap_or_else(|_| Err(run.failure("a thread that hands work in panicked")))
        });
        ends.collect()
    });
    results.into_iter().collect::<Result<(), BrokenPromise>>()?;
    let parks = parks.into_inner() as f64;
    let all: u64 = rounds.iter().map(|rounds| rounds.load(Relaxed)).sum();
    let mut figures = vec![
        RowFigure::at_least(
            "times that a worker parked and was woken",
            parks,
            wanted,
            "parks",
        ),
        RowFigure::at_most("rounds that did not end", 0.0, 0.0, "rounds"),
        RowFigure::told("rounds", all as f64, "rounds"),
        RowFigure::told(
            "parks a second",
            parks / run.start.elapsed().as_secs_f64(),
            "parks/s",
        ),
    ];
    for (way, rounds) in WAYS.iter().zip(&rounds) {
        let what = format!("rounds, woken by {}", way.name);
        figures.push(RowFigure::told(what, rounds.load(Relaxed) as f64, "rounds"));
    }
    Ok(figures)
}

/// Rounds on one pool after the other, until all drivers together have parks enough and the time is
/// over.
fn drive(
    number: u64,
    wanted: f64,
    parks: &AtomicU64,
    rounds: &[AtomicU64],
    run: &RowRun<'_>,
) -> Result<(), BrokenPromise> {
    let mut random = SplitMix::new(mix2(run.seed, number));
    while !run.is_over(parks.load(Relaxed) as f64 >= wanted) {
        let workers = random.between(1, 4) as usize;
        let what = format!("idle: {workers} workers");
        let leash = run.dog.watch(what, run.replay());
        let pool = Pool::builder().workers(workers).name("idle").build();
        let pool = pool.map_err(|error| run.failure(error.to_string()))?;
        for _ in 0..25 {
            let at = random.below(WAYS.len() as u64) as usize;
            let way = &WAYS[at];
            // Long enough to park now and then, and short enough to catch workers on their way to
            // it.
            let pause_us = random.pick(&[0, 5, 30, 100, 200]);
            for _ in 0..ROUNDS / way.cost {
                (way.round)(&pool, &mut random);
                wait(random.below(pause_us + 1));
            }
            rounds[at].fetch_add(ROUNDS / way.cost, Relaxed);
            leash.stroke();
            if run.is_over(parks.load(Relaxed) as f64 >= wanted) {
                break;
            }
        }
        parks.fetch_add(pool.profile().total().counters.parks, Relaxed);
        run.tell(|| format!("{} parks", parks.load(Relaxed)));
    }
    Ok(())
}

/// Sleeps: the workers need the processor to find that there is nothing to do.
fn wait(us: u64) {
    match us {
        0 => {}
        1..5 => thread::yield_now(),
        _ => thread::sleep(Duration::from_micros(us)),
    }
}
