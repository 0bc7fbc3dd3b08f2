//! Async tasks that spawn closures into a scope in which their root's blocking call stands.

mod common;

use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use common::{AMOUNTS, pool_that_steals, tries, watched, yield_now};
use roving::task::{block_on, fork, spawn};
use roving::{Pool, context, scope};

/// How many closures each call of [`closures_between_frames`] spawns.
const CLOSURES: usize = 7;

/// Closures lie on the stack below, between and above the frames of tasks, when these end or are
/// suspended.
fn closures_between_frames(run: &AtomicUsize) {
    let count = || {
        assert_eq!(context::get::<u8>(), Some(7));
        run.fetch_add(1, SeqCst);
    };
    scope(|s| {
        context::with(7_u8, || {
            let sum = block_on(async {
                let first = spawn(async { 1 });
                s.spawn(|_| count());
                let mut sum = fork(async { 2 }).await.await;
                s.spawn(|s| {
                    s.spawn(|_| count());
                    count();
                });
                yield_now().await;
                s.spawn(|_| {
                    roving::join(count, || ());
                });
                sum += first.await;
                yield_now().await;
                s.spawn(|_| count());
                fork(yield_now()).await.await;
                let second = spawn(async { 4 });
                s.spawn(|_| count());
                sum += second.await;
                s.spawn(|_| count());
                sum + fork(async { 8 }).await.await
            });
            assert_eq!(sum, 15);
        });
    });
}

#[test]
fn closures_and_frames_lie_on_one_stack() {
    watched(|| {
        for workers in [1, 2, 4] {
            for amount in AMOUNTS {
                let (pool, run) = (pool_that_steals(workers, amount), AtomicUsize::new(0));
                let rounds = tries(200);
                for _ in 0..rounds {
                    pool.install(|| closures_between_frames(&run));
                }
                assert_eq!(run.into_inner(), rounds * CLOSURES);
            }
        }
    });
}

#[test]
fn and_under_drawn_schedules() {
    watched(|| {
        for seed in 0..tries(200) {
            let builder = Pool::builder().deterministic(seed as u64).workers(3);
            let (pool, run) = (builder.build().unwrap(), AtomicUsize::new(0));
            pool.install(|| closures_between_frames(&run));
            assert_eq!(run.into_inner(), CLOSURES, "seed {seed}");
        }
    });
}

/// A child that is suspended while closures lie above the continuation of its parent.
#[test]
fn a_child_leaves_closures_above_its_parent() {
    watched(|| {
        for workers in [1, 3] {
            let (pool, run) = (Pool::new(workers).unwrap(), AtomicUsize::new(0));
            let rounds = tries(200);
            for _ in 0..rounds {
                pool.install(|| {
                    scope(|s| {
                        pool.run(|t| {
                            let count = || {
                                run.fetch_add(1, SeqCst);
                            };
                            async move {
                                let child = t.fork(async move {
                                    s.spawn(move |_| count());
                                    yield_now().await;
                                    s.spawn(move |_| count());
                                });
                                child.await.await;
                            }
                        });
                    });
                });
            }
            assert_eq!(run.into_inner(), rounds * 2);
        }
    });
}
