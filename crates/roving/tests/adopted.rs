//! `adopt_current_thread`: the thread is a worker until its pool is dropped, or until it ends, and
//! nothing that it or anybody else asks of either is lost or waits for ever.

mod common;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Mutex};
use std::thread;

use common::{size, wait_until, watched};
use roving::{
    Pool, WorkerLocal, broadcast, current_worker, in_place_scope, join, par_for, scope, spawn, task,
};

fn adopt(workers: usize) -> Pool {
    let builder = Pool::builder().workers(workers).adopt_current_thread();
    builder.build().expect("the thread is no worker")
}

/// Calls `f` on a thread that has been adopted by a new pool.
fn on_adopted<R: Send>(workers: usize, f: impl FnOnce(Pool) -> R + Send) -> R {
    thread::scope(|s| s.spawn(|| f(adopt(workers))).join().unwrap())
}

/// The thread is no worker, and all that it can ask for is done, by the global pool.
fn is_like_any_other() {
    assert_eq!(current_worker(), None);
    let (sender, receiver) = mpsc::channel();
    spawn(move || sender.send(current_worker()).unwrap());
    assert!(receiver.recv().unwrap().is_some(), "by a worker");
    let all: Vec<usize> = (0..roving::current_workers()).collect();
    assert_eq!(broadcast(|index| index), all);
    let both = join(current_worker, current_worker);
    assert!(both.0.is_some() && both.1.is_some(), "{both:?}");
    let sum = AtomicUsize::new(0);
    scope(|s| {
        s.spawn_broadcast(|_, _| _ = sum.fetch_add(1, SeqCst));
        s.spawn(|_| _ = sum.fetch_add(1, SeqCst));
    });
    assert_eq!(sum.into_inner(), all.len() + 1);
    assert_eq!(roving::task::block_on(async { 7 }), 7);
}

#[test]
fn a_thread_whose_pool_is_dropped_is_like_any_other() {
    watched(|| {
        for workers in [1, 2, 4] {
            on_adopted(workers, |pool| {
                assert_eq!(current_worker(), Some(0));
                assert_eq!(join(|| 1, || 2), (1, 2));
                drop(pool);
                is_like_any_other();
                // It can be adopted again, and its pool stopped at once.
                let pool = adopt(workers);
                assert_eq!(current_worker(), Some(0));
                assert!(pool.shutdown_now().is_final());
                is_like_any_other();
            });
        }
    });
}

#[test]
fn a_drop_runs_what_an_adopted_thread_has_spawned() {
    watched(|| {
        for workers in [1, 2, 4] {
            let ran = Arc::new(AtomicUsize::new(0));
            let counter = Arc::clone(&ran);
            let seen = on_adopted(workers, move |pool| {
                for _ in 0..size(100, 10) {
                    let ran = Arc::clone(&counter);
                    spawn(move || _ = ran.fetch_add(1, SeqCst));
                }
                drop(pool);
                counter.load(SeqCst)
            });
            assert_eq!(seen, size(100, 10), "{workers} workers");
        }
    });
}

#[test]
fn another_thread_drops_the_pool_of_an_adopted_one() {
    watched(|| {
        for workers in [1, 2, 4] {
            on_adopted(workers, |pool| {
                thread::spawn(move || drop(pool)).join().unwrap();
                spawn(|| ());
                is_like_any_other();
            });
        }
    });
}

