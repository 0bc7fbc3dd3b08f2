//! The global pool is shut down while it is used, and started again.

mod common;

use std::panic::catch_unwind;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::mpsc;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Wake, Waker};
use std::thread;
use std::time::Duration;

use common::{size, tries, wait_until, watched};
use roving::{Cancel, Pool, WorkerLocal, current_worker, current_workers, join, scope};

/// There is one global pool: these tests take turns.
fn alone() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

#[test]
fn it_starts_again_after_it_was_shut_down() {
    let _turn = alone();
    watched(|| {
        for round in 0..tries(30) {
            assert_eq!(
                roving::embed::shutdown_global(),
                Ok(()),
                "nothing, or the last one"
            );
            assert_eq!(roving::embed::shutdown_global(), Ok(()), "nothing");
            if round % 2 == 0 {
                let builder = Pool::builder().workers(1 + round % 3).name("mine");
                builder.build_global().unwrap();
                assert_eq!(current_workers(), 1 + round % 3);
                let late = Pool::builder().build_global().unwrap_err();
                assert!(late.to_string().contains("started already"));
            }
            assert_eq!(join(|| 1, || 2), (1, 2));
            let mut sum = 0;
            scope(|s| s.spawn(|_| sum = 3));
            assert_eq!(sum, 3);
            assert_eq!(roving::task::block_on(async { 4 }), 4);
        }
    });
}

#[test]
fn what_was_spawned_runs_before_it_is_over() {
    let _turn = alone();
    watched(|| {
        let ran = Arc::new(AtomicUsize::new(0));
        for _ in 0..size(1000, 20) {
            let ran = Arc::clone(&ran);
            roving::spawn(move || {
                ran.fetch_add(1, SeqCst);
            });
        }
        roving::embed::shutdown_global().unwrap();
        assert_eq!(ran.load(SeqCst), size(1000, 20));
    });
}

#[test]
fn at_once_it_drops_what_has_not_begun() {
    let _turn = alone();
    watched(|| {
        roving::embed::shutdown_global().unwrap();
        Pool::builder().workers(1).build_global().unwrap();
        let (begun, has_begun) = mpsc::channel();
        let (go_on, may_go_on) = mpsc::channel::<()>();
        roving::spawn(move || {
            begun.send(()).unwrap();
            let _ = may_go_on.recv();
        });
        has_begun.recv().unwrap();
        // What lets the running task go is held by one that is dropped.
        roving::spawn(move || drop(go_on));
        roving::spawn(|| unreachable!("dropped"));
        let dropped = roving::embed::shutdown_global_now();
        assert_eq!((dropped.tasks(), dropped.is_final()), (2, true));
        let nothing = roving::embed::shutdown_global_now();
        assert_eq!((nothing.tasks(), nothing.is_final()), (0, true));
    });
}

/// Threads that use it all the time, and others that shut it down all the time.
#[test]
fn calls_and_shutdowns_at_the_same_time() {
    let _turn = alone();
    watched(|| {
        let is_over = AtomicBool::new(false);
        let spawned = Arc::new(AtomicUsize::new(0));
        let mut sent = 0;
        thread::scope(|s| {
            let users: Vec<_> = (0..3_u64)
                .map(|which| {
                    let (is_over, spawned) = (&is_over, Arc::clone(&spawned));
                    s.spawn(move || {
                        let mut count = 0;
                        while !is_over.load(SeqCst) {
                            assert_eq!(join(|| which, || 2), (which, 2));
                            let spawned = Arc::clone(&spawned);
                            roving::spawn(move || {
                                spawned.fetch_add(1, SeqCst);
                            });
                            count += 1;
                            let mut numbers = [0; 4];
                            roving::in_place_scope(|s| {
                                for number in &mut numbers {
                                    s.spawn(move |_| *number += 1);
                                }
                            });
                            assert_eq!(numbers, [1; 4]);
                        }
                        count
                    })
                })
                .collect();
            for _ in 0..2 {
                s.spawn(|| {
                    for _ in 0..tries(100) {
                        assert_eq!(roving::embed::shutdown_global(), Ok(()));
                        thread::yield_now();
                    }
                });
            }
            for _ in 0..tries(100) {
                roving::embed::shutdown_global().unwrap();
            }
            is_over.store(true, SeqCst);
            for user in users {
                sent += user.join().unwrap();
            }
        });
        roving::embed::shutdown_global().unwrap();
        assert_eq!(spawned.load(SeqCst), sent, "a shutdown loses nothing");
    });
}

