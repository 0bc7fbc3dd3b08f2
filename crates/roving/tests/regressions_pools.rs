//! Defects where pools meet: nested, closing, caller-runs, called by foreign threads; each in the
//! smallest program that shows it.

#[path = "common/panics.rs"]
mod caught;
mod common;
#[path = "common/system.rs"]
mod system;

use std::cell::Cell;
use std::panic;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Barrier, Mutex, mpsc};
use std::thread;
use std::time::Duration;

use caught::works;
use common::{pool, pool_that_steals, size, tries, wait_until, watched};
use roving::policy::Amount;
use roving::{Arena, Pool, PoolBuilder, broadcast, current_workers, join, map_reduce, scope};

thread_local! {
    static NESTED: Cell<usize> = const { Cell::new(0) };
}

/// A pool, another one, and the first again, under a lock that all its workers wait for.
#[test]
fn a_pool_within_a_pool_within_itself_under_a_lock() {
    watched(|| {
        for workers in [1, 2, 4] {
            let (a, b) = (pool(workers), pool(1));
            for _ in 0..tries(20) {
                let lock = Mutex::new(0);
                let others_wait = Barrier::new(workers);
                a.install(|| {
                    scope(|s| {
                        let mut held = lock.lock().unwrap();
                        for _ in 1..workers {
                            s.spawn(|_| {
                                others_wait.wait();
                                *lock.lock().unwrap() += 1;
                            });
                        }
                        others_wait.wait();
                        *held += b.install(|| a.install(|| 1));
                        drop(held);
                    });
                });
                assert_eq!(lock.into_inner().unwrap(), workers);
            }
        }
    });
}

/// In-place pools within each other, to and fro, on one thread.
#[test]
fn in_place_pools_within_each_other() {
    watched(|| {
        let in_place = || Pool::builder().caller_runs().build().unwrap();
        let (a, b) = (in_place(), in_place());
        let sum = a.install(|| {
            let (one, two) = join(|| 1, || b.install(|| a.install(|| join(|| 2, || 3))));
            let mut more = 0;
            scope(|s| s.spawn(|_| more = b.install(|| 4)));
            one + two.0 + two.1 + more
        });
        assert_eq!(sum, 10);
    });
}

/// A worker enters an in-place pool, and waits there for what its own pool is to do.
#[test]
fn an_in_place_pool_waits_for_the_pool_beneath() {
    watched(|| {
        for workers in [1, 2, 3] {
            for seed in [None, Some(1)] {
                let (beneath, builder) = (pool(workers), Pool::builder());
                let builder = match seed {
                    None => builder.caller_runs(),
                    Some(seed) => builder.deterministic(seed),
                };
                let in_place = builder.build().unwrap();
                let sum = AtomicUsize::new(0);
                let add = |number| _ = sum.fetch_add(number, SeqCst);
                let inside = || {
                    beneath.in_place_scope(|s| (0..workers).for_each(|_| s.spawn(|_| add(1))));
                    beneath.in_place_scope(|s| s.spawn_broadcast(|_, _| add(1)));
                    add(beneath.broadcast(|_| 1).into_iter().sum());
                    add(beneath.install(|| 1));
                    add(beneath.run(|_| async { 1 }));
                    let (sender, receiver) = mpsc::channel();
                    beneath.spawn(move || sender.send(1).unwrap());
                    add(roving::blocking(|| receiver.recv().unwrap()));
                    // What is pushed here meanwhile is for nobody beneath.
                    let is_here = || assert_eq!(current_workers(), in_place.workers());
                    roving::blocking(|| (0..100).for_each(|_| _ = join(is_here, is_here)));
                };
                beneath.install(|| in_place.install(inside));
                assert_eq!(sum.into_inner(), 3 * workers + 3);
            }
        }
    });
}