/// A thread that stands in for the adopted one, which is the only worker, goes on with what it runs
/// when that one has left, and all that it can ask for is done.
#[test]
fn who_stands_in_for_an_adopted_thread_outlasts_it() {
    watched(|| {
        let asks: [fn(); 6] = [
            || assert_eq!(roving::task::block_on(async { 7 }), 7),
            || assert_eq!(Pool::current().run(|_| async { 7 }), 7),
            || assert_eq!(Pool::current().install(|| join(|| 1, || 2)), (1, 2)),
            || Pool::current().in_place_scope(|s| s.spawn(|_| ())),
            || assert!(roving::broadcast(|index| index).len() <= 1),
            || {
                let (sender, receiver) = mpsc::channel();
                spawn(move || sender.send(7).unwrap());
                assert_eq!(roving::blocking(|| receiver.recv()), Ok(7));
            },
        ];
        for ask in asks {
            let asked = on_adopted(1, |pool| {
                let (begun, begins) = mpsc::channel();
                let (go, goes) = mpsc::channel::<()>();
                let (asked, was_asked) = mpsc::channel();
                spawn(move || {
                    begun.send(()).unwrap();
                    let _ = goes.recv();
                    ask();
                    asked.send(()).unwrap();
                });
                roving::blocking(|| begins.recv()).unwrap();
                let later = thread::spawn(move || {
                    // Long enough for the adopted thread to leave, most of the time.
                    thread::sleep(std::time::Duration::from_millis(20));
                    drop(go);
                });
                drop(pool);
                later.join().unwrap();
                was_asked.recv()
            });
            assert_eq!(asked, Ok(()));
        }
    });
}

/// The adopted thread's work as a worker goes on, alone.
#[test]
fn the_pool_is_dropped_while_its_adopted_thread_is_inside() {
    watched(|| {
        for workers in [1, 2, 4] {
            for by_itself in [false, true] {
                on_adopted(workers, |pool| {
                    let (sender, receiver) = mpsc::channel();
                    let shares = AtomicUsize::new(0);
                    scope(|s| {
                        match by_itself {
                            true => drop(pool),
                            false => thread::spawn(|| drop(pool)).join().unwrap(),
                        }
                        assert_eq!(current_worker(), Some(0), "it is in a scope");
                        for number in 0..size(50, 8) {
                            let sender = sender.clone();
                            spawn(move || sender.send(number).unwrap());
                        }
                        drop(sender);
                        assert!(broadcast(|index| index).contains(&0));
                        s.spawn_broadcast(|_, _| _ = shares.fetch_add(1, SeqCst));
                        s.spawn(|_| assert_eq!(join(|| 1, || 2), (1, 2)));
                        assert_eq!(roving::task::block_on(async { 7 }), 7);
                    });
                    let mut numbers: Vec<i32> = receiver.into_iter().collect();
                    numbers.sort_unstable();
                    assert!(numbers.into_iter().eq(0..size(50, 8)));
                    assert!((1..=workers).contains(&shares.into_inner()));
                    spawn(|| ());
                    is_like_any_other();
                });
            }
        }
    });
}

#[test]
fn the_pool_is_dropped_in_a_join_of_its_adopted_thread() {
    watched(|| {
        on_adopted(2, |pool| {
            let pool = Mutex::new(Some(pool));
            let drops = || drop(pool.lock().unwrap().take());
            // In either half, at either depth.
            join(|| join(|| (), drops), || ());
            spawn(|| ());
            is_like_any_other();
        });
    });
}

/// The rest of the loop is the thread's own.
#[test]
fn the_pool_is_dropped_in_a_loop_of_its_adopted_thread() {
    watched(|| {
        on_adopted(1, |pool| {
            // So that the loop finds nobody who asks for work, and pushes nothing.
            join(|| (), || ());
            let pool = Mutex::new(Some(pool));
            let sum = AtomicUsize::new(0);
            par_for(0..100, |number| {
                drop(pool.lock().unwrap().take());
                let both = join(current_worker, current_worker);
                assert!(both.0.is_some() && both.1.is_some(), "{number}: {both:?}");
                sum.fetch_add(number, SeqCst);
            });
            assert_eq!(sum.into_inner(), 4950);
            is_like_any_other();
        });
    });
}

/// The loop has been parted before: the thread leaves when all of it has ended.
#[test]
fn the_pool_is_dropped_in_the_last_part_of_a_loop_of_its_adopted_thread() {
    watched(|| {
        on_adopted(2, |pool| {
            let (busy, ends) = (mpsc::channel(), mpsc::channel::<()>());
            pool.spawn(move || {
                busy.0.send(()).unwrap();
                _ = ends.1.recv();
            });
            busy.1.recv().unwrap();
            let pool = Mutex::new(Some(pool));
            par_for(0..2, |number| {
                assert_eq!(current_worker(), Some(0), "the other one is busy");
                if number == 1 {
                    drop(pool.lock().unwrap().take());
                    assert_eq!(current_worker(), Some(0));
                }
            });
            drop(ends.0);
            spawn(|| ());
            is_like_any_other();
        });
    });
}

