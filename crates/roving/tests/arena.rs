//! Arenas: many pools on one set of threads.

mod common;
#[path = "common/panics.rs"]
mod panics;
#[path = "common/system.rs"]
mod system;

use std::cell::{Cell, RefCell};
use std::panic::{self, AssertUnwindSafe};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Barrier, Mutex, mpsc};
use std::thread;

use common::{Census, forever, occupy_one, size, tries, wait_until, watched};
use panics::{Because, caught, fail, reason};
use roving::{Arena, Pool, Priority, WorkerLocal, join, par_for, task};

fn fib(n: u32) -> u64 {
    if n < 2 {
        return n.into();
    }
    let (a, b) = join(|| fib(n - 1), || fib(n - 2));
    a + b
}

fn arena(threads: usize) -> Arena {
    Arena::new(threads).expect("a small arena can be built")
}

fn named(threads: usize, name: &str) -> Arena {
    let builder = Arena::builder().threads(threads).name(name);
    builder.build().expect("a small arena can be built")
}

fn share(arena: &Arena, workers: usize) -> Pool {
    let builder = arena.pool().workers(workers);
    builder.build().expect("a share can be built")
}

#[test]
fn a_share_does_what_a_pool_does() {
    watched(|| {
        for (threads, workers) in [(1, 1), (1, 3), (2, 1), (2, 2), (3, 2), (2, 8)] {
            let arena = arena(threads);
            let pool = share(&arena, workers);
            assert_eq!(pool.workers(), workers);
            assert_eq!(pool.install(|| fib(size(18, 6))), size(2584, 8));
            assert!(pool.install(roving::current_worker).is_some());
            assert_eq!(pool.install(roving::current_workers), workers);
            let indices: Vec<usize> = (0..workers).collect();
            assert_eq!(pool.broadcast(|index| index), indices);
            let sums = pool.install(|| {
                let sums = WorkerLocal::new(|| Cell::new(0));
                par_for(0..size(1000, 20), |i| {
                    sums.with(|sum| sum.set(sum.get() + i));
                });
                sums.into_iter().map(Cell::into_inner).sum::<usize>()
            });
            assert_eq!(sums, size(499_500, 190));
            assert_eq!(
                pool.run(|s| async move { s.fork(async { 7 }).await.await }),
                7
            );
            let (sender, receiver) = mpsc::channel();
            pool.spawn(move || sender.send(()).unwrap());
            receiver.recv().unwrap();
        }
    });
}

#[test]
fn a_hundred_pools_at_once_have_two_threads() {
    watched(|| {
        let arena = named(2, "hundred");
        let pools: Vec<Pool> = (0..size(100, 5)).map(|_| share(&arena, 2)).collect();
        let at_work = AtomicUsize::new(0);
        let most = AtomicUsize::new(0);
        thread::scope(|s| {
            for pool in &pools {
                let (at_work, most) = (&at_work, &most);
                s.spawn(move || {
                    for _ in 0..tries(20) {
                        let sum = pool.install(|| {
                            most.fetch_max(at_work.fetch_add(1, SeqCst) + 1, SeqCst);
                            // No wait in here: who comes back from one goes on at once.
                            let sum: u64 = (0..200).sum();
                            at_work.fetch_sub(1, SeqCst);
                            sum
                        });
                        assert_eq!(sum, 19_900);
                    }
                });
            }
        });
        assert!(most.load(SeqCst) <= 2, "{} at work", most.load(SeqCst));
        // A thread that has just begun may have no name yet.
        let threads = || system::threads("hundred").unwrap_or(2);
        wait_until(|| threads() >= 2);
        assert_eq!(threads(), 2);
        // With joins, waits bring compensation threads, but no more than wait.
        for pool in &pools {
            assert_eq!(pool.install(|| fib(size(12, 5))), size(144, 5));
        }
        drop(pools);
        drop(arena);
        wait_until(|| system::threads("hundred").unwrap_or(0) == 0);
    });
}