#[test]
fn who_uses_it_is_told_and_does_not_wait_for_itself() {
    let _turn = alone();
    watched(|| {
        // In a call that began outside.
        roving::in_place_scope(|s| {
            let error = roving::embed::shutdown_global().unwrap_err().to_string();
            assert!(
                error.starts_with("the global pool is still used"),
                "{error}"
            );
            let ran = Arc::new(AtomicBool::new(false));
            let in_task = Arc::clone(&ran);
            s.spawn(move |_| in_task.store(true, SeqCst));
            // The old pool runs what belongs to it; what is new goes to a fresh one.
            assert_eq!(join(|| 1, || 2), (1, 2));
            wait_until(|| ran.load(SeqCst));
        });
        // On one of its workers, for which a thread waits.
        assert!(join(roving::embed::shutdown_global, || ()).0.is_err());
        // In a detached task, with nobody else.
        let (result, results) = mpsc::channel();
        roving::spawn(move || {
            let stopped = roving::embed::shutdown_global_now();
            result
                .send((stopped.is_final(), current_worker().is_some()))
                .unwrap();
        });
        assert_eq!(results.recv().unwrap(), (false, true));
        assert_eq!(join(|| 3, || 4), (3, 4));
        roving::embed::shutdown_global().unwrap();
    });
}

/// It waits for a call of another thread, on a worker of another pool as well.
#[test]
fn it_waits_for_who_uses_it() {
    let _turn = alone();
    watched(|| {
        let other = Pool::new(1).unwrap();
        for on_worker in [false, true] {
            let old = roving::broadcast(|_| thread::current().id());
            let (begun, has_begun) = mpsc::channel();
            let (go_on, may_go_on) = mpsc::channel::<()>();
            let user = thread::spawn(move || {
                roving::in_place_scope(|_| {
                    begun.send(()).unwrap();
                    let _ = may_go_on.recv();
                });
            });
            has_begun.recv().unwrap();
            let is_shut = Arc::new(AtomicBool::new(false));
            let shuts = Arc::clone(&is_shut);
            let shut = move || {
                roving::embed::shutdown_global().unwrap();
                shuts.store(true, SeqCst);
            };
            let (done, is_done) = mpsc::channel();
            match on_worker {
                true => drop(other.spawn(move || {
                    shut();
                    done.send(()).unwrap();
                })),
                false => drop(thread::spawn(move || {
                    shut();
                    done.send(()).unwrap();
                })),
            }
            // The pool is closed as soon as there is another one; the old one is still waited for.
            wait_until(|| !old.contains(&join(|| thread::current().id(), || ()).0));
            assert!(!is_shut.load(SeqCst), "a thread is inside");
            drop(go_on);
            user.join().unwrap();
            is_done.recv().unwrap();
            roving::embed::shutdown_global().unwrap();
        }
    });
}

/// A thread that uses the pool while another one shuts it down does not wait for its tasks: it may
/// hold what they need.
#[test]
fn who_uses_it_last_does_not_wait_for_its_tasks() {
    let _turn = alone();
    watched(|| {
        // One is kept busy, and the other runs what is asked of the pool until it is closed.
        roving::embed::shutdown_global().unwrap();
        Pool::builder().workers(2).build_global().unwrap();
        let lock = Arc::new(Mutex::new(0));
        let (begun, has_begun) = mpsc::channel();
        let held = lock.lock().unwrap();
        let needs = Arc::clone(&lock);
        let shut = roving::in_place_scope(|_| {
            let old = roving::broadcast(|_| thread::current().id());
            roving::spawn(move || {
                begun.send(()).unwrap();
                *needs.lock().unwrap() += 1;
            });
            has_begun.recv().unwrap();
            let shut = thread::spawn(|| roving::embed::shutdown_global().unwrap());
            // It is closed as soon as there is another one.
            wait_until(|| !old.contains(&join(|| thread::current().id(), || ()).0));
            shut
        });
        drop(held);
        shut.join().unwrap();
        assert_eq!(*lock.lock().unwrap(), 1);
        roving::embed::shutdown_global().unwrap();
    });
}

/// A pool was shut down, and one of its tasks waits for a task of the next one, which shuts that
/// down: it is told at once.
#[test]
fn a_task_of_the_next_pool_waits_for_none_of_the_last() {
    let _turn = alone();
    watched(|| {
        let _ = roving::embed::shutdown_global();
        let (is_in, may_go) = (AtomicBool::new(false), AtomicBool::new(false));
        thread::scope(|s| {
            let (is_in, may_go) = (&is_in, &may_go);
            let of_the_last = move || {
                is_in.store(true, SeqCst);
                wait_until(|| may_go.load(SeqCst));
            };
            s.spawn(move || join(of_the_last, || ()));
            wait_until(|| is_in.load(SeqCst));
            let closes = s.spawn(roving::embed::shutdown_global);
            // Most often it is closed by now.
            thread::sleep(Duration::from_millis(20));
            let (told, ()) = join(roving::embed::shutdown_global, || ());
            assert!(told.is_err());
            may_go.store(true, SeqCst);
            assert_eq!(closes.join().unwrap(), Ok(()));
        });
        let _ = roving::embed::shutdown_global();
    });
}

