//! Loops of which other workers take parts: what those come to is combined in order, and nobody but
//! the caller waits for them.

mod common;

use std::panic::{self, AssertUnwindSafe};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::thread;
use std::time::Duration;

use common::{
    AMOUNTS, Random, holds_within, pool_that_steals, size, step, tries, wait_until, watched,
};
use roving::{Cancel, CancelledError, Pool, context, join, map_reduce, par_chunks_mut, par_for};
use roving::{current_worker, scope};

/// Calls `f` with pools of several sizes and steal amounts, several times. In some of them somebody
/// has to come for a part: on a busy machine not in each.
fn in_pools(f: impl Fn(&Pool, u64)) {
    watched(|| {
        let mut stolen = 0;
        for &workers in size([2, 3, 8].as_slice(), &[3]) {
            for amount in AMOUNTS {
                let pool = pool_that_steals(workers, amount);
                for seed in 0..tries(6) as u64 {
                    f(&pool, seed);
                }
                stolen += pool.profile().total().counters.tasks_stolen;
            }
        }
        assert!(cfg!(miri) || stolen > 0, "nobody helped");
    });
}

#[test]
fn outcomes_of_stolen_parts_are_combined_in_order() {
    const ITEMS: usize = size(400, 40);
    in_pools(|pool, seed| {
        let map = |index| {
            step(seed, index);
            vec![index]
        };
        let joined = |mut lower: Vec<usize>, upper| {
            lower.extend(upper);
            lower
        };
        let all = pool.install(|| map_reduce(0..ITEMS, vec![], map, joined));
        assert!(all.into_iter().eq(0..ITEMS));

        let mut numbers = vec![0; ITEMS];
        pool.install(|| {
            par_chunks_mut(&mut numbers, 3, |number, chunk| {
                step(seed, number);
                chunk.iter_mut().for_each(|at| *at += number);
            });
        });
        assert!(
            numbers
                .iter()
                .copied()
                .eq((0..ITEMS).map(|index| index / 3))
        );
    });
}

/// Four workers are at work on a loop. Those of the items in the middle end, while the caller and
/// the last item go on: now they are free for whatever comes, though one of them has split off the
/// last item. Detached tasks that wait for each other run on these two workers, and no thread has
/// to stand in for one of them.
#[test]
fn a_worker_whose_part_of_a_loop_has_ended_is_free_for_other_work() {
    watched(|| {
        let pool = Pool::new(4).unwrap();
        let (begun, met) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let ran_on = [const { AtomicUsize::new(usize::MAX) }; 2];
        let met: &'static AtomicUsize = common::forever(met);
        let ran_on: &'static [AtomicUsize; 2] = common::forever(ran_on);
        let both = || ran_on.iter().all(|at| at.load(SeqCst) != usize::MAX);
        pool.install(|| {
            par_for(0..4, |item| {
                begun.fetch_add(1, SeqCst);
                let limit = Duration::from_secs(120);
                assert!(holds_within(limit, || begun.load(SeqCst) == 4));
                match item {
                    0 => wait_until(both),
                    3 => {
                        for at in ran_on {
                            drop(roving::spawn(move || {
                                met.fetch_add(1, SeqCst);
                                wait_until(|| met.load(SeqCst) == 2);
                                at.store(current_worker().unwrap(), SeqCst);
                            }));
                        }
                        wait_until(both);
                    }
                    _ => {}
                }
            });
        });
        let ran_on: Vec<usize> = ran_on.iter().map(|at| at.load(SeqCst)).collect();
        assert!(ran_on.iter().all(|&worker| worker < 4), "ran on {ran_on:?}");
    });
}

/// A panic reaches the caller once, and after all that has begun has ended.
#[test]
fn a_panic_in_a_stolen_part_waits_for_the_others() {
    const ITEMS: usize = size(200, 30);
    in_pools(|pool, seed| {
        let (begun, ended) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let fatal = Random(seed).below(ITEMS as u64) as usize;
        let outcome = panic::catch_unwind(AssertUnwindSafe(|| {
            pool.install(|| {
                par_for(0..ITEMS, |index| {
                    begun.fetch_add(1, SeqCst);
                    step(seed, index);
                    ended.fetch_add(1, SeqCst);
                    if index % ITEMS >= fatal {
                        panic::resume_unwind(Box::new(index));
                    }
                });
            });
        }));
        let index = *outcome.unwrap_err().downcast::<usize>().unwrap();
        assert!((fatal..ITEMS).contains(&index));
        assert_eq!(begun.load(SeqCst), ended.load(SeqCst));
    });
}

