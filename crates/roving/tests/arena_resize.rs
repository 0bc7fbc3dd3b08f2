//! Pools that get more or fewer workers while they run, by request or by the quota.

mod common;

use std::collections::HashSet;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Barrier, Mutex, mpsc};
use std::thread;
use std::time::Duration;

use common::{Random, size, tries, wait_until, watched};
use roving::{Arena, Pool, join};

fn fib(n: u32) -> u64 {
    if n < 2 {
        return n.into();
    }
    let (a, b) = join(|| fib(n - 1), || fib(n - 2));
    a + b
}

/// A pool with threads of its own, and a share, both for up to `most` workers.
fn both(most: usize) -> [Pool; 2] {
    let arena = Arena::new(most).unwrap();
    [Pool::builder(), arena.pool()].map(|builder| {
        let builder = builder.workers(most).workers_max(most);
        builder.build().unwrap()
    })
}

/// The workers that take part when each job waits for as many as there should be.
fn meet(pool: &Pool, workers: usize) -> Vec<usize> {
    let barrier = Arc::new(Barrier::new(workers));
    let (sender, receiver) = mpsc::channel();
    for _ in 0..workers {
        let (barrier, sender) = (Arc::clone(&barrier), sender.clone());
        pool.spawn(move || {
            barrier.wait();
            sender.send(roving::current_worker().unwrap()).unwrap();
        });
    }
    let mut met: Vec<usize> = receiver.iter().take(workers).collect();
    met.sort_unstable();
    met
}

/// As many as that are at work at the same time, and after a while no benched one is among them. A
/// thread that stood in for a worker may be, if it has not gone yet.
fn all_meet(pool: &Pool, workers: usize) {
    none_is_late(workers..pool.workers_max(), || {
        let mut met = meet(pool, workers);
        met.dedup();
        assert_eq!(met.len(), workers);
        met
    });
}

/// Has jobs run, again and again, until no benched worker has run one. One that was on its way to
/// sleep may still take a job, because it looks first: each of them one, however long that way is.
fn none_is_late(benched: Range<usize>, mut run: impl FnMut() -> Vec<usize>) {
    let mut late = HashSet::new();
    loop {
        let ran_on = run();
        let of_benched = ran_on.iter().filter(|index| benched.contains(index));
        let before = late.len();
        for index in of_benched {
            assert!(late.insert(*index), "{index} is benched: {ran_on:?}");
        }
        if late.len() == before {
            return;
        }
    }
}

#[test]
fn a_pool_works_with_as_many_workers_as_it_is_told() {
    watched(|| {
        for pool in both(4) {
            for workers in [4, 1, 3, 2, 4] {
                pool.resize(workers).unwrap();
                assert_eq!((pool.workers(), pool.workers_max()), (workers, 4));
                assert_eq!(pool.install(roving::current_workers), workers);
                let all: Vec<usize> = (0..workers).collect();
                all_meet(&pool, workers);
                assert_eq!(pool.broadcast(|index| index), all);
                assert_eq!(pool.install(|| fib(size(15, 6))), size(610, 8));
            }
        }
    });
}

