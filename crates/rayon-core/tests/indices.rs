//! `current_thread_index` is below the number of threads, and no two threads have the same at a
//! time, also where compensation threads run what the pool's own ones have no time for.

mod common;

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use common::{own_threads, pool, wait_until, watched};
use rayon_core::{ThreadPool, current_thread_index, join};

/// Who uses which index now.
#[derive(Clone)]
struct Used(Arc<[AtomicBool]>);

impl Used {
    fn new(threads: usize) -> Used {
        Used((0..threads).map(|_| AtomicBool::new(false)).collect())
    }

    /// Calls `f` as the only one with the calling thread's index.
    fn alone<R>(&self, f: impl FnOnce() -> R) -> R {
        let index = current_thread_index().expect("a thread of the pool");
        let mine = self
            .0
            .get(index)
            .unwrap_or_else(|| panic!("index {index} is out of range"));
        assert!(!mine.swap(true, SeqCst), "two threads have index {index}");
        let result = f();
        assert_eq!(current_thread_index(), Some(index), "it has changed");
        mine.store(false, SeqCst);
        result
    }
}

/// Has the only thread of the pool wait while `f` runs, and a while longer.
fn while_it_waits(pool: &ThreadPool, f: impl FnOnce()) {
    let other = common::pool(1);
    let (waits, go_on) = (AtomicBool::new(false), AtomicBool::new(false));
    thread::scope(|s| {
        s.spawn(|| {
            pool.install(|| {
                other.install(|| {
                    waits.store(true, SeqCst);
                    wait_until(|| go_on.load(SeqCst));
                });
            });
        });
        wait_until(|| waits.load(SeqCst));
        f();
        go_on.store(true, SeqCst);
    });
}

#[test]
fn a_broadcast_on_a_waiting_thread_shares_no_index_with_the_job_in_its_place() {
    watched(|| {
        let (pool, used) = (Arc::new(pool(1)), Used::new(1));
        while_it_waits(&pool, || {
            let (begun, has_begun) = mpsc::channel();
            let (ended, has_ended) = mpsc::channel();
            let theirs = used.clone();
            pool.spawn(move || {
                theirs.alone(|| {
                    begun.send(()).unwrap();
                    thread::sleep(Duration::from_millis(50));
                });
                ended.send(()).unwrap();
            });
            has_begun.recv().unwrap();
            assert_eq!(pool.broadcast(|all| used.alone(|| all.index())), [0]);
            has_ended.recv().unwrap();
        });
    });
}

#[test]
fn a_job_in_the_place_of_a_waiting_thread_can_broadcast() {
    watched(|| {
        let pool = Arc::new(pool(1));
        while_it_waits(&pool, || {
            let (sender, receiver) = mpsc::channel();
            pool.spawn(move || {
                let before = current_thread_index();
                let all = rayon_core::broadcast(|_| current_thread_index());
                sender.send((before, all, current_thread_index())).unwrap();
            });
            assert_eq!(receiver.recv(), Ok((Some(0), vec![Some(0)], Some(0))));
        });
    });
}

/// The thread of `pool` is awaited no more, but its index is still in use by a job that waits for
/// another one of this pool.
#[test]
fn a_thread_that_has_to_wait_for_its_index_is_replaced_meanwhile() {
    watched(|| {
        let (a, b) = (Arc::new(pool(1)), Arc::new(pool(2)));
        let (waits, go_on) = (
            Arc::new(AtomicBool::new(false)),
            Arc::new(AtomicBool::new(false)),
        );
        let (sender, receiver) = mpsc::channel();
        let job = {
            let (a, b, go_on) = (Arc::clone(&a), Arc::clone(&b), Arc::clone(&go_on));
            move || {
                assert_eq!(current_thread_index(), Some(0));
                b.install(|| {
                    go_on.store(true, SeqCst);
                    // Until the other call has long returned.
                    thread::sleep(Duration::from_millis(50));
                    let mut sum = 0;
                    a.in_place_scope(|s| s.spawn(|_| sum += 5));
                    sender.send(sum).unwrap();
                });
            }
        };
        a.install(|| {
            b.install(|| {
                waits.store(true, SeqCst);
                a.spawn(job);
                wait_until(|| go_on.load(SeqCst));
            });
        });
        assert!(waits.load(SeqCst));
        assert_eq!(receiver.recv(), Ok(5));
    });
}

/// Joins, scopes, detached tasks, calls into another pool and back, and broadcasts, all at once.
fn mixed(pool: &Arc<ThreadPool>, threads: usize) {
    let used = Used::new(threads);
    let other = Arc::new(common::pool(2));
    let done = Arc::new(AtomicUsize::new(0));
    let mut spawned = 0;
    let until = Instant::now() + Duration::from_millis(500);
    while Instant::now() < until {
        for _ in 0..threads {
            let (used, done) = (used.clone(), Arc::clone(&done));
            pool.spawn(move || {
                used.alone(|| thread::sleep(Duration::from_micros(50)));
                done.fetch_add(1, SeqCst);
            });
            spawned += 1;
        }
        pool.install(|| {
            let leaf = || used.alone(|| thread::sleep(Duration::from_micros(50)));
            join(leaf, || join(leaf, leaf));
            other.install(|| thread::sleep(Duration::from_micros(50)));
            rayon_core::scope(|s| {
                s.spawn(|_| leaf());
                s.spawn(|_| leaf());
            });
        });
        pool.broadcast(|all| used.alone(|| assert!(all.index() < threads)));
    }
    wait_until(|| done.load(SeqCst) == spawned);
}

#[test]
fn indices_are_in_range_and_never_shared() {
    watched(|| {
        for threads in [1, 2, 4] {
            mixed(&Arc::new(pool(threads)), threads);
        }
    });
}

#[test]
fn and_so_they_are_with_threads_of_the_users_own() {
    watched(|| {
        for threads in [1, 3] {
            mixed(&Arc::new(own_threads(threads)), threads);
        }
    });
}
