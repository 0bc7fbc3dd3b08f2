//! The promises of a builder, and the operations of a pool.

mod common;
#[path = "common/system.rs"]
mod system;

use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use common::{AMOUNTS, Census, Random, pool, pool_that_steals, size, wait_until, watched};
use roving::policy::Amount;
use roving::{
    Pool, WorkerLocal, current_worker, current_workers, join, map_reduce, par_chunks_mut, par_for,
    scope,
};

// The builder.

#[test]
fn install_goes_to_its_pool_and_comes_back() {
    watched(|| {
        let (two, three) = (pool(2), pool(3));
        let outside = thread::current().id();
        two.install(|| {
            let thread = thread::current().id();
            assert_ne!(thread, outside);
            assert_eq!(current_workers(), 2);
            // In its own pool it stays where it is.
            two.install(|| assert_eq!(thread::current().id(), thread));
            let (workers, inner) = three.install(|| {
                assert_ne!(thread::current().id(), thread);
                let inner = two.install(current_workers);
                join(current_workers, || inner)
            });
            assert_eq!((workers, inner), (3, 2));
            assert_eq!(thread::current().id(), thread);
            assert_eq!(current_workers(), 2);
        });
        assert_eq!(current_worker(), None);
        // It may borrow, change what it borrows, and return what borrows.
        let mut text = String::from("a");
        let borrowed: &mut String = two.install(|| {
            text.push('b');
            &mut text
        });
        borrowed.push('c');
        assert_eq!(text, "abc");
    });
}

#[test]
fn scopes_take_tasks_from_foreign_threads_and_from_other_pools() {
    watched(|| {
        for workers in [1, 2, 4] {
            let (here, there) = (pool(workers), pool(2));
            let ran: Vec<AtomicUsize> = (0..60).map(|_| AtomicUsize::new(0)).collect();
            let count = |number: usize| {
                let workers_here = current_workers();
                assert_eq!(
                    workers_here, workers,
                    "tasks run in the pool of their scope"
                );
                ran[number].fetch_add(1, SeqCst);
            };
            here.install(|| {
                scope(|s| {
                    let count = &count;
                    thread::scope(|threads| {
                        for thread in 0..2 {
                            threads.spawn(move || {
                                for task in 0..10 {
                                    s.spawn(move |_| count(thread * 10 + task));
                                }
                            });
                        }
                    });
                    there.install(|| {
                        join(
                            || (20..30).for_each(|task| s.spawn(move |_| count(task))),
                            || (30..40).for_each(|task| s.spawn(move |_| count(task))),
                        );
                    });
                    (40..50).for_each(|task| {
                        s.spawn(move |s| {
                            count(task);
                            s.spawn(move |_| count(task + 10));
                        });
                    });
                });
            });
            assert!(ran.into_iter().all(|count| count.into_inner() == 1));
        }
    });
}

#[test]
fn a_scope_returns_what_its_body_returns() {
    watched(|| {
        let pool = pool(2);
        let mut parts = [0; 100];
        let sum = pool.install(|| {
            let text = scope(|s| {
                for (number, part) in parts.iter_mut().enumerate() {
                    s.spawn(move |_| *part = number);
                }
                String::from("body")
            });
            assert_eq!(text, "body");
            parts.iter().sum::<usize>()
        });
        assert_eq!(sum, 4950);
    });
}

/// Tasks that have not started when a scope is cancelled are dropped: not run, and not leaked.
#[test]
fn cancel_drops_what_has_not_started() {
    watched(|| {
        for workers in [1, 2, 4] {
            for amount in AMOUNTS {
                let pool = pool_that_steals(workers, amount);
                let (census, ran) = (Census::default(), AtomicUsize::new(0));
                let after = pool.install(|| {
                    scope(|s| {
                        for task in 0..size(1_000, 12) {
                            let (owned, ran) = (census.one(), &ran);
                            s.spawn(move |s| {
                                let _owned = owned;
                                ran.fetch_add(1, SeqCst);
                                assert!(task != size(500, 6) || workers > 1 || !s.is_cancelled());
                                thread::yield_now();
                            });
                        }
                        assert!(!s.is_cancelled());
                        s.cancel();
                        assert!(s.is_cancelled());
                        ran.load(SeqCst)
                    })
                });
                // Those that had started, and at most one more on each worker.
                let ran = ran.into_inner();
                assert!(
                    ran <= after + workers,
                    "{ran} ran, {after} before the cancel"
                );
                census.check();
            }
        }
    });
}

