//! Loops of which other workers have parts, together with what else a pool does: sizes that change,
//! shares of an arena, async tasks, workers that block, a pool that is stopped.

mod common;

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::thread;
use std::time::Duration;

use common::{Random, size, step, tries, watched};
use roving::task::{self, fork};
use roving::{Arena, Pool, blocking, join, map_reduce, par_for};

const ITEMS: usize = size(200, 24);

/// The sum of all indices, by a loop with what `meanwhile` does at each of them.
fn sum(seed: usize, meanwhile: impl Fn(usize) + Sync) -> usize {
    let at = |index| {
        step(seed as u64, index);
        meanwhile(index);
        index
    };
    map_reduce(0..ITEMS, 0, at, |a, b| a + b)
}

const SUM: usize = ITEMS * (ITEMS - 1) / 2;

/// A pool with threads of its own, and two shares of an arena of fewer threads than they ask for.
fn pools(most: usize) -> [Pool; 3] {
    let arena = Arena::new(most - 1).unwrap();
    [Pool::builder(), arena.pool(), arena.pool()].map(|builder| {
        let builder = builder.workers(most).workers_max(most);
        builder.build().unwrap()
    })
}

/// Fails if nobody has taken a part anywhere.
fn somebody_helped(pools: &[Pool]) {
    let stolen = |pool: &Pool| pool.profile().total().counters.tasks_stolen;
    let stolen: u64 = pools.iter().map(stolen).sum();
    assert!(cfg!(miri) || stolen > 0, "nobody helped");
}

/// From outside, and from within the loop.
#[test]
fn the_size_changes() {
    watched(|| {
        let pools = pools(4);
        for pool in &pools {
            let stop = AtomicBool::new(false);
            thread::scope(|s| {
                s.spawn(|| {
                    let mut random = Random(11);
                    while !stop.load(SeqCst) {
                        pool.resize(1 + random.below(4) as usize).unwrap();
                        thread::sleep(Duration::from_micros(random.below(100)));
                    }
                });
                for seed in 0..tries(60) {
                    let resized = |index| {
                        if index % 16 == seed % 16 {
                            pool.resize(1 + index % 4).unwrap();
                        }
                    };
                    assert_eq!(pool.install(|| sum(seed, resized)), SUM);
                }
                stop.store(true, SeqCst);
            });
        }
        somebody_helped(&pools);
    });
}

/// A loop in one pool has loops in the others in its parts, and the threads of the arena go to and
/// fro between its shares.
#[test]
fn loops_of_several_pools_are_in_one_another() {
    watched(|| {
        let pools = pools(3);
        for seed in 0..tries(8) {
            let inner = AtomicUsize::new(0);
            let elsewhere = |index: usize| {
                if index % 8 == 0 {
                    let pool = &pools[(seed + index / 8) % 3];
                    let found = pool.install(|| sum(seed + index, |_| ()));
                    inner.fetch_add(found, SeqCst);
                }
            };
            let outer = pools[seed % 3].install(|| sum(seed, elsewhere));
            assert_eq!(outer, SUM);
            assert_eq!(inner.into_inner(), SUM * ITEMS.div_ceil(8));
        }
        somebody_helped(&pools);
    });
}

/// Tasks whose continuations are stolen loop before and after they are, and a part of a loop runs
/// tasks.
#[test]
fn async_tasks_loop_and_loops_run_tasks() {
    fn tree(seed: usize, depth: usize) -> Pin<Box<dyn Future<Output = usize> + Send>> {
        Box::pin(async move {
            if depth == 0 {
                return sum(seed, |_| ());
            }
            let left = fork(tree(2 * seed, depth - 1)).await;
            let here = sum(seed, |index| {
                if index % 32 == 0 {
                    let both = task::block_on(async {
                        let one = fork(async move { index }).await;
                        one.await + 1
                    });
                    assert_eq!(both, index + 1);
                }
            });
            let right = tree(2 * seed + 1, depth - 1).await;
            here + right + left.await
        })
    }
    watched(|| {
        let pools = pools(3);
        for seed in 0..tries(6) {
            for pool in &pools {
                let total = pool.run(|_| tree(seed + 1, 3));
                assert_eq!(total, 15 * SUM);
            }
        }
        somebody_helped(&pools);
    });
}

/// Those who stand in for workers that block take parts too.
#[test]
fn workers_block_in_parts() {
    watched(|| {
        let pools = pools(3);
        for seed in 0..tries(10) {
            for pool in &pools {
                let blocks = |index: usize| {
                    if index % 16 == 3 {
                        blocking(|| thread::sleep(Duration::from_micros(300)));
                    }
                };
                let two = || join(|| sum(seed, blocks), || sum(seed + 1, blocks));
                assert_eq!(pool.install(two), (SUM, SUM));
            }
        }
        somebody_helped(&pools);
    });
}

/// A job that has begun ends with all parts of its loop, and the others are counted.
#[test]
fn a_pool_is_stopped_at_once() {
    watched(|| {
        for round in 0..tries(60) {
            let arena = Arena::new(2).unwrap();
            for builder in [Pool::builder(), arena.pool()] {
                let pool = builder.workers(3).build().unwrap();
                let (begun, items) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
                const JOBS: usize = 8;
                for job in 0..JOBS {
                    let (begun, items) = (Arc::clone(&begun), Arc::clone(&items));
                    drop(pool.spawn(move || {
                        begun.fetch_add(1, SeqCst);
                        par_for(0..ITEMS, |index| {
                            step(job as u64, index);
                            items.fetch_add(1, SeqCst);
                        });
                    }));
                }
                thread::sleep(Duration::from_micros(50 * round as u64));
                let dropped = pool.shutdown_now();
                assert_eq!(begun.load(SeqCst) + dropped.tasks(), JOBS);
                assert_eq!(items.load(SeqCst), begun.load(SeqCst) * ITEMS);
            }
        }
    });
}
