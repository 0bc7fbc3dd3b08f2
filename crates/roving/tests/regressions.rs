//! Defects of other runtimes, and one of this one, each in the smallest program that shows it. The
//! numbers are those of the projects' issue trackers.

#[path = "common/panics.rs"]
mod caught;
mod common;
#[path = "common/system.rs"]
mod system;

use std::cell::Cell;
use std::collections::VecDeque;
use std::panic;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Mutex, RwLock};
use std::thread;
use std::time::Duration;

use caught::{caught, fail, works};
use common::{AMOUNTS, pool, pool_that_steals, size, tries, wait_until, watched};
use roving::{Pool, join, map_reduce, par_for, scope};

thread_local! {
    static NESTED: Cell<usize> = const { Cell::new(0) };
}

/// Calls `body`, and fails if another call of this kind is open further out on this thread.
fn never_nested<R>(body: impl FnOnce() -> R) -> R {
    assert_eq!(NESTED.replace(1), 0, "one job runs on top of another");
    let result = body();
    NESTED.set(0);
    result
}

/// On pools of several sizes, with each steal amount.
fn on_pools(test: impl Fn(&Pool)) {
    watched(|| {
        for workers in [1, 2, 4, 8] {
            for amount in AMOUNTS {
                test(&pool_that_steals(workers, amount));
            }
        }
    });
}

/// rayon#592: each item of a loop takes the lock, and runs a loop under it. Who waits for the end
/// of the inner loop must not begin another item of the outer one.
#[test]
fn rayon_592_a_loop_under_a_lock_in_a_loop() {
    on_pools(|pool| {
        let lock = Mutex::new(0);
        pool.install(|| {
            par_for(0..size(100, 5), |_| {
                let mut total = lock.lock().unwrap();
                *total += map_reduce(
                    0..8,
                    0,
                    |i| {
                        thread::sleep(Duration::from_micros(10));
                        i
                    },
                    |a, b| a + b,
                );
            });
        });
        assert_eq!(lock.into_inner().unwrap(), size(2_800, 140));
    });
}

/// The defect with joins and scopes under a lock, which need not be long to be stolen.
#[test]
fn rayon_592_joins_under_a_lock_in_tasks() {
    on_pools(|pool| {
        let lock = Mutex::new(0);
        pool.install(|| {
            scope(|s| {
                for _ in 0..size(200, 10) {
                    s.spawn(|_| {
                        let mut total = lock.lock().unwrap();
                        let yields = || {
                            thread::yield_now();
                            1
                        };
                        let (a, b) = join(yields, || join(yields, yields));
                        *total += a + b.0 + b.1;
                    });
                }
            });
        });
        assert_eq!(lock.into_inner().unwrap(), size(600, 30));
    });
}

/// rayon#1205: a reader computes in parallel while a writer waits for it, and further readers wait
/// for the writer. There are workers enough who do not wait.
#[test]
fn rayon_1205_a_reader_computes_while_a_writer_and_readers_wait() {
    watched(|| {
        for amount in AMOUNTS {
            let pool = pool_that_steals(8, amount);
            for _ in 0..tries(10) {
                let lock = RwLock::new(0);
                let (began, writes) = (AtomicBool::new(false), AtomicBool::new(false));
                let read = || {
                    let held = lock.read().unwrap();
                    let sum = map_reduce(0..size(1000, 20), 0, |i| i + *held, |a, b| a + b);
                    assert!(sum >= size(499_500, 190));
                };
                pool.install(|| {
                    scope(|s| {
                        s.spawn(|_| {
                            wait_until(|| began.load(SeqCst));
                            writes.store(true, SeqCst);
                            *lock.write().unwrap() += 1;
                        });
                        for _ in 0..3 {
                            s.spawn(|_| {
                                wait_until(|| writes.load(SeqCst));
                                read();
                            });
                        }
                        let held = lock.read().unwrap();
                        began.store(true, SeqCst);
                        wait_until(|| writes.load(SeqCst));
                        // Now the writer waits, and soon the other readers do.
                        let wait = |i| {
                            thread::sleep(Duration::from_micros(20));
                            i + *held
                        };
                        assert_eq!(
                            map_reduce(0..size(100, 10), 0, wait, |a, b| a + b),
                            size(4_950, 45)
                        );
                        drop(held);
                    });
                });
                assert_eq!(lock.into_inner().unwrap(), 1);
            }
        }
    });
}