#[test]
fn cancel_reaches_tasks_that_run_and_no_other_scope() {
    watched(|| {
        let pool = pool(2);
        let inner_ran = AtomicUsize::new(0);
        pool.install(|| {
            scope(|s| {
                s.spawn(|s| wait_until(|| s.is_cancelled()));
                scope(|inner| {
                    s.cancel();
                    assert!(!inner.is_cancelled());
                    inner.spawn(|_| {
                        inner_ran.fetch_add(1, SeqCst);
                    });
                });
            });
        });
        // One worker runs the task that waits, or drops it.
        assert_eq!(inner_ran.into_inner(), 1);
    });
}

#[test]
fn spawn_stays_in_the_pool_that_it_is_called_in() {
    watched(|| {
        let pool = Pool::builder().workers(2).name("stays").build().unwrap();
        let names = Arc::new(Mutex::new(Vec::new()));
        let note = {
            let names = Arc::clone(&names);
            move || {
                names
                    .lock()
                    .unwrap()
                    .push(thread::current().name().map(str::to_owned))
            }
        };
        pool.spawn(note.clone());
        pool.install(|| roving::spawn(note.clone()));
        pool.install(|| roving::spawn(move || roving::spawn(note)));
        drop(pool);
        let names = names.lock().unwrap();
        assert_eq!(names.len(), 3);
        let stays = |name: &Option<String>| name.as_ref().unwrap().starts_with("stays-");
        assert!(names.iter().all(stays), "{names:?}");
    });
}

#[test]
fn broadcast_visits_each_worker_on_its_own_thread() {
    watched(|| {
        let (pool, other) = (pool(4), pool(2));
        let visit = |index: usize| {
            assert_eq!(current_worker(), Some(index));
            // Joins and scopes work there too.
            let (a, b) = join(|| 1, || 2);
            scope(|s| s.spawn(|_| ()));
            (thread::current().id(), a + b)
        };
        let threads = pool.broadcast(visit);
        let distinct = |threads: &[(thread::ThreadId, i32)]| {
            (0..4).all(|i| (0..i).all(|j| threads[i].0 != threads[j].0))
        };
        assert!(distinct(&threads) && threads.iter().all(|&(_, sum)| sum == 3));
        assert_eq!(pool.install(|| roving::broadcast(visit)), threads);
        assert_eq!(other.install(|| pool.broadcast(visit)), threads);
        assert_eq!(
            pool.install(|| join(|| 0, || roving::broadcast(visit)).1),
            threads
        );
    });
}

// WorkerLocal.

#[test]
fn each_worker_has_its_own_value() {
    watched(|| {
        static MADE: AtomicUsize = AtomicUsize::new(0);
        let pool = pool(4);
        let mut local = pool.install(|| {
            WorkerLocal::new(|| {
                MADE.fetch_add(1, SeqCst);
                Cell::new(0_u64)
            })
        });
        assert_eq!(MADE.load(SeqCst), 0, "made when first asked for");
        for _ in 0..3 {
            pool.broadcast(|index| {
                let visit = |value: &Cell<u64>| value.set(value.get() + index as u64);
                local.with(visit);
            });
        }
        assert_eq!(MADE.load(SeqCst), 4);
        assert!(local.try_with(|_| ()).is_none(), "no worker");
        let other = common::pool(1);
        assert!(
            other.install(|| local.try_with(|_| ()).is_none()),
            "another pool's worker"
        );
        local.iter_mut().for_each(|value| *value.get_mut() += 1);
        assert!(local.into_iter().map(Cell::into_inner).eq([1, 4, 7, 10]));
    });
}

#[test]
fn worker_locals_add_up_and_are_dropped_once() {
    watched(|| {
        static CENSUS: Census = Census::new();
        for workers in [1, 3, 8] {
            let pool = pool(workers);
            let local = pool.install(|| WorkerLocal::new(|| (CENSUS.one(), Cell::new(0))));
            pool.install(|| {
                par_for(0..size(10_000, 50), |i| {
                    local.with(|(_, sum)| sum.set(sum.get() + i));
                });
            });
            let sum: usize = local.into_iter().map(|(_, sum)| sum.get()).sum();
            assert_eq!(sum, size(49_995_000, 1_225));
            CENSUS.check();
            let unused = pool.install(|| WorkerLocal::new(|| CENSUS.one()));
            pool.broadcast(|_| assert!(unused.try_with(|_| ()).is_some()));
            drop(pool);
            drop(unused);
            CENSUS.check();
        }
    });
}

// Loops.

/// Sizes around powers of two, primes, and none at all.
const SIZES: [usize; 14] = [0, 1, 2, 3, 7, 8, 9, 63, 64, 65, 997, 1_000, 4_097, 30_011];