/// The closure that makes the future drops the pool that is to run it.
#[test]
fn the_pool_is_dropped_where_its_adopted_thread_makes_a_future() {
    watched(|| {
        for workers in [1, 2] {
            for by_itself in [false, true] {
                on_adopted(workers, |pool| {
                    let result = task::scope(|s| {
                        match by_itself {
                            true => drop(pool),
                            false => thread::spawn(|| drop(pool)).join().unwrap(),
                        }
                        spawn(|| ());
                        async move { s.fork(async { 7 }).await.await }
                    });
                    assert_eq!(result, 7);
                    spawn(|| ());
                    is_like_any_other();
                });
            }
        }
    });
}

#[test]
fn a_reference_to_a_pool_that_has_let_the_thread_go_says_so() {
    watched(|| {
        let uses: [fn(&Pool); 4] = [
            |pool| pool.install(|| ()),
            |pool| drop(pool.spawn(|| ())),
            |pool| pool.run(|_| async {}),
            |pool| drop(pool.broadcast(|_| ())),
        ];
        for workers in [1, 2] {
            for uses in uses {
                on_adopted(workers, |pool| {
                    let kept = Pool::current();
                    uses(&kept);
                    in_place_scope(|_| {
                        drop(pool);
                        // The thread is its worker still.
                        uses(&kept);
                    });
                    spawn(|| ());
                    let outcome = catch_unwind(AssertUnwindSafe(|| uses(&kept)));
                    let payload = outcome.unwrap_err();
                    let text = payload.downcast_ref::<String>().unwrap();
                    assert!(text.contains("has left it"), "{text}");
                    assert!(format!("{kept:?}").contains("PoolRef"));
                    uses(&Pool::current());
                    is_like_any_other();
                });
            }
        }
    });
}

/// A pool outlives the thread that it has adopted.
#[test]
fn an_adopted_thread_ends_before_its_pool() {
    watched(|| {
        for workers in [2, 4] {
            let pool = on_adopted(workers, |pool| pool);
            assert_eq!(pool.workers(), workers - 1);
            let others: Vec<usize> = (1..workers).collect();
            assert_eq!(pool.broadcast(|index| index), others);
            let sum = AtomicUsize::new(0);
            pool.in_place_scope(|s| s.spawn_broadcast(|_, index| _ = sum.fetch_add(index, SeqCst)));
            assert_eq!(sum.into_inner(), others.iter().sum());
            assert_eq!(pool.install(|| join(|| 1, || 2)), (1, 2));
            assert!(pool.shutdown_now().is_final());
        }
    });
}

/// Asks the pool, as a thread that is none of its own, for one thing of each kind.
fn serves(pool: &Pool, all: &[usize]) {
    assert_eq!(pool.install(|| join(|| 1, || 2)), (1, 2));
    assert_eq!(pool.broadcast(|index| index), all);
    let (sender, receiver) = mpsc::channel();
    pool.spawn(move || sender.send(()).unwrap());
    receiver.recv().unwrap();
    assert_eq!(pool.in_place_scope(|s| s.spawn(|_| ())), ());
    assert_eq!(pool.run(|_| async { 7 }), 7);
}

#[test]
fn a_pool_whose_only_thread_has_ended_gets_another() {
    watched(|| {
        let ran = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&ran);
        let pool = on_adopted(1, move |pool| {
            pool.spawn(move || _ = counter.fetch_add(1, SeqCst));
            pool
        });
        assert_eq!((ran.load(SeqCst), pool.workers()), (1, 1));
        serves(&pool, &[0]);
        pool.resize(1).unwrap();
        serves(&pool, &[0]);
        assert!(pool.shutdown_now().is_final());
        // Or none, if nobody needs it.
        drop(on_adopted(1, |pool| pool));
    });
}