/// A worker waits to enter an in-place pool, and who is in there waits for that worker's pool: it
/// takes part in broadcasts meanwhile, and another thread has its core.
#[test]
fn who_waits_for_an_in_place_pool_does_what_its_own_is_asked_for() {
    watched(|| {
        let asks: [fn(&Pool); 4] = [
            |pool| assert_eq!(pool.broadcast(|index| index), [0]),
            |pool| assert_eq!(pool.spawn(|| 5).join().unwrap(), 5),
            |pool| assert_eq!(pool.install(|| 6), 6),
            |pool| assert_eq!(pool.run(|_| async { 7 }), 7),
        ];
        let in_place = Pool::builder().caller_runs().build().unwrap();
        for ask in asks {
            let pool = pool(1);
            let (is_in, waits) = (AtomicBool::new(false), AtomicBool::new(false));
            thread::scope(|threads| {
                threads.spawn(|| {
                    in_place.install(|| {
                        is_in.store(true, SeqCst);
                        wait_until(|| waits.load(SeqCst));
                        // Most often it waits by now; whether or not, this has to come to an end.
                        thread::sleep(Duration::from_millis(10));
                        ask(&pool);
                    });
                });
                wait_until(|| is_in.load(SeqCst));
                let inside = pool.install(|| {
                    waits.store(true, SeqCst);
                    in_place.install(|| 8)
                });
                assert_eq!(inside, 8);
            });
        }
    });
}

/// A detached task for an in-place pool, spawned by a thread that the pool's own worker waits for:
/// to spawn waits for nobody, and the task runs when the pool is let go.
#[test]
fn a_detached_task_for_an_in_place_pool_that_is_busy() {
    watched(|| {
        let builder = Pool::builder().caller_runs();
        let (in_place, other) = (builder.build().unwrap(), pool(1));
        for _ in 0..tries(100) {
            let ran = Arc::new(AtomicUsize::new(0));
            in_place.install(|| {
                other.install(|| {
                    let ran = Arc::clone(&ran);
                    in_place.spawn(move || {
                        ran.fetch_add(1, SeqCst);
                    });
                });
                assert_eq!(ran.load(SeqCst), 0, "its worker is here");
            });
            assert_eq!(ran.load(SeqCst), 1);
        }
    });
}

/// Spawned by a thread at the moment when another lets go of the pool: one of the two runs it.
#[test]
fn a_detached_task_for_an_in_place_pool_that_is_let_go() {
    watched(|| {
        let in_place = Pool::builder().caller_runs().build().unwrap();
        for _ in 0..tries(2000) {
            let (ran, meet) = (Arc::new(AtomicUsize::new(0)), Barrier::new(2));
            thread::scope(|threads| {
                threads.spawn(|| {
                    meet.wait();
                    in_place.install(|| ());
                });
                meet.wait();
                let ran = Arc::clone(&ran);
                in_place.spawn(move || {
                    ran.fetch_add(1, SeqCst);
                });
            });
            assert_eq!(ran.load(SeqCst), 1);
        }
    });
}

/// An in-place pool that is dropped by a task of its own.
#[test]
fn an_in_place_pool_is_dropped_by_its_own_task() {
    watched(|| {
        let pool = Arc::new(Pool::builder().caller_runs().build().unwrap());
        let ran = Arc::new(AtomicUsize::new(0));
        let (inner, count) = (Arc::clone(&pool), Arc::clone(&ran));
        pool.spawn(move || {
            count.fetch_add(1, SeqCst);
            drop(inner);
        });
        pool.install(|| ());
        assert_eq!(ran.load(SeqCst), 1);
        drop(pool);
    });
}

/// A pool without threads that one thread has and another waits for: who spawns a task there goes
/// on, and one of the two runs it.
#[test]
fn a_job_comes_to_an_in_place_pool_that_a_thread_waits_for() {
    watched(|| {
        let pool = Pool::builder().caller_runs().build().unwrap();
        for _ in 0..size(200, 3) {
            let (has_it, go_on) = (AtomicBool::new(false), AtomicBool::new(false));
            thread::scope(|s| {
                s.spawn(|| {
                    pool.install(|| {
                        has_it.store(true, SeqCst);
                        wait_until(|| go_on.load(SeqCst));
                    });
                });
                wait_until(|| has_it.load(SeqCst));
                let other = s.spawn(|| pool.install(|| 5));
                let ran = pool.spawn(thread::current);
                go_on.store(true, SeqCst);
                let ran = ran.join().unwrap();
                assert_ne!(ran.id(), thread::current().id());
                assert_eq!(other.join().unwrap(), 5);
            });
        }
    });
}

