//! Hooks for another interface on a pool: threads of the user's own, the calling thread as a
//! worker, scopes on the calling thread, broadcasts of scopes, whether a closure has migrated, and
//! tasks that are asked for.

mod common;

use std::panic::{self, AssertUnwindSafe};
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Mutex, mpsc};
use std::thread;
use std::time::Duration;

use common::{pool, size, tries, wait_until, watched};
use roving::raw::waits::run_one;
use roving::{Pool, context, current_worker, join, join_context, scope};

/// A pool whose threads this test starts and joins: calls `f` with it.
fn with_own_threads<R>(workers: usize, f: impl FnOnce(&Pool) -> R) -> R {
    let mut threads = Vec::new();
    let pool = Pool::builder().workers(workers).build_with(|worker| {
        threads.push(thread::Builder::new().spawn(move || worker.run())?);
        Ok(())
    });
    let pool = pool.unwrap();
    let result = f(&pool);
    drop(pool);
    for thread in threads {
        thread.join().unwrap();
    }
    result
}

fn fib(n: u32) -> u64 {
    if n < 2 {
        return n.into();
    }
    let (a, b) = join(|| fib(n - 1), || fib(n - 2));
    a + b
}

#[test]
fn own_threads_do_all_that_a_pool_does_and_end_with_it() {
    watched(|| {
        for workers in [1, 2, 4] {
            let ran = AtomicUsize::new(0);
            with_own_threads(workers, |pool| {
                assert_eq!(pool.install(|| fib(size(15, 6))), size(610, 8));
                assert!(pool.broadcast(|index| index).into_iter().eq(0..workers));
                pool.in_place_scope(|s| {
                    for _ in 0..size(50, 5) {
                        s.spawn(|_| _ = ran.fetch_add(1, SeqCst));
                    }
                });
            });
            assert_eq!(ran.into_inner(), size(50, 5));
        }
    });
}

/// Queued jobs run when the pool is dropped, whoever's its threads are.
#[test]
fn own_threads_run_what_is_left_when_the_pool_is_dropped() {
    watched(|| {
        let (sender, receiver) = mpsc::channel();
        with_own_threads(2, |pool| {
            for number in 0..size(100, 10) {
                let sender = sender.clone();
                pool.spawn(move || roving::spawn(move || sender.send(number).unwrap()));
            }
        });
        drop(sender);
        let mut numbers: Vec<u32> = receiver.into_iter().collect();
        numbers.sort_unstable();
        assert!(numbers.into_iter().eq(0..size(100, 10)));
    });
}

#[test]
fn a_thread_that_cannot_be_had_ends_those_that_were() {
    watched(|| {
        let mut threads = Vec::new();
        let built = Pool::builder().workers(3).build_with(|worker| {
            if worker.index() == 2 {
                return Err(std::io::Error::other("no more"));
            }
            threads.push(thread::spawn(move || worker.run()));
            Ok(())
        });
        assert!(built.unwrap_err().to_string().contains("worker 2"));
        for thread in threads {
            thread.join().unwrap();
        }
    });
}

/// A worker that gets no thread leaves the others to do the work, and to end.
#[test]
fn a_worker_without_a_thread_keeps_nobody() {
    watched(|| {
        for without in 0..3 {
            let mut threads = Vec::new();
            let pool = Pool::builder().workers(3).build_with(|worker| {
                if worker.index() != without {
                    threads.push(thread::spawn(move || worker.run()));
                }
                Ok(())
            });
            let pool = pool.unwrap();
            assert_eq!(pool.install(|| fib(size(10, 5))), size(55, 5));
            drop(pool);
            for thread in threads {
                thread.join().unwrap();
            }
        }
        // All without, and nothing to do.
        drop(Pool::builder().workers(2).build_with(|_| Ok(())).unwrap());
    });
}

/// Runs `f` on another worker than the calling one.
fn elsewhere<R: Send>(f: impl FnOnce() -> R + Send) -> R {
    let has_begun = AtomicBool::new(false);
    let begin = || {
        has_begun.store(true, SeqCst);
        f()
    };
    join(|| wait_until(|| has_begun.load(SeqCst)), begin).1
}

#[test]
fn a_closure_has_migrated_exactly_if_another_worker_runs_it() {
    /// With the second closure stolen for certain, or as it comes.
    fn check(depth: u32, steal: bool) {
        if depth == 0 {
            return;
        }
        let here = current_worker();
        let has_begun = AtomicBool::new(false);
        join_context(
            |migrated| {
                assert!(!migrated && current_worker() == here);
                if steal {
                    wait_until(|| has_begun.load(SeqCst));
                }
                check(depth - 1, false);
            },
            |migrated| {
                has_begun.store(true, SeqCst);
                assert_eq!(migrated, current_worker() != here);
                assert!(migrated || !steal);
                check(depth - 1, false);
            },
        );
    }
    watched(|| {
        let pool = pool(3);
        for _ in 0..tries(200) {
            pool.install(|| check(8, true));
        }
    });
}

#[test]
fn both_closures_of_a_join_from_outside_have_migrated() {
    watched(|| {
        assert_eq!(join_context(|a| a, |b| b), (true, true));
        let inside = pool(1).install(|| join_context(|a| a, |b| b));
        assert_eq!(inside, (false, false));
    });
}