/// rayon#1105, #588, #819: a job that waits for another pool stays where it is; no other job of
/// its own pool runs on top of it, and may want the lock that it holds.
#[test]
fn rayon_1105_waiting_for_another_pool_runs_no_other_job() {
    watched(|| {
        for workers in [1, 2, 4] {
            let (here, there) = (pool(workers), pool(1));
            let lock = Mutex::new(0);
            thread::scope(|threads| {
                for _ in 0..8 {
                    threads.spawn(|| {
                        here.install(|| {
                            never_nested(|| {
                                let mut held = lock.lock().unwrap();
                                there.install(|| thread::sleep(Duration::from_millis(1)));
                                *held += 1;
                            });
                        });
                    });
                }
            });
            assert_eq!(lock.into_inner().unwrap(), 8);
        }
    });
}

/// rayon#854: ten thousand tasks that each run a loop. However they are stolen, no task runs on
/// top of another, so a small native stack does.
#[test]
fn rayon_854_loops_in_ten_thousand_tasks_of_a_scope() {
    watched(|| {
        for workers in [1, 2, 8] {
            let builder = Pool::builder().workers(workers).stack_size(256 << 10);
            let pool = builder.build().unwrap();
            let (tasks, items) = (tries(10_000), AtomicUsize::new(0));
            pool.install(|| {
                scope(|s| {
                    for task in 0..tasks {
                        let items = &items;
                        let run = move || {
                            par_for(0..task % 100, |_| {
                                items.fetch_add(1, SeqCst);
                            });
                        };
                        s.spawn(move |_| match task % 100 {
                            // Beyond the end of the stack a task runs in the body of the scope.
                            0 => run(),
                            _ => never_nested(run),
                        });
                    }
                });
            });
            assert_eq!(items.into_inner(), tasks / 100 * 4_950);
        }
    });
}

/// rayon#1064: jobs that wait for what they have brought on its way pile up on one native stack
/// where waiting means to begin the next one.
#[test]
fn rayon_1064_jobs_that_wait_for_their_evaluations_do_not_pile_up() {
    watched(|| {
        for workers in [1, 2, 8] {
            let builder = Pool::builder().workers(workers).stack_size(256 << 10);
            let pool = builder.build().unwrap();
            let evaluated = AtomicUsize::new(0);
            pool.install(|| {
                scope(|s| {
                    for _ in 0..size(1_000, 10) {
                        s.spawn(|_| {
                            never_nested(|| {
                                scope(|s| {
                                    for _ in 0..4 {
                                        s.spawn(|_| {
                                            thread::yield_now();
                                            evaluated.fetch_add(1, SeqCst);
                                        });
                                    }
                                });
                            });
                        });
                    }
                });
            });
            assert_eq!(evaluated.into_inner(), size(4_000, 40));
        }
    });
}

/// rayon#751: a loop in one pool, each item of which opens a scope in another one.
#[test]
fn rayon_751_scopes_in_another_pool_in_a_loop() {
    watched(|| {
        for (here, there) in [(1, 1), (2, 2), (4, 1)] {
            let builder = Pool::builder().workers(here).stack_size(256 << 10);
            let (here, there) = (builder.build().unwrap(), pool(there));
            let (items, total) = (size(tries(3_000), 4), AtomicUsize::new(0));
            here.install(|| {
                par_for(0..items, |_| {
                    never_nested(|| {
                        there.install(|| {
                            scope(|s| {
                                s.spawn(|_| {
                                    let sum = map_reduce(0..100, 0, |i| i, |a, b| a + b);
                                    total.fetch_add(sum, SeqCst);
                                });
                            });
                        });
                    });
                });
            });
            assert_eq!(total.into_inner(), items * 4_950);
        }
    });
}

/// rayon#1269: two stages with a bounded queue between them, in one pool. Who finds the queue full
/// works it off with a `join`, and that must not bring in further producers on top of this one.
#[test]
fn rayon_1269_a_bounded_queue_between_two_stages_in_one_pool() {
    struct Queue {
        items: Mutex<VecDeque<usize>>,
        consumed: AtomicUsize,
    }
    impl Queue {
        fn send(&self, item: usize) {
            loop {
                let mut items = self.items.lock().unwrap();
                if items.len() < 2 {
                    items.push_back(item);
                    return;
                }
                drop(items);
                join(|| self.consume_one(), || self.consume_one());
            }
        }
        fn consume_one(&self) {
            let item = self.items.lock().unwrap().pop_front();
            if let Some(item) = item {
                thread::yield_now();
                self.consumed.fetch_add(item, SeqCst);
            }
        }
    }
    on_pools(|pool| {
        let queue = Queue {
            items: Mutex::new(VecDeque::new()),
            consumed: AtomicUsize::new(0),
        };
        pool.install(|| {
            scope(|s| {
                for _ in 0..size(30, 4) {
                    s.spawn(|_| never_nested(|| (0..20).for_each(|item| queue.send(item))));
                }
            });
            while !queue.items.lock().unwrap().is_empty() {
                queue.consume_one();
            }
        });
        assert_eq!(queue.consumed.into_inner(), size(30, 4) * 190);
    });
}