/// One of its own tasks has shut it down and could not wait; who asks later, outside, can.
#[test]
fn who_is_outside_waits_for_what_was_shut_down_inside() {
    let _turn = alone();
    watched(|| {
        for _ in 0..5 {
            let (shut, is_shut) = mpsc::channel();
            let ended = Arc::new(AtomicBool::new(false));
            let ends = Arc::clone(&ended);
            roving::spawn(move || {
                let result = roving::embed::shutdown_global();
                assert!(roving::embed::shutdown_global().is_err(), "it runs still");
                shut.send(result).unwrap();
                thread::sleep(Duration::from_millis(50));
                ends.store(true, SeqCst);
            });
            assert!(is_shut.recv().unwrap().is_err());
            roving::embed::shutdown_global().unwrap();
            assert!(ended.load(SeqCst), "a task of it runs still");
        }
    });
}

/// The values of a pool that is gone can still be read and dropped.
#[test]
fn values_of_its_workers_outlive_it() {
    let _turn = alone();
    watched(|| {
        let local = WorkerLocal::new(|| 5);
        roving::scope(|_| local.with(|value| assert_eq!(*value, 5)));
        roving::embed::shutdown_global().unwrap();
        assert_eq!(local.try_with(|value| *value), None);
        assert_eq!(local.into_iter().sum::<i32>(), 5);
    });
}

/// The thread that became one of its workers stays one, and is told so.
#[test]
fn a_pool_with_an_adopted_thread_is_given_up() {
    let _turn = alone();
    watched(|| {
        roving::embed::shutdown_global().unwrap();
        let adopted = thread::spawn(|| {
            let builder = Pool::builder().workers(2).adopt_current_thread();
            builder.build_global().unwrap();
            assert_eq!(current_worker(), Some(0));
            assert_eq!(join(|| 1, || 2), (1, 2));
            assert!(roving::embed::shutdown_global().is_err());
            assert_eq!(join(|| 3, || 4), (3, 4), "it still works for its own");
        });
        adopted.join().unwrap();
        assert_eq!(join(|| 5, || 6), (5, 6), "a fresh one");
        roving::embed::shutdown_global().unwrap();
    });
}

/// All workers of a pool wait for the end of the global one, where a job broadcasts to them.
#[test]
fn workers_that_wait_for_its_end_take_part_in_broadcasts() {
    let _turn = alone();
    watched(|| {
        for _ in 0..tries(20) {
            let ours = Arc::new(common::pool(2));
            let (theirs, (sender, sent)) = (Arc::clone(&ours), mpsc::channel());
            roving::spawn(move || {
                // Mostly when they wait.
                thread::sleep(Duration::from_millis(1));
                sender.send(theirs.broadcast(|index| index)).unwrap();
            });
            ours.broadcast(|_| roving::embed::shutdown_global().unwrap());
            assert_eq!(sent.recv(), Ok(vec![0, 1]));
        }
    });
}

/// A worker waits for the end of the global pool, and a part of a broadcast on top of that shuts it
/// down as well: it cannot wait for the frame beneath.
#[test]
fn it_is_shut_down_on_top_of_a_wait_for_its_end() {
    let _turn = alone();
    watched(|| {
        for _ in 0..tries(20) {
            let ours = common::pool(1);
            roving::spawn(|| thread::sleep(Duration::from_millis(2)));
            let shut_down = || ours.broadcast(|_| roving::embed::shutdown_global().is_ok());
            let (one, other) = thread::scope(|s| {
                let other = s.spawn(shut_down);
                (shut_down(), other.join().unwrap())
            });
            assert!(one[0] || other[0], "who is beneath has waited for the end");
        }
    });
}

/// Shuts the global pool down.
struct Shuts(Mutex<mpsc::Sender<bool>>);

impl Wake for Shuts {
    fn wake(self: Arc<Shuts>) {
        let shut = || roving::embed::shutdown_global() == Ok(());
        let is_shut = catch_unwind(shut).unwrap_or(false);
        self.0.lock().unwrap().send(is_shut).unwrap();
    }
}

/// The thread of deadlines is told to end by a waker that it wakes.
#[test]
fn a_waker_that_a_deadline_wakes_shuts_it_down() {
    let _turn = alone();
    watched(|| {
        for _ in 0..tries(5) {
            let (sender, receiver) = mpsc::channel();
            let token = Cancel::after(Duration::from_millis(1));
            let mut waits = pin!(token.cancelled());
            let waker = Waker::from(Arc::new(Shuts(Mutex::new(sender))));
            let mut context = Context::from_waker(&waker);
            if waits.as_mut().poll(&mut context).is_pending() {
                assert!(receiver.recv().unwrap());
            }
        }
    });
}
