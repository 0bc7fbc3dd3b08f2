//! `current_thread_index` is below the number of threads, and no two threads have the same at a
//! time, also where compensation threads run what the pool's own ones have no time for.

mod common;

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use common::{own_threads, pool, wait_until, watched};
use rayon_core::{BroadcastContext, ThreadPool, current_num_threads, current_thread_index, join};

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

/// Has the only thread of the pool wait while `f` runs, and a while longer; within what `inside`
/// calls.
fn while_it_waits_in(pool: &ThreadPool, inside: fn(&mut (dyn FnMut() + Send)), f: impl FnOnce()) {
    let other = common::pool(1);
    let (waits, go_on) = (AtomicBool::new(false), AtomicBool::new(false));
    thread::scope(|s| {
        s.spawn(|| {
            pool.install(|| {
                inside(&mut || {
                    other.install(|| {
                        waits.store(true, SeqCst);
                        wait_until(|| go_on.load(SeqCst));
                    });
                });
            });
        });
        wait_until(|| waits.load(SeqCst));
        f();
        go_on.store(true, SeqCst);
    });
}

fn while_it_waits(pool: &ThreadPool, f: impl FnOnce()) {
    while_it_waits_in(pool, |wait| wait(), f);
}

/// Has it wait in a pool of that thread alone, which it is in on top of `pool`.
fn while_it_waits_inside(pool: &ThreadPool, f: impl FnOnce()) {
    let in_a_pool = |wait: &mut (dyn FnMut() + Send)| {
        let inner = roving::Pool::builder().caller_runs().build();
        inner.unwrap().install(wait);
    };
    while_it_waits_in(pool, in_a_pool, || {
        thread::sleep(Duration::from_millis(20));
        f();
    });
}

/// Returns when a job uses an index of the pool, which it does for 50 ms. What it returns hears of
/// the job's end.
fn a_job_begins(pool: &ThreadPool, used: &Used) -> mpsc::Receiver<()> {
    let (begun, has_begun) = mpsc::channel();
    let (ended, has_ended) = mpsc::channel();
    let theirs = used.clone();
    pool.spawn(move || {
        theirs.alone(|| {
            begun.send(()).unwrap();
            thread::sleep(Duration::from_millis(50));
        });
        // Not everybody waits for it.
        let _ = ended.send(());
    });
    has_begun.recv().unwrap();
    has_ended
}