#[test]
fn each_of_more_pools_than_threads_gets_on() {
    watched(|| {
        let arena = arena(1);
        let busy = share(&arena, 1);
        let stop = Arc::new(AtomicBool::new(false));
        // A pool that is never without work.
        fn again(stop: Arc<AtomicBool>, count: Arc<AtomicUsize>) {
            count.fetch_add(1, SeqCst);
            if !stop.load(SeqCst) {
                roving::spawn(move || again(stop, count));
            }
        }
        let count = Arc::new(AtomicUsize::new(0));
        let (for_pool, counted) = (Arc::clone(&stop), Arc::clone(&count));
        busy.spawn(move || again(for_pool, counted));
        wait_until(|| count.load(SeqCst) > 10);
        for priority in [Priority::High, Priority::Normal, Priority::Low] {
            let pool = arena.pool().workers(1).priority(priority).build().unwrap();
            assert_eq!(pool.install(|| 6 * 7), 42);
        }
        // And it goes on itself.
        let before = count.load(SeqCst);
        wait_until(|| count.load(SeqCst) > before);
        stop.store(true, SeqCst);
    });
}

#[test]
fn pools_install_into_each_other_without_deadlock() {
    watched(|| {
        for threads in [1, 2] {
            let arena = arena(threads);
            let (a, b, c) = (share(&arena, 1), share(&arena, 2), share(&arena, 1));
            fn down(pools: &[&Pool], depth: usize) -> usize {
                if depth == 0 {
                    return roving::current_workers();
                }
                let (rest, _) = join(
                    || pools[depth % pools.len()].install(|| down(pools, depth - 1)),
                    || fib(size(5, 2)),
                );
                rest + 1
            }
            let pools = [&a, &b, &c];
            // Deeper than calls are nested on one thread.
            for depth in [1, 2, 3, size(10, 4), size(100, 5)] {
                let expected = depth + b.workers();
                assert_eq!(a.install(|| down(&pools, depth)), expected, "depth {depth}");
            }
            // A pool of its own threads in between.
            let other = common::pool(2);
            let through =
                |n: u32| other.install(|| b.install(|| other.install(|| a.install(|| fib(n)))));
            assert_eq!(a.install(|| through(size(10, 5))), size(55, 5));
            assert_eq!(b.install(|| through(size(10, 5))), size(55, 5));
        }
    });
}

/// Each worker of one pool asks another's for something while it holds a lock that all of them
/// need.
#[test]
fn a_lock_held_across_a_call_into_another_share_does_not_deadlock() {
    watched(|| {
        let arena = arena(2);
        let (a, b) = (share(&arena, 2), share(&arena, 2));
        let lock = Mutex::new(0);
        let outer = common::pool(2);
        let work = |pool: &Pool| {
            let mut held = lock.lock().unwrap();
            *held += pool.install(|| 1);
        };
        a.install(|| par_for(0..size(200, 4), |_| work(&b)));
        // From a pool with threads of its own, while the arena's threads need the lock, too.
        thread::scope(|s| {
            s.spawn(|| outer.install(|| par_for(0..size(200, 4), |_| work(&b))));
            s.spawn(|| a.install(|| par_for(0..size(200, 4), |_| work(&b))));
            s.spawn(|| b.install(|| par_for(0..size(200, 4), |_| work(&a))));
        });
        assert_eq!(lock.into_inner().unwrap(), size(800, 16));
    });
}

/// Nothing of another pool, nor anything unrelated, runs on top of a waiting frame.
#[test]
fn a_wait_in_one_share_runs_nothing_of_another() {
    thread_local! {
        static WAITING_IN: Cell<Option<usize>> = const { Cell::new(None) };
    }
    watched(|| {
        let arena = arena(2);
        let pools: Vec<Pool> = (0..3).map(|_| share(&arena, 2)).collect();
        let wrong = AtomicUsize::new(0);
        let (pools, wrong) = (&pools, &wrong);
        thread::scope(|s| {
            for (me, pool) in pools.iter().enumerate() {
                s.spawn(move || {
                    for _ in 0..tries(200) {
                        pool.install(|| {
                            if WAITING_IN.get().is_some() {
                                wrong.fetch_add(1, SeqCst);
                            }
                            WAITING_IN.set(Some(me));
                            let inside = || {
                                let ours = WAITING_IN.get().is_none_or(|at| at == me);
                                wrong.fetch_add(usize::from(!ours), SeqCst);
                            };
                            let thread = thread::current().id();
                            join(inside, || join(inside, inside));
                            assert_eq!(thread::current().id(), thread);
                            WAITING_IN.set(None);
                        });
                    }
                });
            }
        });
        assert_eq!(wrong.load(SeqCst), 0);
    });
}

