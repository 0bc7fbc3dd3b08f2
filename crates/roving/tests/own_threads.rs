//! `build_with`: threads that the user provides, and those that never come.

mod common;

use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Mutex, mpsc};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use common::{occupy_one, watched};
use roving::embed::WorkerThread;
use roving::raw::tasks::{Place, spawn_placed};
use roving::{Pool, current_worker, join};

/// A pool of so many workers of which those that `is_there` says get a thread.
fn pool_with(
    workers: usize,
    is_there: impl Fn(usize) -> bool,
) -> (Pool, Vec<JoinHandle<()>>, Vec<WorkerThread>) {
    let (mut threads, mut never) = (Vec::new(), Vec::new());
    let pool = Pool::builder().workers(workers).build_with(|worker| {
        match is_there(worker.index()) {
            true => threads.push(thread::spawn(|| worker.run())),
            false => never.push(worker),
        }
        Ok(())
    });
    (pool.unwrap(), threads, never)
}

fn end(pool: Pool, threads: Vec<JoinHandle<()>>) {
    drop(pool);
    threads.into_iter().for_each(|t| t.join().unwrap());
}

/// Everything that asks each worker asks those that are there.
fn is_whole(pool: &Pool, workers: &[usize]) {
    assert_eq!(pool.workers(), workers.len());
    assert_eq!(pool.install(roving::current_workers), workers.len());
    assert_eq!(pool.broadcast(|index| index), workers);
    assert_eq!(pool.install(|| roving::broadcast(|index| index)), workers);
    let seen = Mutex::new(Vec::new());
    pool.in_place_scope(|s| s.spawn_broadcast(|_, index| seen.lock().unwrap().push(index)));
    pool.install(|| {
        roving::scope(|s| s.spawn_broadcast(|_, index| seen.lock().unwrap().push(index)));
    });
    let mut seen = seen.into_inner().unwrap();
    seen.sort_unstable();
    let twice: Vec<usize> = workers.iter().flat_map(|&w| [w, w]).collect();
    assert_eq!(seen, twice);
    assert_eq!(pool.install(|| join(|| 1, || 2)), (1, 2));
    assert_eq!(pool.run(|_| async { 7 }), 7);
}

#[test]
fn a_worker_that_was_dropped_does_not_count() {
    watched(|| {
        for missing in 0..3 {
            let (pool, threads, never) = pool_with(3, |index| index != missing);
            assert_eq!(pool.workers(), 3, "it may come yet");
            drop(never);
            let there: Vec<usize> = (0..3).filter(|&index| index != missing).collect();
            is_whole(&pool, &there);
            end(pool, threads);
        }
    });
}

/// The broadcast has been asked for when it turns out that the worker does not come.
#[test]
fn a_broadcast_goes_on_without_a_worker_that_is_dropped() {
    watched(|| {
        let (pool, threads, never) = pool_with(3, |index| index != 1);
        let busy = (occupy_one(&pool), occupy_one(&pool));
        thread::scope(|s| {
            let asked = s.spawn(|| pool.broadcast(|index| index));
            let scoped = s.spawn(|| {
                let count = AtomicUsize::new(0);
                pool.in_place_scope(|s| {
                    s.spawn_broadcast(|_, _| _ = count.fetch_add(1, SeqCst));
                });
                count.into_inner()
            });
            thread::yield_now();
            drop(never);
            drop(busy);
            assert_eq!(asked.join().unwrap(), [0, 2]);
            assert_eq!(scoped.join().unwrap(), 2);
        });
        end(pool, threads);
    });
}

/// Somebody has to run what the pool is given: the last worker gets a thread of the pool's own.
#[test]
fn the_last_worker_gets_a_thread_of_the_pools_own() {
    watched(|| {
        for workers in [1, 3] {
            let (pool, _, never) = pool_with(workers, |_| false);
            let (sender, receiver) = mpsc::channel();
            pool.spawn(move || sender.send(current_worker()).unwrap());
            drop(never);
            assert_eq!(receiver.recv().unwrap(), Some(workers - 1));
            is_whole(&pool, &[workers - 1]);
        }
        // All at once, from several threads.
        for _ in 0..common::tries(50) {
            let (pool, _, never) = pool_with(3, |_| false);
            let (sender, receiver) = mpsc::channel();
            thread::scope(|s| {
                for worker in never {
                    s.spawn(|| drop(worker));
                }
                pool.spawn(move || sender.send(()).unwrap());
            });
            receiver.recv().unwrap();
            assert_eq!(pool.workers(), 1);
        }
    });
}

