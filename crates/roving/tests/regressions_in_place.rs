//! Pools without threads of their own, in which a thread of the program is the worker: what others
//! bring meanwhile, what stands beneath them, and what is left of it.

mod common;

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::Duration;

use common::{tries, wait_until, watched};
use roving::raw::calls::{StandIn, Target, stand_in};
use roving::raw::waits::lent_index;
use roving::{Arena, Pool, broadcast, context, scope, task};

/// A thread spawns a broadcast into a scope of a pool without threads, whose worker waits for that
/// thread: to spawn waits for nobody.
#[test]
fn a_broadcast_into_a_scope_of_an_in_place_pool_that_is_busy() {
    watched(|| {
        let pool = Pool::builder().caller_runs().build().unwrap();
        for _ in 0..tries(100) {
            let count = AtomicUsize::new(0);
            let counts = || _ = count.fetch_add(1, SeqCst);
            pool.install(|| {
                scope(|s| {
                    thread::scope(|threads| {
                        threads.spawn(|| {
                            s.spawn(|_| counts());
                            s.spawn_broadcast(|_, index| (index..1).for_each(|_| counts()));
                            Target::of(&pool).spawn_broadcast(|_| ());
                        });
                    });
                });
            });
            assert_eq!(count.into_inner(), 2);
        }
    });
}

/// A worker of a pool without threads has entered another one, and waits there for a task of the
/// first: nobody else would run it.
#[test]
fn a_handle_of_an_in_place_pool_further_out() {
    watched(|| {
        let in_place = || Pool::builder().caller_runs().build().unwrap();
        let (a, b) = (in_place(), in_place());
        let joined = a.install(|| b.install(|| a.spawn(|| 5).join().unwrap()));
        let awaited = a.install(|| b.run(|_| async { a.spawn(|| 6).await.unwrap() }));
        assert_eq!((joined, awaited), (5, 6));
    });
}

/// A worker waits for the place in a pool without threads, and for its index, with which a job
/// runs. That calls for something which the worker does on top of its wait, in the same place.
#[test]
fn a_place_that_is_free_while_an_index_is_lent() {
    watched(|| {
        for how in [StandIn::ForAll, StandIn::ForJobs] {
            let builder = stand_in(Pool::builder().workers(1), how);
            let pool = builder.build().unwrap();
            let place = Pool::builder().caller_runs().build().unwrap();
            let (is_in, leaves) = (AtomicBool::new(false), AtomicBool::new(false));
            thread::scope(|s| {
                s.spawn(|| {
                    place.install(|| {
                        is_in.store(true, SeqCst);
                        wait_until(|| leaves.load(SeqCst));
                    });
                });
                wait_until(|| is_in.load(SeqCst));
                s.spawn(|| pool.install(|| place.install(|| 1)));
                // Most often it waits by now.
                thread::sleep(Duration::from_millis(20));
                pool.in_place_scope(|jobs| {
                    jobs.spawn(|_| {
                        let _ = lent_index();
                        leaves.store(true, SeqCst);
                        thread::sleep(Duration::from_millis(20));
                        let all = broadcast(|index| place.install(|| index));
                        assert_eq!(all, [0]);
                    });
                });
            });
        }
    });
}

/// A worker of a share of an arena has entered a pool without threads, and calls another share,
/// where it blocks until tasks have run that it has left behind: another thread takes them.
#[test]
fn a_share_that_is_visited_from_within_an_in_place_pool() {
    watched(|| {
        for threads in 2..=3 {
            let arena = Arena::new(threads).unwrap();
            let [first, second] = [(); 2].map(|()| arena.pool().build().unwrap());
            let place = Pool::builder().caller_runs().build().unwrap();
            first.install(|| {
                let (sender, receiver) = mpsc::channel();
                let receiver = Mutex::new(receiver);
                scope(|s| {
                    for _ in 0..3 {
                        let sender = sender.clone();
                        s.spawn(move |_| sender.send(()).unwrap());
                    }
                    let waits = || {
                        let receiver = receiver.lock().unwrap();
                        (0..3).for_each(|_| receiver.recv().unwrap());
                    };
                    place.install(|| second.install(waits));
                });
            });
        }
    });
}

/// Roots that a pool without threads waits for in one long call, each woken by another thread:
/// nothing of them stays until the call has returned.
#[test]
fn roots_within_one_call_into_an_in_place_pool() {
    watched(|| {
        let pool = Pool::builder().caller_runs().build().unwrap();
        let value = Arc::new(());
        let kept = pool.install(|| {
            for _ in 0..tries(100) {
                context::with(Arc::clone(&value), || {
                    let (sender, receiver) = async_channel::bounded(1);
                    let waits = task::block_on(async {
                        let sends = thread::spawn(move || {
                            thread::sleep(Duration::from_micros(100));
                            sender.send_blocking(()).unwrap();
                        });
                        receiver.recv().await.unwrap();
                        sends
                    });
                    waits.join().unwrap();
                });
            }
            Arc::strong_count(&value)
        });
        assert_eq!(kept, 1);
    });
}
