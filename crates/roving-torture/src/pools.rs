//! The row `pools`: pools that come and go leave nothing behind.

use std::thread;
use std::time::{Duration, Instant};

use roving::{Arena, BuildError, Pool};

use crate::heap;
use crate::random::SplitMix;
use crate::row::{BrokenPromise, Outcome, RowFigure, RowRun};
use crate::system;

/// The goal of the full run.
const POOLS: f64 = 10_000.0;
/// At the same time.
const AT_ONCE: usize = 100;
/// Part of the pools that come before anything is measured: caches of the C library and the kernel
/// fill.
const WARM_UP: f64 = 0.1;
/// Bound on what the C library keeps of the stacks of ended threads, and of freed memory.
const RESIDENT_KIB_MAX: f64 = 8192.0;
/// The limit of resident memory after many threads have allocated and freed at once: less than they
/// hold themselves.
const RESIDENT_AT_ONCE_KIB_MAX: f64 = 65_536.0;
const MAPPINGS_MAX: f64 = 32.0;
const BLOCKS_MAX: f64 = 32.0;

/// The system's resources that this process holds.
#[derive(Clone, Copy, Debug)]
struct Holdings {
    threads: Option<usize>,
    files: Option<usize>,
    mappings: Option<usize>,
    resident_kib: Option<u64>,
    blocks: i64,
}

impl Holdings {
    fn now() -> Holdings {
        Holdings {
            threads: system::threads(),
            files: system::files(),
            mappings: system::mappings(),
            resident_kib: system::resident_kib(),
            blocks: heap::in_use().blocks,
        }
    }

    /// Once threads that were joined have left the system's lists too, which is a moment later.
    fn settled(threads: Option<usize>) -> Holdings {
        let start = Instant::now();
        loop {
            let now = Holdings::now();
            if now.threads <= threads || start.elapsed() > Duration::from_secs(60) {
                return now;
            }
            thread::sleep(Duration::from_millis(1));
        }
    }
}

pub(crate) fn run(run: &RowRun<'_>) -> Outcome {
    let pools = run.part_of(POOLS, 200.0) as u64;
    let mut random = SplitMix::new(run.seed);
    let threads = system::threads();
    let leash = run.dog.watch("pools, one after the other", run.replay());
    let warm_up = (pools as f64 * WARM_UP) as u64;
    for _ in 0..warm_up {
        one(&mut random, run)?;
        leash.stroke();
    }
    // Until the C library keeps as much memory as it will.
    for _ in 0..5 {
        many_at_once(&mut random, run)?;
        leash.stroke();
    }
    let before = Holdings::settled(threads);
    let start = Instant::now();
    for number in 0..pools {
        one(&mut random, run)?;
        leash.stroke();
        run.tell(|| format!("{number} pools"));
    }
    let a_pool_us = start.elapsed().as_secs_f64() * 1e6 / pools as f64;
    let after = Holdings::settled(before.threads);
    many_at_once(&mut random, run)?;
    drop(leash);
    let at_once = Holdings::settled(before.threads);
    let mut figures = vec![
        RowFigure::at_least(
            "pools built and dropped",
            pools as f64,
            pools as f64,
            "pools",
        ),
        RowFigure::told("to build, use and drop one", a_pool_us, "µs"),
    ];
    let (one, many) = (RESIDENT_KIB_MAX, RESIDENT_AT_ONCE_KIB_MAX);
    figures.extend(growth("one after the other", one, before, after));
    figures.extend(growth("100 at once", many, before, at_once));
    Ok(figures)
}