/// All are dropped before the pool has been built, which gets its thread then; one that cannot be
/// built gets none.
#[test]
fn workers_that_are_dropped_at_once_get_a_thread_when_the_pool_is_built() {
    watched(|| {
        for workers in [1, 3] {
            for fails in [false, true] {
                let (sender, started) = mpsc::channel();
                let builder = Pool::builder().workers(workers);
                let builder = builder.on_start(move |index| sender.send(index).unwrap());
                let built = builder.build_with(|worker| match worker.index() + 1 == workers {
                    true if fails => Err(std::io::Error::other("no thread")),
                    _ => Ok(()),
                });
                match built {
                    Ok(pool) => {
                        is_whole(&pool, &[workers - 1]);
                        assert_eq!(started.recv(), Ok(workers - 1));
                    }
                    Err(_) => assert!(started.recv().is_err(), "of {workers}"),
                }
            }
        }
    });
}

/// A worker counts until its thread has come and gone, or it is dropped. One that is forgotten is
/// never dropped.
#[test]
fn a_worker_that_is_kept_is_waited_for() {
    const BRIEFLY: Duration = Duration::from_millis(20);
    watched(|| {
        let (pool, threads, kept) = pool_with(2, |index| index == 0);
        assert_eq!(pool.workers(), 2);
        assert_eq!(pool.install(|| join(|| 1, || 2)), (1, 2));
        assert_eq!(pool.spawn(|| 3).join().unwrap(), 3);
        let (sender, receiver) = mpsc::channel();
        thread::scope(|s| {
            s.spawn(|| sender.send(pool.broadcast(|index| index)).unwrap());
            assert!(receiver.recv_timeout(BRIEFLY).is_err(), "it waits");
            drop(kept);
            assert_eq!(receiver.recv(), Ok(vec![0]));
        });
        end(pool, threads);
        // The drop of the pool does not wait, and the other thread does.
        let (pool, threads, kept) = pool_with(2, |index| index == 0);
        drop(pool);
        thread::sleep(BRIEFLY);
        assert!(!threads[0].is_finished());
        drop(kept);
        threads
            .into_iter()
            .for_each(|thread| thread.join().unwrap());
    });
}

/// Dropped before any thread has come, the pool still has run what it holds when the last one has
/// gone.
#[test]
fn a_pool_is_dropped_before_its_threads_come() {
    watched(|| {
        for run in [false, true] {
            let (pool, _, never) = pool_with(2, |_| false);
            let (sender, receiver) = mpsc::channel();
            pool.spawn(move || sender.send(()).unwrap());
            drop(pool);
            thread::scope(|s| {
                for worker in never {
                    s.spawn(move || match run {
                        true => worker.run(),
                        false => drop(worker),
                    });
                }
            });
            assert_eq!(receiver.recv(), Ok(()));
        }
    });
}

#[test]
fn sizes_count_the_workers_that_are_there() {
    watched(|| {
        let (pool, threads, never) = pool_with(4, |index| index != 0);
        pool.resize(1).unwrap();
        // Worker 0 was to work; another one does in its place.
        let (sender, receiver) = mpsc::channel();
        pool.spawn(move || sender.send(()).unwrap());
        drop(never);
        receiver.recv().unwrap();
        is_whole(&pool, &[1]);
        for (size, there) in [(2, &[1, 2][..]), (3, &[1, 2, 3]), (1, &[1])] {
            pool.resize(size).unwrap();
            is_whole(&pool, there);
        }
        assert_eq!(pool.workers_max(), 3);
        assert!(pool.resize(4).is_err());
        end(pool, threads);
    });
}

/// A worker that blocks gives its core away, also where another one never came.
#[test]
fn who_blocks_is_stood_in_for() {
    watched(|| {
        for missing in 0..2 {
            let (pool, threads, never) = pool_with(2, |index| index != missing);
            drop(never);
            let (sender, receiver) = mpsc::channel();
            let received = pool.install(move || {
                roving::spawn(move || sender.send(5).unwrap());
                roving::blocking(|| receiver.recv().unwrap())
            });
            assert_eq!(received, 5);
            end(pool, threads);
        }
    });
}

/// The tasks become jobs again, and who adds a job looks at the quota once a second.
#[test]
fn tasks_leave_a_worker_that_is_dropped_when_a_look_at_the_quota_is_due() {
    watched(|| {
        let (mut threads, never) = (Vec::new(), Mutex::new(Vec::new()));
        let builder = Pool::builder().workers(2).follow_quota(true);
        let pool = builder.build_with(|worker| {
            match worker.index() {
                0 => threads.push(thread::spawn(|| worker.run())),
                _ => never.lock().unwrap().push(worker),
            }
            Ok(())
        });
        let pool = pool.unwrap();
        let place = &Place::new(Some(1));
        thread::scope(|s| {
            s.spawn(|| {
                thread::sleep(Duration::from_millis(1500));
                never.lock().unwrap().clear();
            });
            let placed = pool.run(|s| async move { spawn_placed(s, place, async { 7 }).await });
            assert_eq!(placed, 7);
        });
        drop(pool);
        threads.into_iter().for_each(|t| t.join().unwrap());
    });
}