/// chili#21: every idle pool had a thread that ticked.
#[test]
#[cfg_attr(miri, ignore = "there is no account of processor time")]
fn chili_21_many_idle_pools_use_no_processor() {
    watched(|| {
        let pools: Vec<Pool> = (0..10)
            .map(|_| Pool::builder().workers(4).name("many").build().unwrap())
            .collect();
        pools.iter().for_each(works);
        let quiet = (0..10).any(|_| {
            // On a busy machine it takes them a while to fall asleep: not for ever.
            system::wait_until_asleep("many-");
            let before = system::used_by_threads("many-").unwrap_or_default();
            thread::sleep(Duration::from_millis(500));
            let after = system::used_by_threads("many-").unwrap_or_default();
            assert!(
                before.threads >= 40 || !cfg!(target_os = "linux"),
                "{before:?}"
            );
            after.turns - before.turns <= 2
        });
        assert!(quiet, "threads of idle pools run");
    });
}

/// rayon#271: a panic in the drop of what a task owns aborted the process.
#[test]
fn rayon_271_a_panic_in_the_drop_of_what_a_task_owns() {
    struct Bomb;
    impl Drop for Bomb {
        fn drop(&mut self) {
            fail("drop");
        }
    }
    on_pools(|pool| {
        let in_scope = || {
            scope(|s| {
                let bomb = Bomb;
                s.spawn(move |_| drop(bomb));
            });
        };
        assert_eq!(caught(|| pool.install(in_scope)), "drop");
        let bomb = Bomb;
        pool.spawn(move || {
            let _bomb = bomb;
        });
        let bomb = Bomb;
        let why = caught(|| pool.install(move || join(|| drop(bomb), || ())));
        assert_eq!(why, "drop");
        works(pool);
    });
}

/// The payload of a detached task may panic when it is dropped, and nobody else drops it.
#[test]
fn the_drop_of_a_detached_tasks_payload_panics() {
    struct Payload;
    impl Drop for Payload {
        fn drop(&mut self) {
            fail("payload");
        }
    }
    let throw = || panic::resume_unwind(Box::new(Payload));
    on_pools(|pool| {
        for _ in 0..8 {
            pool.spawn(throw);
        }
        works(pool);
    });
    watched(|| {
        let builder = Pool::builder().workers(2);
        let pool = builder.panic_handler(move |_| throw()).build().unwrap();
        for _ in 0..8 {
            pool.spawn(|| fail("detached"));
        }
        works(&pool);
    });
}

/// rayon#638: a loop that has panicked goes on to its far end, which here nobody would live to see.
#[test]
fn rayon_638_a_loop_that_has_panicked_is_given_up() {
    on_pools(|pool| {
        let item = |i: usize| {
            if i == size(5_000, 50) {
                thread::sleep(Duration::from_millis(2));
                fail("item");
            }
        };
        let end = usize::MAX / 2;
        assert_eq!(caught(|| pool.install(|| par_for(0..end, item))), "item");
        let map = || map_reduce(0..end, (), item, |(), ()| ());
        assert_eq!(caught(|| pool.install(map)), "item");
        // It is that loop which is given up, and no other: here one in a destructor.
        struct Loops<'a>(&'a AtomicUsize);
        impl Drop for Loops<'_> {
            fn drop(&mut self) {
                par_for(0..size(1_000, 20), |_| {
                    self.0.fetch_add(1, SeqCst);
                });
            }
        }
        let visited = AtomicUsize::new(0);
        let why = caught(|| {
            pool.install(|| {
                par_for(0..end, |i| {
                    if i == size(100, 10) {
                        let _loops = Loops(&visited);
                        fail("with a loop on its way");
                    }
                });
            });
        });
        assert_eq!(why, "with a loop on its way");
        assert_eq!(visited.into_inner(), size(1_000, 20));
    });
}

/// Several workers panic in one broadcast, with payloads that panic when they are dropped.
#[test]
fn the_drop_of_a_broadcasts_payload_or_result_panics() {
    struct Bomb(&'static AtomicUsize);
    impl Drop for Bomb {
        fn drop(&mut self) {
            self.0.fetch_add(1, SeqCst);
            fail("bomb");
        }
    }
    static DROPPED: AtomicUsize = AtomicUsize::new(0);
    watched(|| {
        let pool = pool(4);
        let why = caught(|| {
            pool.broadcast(|index| match index {
                0 => Bomb(&DROPPED),
                1 => fail("the lowest"),
                _ => panic::resume_unwind(Box::new(Bomb(&DROPPED))),
            })
        });
        assert_eq!(why, "the lowest");
        assert_eq!(DROPPED.load(SeqCst), 3);
        works(&pool);
    });
}