fn growth(when: &str, resident_kib_max: f64, before: Holdings, after: Holdings) -> Vec<RowFigure> {
    let figure = |what: &str, unit, before: Option<f64>, after: Option<f64>, bound| {
        let what = format!("{what} more than before, {when}");
        match before.zip(after) {
            Some((before, after)) => {
                RowFigure::at_most(what, (after - before).max(0.0), bound, unit)
            }
            None => RowFigure::skipped(what, unit),
        }
    };
    let number = |count: Option<usize>| count.map(|count| count as f64);
    let kib = |kib: Option<u64>| kib.map(|kib| kib as f64);
    vec![
        figure(
            "threads",
            "threads",
            number(before.threads),
            number(after.threads),
            0.0,
        ),
        figure(
            "files",
            "files",
            number(before.files),
            number(after.files),
            0.0,
        ),
        figure(
            "mappings",
            "mappings",
            number(before.mappings),
            number(after.mappings),
            MAPPINGS_MAX,
        ),
        figure(
            "resident memory",
            "KiB",
            kib(before.resident_kib),
            kib(after.resident_kib),
            resident_kib_max,
        ),
        figure(
            "blocks of memory",
            "blocks",
            Some(before.blocks as f64),
            Some(after.blocks as f64),
            BLOCKS_MAX,
        ),
    ]
}

fn build(random: &mut SplitMix, run: &RowRun<'_>) -> Result<Pool, BrokenPromise> {
    let workers = random.between(1, 4) as usize;
    let builder = Pool::builder().workers(workers).name("pools");
    let builder = builder.profile(random.one_in(4)).pin(random.one_in(8));
    let built = match random.one_in(16) {
        true => builder.caller_runs().build(),
        false => builder.build(),
    };
    built.map_err(|error| run.failure(error.to_string()))
}

/// An arena with some shares, one of which calls another; the handle goes before, between or after
/// them.
fn shares(random: &mut SplitMix, run: &RowRun<'_>) -> Result<(), BrokenPromise> {
    let failed = |error: BuildError| run.failure(error.to_string());
    let threads = random.between(1, 3) as usize;
    let mut arena = Some(Arena::new(threads).map_err(failed)?);
    let mut pools = Vec::new();
    for _ in 0..random.between(1, 4) {
        let builder = arena.as_ref().map_or_else(Pool::builder, Arena::pool);
        pools.push(builder.build().map_err(failed)?);
    }
    let last = &pools[pools.len() - 1];
    pools[0].install(|| works(last, run))?;
    let goes_at = random.below(pools.len() as u64 + 1) as usize;
    for (number, pool) in pools.into_iter().enumerate() {
        arena.take_if(|_| number == goes_at);
        match random.one_in(3) {
            true => drop(pool.shutdown_now()),
            false => works(&pool, run)?,
        }
    }
    Ok(())
}

fn one(random: &mut SplitMix, run: &RowRun<'_>) -> Result<(), BrokenPromise> {
    if random.one_in(8) {
        return shares(random, run);
    }
    let pool = build(random, run)?;
    // Some are dropped before their workers have looked around, some with work.
    match random.below(4) {
        0 => Ok(()),
        1 => {
            (0..10).for_each(|_| drop(pool.spawn(|| drop(vec![0_u8; 100]))));
            Ok(())
        }
        _ => works(&pool, run),
    }
}

fn works(pool: &Pool, run: &RowRun<'_>) -> Result<(), BrokenPromise> {
    let sum = pool.install(|| roving::map_reduce(0..1000, 0, |index| index, |a, b| a + b));
    match sum == 499_500 {
        true => Ok(()),
        false => Err(run.failure(format!("a pool came to {sum}, should be 499500"))),
    }
}

fn many_at_once(random: &mut SplitMix, run: &RowRun<'_>) -> Result<(), BrokenPromise> {
    let mut pools = Vec::new();
    for _ in 0..AT_ONCE {
        pools.push(build(random, run)?);
    }
    // From one to the next.
    for (at, pool) in pools.iter().enumerate() {
        let next = &pools[(at + 1) % AT_ONCE];
        works(pool, run)?;
        pool.install(|| works(next, run))?;
    }
    // All at the same time.
    thread::scope(|threads| {
        let all: Vec<_> = pools
            .iter()
            .map(|pool| threads.spawn(|| works(pool, run)))
            .collect();
        all.into_iter().try_for_each(|one| {
            let one = one.join();
            one.unwrap_or_else(|_| Err(run.failure("a pool of many panicked")))
        })
    })
}