/// So does one in what combines two outcomes; and what was made is dropped once.
#[test]
fn a_panic_while_outcomes_are_combined_loses_none_of_them() {
    struct Counted<'c>(&'c AtomicUsize);
    impl<'c> Counted<'c> {
        fn new(count: &'c AtomicUsize) -> Counted<'c> {
            count.fetch_add(1, SeqCst);
            Counted(count)
        }
    }
    impl Clone for Counted<'_> {
        fn clone(&self) -> Self {
            Counted::new(self.0)
        }
    }
    impl Drop for Counted<'_> {
        fn drop(&mut self) {
            self.0.fetch_sub(1, SeqCst);
        }
    }
    in_pools(|pool, seed| {
        let (alive, combined) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let fatal = Random(seed).below(100) as usize;
        let outcome = panic::catch_unwind(AssertUnwindSafe(|| {
            pool.install(|| {
                let map = |index| {
                    step(seed, index);
                    Counted::new(&alive)
                };
                let joined = |lower, _| {
                    if combined.fetch_add(1, SeqCst) == fatal {
                        panic::resume_unwind(Box::new("combined"));
                    }
                    lower
                };
                map_reduce(0..size(200, 101), Counted::new(&alive), map, joined);
            });
        }));
        assert_eq!(
            *outcome.unwrap_err().downcast::<&str>().unwrap(),
            "combined"
        );
        assert_eq!(alive.load(SeqCst), 0);
    });
}

/// Each part is in the context of the loop's caller, so it has the values of that, and hears of its
/// cancel.
#[test]
fn stolen_parts_are_in_the_context_of_the_caller() {
    const ITEMS: usize = size(300, 40);
    in_pools(|pool, seed| {
        pool.install(|| {
            context::with(seed, || {
                par_for(0..ITEMS, |index| {
                    step(seed, index);
                    assert_eq!(context::get::<u64>(), Some(seed));
                });
            });
            assert_eq!(context::get::<u64>(), None);
            let (token, ran) = (Cancel::new(), AtomicUsize::new(0));
            let outcome = token.run(|| {
                par_for(0..usize::MAX, |index| {
                    step(seed, index);
                    if ran.fetch_add(1, SeqCst) == ITEMS {
                        token.cancel();
                    }
                });
            });
            assert_eq!(outcome, Err(CancelledError));
        });
    });
}

/// A scope around a loop ends after the tasks that stolen parts have spawned into it; and a loop
/// may be beneath and above all else that waits.
#[test]
fn stolen_parts_spawn_join_and_loop() {
    const ITEMS: usize = size(60, 12);
    in_pools(|pool, seed| {
        let (spawned, joined, looped) = (
            AtomicUsize::new(0),
            AtomicUsize::new(0),
            AtomicUsize::new(0),
        );
        pool.install(|| {
            scope(|s| {
                par_for(0..ITEMS, |index| {
                    let (spawned, joined, looped) = (&spawned, &joined, &looped);
                    s.spawn(move |_| {
                        step(seed, index);
                        spawned.fetch_add(1, SeqCst);
                    });
                    step(seed + 1, index);
                    let inner = |_| {
                        step(seed + 2, index);
                        looped.fetch_add(1, SeqCst);
                    };
                    join(|| par_for(0..4, inner), || joined.fetch_add(1, SeqCst));
                });
            });
        });
        assert_eq!(spawned.into_inner(), ITEMS);
        assert_eq!(joined.into_inner(), ITEMS);
        assert_eq!(looped.into_inner(), 4 * ITEMS);
    });
}

/// Threads of the user's own, none of which stands in for another that waits.
#[test]
fn parts_of_loops_move_between_threads_of_the_users_own() {
    watched(|| {
        let mut threads = Vec::new();
        let pool = Pool::builder().workers(3).build_with(|worker| {
            threads.push(thread::spawn(|| worker.run()));
            Ok(())
        });
        let pool = pool.unwrap();
        for seed in 0..tries(20) as u64 {
            let sum = pool.install(|| {
                let inner = |index| {
                    step(seed, index);
                    map_reduce(0..4, 0, |n| n * index, |a, b| a + b)
                };
                map_reduce(0..size(100, 20), 0, inner, |a, b| a + b)
            });
            assert_eq!(sum, size(29_700, 1_140));
        }
        drop(pool);
        threads.into_iter().for_each(|t| t.join().unwrap());
    });
}