#[test]
fn a_broadcast_reaches_the_seats_of_threads_that_wait_or_visit() {
    watched(|| {
        let arena = arena(2);
        let (a, b) = (share(&arena, 2), share(&arena, 2));
        for _ in 0..tries(100) {
            let indices = a.install(|| b.install(|| a.broadcast(|index| index)));
            assert_eq!(indices, [0, 1]);
            let (one, two) = a.install(|| join(|| a.broadcast(|i| i), || b.broadcast(|i| i + 10)));
            assert_eq!((one, two), (vec![0, 1], vec![10, 11]));
        }
    });
}

/// The order on one thread: classes, and first come, first served in each.
#[test]
fn the_thread_goes_to_the_highest_class() {
    watched(|| {
        let arena = arena(1);
        let classes = [
            Priority::Low,
            Priority::High,
            Priority::Normal,
            Priority::High,
        ];
        let build = |priority| arena.pool().workers(1).priority(priority).build().unwrap();
        let pools: Vec<Pool> = classes.into_iter().map(build).collect();
        let first = share(&arena, 1);
        let order = Arc::new(Mutex::new(Vec::new()));
        let (begun, gate) = (Arc::new(Barrier::new(2)), Arc::new(Barrier::new(2)));
        let (at_begin, at_gate) = (Arc::clone(&begun), Arc::clone(&gate));
        first.spawn(move || {
            at_begin.wait();
            at_gate.wait();
        });
        begun.wait();
        // The only thread is in the gate, so all of these wait.
        for (number, pool) in pools.iter().enumerate() {
            let order = Arc::clone(&order);
            pool.spawn(move || order.lock().unwrap().push(number));
        }
        gate.wait();
        drop(pools);
        assert_eq!(*order.lock().unwrap(), [1, 3, 2, 0]);
    });
}

/// A pool of a low class gets its turn while those of a higher one are never without work, and the
/// bound is the one that is documented: it is next when it has been passed over 8 times in a row.
#[test]
fn a_low_class_is_not_starved() {
    fn again(stop: Arc<AtomicBool>) {
        if !stop.load(SeqCst) {
            roving::spawn(move || again(stop));
        }
    }
    watched(|| {
        let arena = arena(1);
        let stop = Arc::new(AtomicBool::new(false));
        // The classes to which the only thread has come, one stay after the other.
        let stays = Arc::new(Mutex::new(Vec::new()));
        let is_low = |class: &Priority| *class == Priority::Low;
        let never_idle = |class| {
            let (stop, note) = (Arc::clone(&stop), Arc::clone(&stays));
            let builder = arena.pool().workers(1).priority(class);
            let builder = builder.on_start(move |_| note.lock().unwrap().push(class));
            let pool = builder.build().unwrap();
            pool.spawn(move || again(stop));
            pool
        };
        let high = [Priority::High; 3].map(never_idle);
        let low = never_idle(Priority::Low);
        let turns = || stays.lock().unwrap().iter().filter(|at| is_low(at)).count();
        wait_until(|| turns() > 5);
        let seen = stays.lock().unwrap().clone();
        stop.store(true, SeqCst);
        drop((high, low));
        // Before its first turn it was not there, and after its last it still waits.
        let passed: Vec<usize> = seen.split(is_low).map(<[_]>::len).collect();
        assert_eq!(passed[1..6], [8; 5], "{seen:?}");
    });
}

#[test]
fn shares_and_handles_can_be_dropped_in_any_order() {
    thread_local! {
        // Goes with its thread.
        static HELD: RefCell<Option<Arc<AtomicUsize>>> = const { RefCell::new(None) };
    }
    watched(|| {
        for round in 0..tries(50) {
            let name = "orders";
            let arena = named(2, name);
            let (a, b) = (share(&arena, 2), share(&arena, 1));
            let ran = Arc::new(AtomicUsize::new(0));
            let job = || {
                let ran = Arc::clone(&ran);
                move || {
                    ran.fetch_add(1, SeqCst);
                    HELD.set(Some(ran));
                }
            };
            (0..10).for_each(|_| drop(a.spawn(job())));
            (0..10).for_each(|_| drop(b.spawn(job())));
            match round % 4 {
                0 => drop((a, b, arena)),
                1 => drop((arena, b, a)),
                2 => drop((a, arena, b)),
                _ => {
                    let other = arena.clone();
                    drop((arena, a, b));
                    assert_eq!(share(&other, 1).install(|| fib(5)), 5);
                }
            }
            // What a pool holds has run when its drop returns, and the last to go ends the threads.
            assert_eq!(ran.load(SeqCst), 20);
            assert_eq!(Arc::strong_count(&ran), 1);
            // The system may still show a thread that has been joined.
            wait_until(|| system::threads(name).unwrap_or(0) == 0);
        }
    });
}

