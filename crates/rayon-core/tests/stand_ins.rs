//! Detached tasks and calls from elsewhere find a thread where all threads of the pool wait.

mod common;

use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;

use common::{own_threads, pool, wait_until, watched};
use rayon_core::{ThreadPool, ThreadPoolBuilder, join, spawn, spawn_fifo};

/// The awaited task blocks on a detached one, which its spawner, who waits, has not got to.
fn blocks_on_detached(pool: &ThreadPool) {
    watched(|| {
        for round in 0..50 {
            pool.install(|| {
                let (sender, receiver) = mpsc::channel();
                let has_begun = AtomicBool::new(false);
                let begun = &has_begun;
                let receive = move || {
                    begun.store(true, SeqCst);
                    assert_eq!(receiver.recv(), Ok(round));
                };
                let send = || {
                    wait_until(|| has_begun.load(SeqCst));
                    let send = move || sender.send(round).unwrap();
                    match round % 2 {
                        0 => spawn(send),
                        _ => spawn_fifo(send),
                    }
                };
                join(send, receive);
            });
        }
    });
}

#[test]
fn a_task_that_is_awaited_can_block_on_a_detached_one() {
    blocks_on_detached(&pool(2));
}

#[test]
fn also_where_all_threads_are_the_users_own() {
    blocks_on_detached(&own_threads(2));
}

/// Calls `f` while each of the pool's threads waits for another pool.
fn while_all_wait(pool: &ThreadPool, f: impl FnOnce()) {
    let threads = pool.current_num_threads();
    let other = common::pool(threads);
    let go_on = AtomicBool::new(false);
    let (sender, waiting) = mpsc::channel();
    thread::scope(|s| {
        for _ in 0..threads {
            let (sender, other, go_on) = (sender.clone(), &other, &go_on);
            s.spawn(move || {
                pool.install(|| {
                    other.install(|| {
                        sender.send(()).unwrap();
                        wait_until(|| go_on.load(SeqCst));
                    });
                });
            });
        }
        assert_eq!(waiting.iter().take(threads).count(), threads);
        f();
        go_on.store(true, SeqCst);
    });
}

#[test]
fn calls_from_outside_are_answered_while_all_threads_wait() {
    watched(|| {
        for pool in [pool(1), pool(3), own_threads(1), own_threads(2)] {
            for _ in 0..5 {
                while_all_wait(&pool, || {
                    assert_eq!(pool.install(|| join(|| 1, || 2)), (1, 2));
                    let mut sum = 0;
                    pool.in_place_scope(|s| s.spawn(|_| sum += 3));
                    assert_eq!(sum, 3);
                    assert_eq!(pool.broadcast(|_| ()).len(), pool.current_num_threads());
                });
            }
        }
    });
}

/// Says when the last that has one is gone.
fn guard() -> (mpsc::Sender<()>, mpsc::Receiver<()>) {
    mpsc::channel()
}

/// Compensation threads that rest end with their pool.
#[test]
fn no_thread_is_left_of_a_pool_that_has_needed_more() {
    watched(|| {
        let (held, gone) = guard();
        let held = Mutex::new(held);
        let builder = ThreadPoolBuilder::new().num_threads(2);
        let pool = builder
            .panic_handler(move |_| drop(held.lock()))
            .build()
            .unwrap();
        while_all_wait(&pool, || {
            pool.install(|| ());
        });
        drop(pool);
        assert!(
            gone.recv().is_err(),
            "all threads have let go of the handler"
        );
    });
}

/// A task has the last handle to its pool, and leaves it more to do.
#[test]
fn a_pool_that_its_own_task_drops_runs_what_it_holds() {
    watched(|| {
        for threads in [1, 2] {
            for pool in [pool(threads), own_threads(threads)] {
                let (sender, receiver) = mpsc::channel();
                let pool = Arc::new(pool);
                let (theirs, dropped) = (Arc::clone(&pool), Arc::new(AtomicBool::new(false)));
                let here = Arc::clone(&dropped);
                pool.spawn(move || {
                    wait_until(|| here.load(SeqCst));
                    for number in 0..50 {
                        let sender = sender.clone();
                        theirs.spawn(move || spawn_fifo(move || sender.send(number).unwrap()));
                    }
                    drop(theirs);
                    spawn(move || sender.send(50).unwrap());
                });
                drop(pool);
                dropped.store(true, SeqCst);
                let mut numbers: Vec<u32> = receiver.into_iter().collect();
                numbers.sort_unstable();
                assert!(numbers.into_iter().eq(0..=50));
            }
        }
    });
}

/// The closure that has the pool panics: its threads end, and the panic goes on.
#[test]
fn a_scoped_pool_ends_also_by_a_panic() {
    watched(|| {
        let (held, gone) = guard();
        let run = || {
            let builder = ThreadPoolBuilder::new().num_threads(2);
            let held = Mutex::new(held);
            builder.build_scoped(
                |thread| {
                    let _held = held.lock().unwrap().clone();
                    thread.run();
                },
                |pool| {
                    pool.spawn(|| ());
                    std::panic::panic_any("with the pool");
                },
            )
        };
        let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(run));
        let payload = panicked.map(|_| ()).unwrap_err();
        assert_eq!(payload.downcast_ref(), Some(&"with the pool"));
        assert!(gone.recv().is_err());
    });
}

/// The older of two ways to start threads gives way to the newer one.
#[test]
fn a_spawn_handler_can_be_replaced() {
    watched(|| {
        let builder = ThreadPoolBuilder::new().num_threads(1);
        let builder = builder.spawn_handler(|_| unreachable!("replaced"));
        let builder = builder.spawn_handler(|thread| {
            thread::Builder::new()
                .name("new".into())
                .spawn(|| thread.run())?;
            Ok(())
        });
        let name = |thread: thread::Thread| thread.name().map(str::to_owned);
        let pool = builder.build().unwrap();
        assert_eq!(
            pool.install(|| name(thread::current())).as_deref(),
            Some("new")
        );
    });
}