/// They find it as it was for the thread: a worker, and a pool that serves everybody.
#[test]
fn jobs_that_run_when_the_only_thread_ends_use_the_pool() {
    watched(|| {
        let (sender, receiver) = mpsc::channel();
        let pool = on_adopted(1, move |pool| {
            let pool = Arc::new(pool);
            let held = Arc::clone(&pool);
            pool.spawn(move || {
                assert_eq!(current_worker(), Some(0));
                assert_eq!(roving::task::block_on(async { 7 }), 7);
                assert_eq!(join(|| 1, || 2), (1, 2));
                assert_eq!(broadcast(|index| index), [0]);
                thread::scope(|s| s.spawn(|| held.spawn(|| ())).join().unwrap());
                spawn(move || sender.send(current_worker()).unwrap());
            });
            pool
        });
        // Where the worker waited for long, a compensation thread runs it.
        let index = receiver.recv().unwrap();
        assert!(matches!(index, Some(0 | 1)), "{index:?}");
        serves(&pool, &[0]);
    });
}

/// A job that is added while the thread leaves is run by that thread or the next.
#[test]
fn nothing_is_lost_between_the_only_thread_and_the_next() {
    watched(|| {
        for _ in 0..common::tries(300) {
            let (give, given) = mpsc::channel();
            let adopted = thread::spawn(move || {
                let pool = Arc::new(adopt(1));
                give.send(Arc::clone(&pool)).unwrap();
                pool
            });
            serves(&given.recv().unwrap(), &[0]);
            drop(adopted.join().unwrap());
        }
    });
}

/// Each waits for what a job does that the calling thread has added to its own pool.
fn waits() -> Vec<(&'static str, fn())> {
    vec![
        ("blocking", || {
            let (sender, receiver) = mpsc::channel();
            spawn(move || sender.send(()).unwrap());
            roving::blocking(|| receiver.recv().unwrap());
        }),
        ("a handle", || {
            let (sender, receiver) = mpsc::channel();
            spawn(move || sender.send(()).unwrap());
            roving::task::block_on(async move { roving::blocking(|| receiver.recv().unwrap()) });
        }),
        ("a scope on another thread", || {
            scope(|s| {
                thread::scope(|t| t.spawn(|| s.spawn(|_| drop(spawn(|| ())))).join().unwrap())
            });
        }),
        ("what waits for what comes later", || {
            let (sender, receiver) = mpsc::channel();
            let (answer, answered) = mpsc::channel();
            spawn(move || answer.send(receiver.recv()).unwrap());
            sender.send(7).unwrap();
            assert_eq!(roving::blocking(|| answered.recv()), Ok(Ok(7)));
        }),
    ]
}

#[test]
fn the_pool_is_dropped_while_its_adopted_thread_waits_for_its_own_job() {
    watched(|| {
        for workers in [1, 2] {
            for (what, wait) in waits() {
                // Before the wait, and at any moment.
                for is_first in [true, false] {
                    eprintln!("{workers} workers, {what}, dropped first: {is_first}");
                    on_adopted(workers, |pool| {
                        scope(|_| {
                            let dropper = thread::spawn(|| drop(pool));
                            if is_first {
                                dropper.join().unwrap();
                                wait();
                            } else {
                                wait();
                                dropper.join().unwrap();
                            }
                        });
                        spawn(|| ());
                        is_like_any_other();
                    });
                }
            }
        }
    });
}

/// The job is there before the drop, and the thread waits only after it.
#[test]
fn a_drop_by_another_thread_runs_what_the_adopted_one_has_added() {
    watched(|| {
        for workers in [1, 2] {
            on_adopted(workers, |pool| {
                let (sender, receiver) = mpsc::channel();
                scope(move |_| {
                    spawn(move || sender.send(7).unwrap());
                    thread::spawn(|| drop(pool)).join().unwrap();
                    assert_eq!(receiver.recv(), Ok(7), "by a thread of the pool's");
                });
                spawn(|| ());
                is_like_any_other();
            });
        }
    });
}

