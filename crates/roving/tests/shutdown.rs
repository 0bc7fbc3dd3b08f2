//! `Pool::shutdown_now`: what nobody waits for is dropped, once, and everything else ends.

mod common;
#[path = "common/system.rs"]
mod system;

use std::panic::{self, AssertUnwindSafe};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Barrier, Mutex};
use std::thread;
use std::time::Duration;

use common::{occupy_one, pool, size, tries, wait_until, watched};
use roving::raw::calls::{Order, Target};
use roving::{Pool, join};

/// Counts how often it is dropped, and what had been run of it.
struct Counted(Arc<AtomicUsize>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_add(1, SeqCst);
    }
}

/// Keeps all workers of the pool busy until what it returns is dropped.
fn occupy(pool: &Pool) -> Vec<Sender<()>> {
    let begun = Arc::new(Barrier::new(pool.workers() + 1));
    let occupied = (0..pool.workers())
        .map(|_| {
            let (go_on, may_go_on) = mpsc::channel::<()>();
            let begun = Arc::clone(&begun);
            pool.spawn(move || {
                begun.wait();
                let _ = may_go_on.recv();
            });
            go_on
        })
        .collect();
    begun.wait();
    occupied
}

#[test]
fn what_has_not_begun_is_dropped_once_and_counted() {
    watched(|| {
        for workers in [1, 2, 4] {
            for tasks in [0, 1, 7, size(1000, 40)] {
                let pool = pool(workers);
                let occupied = occupy(&pool);
                let (ran, dropped) = (Arc::new(AtomicUsize::new(0)), Arc::default());
                for _ in 0..tasks {
                    let (ran, counted) = (Arc::clone(&ran), Counted(Arc::clone(&dropped)));
                    pool.spawn(move || {
                        ran.fetch_add(1, SeqCst);
                        drop(counted);
                    });
                }
                // It drops what waits before it waits for what runs.
                let stopper = thread::spawn(|| pool.shutdown_now());
                wait_until(|| dropped.load(SeqCst) == tasks);
                assert!(!stopper.is_finished(), "tasks are still running");
                drop(occupied);
                let result = stopper.join().unwrap();
                assert_eq!((result.tasks(), result.is_final()), (tasks, true));
                assert_eq!(ran.load(SeqCst), 0);
                assert_eq!(dropped.load(SeqCst), tasks);
            }
        }
    });
}

#[test]
fn each_task_runs_or_is_dropped_whatever_the_moment() {
    watched(|| {
        for round in 0..tries(200) {
            let pool = pool(1 + round % 3);
            let (ran, dropped) = (Arc::new(AtomicUsize::new(0)), Arc::default());
            let tasks = 1 + 17 * (round % 11);
            for _ in 0..tasks {
                let (ran, counted) = (Arc::clone(&ran), Counted(Arc::clone(&dropped)));
                pool.spawn(move || {
                    let _counted = counted;
                    ran.fetch_add(1, SeqCst);
                });
            }
            let result = pool.shutdown_now();
            assert!(result.is_final());
            assert_eq!(dropped.load(SeqCst), tasks, "all closures are gone");
            assert_eq!(ran.load(SeqCst) + result.tasks(), tasks);
        }
    });
}

/// A task that began before the stop ends with all tasks that it waits for.
#[test]
fn what_runs_ends_with_all_that_it_waits_for() {
    watched(|| {
        let pool = pool(2);
        let (begun, has_begun) = mpsc::channel();
        let (result, results) = mpsc::channel();
        let dropped = Arc::default();
        let counted = Counted(Arc::clone(&dropped));
        pool.spawn(move || {
            assert!(!roving::is_cancelled());
            begun.send(()).unwrap();
            while !roving::is_cancelled() {
                thread::yield_now();
            }
            // The pool is being stopped: parallel calls still work, detached ones do not begin.
            roving::spawn(move || {
                drop(counted);
                unreachable!("dropped");
            });
            let sum: u64 = roving::map_reduce(0..size(1000, 20), 0, |i| i as u64, |a, b| a + b);
            let root = roving::task::block_on(async {
                let child = roving::task::spawn(async { 5 });
                child.await
            });
            let visits = roving::broadcast(|index| index);
            result.send((sum, root, visits)).unwrap();
        });
        has_begun.recv().unwrap();
        let stopped = pool.shutdown_now();
        assert_eq!(results.recv().unwrap(), (size(499_500, 190), 5, vec![0, 1]));
        assert_eq!((stopped.tasks(), dropped.load(SeqCst)), (1, 1));
    });
}