/// A pool with threads that is dropped by a task of its own.
#[test]
fn a_pool_is_dropped_by_its_own_task() {
    watched(|| {
        let (sender, receiver) = mpsc::channel();
        let pool = Arc::new(pool(2));
        let inner = Arc::clone(&pool);
        pool.spawn(move || {
            wait_until(|| Arc::strong_count(&inner) == 1);
            drop(inner);
            roving::spawn(move || sender.send(1).unwrap());
        });
        drop(pool);
        assert_eq!(receiver.recv(), Ok(1));
    });
}

/// Pools so deep within each other that each thread they may have waits: a panic that says so, and
/// the pools work afterwards.
#[test]
fn pools_nested_too_deep_are_refused() {
    fn nest(a: &Pool, b: &Pool, depth: usize) {
        if depth > 0 {
            a.install(|| nest(b, a, depth - 1));
        }
    }
    watched(|| {
        let (a, b) = (pool(1), pool(1));
        nest(&a, &b, size(100, 10));
        let nested = || nest(&a, &b, 1_000);
        let payload = panic::catch_unwind(panic::AssertUnwindSafe(nested)).unwrap_err();
        let text = payload.downcast_ref::<String>().expect("a text");
        assert!(text.starts_with("pools are nested too deep"), "{text}");
        works(&a);
        works(&b);
        nest(&a, &b, size(100, 10));
    });
}

/// Broadcasts by several workers at the same time, each of which waits for the others.
#[test]
fn broadcasts_by_all_workers_at_once() {
    watched(|| {
        for workers in [2, 4, 8] {
            let pool = pool(workers);
            for _ in 0..tries(20) {
                let (meet, visits) = (Barrier::new(workers), AtomicUsize::new(0));
                pool.install(|| {
                    scope(|s| {
                        for _ in 0..workers {
                            s.spawn(|_| {
                                meet.wait();
                                let seen = broadcast(|index| {
                                    visits.fetch_add(1, SeqCst);
                                    index
                                });
                                assert!(seen.into_iter().eq(0..workers));
                            });
                        }
                    });
                });
                assert_eq!(visits.into_inner(), workers * workers);
            }
        }
    });
}

/// A broadcast reaches workers that wait: for a thief, for another pool, and for want of work.
#[test]
fn a_broadcast_reaches_waiting_workers() {
    watched(|| {
        let (pool, other) = (pool(4), pool(1));
        let (began, over) = (AtomicBool::new(false), AtomicBool::new(false));
        let elsewhere = || {
            other.install(|| {
                began.store(true, SeqCst);
                wait_until(|| over.load(SeqCst));
            });
        };
        thread::scope(|threads| {
            threads
                .spawn(|| pool.install(|| join(|| wait_until(|| began.load(SeqCst)), elsewhere)));
            wait_until(|| began.load(SeqCst));
            thread::sleep(Duration::from_millis(20));
            assert_eq!(pool.broadcast(|index| index), [0, 1, 2, 3]);
            over.store(true, SeqCst);
        });
    });
}

/// Tasks that a foreign thread spawns into a scope, while all other workers wait for a lock that
/// the scope's caller holds.
#[test]
fn foreign_threads_spawn_into_a_scope_under_a_lock() {
    watched(|| {
        for workers in [1, 2, 3, 8] {
            let pool = pool(workers);
            for _ in 0..tries(10) {
                let (lock, ran) = (Mutex::new(()), AtomicUsize::new(0));
                let meet = Barrier::new(workers);
                pool.install(|| {
                    scope(|s| {
                        for _ in 1..workers {
                            s.spawn(|_| {
                                meet.wait();
                                drop(lock.lock());
                            });
                        }
                        let held = lock.lock().unwrap();
                        meet.wait();
                        thread::sleep(Duration::from_millis(2));
                        scope(|s| {
                            thread::scope(|threads| {
                                for _ in 0..3 {
                                    threads.spawn(|| {
                                        s.spawn(|s| {
                                            s.spawn(|_| {
                                                ran.fetch_add(1, SeqCst);
                                            });
                                        });
                                    });
                                }
                            });
                        });
                        assert_eq!(ran.load(SeqCst), 3);
                        drop(held);
                    });
                });
            }
        }
    });
}