#[test]
fn a_broadcast_on_a_waiting_thread_shares_no_index_with_the_job_in_its_place() {
    watched(|| {
        let (pool, used) = (Arc::new(pool(1)), Used::new(1));
        while_it_waits(&pool, || {
            let has_ended = a_job_begins(&pool, &used);
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

/// The wait of the pool's thread is over, so it waits for its index; the job that has that waits
/// for the thread's part of a broadcast.
#[test]
fn a_job_can_broadcast_to_a_thread_that_wants_its_index_back() {
    watched(|| {
        let (a, b) = (Arc::new(pool(1)), pool(1));
        let go_on = Arc::new(AtomicBool::new(false));
        let (sender, receiver) = mpsc::channel();
        let job = {
            let go_on = Arc::clone(&go_on);
            move || {
                assert_eq!(current_thread_index(), Some(0));
                go_on.store(true, SeqCst);
                thread::sleep(Duration::from_millis(50));
                let all = rayon_core::broadcast(|_| current_thread_index());
                sender.send((all, current_thread_index())).unwrap();
            }
        };
        a.install(|| {
            b.install(|| {
                a.spawn(job);
                wait_until(|| go_on.load(SeqCst));
            });
        });
        assert_eq!(receiver.recv(), Ok((vec![Some(0)], Some(0))));
    });
}

/// Inside of `roving::blocking` a thread waits in a `join`, and looks for work meanwhile; a job has
/// its index.
#[test]
fn a_broadcast_inside_of_code_that_blocks_awaits_the_job_with_the_index() {
    watched(|| {
        let (pool, used) = (Arc::new(pool(2)), Used::new(2));
        let (posted, over) = (AtomicBool::new(false), AtomicBool::new(false));
        thread::scope(|s| {
            let (begun, has_begun) = mpsc::channel();
            let (pool, used, posted, over) = (&pool, &used, &posted, &over);
            s.spawn(move || {
                let (here, there) = (begun.clone(), begun);
                let here = move || {
                    here.send(current_thread_index()).unwrap();
                    wait_until(|| posted.load(SeqCst));
                };
                let there = move || {
                    there.send(current_thread_index()).unwrap();
                    wait_until(|| over.load(SeqCst));
                };
                pool.install(|| roving::blocking(|| join(here, there)));
            });
            let parts = [has_begun.recv().unwrap(), has_begun.recv().unwrap()];
            assert!(parts.contains(&None), "{parts:?}");
            let (sender, receiver) = mpsc::channel();
            let (end, ends) = mpsc::channel();
            let theirs = used.clone();
            pool.spawn(move || {
                theirs.alone(|| {
                    sender.send(()).unwrap();
                    ends.recv().unwrap();
                });
            });
            receiver.recv().unwrap();
            let all = s.spawn(|| pool.broadcast(|all| used.alone(|| all.index())));
            thread::sleep(Duration::from_millis(20));
            posted.store(true, SeqCst);
            thread::sleep(Duration::from_millis(50));
            end.send(()).unwrap();
            thread::sleep(Duration::from_millis(20));
            over.store(true, SeqCst);
            assert_eq!(all.join().unwrap(), [0, 1]);
        });
    });
}

/// Inside of `roving::blocking` a thread yields, which runs what is addressed to it; a job has its
/// index.
#[test]
fn a_yield_inside_of_code_that_blocks_awaits_the_job_with_the_index() {
    watched(|| {
        let (pool, used) = (Arc::new(pool(1)), Used::new(1));
        let over = AtomicBool::new(false);
        thread::scope(|s| {
            let (begun, has_begun) = mpsc::channel();
            let (pool, used, over) = (&pool, &used, &over);
            s.spawn(move || {
                pool.install(|| {
                    roving::blocking(|| {
                        let _has_ended = a_job_begins(pool, used);
                        begun.send(()).unwrap();
                        while !over.load(SeqCst) {
                            rayon_core::yield_now();
                        }
                    });
                });
            });
            has_begun.recv().unwrap();
            assert_eq!(pool.broadcast(|all| used.alone(|| all.index())), [0]);
            over.store(true, SeqCst);
        });
    });
}

#[test]
fn a_broadcast_shares_no_index_where_the_thread_waits_in_a_pool_further_in() {
    watched(|| {
        let (pool, used) = (Arc::new(pool(1)), Used::new(1));
        while_it_waits_inside(&pool, || {
            let _has_ended = a_job_begins(&pool, &used);
            assert_eq!(pool.broadcast(|all| used.alone(|| all.index())), [0]);
        });
    });
}

#[test]
fn an_index_is_lent_again_when_a_broadcast_that_waited_has_ended() {
    watched(|| {
        let pool = Arc::new(pool(1));
        let third = common::pool(1);
        pool.install(current_thread_index);
        while_it_waits_inside(&pool, || {
            pool.broadcast(|_| third.install(|| thread::sleep(Duration::from_millis(5))));
            let (sender, receiver) = mpsc::channel();
            pool.spawn(move || sender.send(current_thread_index()).unwrap());
            assert_eq!(receiver.recv().unwrap(), Some(0));
        });
    });
}

/// Its part of a broadcast waits as well, a job has the index meanwhile, and another broadcast
/// comes.
#[test]
fn nor_does_a_second_one_while_the_first_waits() {
    watched(|| {
        let (pool, used, third) = (Arc::new(pool(1)), Used::new(1), common::pool(1));
        while_it_waits_inside(&pool, || {
            let (waits, go_on) = (AtomicBool::new(false), AtomicBool::new(false));
            thread::scope(|s| {
                s.spawn(|| {
                    pool.broadcast(|_| {
                        third.install(|| {
                            waits.store(true, SeqCst);
                            wait_until(|| go_on.load(SeqCst));
                        });
                    });
                });
                wait_until(|| waits.load(SeqCst));
                thread::sleep(Duration::from_millis(20));
                let _has_ended = a_job_begins(&pool, &used);
                assert_eq!(pool.broadcast(|all| used.alone(|| all.index())), [0]);
                go_on.store(true, SeqCst);
            });
        });
    });
}

/// Both threads of a pool have waited in pools of their own, further in, and wait for their indices
/// now: their parts of a broadcast are tasks of the pool itself.
#[test]
fn a_broadcast_is_of_its_own_pool_where_the_thread_comes_from_one_further_in() {
    watched(|| {
        let (pool, other) = (Arc::new(pool(2)), common::pool(2));
        let (waits, go_on) = (AtomicUsize::new(0), AtomicBool::new(false));
        pool.install(current_thread_index);
        thread::scope(|s| {
            s.spawn(|| {
                pool.broadcast(|_| {
                    let inner = roving::Pool::builder().caller_runs().build();
                    inner.unwrap().install(|| {
                        other.install(|| {
                            waits.fetch_add(1, SeqCst);
                            wait_until(|| go_on.load(SeqCst));
                        });
                    });
                });
            });
            wait_until(|| waits.load(SeqCst) == 2);
            let (begun, has_begun) = mpsc::channel();
            let (end, ends) = mpsc::channel();
            let (sender, receiver) = mpsc::channel();
            let theirs = Arc::clone(&pool);
            let too = begun.clone();
            pool.spawn(move || {
                too.send(()).unwrap();
                ends.recv().unwrap();
                let seen = |_: BroadcastContext| (current_thread_index(), current_num_threads());
                sender.send(theirs.broadcast(seen)).unwrap();
            });
            let (end_too, ends_too) = mpsc::channel();
            pool.spawn(move || {
                begun.send(()).unwrap();
                ends_too.recv().unwrap();
            });
            has_begun.recv().unwrap();
            has_begun.recv().unwrap();
            // The waits are over, and jobs have both indices.
            go_on.store(true, SeqCst);
            thread::sleep(Duration::from_millis(50));
            end.send(()).unwrap();
            end_too.send(()).unwrap();
            assert_eq!(receiver.recv().unwrap(), [(Some(0), 2), (Some(1), 2)]);
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

/// A job has a part of its `join` stolen by the thread in whose place it began, which waits in that
/// part. Only then the job asks for its index.
#[test]
fn a_job_gets_no_index_of_a_thread_that_waits_in_a_part_of_it() {
    watched(|| {
        let (a, b) = (Arc::new(pool(1)), Arc::new(pool(2)));
        let go_on = Arc::new(AtomicBool::new(false));
        let (sender, receiver) = mpsc::channel();
        let job = {
            let (b, go_on) = (Arc::clone(&b), Arc::clone(&go_on));
            move || {
                let (in_part, has_asked) = (AtomicBool::new(false), AtomicBool::new(false));
                let asks = || {
                    go_on.store(true, SeqCst);
                    wait_until(|| in_part.load(SeqCst));
                    let index = current_thread_index();
                    has_asked.store(true, SeqCst);
                    index
                };
                let part = || {
                    b.install(|| {
                        in_part.store(true, SeqCst);
                        wait_until(|| has_asked.load(SeqCst));
                    });
                    current_thread_index()
                };
                sender.send(join(asks, part)).unwrap();
            }
        };
        a.install(|| {
            b.install(|| {
                a.spawn(job);
                wait_until(|| go_on.load(SeqCst));
            });
        });
        let (asked, in_part) = receiver.recv().unwrap();
        assert_eq!(in_part, Some(0));
        assert!(asked > in_part, "{asked:?} is not the job's alone");
    });
}

/// Code that blocks has no index: a job has it meanwhile.
#[test]
fn code_that_blocks_has_no_index_meanwhile() {
    watched(|| {
        let pool = Arc::new(pool(1));
        let (sender, receiver) = mpsc::channel();
        let theirs = Arc::clone(&pool);
        let (job, inside, after) = pool.install(move || {
            let (job, inside) = roving::blocking(|| {
                theirs.spawn(move || sender.send(current_thread_index()).unwrap());
                let job = receiver.recv().unwrap();
                (
                    job,
                    (current_thread_index(), join(current_thread_index, || ()).0),
                )
            });
            (job, inside, current_thread_index())
        });
        assert_eq!((job, after), (Some(0), Some(0)));
        assert_eq!(inside, (None, None));
    });
}

/// A job whose worker had gone on before anybody asked has an index of its own, and has none where
/// it blocks either.
#[test]
fn a_job_that_nobody_lends_an_index_has_none_while_it_blocks() {
    watched(|| {
        let pool = Arc::new(pool(1));
        let (begun, has_begun) = mpsc::channel();
        let (gone_on, has_gone_on) = mpsc::channel();
        let (sender, receiver) = mpsc::channel();
        while_it_waits(&pool, || {
            pool.spawn(move || {
                begun.send(()).unwrap();
                has_gone_on.recv().unwrap();
                let index = current_thread_index();
                let inside = roving::blocking(current_thread_index);
                sender.send((index, inside)).unwrap();
            });
            has_begun.recv().unwrap();
        });
        gone_on.send(()).unwrap();
        let (index, inside) = receiver.recv().unwrap();
        assert!(index >= Some(1), "{index:?}");
        assert_eq!(inside, None);
    });
}

/// Joins, scopes, detached tasks, calls into another pool and back, and broadcasts, all at once.
fn mixed(pool: &Arc<ThreadPool>, threads: usize) {
    let used = Used::new(threads);
    // The first question in a pool finds no index for a job whose worker has gone on.
    assert!(pool.install(current_thread_index) < Some(threads));
    let other = Arc::new(common::pool(2));
    let lock = Arc::new(Mutex::new(()));
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
        let job = {
            let (used, done, lock) = (used.clone(), Arc::clone(&done), Arc::clone(&lock));
            let other = Arc::clone(&other);
            move || {
                let alone = || {
                    let _held = lock.lock().unwrap();
                    used.alone(|| thread::sleep(Duration::from_micros(20)));
                };
                let away = || {
                    other.install(|| thread::sleep(Duration::from_micros(20)));
                    alone();
                };
                join(alone, || join(away, alone));
                done.fetch_add(1, SeqCst);
            }
        };
        pool.spawn(job);
        spawned += 1;
        pool.install(|| {
            let leaf = || used.alone(|| thread::sleep(Duration::from_micros(50)));
            join(leaf, || join(leaf, leaf));
            other.install(|| thread::sleep(Duration::from_micros(50)));
            rayon_core::scope(|s| {
                s.spawn(|_| leaf());
                s.spawn(|_| leaf());
            });
            let _held = lock.lock().unwrap();
            leaf();
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

/// A compensation thread rests when its pool is dropped, and the only thread is at work: jobs that
/// wait still get its index.
#[test]
fn jobs_of_a_dropped_pool_have_an_index_of_it() {
    watched(|| {
        for _ in 0..20 {
            let pool = pool(1);
            assert_eq!(pool.install(current_thread_index), Some(0));
            while_it_waits(&pool, || pool.install(|| ()));
            let (go_on, may_go_on) = mpsc::channel::<()>();
            let (begun, has_begun) = mpsc::channel();
            pool.spawn(move || {
                begun.send(()).unwrap();
                let _ = may_go_on.recv();
            });
            has_begun.recv().unwrap();
            let (sender, indices) = mpsc::channel();
            for _ in 0..5 {
                let sender = sender.clone();
                pool.spawn(move || sender.send(current_thread_index()).unwrap());
            }
            drop((pool, sender));
            thread::sleep(Duration::from_millis(2));
            drop(go_on);
            let indices: Vec<_> = indices.into_iter().collect();
            assert_eq!(indices, [Some(0); 5]);
        }
    });
}

thread_local! {
    static LEAVES: Cell<usize> = const { Cell::new(0) };
}

/// Of so many leaves, which sleep, more to the right than to the left.
fn lopsided(leaves: usize) {
    if leaves > 1 {
        let left = leaves.div_ceil(4);
        join(|| lopsided(left), || lopsided(leaves - left));
    } else {
        thread::sleep(Duration::from_micros(200));
        LEAVES.set(LEAVES.get() + 1);
    }
}

/// The parts of joins run on the pool's own threads alone, also where these have to wait for each
/// other: what they leave in thread-local storage, a broadcast collects.
#[test]
fn a_broadcast_collects_what_joins_have_left_with_their_threads() {
    watched(|| {
        for threads in [2, 4, 8] {
            let pool = pool(threads);
            pool.install(|| lopsided(300));
            let left = pool.broadcast(|_| LEAVES.take());
            assert_eq!(left.iter().sum::<usize>(), 300, "{left:?}");
        }
    });
}