#[test]
fn drops_that_panic_are_counted_and_handed_to_the_handler() {
    struct Bomb(#[allow(dead_code, reason = "it is dropped")] Counted);
    impl Drop for Bomb {
        fn drop(&mut self) {
            panic::resume_unwind(Box::new("bomb"));
        }
    }
    watched(|| {
        let heard = Arc::new(AtomicUsize::new(0));
        let in_handler = Arc::clone(&heard);
        let builder = Pool::builder().workers(2).panic_handler(move |payload| {
            assert_eq!(payload.downcast_ref(), Some(&"bomb"));
            in_handler.fetch_add(1, SeqCst);
            panic::resume_unwind(payload);
        });
        let pool = builder.build().unwrap();
        let occupied = occupy(&pool);
        let dropped = Arc::default();
        for _ in 0..size(20, 4) {
            let bomb = Bomb(Counted(Arc::clone(&dropped)));
            pool.spawn(move || drop(bomb));
        }
        let stopper = thread::spawn(|| pool.shutdown_now());
        wait_until(|| dropped.load(SeqCst) == size(20, 4));
        drop(occupied);
        assert_eq!(stopper.join().unwrap().tasks(), size(20, 4));
        assert_eq!(heard.load(SeqCst), size(20, 4) as usize);
    });
}

/// A drop that spawns into the same pool, again and again: no deep stack, and nothing is left.
#[test]
fn drops_that_spawn_are_dropped_too() {
    struct Again(usize, Arc<AtomicUsize>);
    impl Drop for Again {
        fn drop(&mut self) {
            self.1.fetch_add(1, SeqCst);
            if let Some(left) = self.0.checked_sub(1) {
                let again = Again(left, Arc::clone(&self.1));
                // On a worker this is the pool that is being stopped.
                roving::spawn(move || drop(again));
            }
        }
    }
    watched(|| {
        let pool = pool(2);
        let (begun, has_begun) = mpsc::channel();
        let dropped = Arc::default();
        let drops = size(10_000, 20);
        let again = Again(drops, Arc::clone(&dropped));
        pool.spawn(move || {
            begun.send(()).unwrap();
            while !roving::is_cancelled() {
                thread::yield_now();
            }
            drop(again);
        });
        has_begun.recv().unwrap();
        // On the stopping thread, `spawn` goes elsewhere; here all drops but the first are the
        // workers'.
        assert!(pool.shutdown_now().tasks() >= 1);
        assert!(roving::embed::shutdown_global().is_ok());
        assert_eq!(dropped.load(SeqCst), drops + 1);
    });
}

#[test]
fn a_task_stops_its_own_pool() {
    watched(|| {
        for workers in [1, 3] {
            let slot = Arc::new(Mutex::new(None));
            let (result, results) = mpsc::channel();
            let dropped = Arc::default();
            let pool = pool(workers);
            let (begun, has_begun) = mpsc::channel();
            let (go_on, may_go_on) = mpsc::channel::<()>();
            let own = Arc::clone(&slot);
            pool.spawn(move || {
                begun.send(()).unwrap();
                let _ = may_go_on.recv();
                let pool: Pool = own.lock().unwrap().take().unwrap();
                let stopped = pool.shutdown_now();
                // It goes on, and so do its subtasks.
                let (a, b) = join(|| 1, || 2);
                result.send((stopped, a + b)).unwrap();
            });
            has_begun.recv().unwrap();
            let others: Vec<_> = match workers {
                1 => Vec::new(),
                _ => (1..workers).map(|_| occupy_one(&pool)).collect(),
            };
            for _ in 0..10 {
                let counted = Counted(Arc::clone(&dropped));
                pool.spawn(move || drop(counted));
            }
            *slot.lock().unwrap() = Some(pool);
            drop(go_on);
            let (stopped, sum) = results.recv().unwrap();
            assert_eq!((stopped.tasks(), stopped.is_final(), sum), (10, false, 3));
            assert_eq!(dropped.load(SeqCst), 10);
            drop(others);
        }
    });
}

/// From a worker of another pool, which gives its core away meanwhile.
#[test]
fn a_worker_of_one_pool_stops_another() {
    watched(|| {
        let outer = pool(1);
        let stopped = outer.install(|| {
            let inner = pool(2);
            let occupied = occupy(&inner);
            let dropped = Arc::default();
            let counted = Counted(Arc::clone(&dropped));
            inner.spawn(move || drop(counted));
            // What lets the inner pool's tasks go is a task of the outer one, whose only worker
            // waits.
            roving::spawn(move || drop(occupied));
            let stopped = inner.shutdown_now();
            assert_eq!(dropped.load(SeqCst), 1);
            stopped
        });
        assert_eq!((stopped.tasks(), stopped.is_final()), (1, true));
        // Both, the inner from inside the outer, then the outer.
        assert!(outer.shutdown_now().is_final());
    });
}

#[test]
fn what_workers_have_queued_for_themselves_is_dropped() {
    watched(|| {
        let pool = pool(1);
        let dropped = Arc::default();
        let (begun, has_begun) = mpsc::channel();
        let (go_on, may_go_on) = mpsc::channel::<()>();
        let in_task = Arc::clone(&dropped);
        let target = move || {
            Target::with_current::<NoHome, _>(|target| {
                for order in [Order::NewestFirst, Order::OldestFirst, Order::OldestFirst] {
                    let counted = Counted(Arc::clone(&in_task));
                    target.spawn(order, move || drop(counted));
                }
                let counted = Arc::new(Counted(Arc::clone(&in_task)));
                target.spawn_broadcast(move |_| drop(Arc::clone(&counted)));
            });
            begun.send(()).unwrap();
            let _ = may_go_on.recv();
        };
        pool.spawn(target);
        has_begun.recv().unwrap();
        let stopper = thread::spawn(|| pool.shutdown_now());
        wait_until(|| dropped.load(SeqCst) == 4);
        drop(go_on);
        assert_eq!(stopper.join().unwrap().tasks(), 4);
    });
}

struct NoHome;

impl roving::raw::calls::Home for NoHome {
    fn build() -> Pool {
        unreachable!("called on a worker")
    }
}

#[test]
fn a_pool_without_threads_has_nothing_to_drop() {
    watched(|| {
        let pool = Pool::builder().caller_runs().build().unwrap();
        let ran = Arc::new(AtomicUsize::new(0));
        let in_task = Arc::clone(&ran);
        pool.spawn(move || {
            in_task.fetch_add(1, SeqCst);
        });
        let stopped = pool.shutdown_now();
        assert_eq!((stopped.tasks(), stopped.is_final()), (0, true));
        assert_eq!(ran.load(SeqCst), 1);
    });
}

#[test]
fn threads_of_the_users_own_end_too() {
    watched(|| {
        let mut threads = Vec::new();
        let builder = Pool::builder().workers(2);
        let pool = builder
            .build_with(|worker| {
                threads.push(thread::spawn(move || worker.run()));
                Ok(())
            })
            .unwrap();
        let occupied = occupy(&pool);
        let dropped = Arc::default();
        let counted = Counted(Arc::clone(&dropped));
        pool.spawn(move || drop(counted));
        let stopped = pool.shutdown_now();
        assert_eq!((stopped.tasks(), stopped.is_final()), (1, false));
        drop(occupied);
        threads.into_iter().for_each(|t| t.join().unwrap());
        assert_eq!(dropped.load(SeqCst), 1);
    });
}

/// A panic on its way drops the pool: it runs what it holds, as ever.
#[test]
fn a_drop_runs_what_a_stop_would_drop() {
    watched(|| {
        let ran = Arc::new(AtomicUsize::new(0));
        let in_tasks = Arc::clone(&ran);
        let unwound = panic::catch_unwind(AssertUnwindSafe(move || {
            let pool = pool(2);
            for _ in 0..size(100, 10) {
                let ran = Arc::clone(&in_tasks);
                pool.spawn(move || {
                    ran.fetch_add(1, SeqCst);
                });
            }
            panic::resume_unwind(Box::new(()));
        }));
        assert!(unwound.is_err());
        assert_eq!(ran.load(SeqCst), size(100, 10));
    });
}

/// However a pool ends, no thread of it is left, spare ones included.
#[test]
fn no_thread_of_a_pool_outlives_it() {
    watched(|| {
        for round in 0..tries(30) {
            let builder = Pool::builder().workers(3).name("mortal");
            let pool = builder.build().unwrap();
            let slept = || roving::blocking(|| thread::sleep(Duration::from_micros(200)));
            pool.install(|| join(slept, || join(slept, slept)));
            pool.spawn(move || roving::blocking(thread::yield_now));
            match round % 2 {
                0 => drop(pool),
                _ => assert!(pool.shutdown_now().is_final()),
            }
            // The system's list may show one that was joined for a moment yet.
            wait_until(|| matches!(system::threads("mortal"), None | Some(0)));
        }
    });
}

/// Not even where the pool was given its threads: what it has started beside them ends before they
/// have.
#[test]
fn no_spare_thread_outlives_the_threads_that_a_pool_was_given() {
    watched(|| {
        for _ in 0..tries(5) {
            let (begun, has_begun) = mpsc::channel();
            let (started, ended) = (AtomicUsize::new(0), AtomicUsize::new(0));
            let spares = Arc::new((started, ended));
            let (at_start, at_end) = (Arc::clone(&spares), Arc::clone(&spares));
            let builder = Pool::builder().workers(1).on_start(move |index| {
                if index > 0 {
                    at_start.0.fetch_add(1, SeqCst);
                    begun.send(()).unwrap();
                }
            });
            let builder = builder.on_exit(move |index| {
                if index > 0 {
                    thread::sleep(Duration::from_millis(20));
                    at_end.1.fetch_add(1, SeqCst);
                }
            });
            let mut threads = Vec::new();
            let pool = builder.build_with(|worker| {
                threads.push(thread::Builder::new().spawn(move || worker.run())?);
                Ok(())
            });
            let pool = pool.unwrap();
            // A compensation thread takes the place of the only worker.
            pool.install(move || roving::blocking(move || has_begun.recv().unwrap()));
            drop(pool);
            for thread in threads {
                thread.join().unwrap();
            }
            assert!(spares.0.load(SeqCst) > 0);
            assert_eq!(spares.1.load(SeqCst), spares.0.load(SeqCst));
        }
    });
}

/// Who is suspended until it is asked to end hears of a stop.
#[test]
fn what_waits_to_be_cancelled_is_woken() {
    watched(|| {
        let pool = pool(2);
        let (begun, has_begun) = mpsc::channel();
        let (ended, has_ended) = mpsc::channel();
        pool.spawn(move || {
            roving::task::block_on(async move {
                begun.send(()).unwrap();
                roving::context::cancelled().await;
            });
            ended.send(()).unwrap();
        });
        has_begun.recv().unwrap();
        assert!(pool.shutdown_now().is_final());
        assert_eq!(has_ended.recv(), Ok(()));
    });
}