/// No more than that work at a time, once those that were at work have ended their task.
#[test]
fn workers_that_are_too_many_sleep() {
    watched(|| {
        for pool in both(4) {
            pool.resize(1).unwrap();
            let (at_work, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
            none_is_late(1..4, || {
                most.store(0, SeqCst);
                let (sender, receiver) = mpsc::channel();
                for _ in 0..tries(200) {
                    let (at_work, most) = (Arc::clone(&at_work), Arc::clone(&most));
                    let sender = sender.clone();
                    pool.spawn(move || {
                        most.fetch_max(at_work.fetch_add(1, SeqCst) + 1, SeqCst);
                        thread::yield_now();
                        at_work.fetch_sub(1, SeqCst);
                        sender.send(roving::current_worker().unwrap()).unwrap();
                    });
                }
                drop(sender);
                receiver.iter().collect()
            });
            // In the last run, which was that of one worker.
            assert_eq!(most.load(SeqCst), 1);
        }
    });
}

/// Under load, from outside and from inside, between all sizes: nothing is lost and all end.
#[test]
fn nothing_is_lost_while_the_size_changes() {
    watched(|| {
        for pool in both(4) {
            let stop = AtomicBool::new(false);
            let (pool, stop) = (&pool, &stop);
            let jobs = Arc::new(AtomicUsize::new(0));
            thread::scope(|s| {
                s.spawn(move || {
                    let mut random = Random(7);
                    while !stop.load(SeqCst) {
                        pool.resize(1 + random.below(4) as usize).unwrap();
                        if random.below(4) == 0 {
                            thread::yield_now();
                        }
                    }
                    pool.resize(4).unwrap();
                });
                let worker = s.spawn(|| {
                    for round in 0..tries(300) {
                        assert_eq!(pool.install(|| fib(size(10, 5))), size(55, 5));
                        pool.install(|| pool.resize(1 + round % 4).unwrap());
                        let jobs = Arc::clone(&jobs);
                        pool.spawn(move || {
                            jobs.fetch_add(1, SeqCst);
                        });
                        let workers = pool.broadcast(|index| index).len();
                        assert!((1..=4).contains(&workers));
                    }
                });
                worker.join().unwrap();
                stop.store(true, SeqCst);
            });
            all_meet(pool, 4);
            wait_until(|| jobs.load(SeqCst) == tries(300));
        }
    });
}

/// A task that waits in a frame of a worker that is to sleep goes on, and its spawned tasks run.
#[test]
fn a_worker_that_is_at_work_ends_its_task_first() {
    watched(|| {
        for pool in both(2) {
            let sum = pool.install(|| {
                let (a, b) = join(
                    || {
                        pool.resize(1).unwrap();
                        fib(size(12, 6))
                    },
                    || fib(size(12, 6)),
                );
                a + b
            });
            assert_eq!(sum, size(288, 16));
            // A pool that closes ends, benched workers and all.
            drop(pool);
        }
    });
}

/// A task that is placed with a worker that sleeps runs with another.
#[test]
fn what_has_its_place_with_a_benched_worker_runs() {
    watched(|| {
        for pool in both(2) {
            let place = roving::raw::tasks::Place::new(Some(1));
            let seen = Mutex::new(Vec::new());
            pool.resize(1).unwrap();
            let (place, note) = (&place, &seen);
            pool.run(|s| async move {
                let task = || async { note.lock().unwrap().push(()) };
                let tasks: Vec<_> = (0..10)
                    .map(|_| roving::raw::tasks::spawn_placed(s, place, task()))
                    .collect();
                for task in tasks {
                    task.await;
                }
            });
            assert_eq!(seen.lock().unwrap().len(), 10);
        }
    });
}

#[test]
fn sizes_out_of_range_are_refused() {
    let pool = Pool::builder().workers(1).workers_max(2).build().unwrap();
    for (size, word) in [
        (0, "0 workers"),
        (3, "3 workers"),
        (1 << 40, "1099511627776 workers"),
    ] {
        let error = pool.resize(size).unwrap_err().to_string();
        assert!(
            error.starts_with(word) && error.contains("say 1 to 2"),
            "{error}"
        );
        // A larger pool would take 3, but no pool takes 0.
        assert_eq!(error.contains("workers_max"), size > 0, "{error}");
    }
    assert_eq!(pool.workers(), 1);
    let refused = |builder: roving::PoolBuilder| builder.build().unwrap_err().to_string();
    let builder = Pool::builder().workers(3).workers_max(2);
    assert!(refused(builder).starts_with("3 workers are out of range: say 1 to 2"));
    let builder = Pool::builder().workers(3).workers_max(100_000);
    assert!(refused(builder).starts_with("100000 workers cannot be started"));
}

/// The affinity mask is read on request, and by a pool that follows it when work comes.
#[cfg(target_os = "linux")]
#[test]
#[allow(unsafe_code, reason = "sched_setaffinity")]
fn a_pool_follows_the_affinity_mask() {
    fn allow(processors: &[usize]) -> bool {
        // SAFETY: an all-zero set is a valid value, the indices are those that the system gave, and
        // the call reads no more than its size.
        unsafe {
            let mut set: libc::cpu_set_t = std::mem::zeroed();
            processors.iter().for_each(|&p| libc::CPU_SET(p, &mut set));
            libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &set) == 0
        }
    }
    fn allowed() -> Vec<usize> {
        // SAFETY: an all-zero set is a valid value, and the call writes no more than its size.
        let set = unsafe {
            let mut set: libc::cpu_set_t = std::mem::zeroed();
            libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &mut set);
            set
        };
        // SAFETY: the index is below CPU_SETSIZE.
        let is_set = |&p: &usize| unsafe { libc::CPU_ISSET(p, &set) };
        (0..libc::CPU_SETSIZE as usize).filter(is_set).collect()
    }
    watched(|| {
        let all = allowed();
        let now = || thread::available_parallelism().unwrap().get();
        let both = Pool::builder().workers(2).workers_max(2).build().unwrap();
        let follows = Pool::builder()
            .workers(2)
            .workers_max(2)
            .follow_quota(true)
            .build()
            .unwrap();
        assert!(allow(&all[..1]));
        assert_eq!(both.refresh_quota(), 1);
        assert_eq!(both.workers(), 1);
        assert_eq!(both.install(|| fib(size(10, 5))), size(55, 5));
        // At most once a second, when work comes from outside.
        wait_until(|| follows.install(|| fib(3)) == 2 && follows.workers() == 1);
        assert!(allow(&all));
        assert_eq!(both.refresh_quota(), now().min(2));
        wait_until(|| follows.install(|| fib(3)) == 2 && follows.workers() == now().min(2));
    });
}