/// A pool that is being dropped still runs a task that broadcasts.
#[test]
fn a_closing_pool_broadcasts() {
    watched(|| {
        for workers in [1, 2, 4] {
            let pool = pool(workers);
            let (sender, receiver) = mpsc::channel();
            pool.spawn(move || {
                thread::sleep(Duration::from_millis(50));
                sender.send(broadcast(|index| index)).unwrap();
            });
            drop(pool);
            let indices: Vec<usize> = (0..workers).collect();
            assert_eq!(receiver.recv(), Ok(indices));
        }
    });
}

/// A pool that is being dropped still runs a task whose scope gets tasks from foreign threads, and
/// one whose subtasks are worth sharing.
#[test]
fn a_closing_pool_runs_what_foreign_threads_spawn() {
    watched(|| {
        for workers in [1, 2, 4] {
            let pool = pool(workers);
            let (sender, receiver) = mpsc::channel();
            pool.spawn(move || {
                thread::sleep(Duration::from_millis(50));
                let ran = AtomicUsize::new(0);
                scope(|s| {
                    thread::scope(|threads| {
                        threads.spawn(|| {
                            for _ in 0..10 {
                                s.spawn(|_| {
                                    ran.fetch_add(1, SeqCst);
                                });
                            }
                        });
                    });
                });
                let sum = map_reduce(0..size(10_000, 100), 0, |i| i, |a, b| a + b);
                sender.send((ran.into_inner(), sum)).unwrap();
            });
            drop(pool);
            assert_eq!(receiver.recv(), Ok((10, size(49_995_000, 4_950))));
        }
    });
}

/// Whoever waits for another pool may be part of a pool that closes.
#[test]
fn a_closing_pool_waits_for_another() {
    watched(|| {
        let (sender, receiver) = mpsc::channel();
        let (one, other) = (pool(1), Arc::new(pool(1)));
        for number in 0..10 {
            let (other, sender) = (Arc::clone(&other), sender.clone());
            one.spawn(move || {
                let result = other.install(|| {
                    thread::sleep(Duration::from_millis(2));
                    number
                });
                sender.send(result).unwrap();
            });
        }
        drop((sender, other));
        drop(one);
        let mut numbers: Vec<_> = receiver.iter().collect();
        numbers.sort_unstable();
        assert!(numbers.into_iter().eq(0..10));
    });
}

/// A stack that thieves have emptied while it was full: an inner scope must not return before its
/// task has run.
#[test]
fn an_inner_scope_on_a_full_stack_that_thieves_have_emptied() {
    watched(|| {
        let pool = pool_that_steals(2, Amount::Half);
        pool.install(|| {
            let ended = &AtomicUsize::new(0);
            let task = |_: &roving::Scope<'_>| {
                ended.fetch_add(1, SeqCst);
            };
            scope(|s| {
                let mut spawned = size(8_192, 32);
                (0..spawned).for_each(|_| s.spawn(task));
                let mut more = 0..size(1_000, 50);
                while ended.load(SeqCst) < spawned {
                    thread::sleep(Duration::from_micros(100));
                    if more.next().is_some() {
                        spawned += 1;
                        s.spawn(task);
                    } else {
                        // The thief gets what it asks for when this worker makes a call.
                        join(|| (), || ());
                    }
                }
                let ran = AtomicBool::new(false);
                scope(|s| s.spawn(|_| ran.store(true, SeqCst)));
                assert!(ran.load(SeqCst), "the inner scope has left its task behind");
            });
        });
    });
}

/// A pool of one worker, with a thread of its own, or with one that it has adopted, and that stays
/// until the receiver hears of the end.
fn other_pool(kind: usize, builder: PoolBuilder, is_over: mpsc::Receiver<()>) -> Pool {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let builder = match kind {
            0 => builder.adopt_current_thread(),
            _ => builder,
        };
        sender.send(builder.build().unwrap()).unwrap();
        let _: Result<(), _> = is_over.recv();
    });
    receiver.recv().unwrap()
}