/// The last drop can be that of a task of the pool.
#[test]
fn a_task_can_drop_its_own_share() {
    watched(|| {
        for _ in 0..tries(50) {
            let arena = named(1, "ownshare");
            let pool = Arc::new(share(&arena, 1));
            let (sender, receiver) = mpsc::channel();
            let (release, released) = mpsc::channel::<()>();
            let mine = Arc::clone(&pool);
            pool.spawn(move || {
                released.recv().unwrap();
                drop(mine);
                roving::spawn(move || sender.send(7).unwrap());
            });
            drop(pool);
            drop(arena);
            release.send(()).unwrap();
            assert_eq!(receiver.recv(), Ok(7));
            wait_until(|| system::threads("ownshare").unwrap_or(0) == 0);
        }
    });
}

#[test]
fn what_a_share_holds_is_dropped_with_it() {
    let census = forever(Census::new());
    watched(|| {
        let arena = arena(2);
        for _ in 0..tries(100) {
            let pool = share(&arena, 2);
            let value = census.one();
            let local = pool.install(|| WorkerLocal::new(|| census.one()));
            pool.install(|| local.with(|_| ()));
            pool.spawn(move || drop(value));
            drop(pool);
            drop(local);
        }
        assert_eq!(share(&arena, 1).install(|| fib(5)), 5);
    });
    census.check();
}

#[test]
fn a_panic_reaches_one_caller_and_the_share_lives_on() {
    watched(|| {
        let arena = arena(2);
        let (handled, seen) = mpsc::channel();
        let handled = Mutex::new(handled);
        let builder = arena.pool().workers(2).panic_handler(move |payload| {
            let handled = handled.lock().unwrap();
            handled.send(reason(&*payload)).unwrap();
        });
        let (a, b) = (builder.build().unwrap(), share(&arena, 1));
        assert_eq!(caught(|| a.install(|| fail("here"))), "here");
        assert_eq!(
            caught(|| a.install(|| b.install(|| fail("below")))),
            "below"
        );
        let inside = || panic::catch_unwind(AssertUnwindSafe(|| b.install(|| fail("caught"))));
        assert!(a.install(|| inside().unwrap_err().is::<Because>()));
        assert_eq!(
            caught(|| a.install(|| join(|| fail("joined"), || fib(5)))),
            "joined"
        );
        a.spawn(|| fail("detached"));
        assert_eq!(seen.recv(), Ok("detached"));
        panics::works(&a);
        panics::works(&b);
    });
}

/// They frame each stay of a thread.
#[test]
fn on_start_and_on_exit_frame_each_stay() {
    thread_local! {
        static HERE: Cell<bool> = const { Cell::new(false) };
    }
    watched(|| {
        let arena = arena(2);
        let (came, left) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let (on_start, on_exit) = (Arc::clone(&came), Arc::clone(&left));
        let builder = arena.pool().workers(2).on_start(move |_| {
            assert!(!HERE.replace(true), "came twice");
            on_start.fetch_add(1, SeqCst);
        });
        let pool = builder.on_exit(move |_| {
            assert!(HERE.replace(false), "left twice");
            // Also what this spawns is run.
            roving::spawn(|| ());
            on_exit.fetch_add(1, SeqCst);
        });
        let pool = pool.build().unwrap();
        for _ in 0..size(20, 3) {
            assert!(pool.install(|| join(|| HERE.get(), || HERE.get())) == (true, true));
        }
        let other = share(&arena, 1);
        assert!(other.install(|| !HERE.get() && pool.install(|| HERE.get())));
        drop(pool);
        assert!(came.load(SeqCst) > 0);
        assert_eq!(came.load(SeqCst), left.load(SeqCst));
        assert!(other.install(|| !HERE.get()));
    });
}