#[test]
fn an_adopted_thread_whose_pool_is_resized() {
    watched(|| {
        on_adopted(4, |pool| {
            for size in [1, 3, 2, 4, 1] {
                pool.resize(size).unwrap();
                assert_eq!(pool.workers(), size);
                let all: Vec<usize> = (0..size).collect();
                assert_eq!(pool.broadcast(|index| index), all);
                assert_eq!(join(|| 1, || 2), (1, 2));
                scope(|s| (0..20).for_each(|_| s.spawn(|_| _ = join(|| (), || ()))));
            }
            // Alone at work, it is the others' to run what it spawns; they do when they end.
            let (sender, receiver) = mpsc::channel();
            spawn(move || sender.send(()).unwrap());
            drop(pool);
            receiver.recv().unwrap();
            is_like_any_other();
        });
        // The size is kept when the thread is gone.
        let pool = on_adopted(4, |pool| {
            pool.resize(2).unwrap();
            pool
        });
        assert_eq!((pool.workers(), pool.workers_max()), (2, 3));
        assert_eq!(pool.broadcast(|index| index), [1, 2]);
        pool.resize(1).unwrap();
        assert_eq!(pool.broadcast(|index| index), [1]);
        assert!(pool.resize(4).is_err());
    });
}

#[test]
fn an_adopted_thread_whose_pool_is_stopped_by_another() {
    watched(|| {
        for workers in [1, 3] {
            on_adopted(workers, |pool| {
                let held: Sender<()>;
                let gone;
                (held, gone) = mpsc::channel();
                pool.spawn(move || drop(held));
                let stopped = thread::spawn(|| pool.shutdown_now()).join().unwrap();
                assert!(!stopped.is_final(), "the thread is a worker still");
                assert!(gone.recv().is_err(), "run or dropped");
                spawn(|| ());
                is_like_any_other();
            });
        }
    });
}

/// The values of a pool's workers outlive the pool, and so does its adopted thread's.
#[test]
fn worker_locals_outlive_an_adopted_threads_pool() {
    watched(|| {
        on_adopted(2, |pool| {
            let local = WorkerLocal::new(|| 5);
            assert_eq!(local.with(|value| *value), 5);
            drop(pool);
            assert_eq!(local.try_with(|value| *value), None, "a thread of no pool");
            assert_eq!(local.into_iter().collect::<Vec<_>>(), [5]);
        });
    });
}

#[test]
fn a_pool_in_place_on_an_adopted_thread() {
    watched(|| {
        on_adopted(2, |pool| {
            let in_place = Pool::builder().caller_runs().build().unwrap();
            in_place.install(|| {
                assert_eq!(roving::current_workers(), 1);
                drop(pool);
                assert_eq!(roving::current_workers(), 1);
                assert_eq!(join(|| 1, || 2), (1, 2));
            });
            spawn(|| ());
            is_like_any_other();
        });
    });
}

/// Thieves, alarms and broadcasts meet a thread that leaves.
#[test]
fn threads_leave_while_others_look_for_work() {
    watched(|| {
        let rounds = Arc::new(AtomicUsize::new(0));
        for round in 0..common::tries(100) {
            let ended = Arc::clone(&rounds);
            on_adopted(3, move |pool| {
                let (go_on, may_go_on) = mpsc::channel::<()>();
                let ended = Arc::clone(&ended);
                spawn(move || {
                    while may_go_on.try_recv() == Err(mpsc::TryRecvError::Empty) {
                        broadcast(|_| _ = join(|| (), || ()));
                    }
                    ended.fetch_add(1, SeqCst);
                });
                if round % 2 == 0 {
                    scope(|s| (0..10).for_each(|_| s.spawn(|_| ())));
                    let dropper = thread::spawn(move || drop(go_on));
                    drop(pool);
                    dropper.join().unwrap();
                    is_like_any_other();
                } else {
                    // It ends, and the pool with it by another thread.
                    drop(go_on);
                    thread::spawn(move || drop(pool));
                }
            });
            wait_until(|| rounds.load(SeqCst) == round + 1);
        }
    });
}

/// Two threads would be the one worker that there is: the thread that was adopted, and whoever
/// enters the pool meanwhile.
#[test]
fn a_pool_of_callers_adopts_nobody() {
    let pool = Pool::builder()
        .caller_runs()
        .adopt_current_thread()
        .build()
        .unwrap();
    assert_eq!(current_worker(), None, "only inside of a call");
    let there = thread::scope(|s| s.spawn(|| pool.install(current_worker)).join().unwrap());
    assert_eq!(there, Some(0));
    assert_eq!(pool.install(current_worker), Some(0));
}