/// A task drops a pool, and waits for what still runs there, which waits for all workers of the
/// task's own pool.
#[test]
fn a_task_that_drops_a_pool_takes_part_in_broadcasts() {
    watched(|| {
        for round in 0..tries(20) {
            let (ours, sent) = (Arc::new(pool(2)), Arc::new(AtomicUsize::new(0)));
            let (theirs, counted) = (Arc::clone(&ours), Arc::clone(&sent));
            let job = move || {
                // Mostly when the other pool is being dropped.
                thread::sleep(Duration::from_millis(1));
                counted.fetch_add(theirs.broadcast(|_| ()).len(), SeqCst);
            };
            let (over, is_over) = mpsc::channel();
            let at_exit = Arc::clone(&ours);
            let other = match round % 3 {
                2 => Arena::new(1).unwrap().pool().workers(1).build().unwrap(),
                kind => {
                    let at_exit = move |_| drop(at_exit.broadcast(|_| ()));
                    other_pool(kind, Pool::builder().workers(1).on_exit(at_exit), is_over)
                }
            };
            ours.install(move || {
                other.spawn(job);
                drop(other);
            });
            assert_eq!(sent.load(SeqCst), 2);
            drop(over);
        }
    });
}

/// Worker 0 waits in a pool of its thread alone, further in, runs its part of a broadcast on top of
/// that, and waits in there as well: it is away once, so one other thread takes its place.
#[test]
fn who_waits_in_a_part_of_a_broadcast_is_away_once() {
    watched(|| {
        let (ours, others) = (pool(1), pool(2));
        let in_place = Pool::builder().caller_runs().build().unwrap();
        let (go_on, waits) = (AtomicBool::new(false), AtomicUsize::new(0));
        let wait = || {
            others.install(|| {
                waits.fetch_add(1, SeqCst);
                wait_until(|| go_on.load(SeqCst));
            });
        };
        let (runs, most, ran) = (
            AtomicUsize::new(0),
            AtomicUsize::new(0),
            AtomicUsize::new(0),
        );
        let task = || {
            most.fetch_max(runs.fetch_add(1, SeqCst) + 1, SeqCst);
            thread::sleep(Duration::from_millis(2));
            runs.fetch_sub(1, SeqCst);
            ran.fetch_add(1, SeqCst);
        };
        thread::scope(|s| {
            s.spawn(|| ours.install(|| in_place.install(wait)));
            wait_until(|| waits.load(SeqCst) == 1);
            s.spawn(|| ours.broadcast(|_| wait()));
            wait_until(|| waits.load(SeqCst) == 2);
            ours.in_place_scope(|s| (0..20).for_each(|_| s.spawn(|_| task())));
            go_on.store(true, SeqCst);
        });
        assert_eq!((most.into_inner(), ran.into_inner()), (1, 20));
    });
}

/// The pool has adopted its only worker, which waits for another thread to drop it; a job that is
/// left waits for another job. `stands_in`: it had begun while the worker was away.
fn drops_an_adopting_pool_with_jobs_that_wait(stands_in: bool) {
    let pool = Pool::builder().workers(1).adopt_current_thread();
    let pool = pool.build().expect("the thread is no worker");
    let (begun, has_begun) = mpsc::channel();
    let (go_on, may_go_on) = mpsc::channel();
    let waits = pool.spawn(move || {
        begun.send(()).unwrap();
        may_go_on.recv().unwrap();
        roving::task::block_on(roving::spawn(|| 7)).unwrap()
    });
    if stands_in {
        roving::blocking(|| has_begun.recv().unwrap());
    }
    let dropping = thread::spawn(|| drop(pool));
    go_on.send(()).unwrap();
    dropping.join().unwrap();
    assert_eq!(waits.join().unwrap(), 7);
}

#[test]
fn another_thread_drops_an_adopting_pool_with_jobs_that_wait() {
    watched(|| {
        for stands_in in [false, true] {
            let on_its_own = move || drops_an_adopting_pool_with_jobs_that_wait(stands_in);
            thread::spawn(on_its_own).join().unwrap();
        }
    });
}
