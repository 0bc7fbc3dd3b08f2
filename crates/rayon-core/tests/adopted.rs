//! `use_current_thread`: the caller is a thread of the pool until the pool is dropped, or it ends.

mod common;

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, mpsc};
use std::thread;

use common::{wait_until, watched};
use rayon_core::{
    ThreadPool, ThreadPoolBuilder, broadcast, current_num_threads, current_thread_index, join,
    scope, spawn, spawn_broadcast, yield_now,
};

fn adopt(threads: usize) -> ThreadPool {
    let builder = ThreadPoolBuilder::new().num_threads(threads);
    builder
        .use_current_thread()
        .build()
        .expect("no pool's thread yet")
}

/// A new thread is thread 0 of a new pool.
fn on_adopted<R: Send>(threads: usize, f: impl FnOnce(ThreadPool) -> R + Send) -> R {
    thread::scope(|s| s.spawn(|| f(adopt(threads))).join().unwrap())
}

fn fib(n: u32) -> u64 {
    if n < 2 {
        return n.into();
    }
    let (a, b) = join(|| fib(n - 1), || fib(n - 2));
    a + b
}

/// Thieves look for work, and raise alarms, while the thread that they take it from ends.
#[test]
fn threads_end_while_others_steal_from_them() {
    watched(|| {
        for round in 0..200 {
            let end = on_adopted(3, |pool| {
                assert_eq!(fib(10), 55);
                let end = Arc::new(AtomicBool::new(false));
                // The others stay at work, and look at what this thread has.
                for _ in 0..2 {
                    let end = Arc::clone(&end);
                    spawn(move || {
                        while !end.load(SeqCst) {
                            assert_eq!(fib(8), 21);
                        }
                    });
                }
                if round % 2 == 0 {
                    drop(pool);
                } else {
                    // The pool outlives its first thread.
                    std::mem::forget(pool);
                }
                end
            });
            thread::yield_now();
            end.store(true, SeqCst);
        }
    });
}

#[test]
fn an_adopted_thread_stays_in_its_pool_and_in_no_other() {
    watched(|| {
        on_adopted(2, |pool| {
            assert_eq!(current_thread_index(), Some(0));
            assert_eq!(pool.install(current_thread_index), Some(0));
            let again = ThreadPoolBuilder::new()
                .num_threads(2)
                .use_current_thread()
                .build();
            let error = again.unwrap_err().to_string();
            assert_eq!(
                error,
                "The current thread is already part of another thread pool."
            );
            assert_eq!(broadcast(|all| all.index()), [0, 1]);
            drop(pool);
            // A thread like any other again: what it asks for is the global pool's to do.
            assert_eq!(current_thread_index(), None);
            assert_eq!(fib(15), 610);
            let (sender, receiver) = mpsc::channel();
            spawn(move || sender.send(current_thread_index()).unwrap());
            assert!(receiver.recv().unwrap().is_some());
            assert_eq!(broadcast(|_| ()).len(), current_num_threads());
            assert!(adopt(2).install(current_thread_index).is_some());
        });
        assert_eq!(current_thread_index(), None);
    });
}

#[test]
fn others_install_into_a_pool_whose_first_thread_does_not_work() {
    watched(|| {
        on_adopted(2, |pool| {
            thread::scope(|s| {
                for _ in 0..4 {
                    s.spawn(|| {
                        for _ in 0..50 {
                            assert_eq!(
                                pool.install(|| (fib(5), current_thread_index())),
                                (5, Some(1))
                            );
                        }
                    });
                }
            });
        });
    });
}

/// Tasks that the adopted thread has spawned run on the other threads, or when it yields.
#[test]
fn detached_tasks_of_an_adopted_thread_run() {
    watched(|| {
        for threads in [1, 2, 4] {
            on_adopted(threads, |_pool| {
                let (sender, receiver) = mpsc::channel();
                for number in 0..100 {
                    let sender = sender.clone();
                    spawn(move || sender.send(number).unwrap());
                }
                drop(sender);
                let mut got: Vec<u32> = Vec::new();
                loop {
                    match receiver.try_recv() {
                        Ok(number) => got.push(number),
                        Err(mpsc::TryRecvError::Disconnected) => break,
                        Err(mpsc::TryRecvError::Empty) => _ = yield_now(),
                    }
                }
                got.sort_unstable();
                assert!(got.into_iter().eq(0..100));
            });
        }
    });
}

#[test]
fn an_adopted_thread_helps_while_it_waits() {
    watched(|| {
        on_adopted(2, |_pool| {
            let (seen, both) = (AtomicUsize::new(0), AtomicBool::new(false));
            scope(|s| {
                for _ in 0..2 {
                    s.spawn(|_| {
                        if seen.fetch_add(1, SeqCst) == 1 {
                            both.store(true, SeqCst);
                        }
                        // One of them is here, the other one there.
                        wait_until(|| both.load(SeqCst));
                    });
                }
            });
        });
    });
}

/// The handler spawns into a pool that it then refuses a thread; the one before that is given up
/// later than the pool.
#[test]
fn what_is_spawned_into_a_pool_that_cannot_be_built_runs() {
    watched(|| {
        for to_all in [false, true] {
            let (sender, ran) = mpsc::channel();
            let build = move || {
                let mut kept = Vec::new();
                let builder = ThreadPoolBuilder::new().num_threads(3).use_current_thread();
                let built = builder.spawn_handler(|thread| {
                    if thread.index() == 2 {
                        return Err(std::io::Error::other("no thread"));
                    }
                    let sender = sender.clone();
                    let send = move || sender.send(current_thread_index()).unwrap();
                    match to_all {
                        false => spawn(send),
                        true => spawn_broadcast(move |_| send()),
                    }
                    kept.push(thread);
                    Ok(())
                });
                assert!(built.build().is_err());
                assert_eq!(current_thread_index(), None);
            };
            thread::spawn(build).join().unwrap();
            assert_eq!(ran.recv(), Ok(Some(1)));
        }
    });
}