/// A pool with threads of its own, and a share, that start with `workers` workers of `most`.
fn both_of(workers: usize, most: usize) -> [Pool; 2] {
    let arena = Arena::new(most).unwrap();
    [Pool::builder(), arena.pool()].map(|builder| {
        let builder = builder.workers(workers).workers_max(most);
        builder.build().unwrap()
    })
}

/// Those that sleep until the pool is made larger stand in for nobody that waits.
#[test]
fn a_small_pool_that_could_be_large_gives_the_core_of_who_waits_away() {
    watched(|| {
        let cores = thread::available_parallelism().unwrap().get();
        for pool in both_of(1, cores + 1) {
            let (sender, receiver) = mpsc::channel();
            let received = pool.install(move || {
                roving::spawn(move || sender.send(7).unwrap());
                roving::blocking(|| receiver.recv().unwrap())
            });
            assert_eq!(received, 7);
        }
    });
}

/// While enough others work, a worker that waits gets nobody in its place; the others may be those
/// that are benched then.
#[test]
fn a_pool_whose_smaller_half_waits_goes_on_when_the_other_half_is_benched() {
    watched(|| {
        let cores = thread::available_parallelism().unwrap().get();
        for pool in both_of(2 * cores, 2 * cores) {
            let released = AtomicBool::new(false);
            let waiting = AtomicUsize::new(0);
            thread::scope(|s| {
                s.spawn(|| {
                    pool.broadcast(|index| {
                        if index < cores {
                            roving::blocking(|| {
                                waiting.fetch_add(1, SeqCst);
                                wait_until(|| released.load(SeqCst));
                            });
                        }
                    });
                });
                wait_until(|| waiting.load(SeqCst) == cores);
                // The others go to sleep meanwhile.
                thread::sleep(Duration::from_millis(50));
                pool.resize(cores).unwrap();
                thread::sleep(Duration::from_millis(50));
                let (sender, receiver) = mpsc::channel();
                pool.spawn(move || sender.send(()).unwrap());
                let ran = receiver.recv_timeout(Duration::from_secs(120));
                released.store(true, SeqCst);
                assert!(ran.is_ok(), "nobody works");
            });
        }
    });
}