#[test]
#[cfg_attr(miri, ignore = "it reads the file that was written")]
#[cfg(feature = "diagnostics")]
fn profile_and_trace_know_the_seats() {
    watched(|| {
        let arena = arena(2);
        let file = std::env::temp_dir().join(format!("roving-arena-{}.json", std::process::id()));
        let pool = arena.pool().workers(2).trace(&file).build().unwrap();
        assert_eq!(pool.install(|| fib(size(15, 6))), size(610, 8));
        let profile = pool.profile();
        assert!(profile.total().counters.tasks > 0);
        for worker in &profile.workers[..2] {
            let all = worker.busy + worker.steal + worker.idle + worker.switch + worker.frame;
            assert_eq!(all, profile.wall, "{worker:?}");
        }
        drop(pool);
        // Written before the drop returns.
        let trace = std::fs::read_to_string(&file).unwrap();
        std::fs::remove_file(&file).unwrap();
        assert!(trace.contains("traceEvents") && trace.contains("busy"));
    });
}

#[test]
fn async_tasks_run_in_shares() {
    watched(|| {
        let arena = arena(2);
        let (a, b) = (share(&arena, 2), share(&arena, 2));
        fn sum(from: u64, to: u64) -> impl task::Task<u64> {
            async move {
                if to - from < 8 {
                    common::yield_now().await;
                    return (from..to).sum();
                }
                let middle = (from + to) / 2;
                let left = task::fork(
                    Box::pin(sum(from, middle)) as std::pin::Pin<Box<dyn task::Task<u64>>>
                )
                .await;
                let right: std::pin::Pin<Box<dyn task::Task<u64>>> = Box::pin(sum(middle, to));
                task::call(right).await + left.await
            }
        }
        for _ in 0..tries(20) {
            assert_eq!(a.run(|_| sum(0, size(1000, 10))), size(499_500, 45));
            assert_eq!(
                a.install(|| b.run(|_| sum(0, size(1000, 10)))),
                size(499_500, 45)
            );
        }
    });
}

#[test]
fn blocking_in_a_share_gives_its_core_to_any_share() {
    watched(|| {
        let arena = arena(1);
        let (a, b) = (share(&arena, 1), share(&arena, 1));
        let (sender, receiver) = mpsc::channel();
        thread::scope(|s| {
            let waits =
                s.spawn(|| a.install(move || roving::blocking(|| receiver.recv().unwrap())));
            b.install(move || sender.send(5).unwrap());
            assert_eq!(waits.join().unwrap(), 5);
        });
    });
}

/// A stop drops the tasks that no caller waits for, and runs the others, also in the classes.
#[test]
fn a_share_can_be_stopped_at_once() {
    watched(|| {
        let arena = named(1, "stopped");
        for _ in 0..tries(50) {
            let (pool, other) = (share(&arena, 1), share(&arena, 1));
            let occupied = occupy_one(&pool);
            // It goes on when this task is dropped, with what it holds.
            pool.spawn_with(Priority::High, move || drop(occupied));
            pool.spawn_with(Priority::Low, || unreachable!("dropped"));
            let dropped = pool.shutdown_now();
            assert_eq!((dropped.tasks(), dropped.is_final()), (2, true));
            assert_eq!(other.install(|| fib(5)), 5);
        }
    });
}

#[test]
fn what_a_share_cannot_have_is_said() {
    let arena = arena(1);
    let refusal = |builder: roving::PoolBuilder| builder.build().unwrap_err().to_string();
    let pinned = refusal(arena.pool().pin(true));
    assert!(
        pinned.starts_with("pin is not available for a share of an arena"),
        "{pinned}"
    );
    for builder in [
        arena.pool().stack_size(1 << 20),
        arena.pool().caller_runs(),
        arena.pool().adopt_current_thread(),
        arena.pool().deterministic(1),
    ] {
        assert!(refusal(builder).contains("leave it out"));
    }
    let own = arena.pool().build_with(|_| Ok(())).unwrap_err().to_string();
    assert!(own.starts_with("build_with is not available"));
    assert!(refusal(arena.pool().workers(0)).starts_with("0 workers"));
    let error = Arena::new(100_000).unwrap_err().to_string();
    assert!(error.starts_with("an arena of 100000 threads"), "{error}");
}
