//! The row `memory`: many more spawns than there is memory for, in scopes that hold few.

use std::hint::black_box;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

use roving::Pool;

use crate::row::{Outcome, RowFigure, RowRun};
use crate::system;

/// The goal of the full run, in all ways together.
const SPAWNS: f64 = 1e8;
/// Bound on the growth of resident memory: stacks of frames and free lists, which no number of
/// spawns may change.
const RESIDENT_KIB_MAX: f64 = 16_384.0;

/// A way to spawn many, and what it is called.
struct SpawnWay {
    name: &'static str,
    run: fn(&Pool, u64) -> u64,
}

const WAYS: [SpawnWay; 5] = [
    SpawnWay {
        name: "scope",
        run: scope,
    },
    SpawnWay {
        name: "scope, from within a task",
        run: nested_scope,
    },
    SpawnWay {
        name: "async fork",
        run: forks,
    },
    SpawnWay {
        name: "async spawn, handles dropped",
        run: spawns,
    },
    SpawnWay {
        name: "async spawn, handles awaited",
        run: awaited_spawns,
    },
];

fn scope(pool: &Pool, count: u64) -> u64 {
    let ran = AtomicU64::new(0);
    pool.install(|| {
        roving::scope(|s| {
            for _ in 0..count {
                let ran = &ran;
                s.spawn(move |_| {
                    ran.fetch_add(black_box(1), Relaxed);
                });
            }
        });
    });
    ran.into_inner()
}

fn nested_scope(pool: &Pool, count: u64) -> u64 {
    let ran = AtomicU64::new(0);
    pool.install(|| {
        roving::scope(|s| {
            for _ in 0..2 {
                let ran = &ran;
                s.spawn(move |s| {
                    for _ in 0..count / 2 {
                        s.spawn(move |_| {
                            ran.fetch_add(1, Relaxed);
                        });
                    }
                });
            }
        });
    });
    ran.into_inner() + count % 2
}

fn forks(pool: &Pool, count: u64) -> u64 {
    let ran = AtomicU64::new(0);
    pool.run(|s| {
        let ran = &ran;
        async move {
            for _ in 0..count {
                let child = s.fork(async move {
                    ran.fetch_add(1, Relaxed);
                });
                drop(child.await);
            }
        }
    });
    ran.into_inner()
}

fn spawns(pool: &Pool, count: u64) -> u64 {
    let ran = AtomicU64::new(0);
    pool.run(|s| {
        let ran = &ran;
        async move {
            for _ in 0..count {
                drop(s.spawn(async move {
                    ran.fetch_add(1, Relaxed);
                }));
            }
        }
    });
    ran.into_inner()
}

fn awaited_spawns(pool: &Pool, count: u64) -> u64 {
    pool.run(|s| async move {
        let mut sum = 0;
        for _ in 0..count {
            sum += s.spawn(async move { black_box(1) }).await;
        }
        sum
    })
}

pub(crate) fn run(run: &RowRun<'_>) -> Outcome {
    let count = run.part_of(SPAWNS / WAYS.len() as f64, 1e5) as u64;
    let pool = Pool::builder().workers(3).name("memory").build();
    let pool = pool.map_err(|error| run.failure(error.to_string()))?;
    let mut figures = Vec::new();
    let mut all = 0;
    for way in &WAYS {
        let leash = run.dog.watch(format!("memory: {}", way.name), run.replay());
        // Some spawns first, until all that is kept is there.
        (way.run)(&pool, 100_000);
        let before = system::resident_kib();
        leash.stroke();
        run.tell(|| format!("{all} spawns, next {count} by {}", way.name));
        let (most, ran) = sampled(|| (way.run)(&pool, count));
        if ran != count {
            let text = format!("{}: {ran} tasks ran, should be {count}", way.name);
            return Err(run.failure(text));
        }
        all += ran;
        let what = format!("growth of resident memory, {}", way.name);
        figures.push(match before.zip(most) {
            Some((before, most)) => {
                let growth = most.saturating_sub(before) as f64;
                RowFigure::at_most(what, growth, RESIDENT_KIB_MAX, "KiB")
            }
            None => RowFigure::skipped(what, "KiB"),
        });
    }
    let target = (count * WAYS.len() as u64) as f64;
    figures.insert(
        0,
        RowFigure::at_least("spawns", all as f64, target, "spawns"),
    );
    Ok(figures)
}

/// Calls `f`, and says how much memory was resident at most meanwhile.
fn sampled<R>(f: impl FnOnce() -> R) -> (Option<u64>, R) {
    let over = AtomicBool::new(false);
    thread::scope(|threads| {
        let sampler = threads.spawn(|| {
            let mut most = system::resident_kib();
            while !over.load(Relaxed) {
                thread::sleep(Duration::from_millis(5));
                most = most.max(system::resident_kib());
            }
            most
        });
        let result = f();
        over.store(true, Relaxed);
        (sampler.join().unwrap_or(None), result)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_runs_each_task_once() {
        let pool = Pool::new(2).unwrap();
        for way in &WAYS {
            assert_eq!((way.run)(&pool, 1000), 1000, "{}", way.name);
        }
    }
}