#[test]
fn a_scope_in_place_runs_here_and_its_tasks_there() {
    watched(|| {
        let (pool, other) = (pool(2), pool(2));
        let check = || {
            let not_send = Rc::new(thread::current().id());
            let mut there = Vec::new();
            pool.in_place_scope(|s| {
                assert_eq!(*not_send, thread::current().id());
                s.spawn(|_| there.push(thread::current().id()));
            });
            assert_eq!(there.len(), 1);
            (*not_send, there[0])
        };
        for _ in 0..tries(50) {
            let (here, there) = check();
            assert_ne!(here, there, "a thread of no pool");
            let (here, there) = other.install(check);
            assert_ne!(here, there, "a worker of another pool");
            let _ = pool.install(check);
        }
    });
}

#[test]
fn a_panic_in_a_scope_in_place_waits_for_what_borrows() {
    watched(|| {
        let (pool, other) = (pool(2), pool(1));
        for from_pool in [false, true] {
            let ran = AtomicUsize::new(0);
            let run = || {
                pool.in_place_scope(|s| {
                    for number in 0..20 {
                        let ran = &ran;
                        s.spawn(move |s| {
                            s.spawn_broadcast(move |_, _| {
                                thread::sleep(Duration::from_micros(100));
                                ran.fetch_add(1, SeqCst);
                            });
                            assert_ne!(number, 7, "a task");
                        });
                    }
                    panic::panic_any("the closure");
                });
            };
            let run = AssertUnwindSafe(|| if from_pool { other.install(run) } else { run() });
            let payload = panic::catch_unwind(run).unwrap_err();
            assert_eq!(payload.downcast_ref(), Some(&"the closure"));
            assert_eq!(ran.into_inner(), 40);
        }
    });
}

#[test]
fn each_worker_gets_its_share_of_each_broadcast_of_a_scope() {
    watched(|| {
        let pool = pool(3);
        let seen = Mutex::new(Vec::new());
        let all = |s: &roving::Scope<'_>, index: usize| {
            assert_eq!(current_worker(), Some(index));
            assert!(!s.is_cancelled());
            seen.lock().unwrap().push(index);
        };
        pool.in_place_scope(|s| s.spawn_broadcast(all));
        pool.install(|| roving::scope(|s| s.spawn_broadcast(all)));
        // Also where one worker waits for another one that waits.
        pool.install(|| {
            elsewhere(|| {
                roving::scope(|s| s.spawn(|s| s.spawn_broadcast(all)));
            });
        });
        let mut seen = seen.into_inner().unwrap();
        seen.sort_unstable();
        assert_eq!(seen, [0, 0, 0, 1, 1, 1, 2, 2, 2]);
    });
}

/// The pool has been dropped, one worker has nothing to do and is about to end; then the last task
/// posts something to it, and ends.
#[test]
fn what_the_last_task_broadcasts_is_not_lost() {
    watched(|| {
        for _ in 0..tries(20) {
            let (sender, receiver) = mpsc::channel::<usize>();
            let (go_on, may_go_on) = mpsc::channel::<()>();
            with_own_threads(3, |pool| {
                let target = AssertUnwindSafe(sender);
                pool.spawn(move || {
                    let _ = may_go_on.recv();
                    thread::sleep(Duration::from_millis(2));
                    let AssertUnwindSafe(sender) = { target };
                    roving::raw::calls::Target::with_current::<NoHome, _>(|pool| {
                        pool.spawn_broadcast(move |index| sender.send(index).unwrap());
                    });
                });
                // Now the pool is dropped.
                thread::spawn(move || {
                    thread::sleep(Duration::from_millis(2));
                    drop(go_on);
                });
            });
            let mut all: Vec<usize> = receiver.into_iter().collect();
            all.sort_unstable();
            assert_eq!(all, [0, 1, 2]);
        }
    });
}

struct NoHome;

impl roving::raw::calls::Home for NoHome {
    fn build() -> Pool {
        unreachable!("called on a worker")
    }
}

#[test]
fn a_worker_of_one_pool_can_work_for_another_meanwhile() {
    watched(|| {
        let outer = pool(2);
        let inner = Pool::builder().workers(2).build_with(|worker| {
            outer.spawn(move || worker.run());
            Ok(())
        });
        let inner = inner.unwrap();
        assert_eq!(inner.install(|| fib(size(15, 6))), size(610, 8));
        assert_eq!(
            inner.install(|| elsewhere(|| fib(size(10, 5)))),
            size(55, 5)
        );
        drop(inner);
        assert_eq!(outer.install(|| fib(size(15, 6))), size(610, 8));
    });
}

/// Who asks for a task to run gets its newest, or one from further out, which is in the context
/// there; the newest may also be of a scope that is open in another one.
#[test]
fn a_task_that_is_asked_for_is_in_its_own_context() {
    fn expect(number: Option<u8>) {
        assert_eq!(context::get::<u8>(), number);
    }
    watched(|| {
        pool(1).install(|| {
            scope(|outer| {
                outer.spawn(|_| expect(None));
                outer.spawn(|_| expect(None));
                context::with(1_u8, || {
                    assert_eq!(run_one(true), Some(true));
                    outer.spawn(|_| expect(Some(1)));
                    scope(|inner| {
                        inner.spawn(|_| expect(Some(1)));
                        context::with(2_u8, || {
                            outer.spawn(|_| expect(Some(2)));
                            inner.spawn(|_| expect(Some(2)));
                            for _ in 0..5 {
                                assert_eq!(run_one(true), Some(true));
                                expect(Some(2));
                            }
                        });
                    });
                    assert_eq!(run_one(true), Some(false));
                });
            });
        });
    });
}