/// Miri takes the small ones.
fn sizes() -> impl Iterator<Item = usize> {
    SIZES.into_iter().take(size(SIZES.len(), 8))
}

fn on_loop_pools(test: impl Fn() + Send + Sync) {
    watched(|| {
        for &workers in size(&[1, 2, 5][..], &[2]) {
            pool_that_steals(workers, AMOUNTS[workers % 3]).install(&test);
        }
    });
}

#[test]
fn par_for_visits_each_index_once() {
    on_loop_pools(|| {
        for size in sizes() {
            for start in [0, 5, usize::MAX - size] {
                let visits: Vec<AtomicUsize> = (0..size).map(|_| AtomicUsize::new(0)).collect();
                par_for(start..start + size, |i| {
                    visits[i - start].fetch_add(1, SeqCst);
                });
                assert!(visits.into_iter().all(|visits| visits.into_inner() == 1));
            }
        }
        let (from, to) = (5, 3);
        par_for(from..to, |_| unreachable!("the range is empty"));
    });
}

#[test]
fn par_chunks_mut_gives_out_each_chunk_once() {
    on_loop_pools(|| {
        for size in sizes() {
            for chunk_len in [1, 2, 7, 64, 1_000, usize::MAX] {
                if size / chunk_len > 5_000 {
                    continue;
                }
                let mut parallel = vec![0_u64; size];
                let mut serial = parallel.clone();
                let fill = |number: usize, chunk: &mut [u64]| {
                    let length = chunk.len() as u64;
                    for (offset, item) in chunk.iter_mut().enumerate() {
                        *item += number as u64 * 1_000_003 + offset as u64 + length * 77;
                    }
                };
                par_chunks_mut(&mut parallel, chunk_len, fill);
                let chunks = serial.chunks_mut(chunk_len).enumerate();
                chunks.for_each(|(number, chunk)| fill(number, chunk));
                assert!(parallel == serial, "{size} in chunks of {chunk_len}");
            }
        }
    });
}

#[test]
#[should_panic(expected = "chunk_len is 0: say 1 or more")]
fn chunks_of_nothing_are_refused() {
    par_chunks_mut(&mut [1, 2, 3], 0, |_, _| ());
}

/// Concatenation is associative, and not commutative: the order shows.
#[test]
fn map_reduce_keeps_the_order() {
    on_loop_pools(|| {
        for size in sizes().filter(|&size| size <= 4_097) {
            let parallel = map_reduce(
                10..10 + size,
                String::new(),
                |i| {
                    if i % 64 == 0 {
                        thread::yield_now();
                    }
                    format!("{i},")
                },
                |a, b| a + &b,
            );
            let serial: String = (10..10 + size).map(|i| format!("{i},")).collect();
            assert!(parallel == serial, "{size}");
        }
    });
}

/// A loop is shared out, though nobody has said how.
#[test]
fn loops_are_shared_by_demand() {
    watched(|| {
        let pool = pool(2);
        let mut seen = Vec::new();
        let is_shared = |_| {
            let shares = [AtomicUsize::new(0), AtomicUsize::new(0)];
            pool.install(|| {
                par_for(0..200, |_| {
                    // A thread in the place of a worker that waits for the other's part has none.
                    if let Some(share) = shares.get(current_worker().unwrap()) {
                        share.fetch_add(1, SeqCst);
                    }
                    thread::sleep(Duration::from_micros(500));
                });
            });
            seen.push(shares.map(AtomicUsize::into_inner));
            seen.last().unwrap().iter().all(|&share| share >= 20)
        };
        // Nor has a worker that comes late: on a busy machine not each time.
        assert!((0..20).any(is_shared), "{seen:?}");
    });
}

// The profile.

/// The texts of amounts, to and fro, and those that are refused.
#[test]
fn amounts_as_text() {
    for amount in [
        Amount::One,
        Amount::Half,
        Amount::Fixed(1),
        Amount::Fixed(64),
    ] {
        assert_eq!(amount.to_string().parse(), Ok(amount));
    }
    let mut random = Random(1);
    for _ in 0..200 {
        let d = 65 + random.below(1 << 40);
        assert!(format!("fixed:{d}").parse::<Amount>().is_err());
    }
    for text in [
        "", "One", "fixed", "fixed:", "fixed:0", "fixed:65", "fixed:-1", "half ",
    ] {
        let error = text.parse::<Amount>().unwrap_err().to_string();
        let expected =
            format!("{text:?} is no steal amount: say one, half, or fixed:D with D from 1 to 64");
        assert_eq!(error, expected);
    }
}
