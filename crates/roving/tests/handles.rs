//! Handles of detached tasks: their results, panics and ends, wherever they are waited for.

mod common;
#[path = "handles/here.rs"]
mod here;
#[path = "handles/limit.rs"]
mod limit;

use std::future::poll_fn;
use std::panic;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::thread;

use common::{pool, size, tries, wait_until, watched};
use roving::{Arena, Cancel, JoinHandle, Pool, Priority, join, scope, task};

/// Counts how often it is dropped.
#[derive(Clone)]
struct Counted(Arc<AtomicUsize>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_add(1, SeqCst);
    }
}

/// Pools of every kind, each with a name.
fn pools() -> Vec<(&'static str, Pool)> {
    let builder = Pool::builder;
    let arena = Arena::new(2).unwrap();
    vec![
        ("one worker", pool(1)),
        ("two workers", pool(2)),
        ("a share", arena.pool().workers(2).build().unwrap()),
        ("in place", builder().caller_runs().build().unwrap()),
        ("deterministic", builder().deterministic(7).build().unwrap()),
    ]
}

/// Keeps the only worker of a pool busy until what it returns is dropped.
fn occupy(pool: &Pool) -> Sender<()> {
    let (begun, has_begun) = mpsc::channel();
    let (go_on, may_go_on) = mpsc::channel::<()>();
    pool.spawn(move || {
        begun.send(()).unwrap();
        let _ = may_go_on.recv();
    });
    has_begun.recv().unwrap();
    go_on
}

fn payload<T>(handle: JoinHandle<T>) -> String {
    let Err(error) = handle.join() else {
        panic!("it panicked");
    };
    assert!(error.is_panic() && !error.is_cancelled());
    let payload = error.try_into_panic().unwrap();
    (*payload.downcast::<&str>().unwrap()).to_owned()
}

fn fails() -> ! {
    panic::resume_unwind(Box::new("on purpose"))
}

fn is_cancelled<T>(handle: JoinHandle<T>) -> bool {
    handle.join().is_err_and(|error| error.is_cancelled())
}

#[test]
fn results_and_panics_come_from_every_kind_of_pool() {
    watched(|| {
        for (name, pool) in pools() {
            let text = String::from("moved");
            assert_eq!(pool.spawn(move || text.len()).join().unwrap(), 5, "{name}");
            assert_eq!(payload(pool.spawn(|| fails())), "on purpose", "{name}");
            let inside = pool.install(|| {
                let (one, two) = (roving::spawn(|| 1), roving::spawn(|| fails()));
                (one.join().unwrap(), payload(two))
            });
            assert_eq!(inside, (1, "on purpose".to_owned()), "{name}");
            let awaited = pool.run(|_| async { roving::spawn(|| 2).await.unwrap() });
            assert_eq!(awaited, 2, "{name}");
        }
    });
}

#[test]
fn a_worker_that_waits_runs_the_task_and_nothing_else() {
    watched(|| {
        let pool = pool(1);
        let lock = Arc::new(Mutex::new(0));
        let other = Arc::clone(&lock);
        pool.install(move || {
            let mut number = lock.lock().unwrap();
            // Older than the task that is waited for, and in need of the lock.
            let stranger = roving::spawn(move || *other.lock().unwrap() += 1);
            *number = roving::spawn(|| 41).join().unwrap();
            assert!(!stranger.is_finished());
            drop(number);
            stranger.join().unwrap();
            assert_eq!(*lock.lock().unwrap(), 42);
        });
    });
}

#[test]
fn a_worker_waits_for_a_task_of_another_worker_or_pool() {
    watched(|| {
        let (own, other) = (pool(2), pool(1));
        let sum = own.install(|| {
            let (begun, has_begun) = mpsc::channel();
            let (go_on, may_go_on) = mpsc::channel::<()>();
            let there = roving::spawn(move || {
                begun.send(()).unwrap();
                let _ = may_go_on.recv();
                20
            });
            has_begun.recv().unwrap();
            roving::spawn(move || drop(go_on));
            let elsewhere = other.spawn(roving::current_workers);
            there.join().unwrap() + elsewhere.join().unwrap()
        });
        assert_eq!(sum, 21);
    });
}

#[test]
fn chains_of_tasks_that_wait_for_each_other_end() {
    fn chain(left: usize) -> usize {
        match left {
            0 => 0,
            _ => 1 + roving::spawn(move || chain(left - 1)).join().unwrap(),
        }
    }
    watched(|| {
        let depth = size(200, 5);
        for (name, pool) in pools() {
            assert_eq!(
                pool.spawn(move || chain(depth)).join().unwrap(),
                depth,
                "{name}"
            );
        }
    });
}

#[test]
fn a_dropped_handle_lets_its_task_run() {
    watched(|| {
        let ran = Arc::new(AtomicUsize::new(0));
        for (_, pool) in pools() {
            for _ in 0..size(100, 10) {
                let counted = Counted(Arc::clone(&ran));
                drop(pool.spawn(move || counted));
            }
        }
        assert_eq!(ran.load(SeqCst), 5 * size(100, 10));
    });
}

/// The job may end, and free the task, while its handle is let go: whoever is first touches it no
/// more. It did, which Miri saw in another test.
#[test]
fn a_handle_is_dropped_while_its_task_runs() {
    watched(|| {
        let pool = pool(4);
        let ran = Arc::new(AtomicUsize::new(0));
        let tasks = size(10_000, 60);
        pool.install(|| {
            for _ in 0..tasks {
                let counter = Arc::clone(&ran);
                drop(roving::spawn(move || counter.fetch_add(1, SeqCst)));
            }
        });
        wait_until(|| ran.load(SeqCst) == tasks);
    });
}

#[test]
fn a_panic_that_nobody_asks_for_goes_to_the_handler() {
    watched(|| {
        let (sender, receiver) = mpsc::channel();
        let heard = move |_| sender.send(()).unwrap();
        let builder = Pool::builder().workers(1).panic_handler(heard);
        let pool = builder.build().unwrap();
        // Before it has begun, and when it has ended.
        pool.install(|| drop(roving::spawn(|| fails())));
        receiver.recv().unwrap();
        let ended = pool.spawn(|| fails());
        wait_until(|| ended.is_finished());
        drop(ended);
        receiver.recv().unwrap();
        // A caller that waits has it.
        assert_eq!(payload(pool.spawn(|| fails())), "on purpose");
        drop(pool);
        assert!(receiver.try_recv().is_err());
    });
}

#[test]
fn an_aborted_task_is_dropped_at_once_and_never_begun() {
    watched(|| {
        for (name, pool) in pools() {
            let dropped = Arc::new(AtomicUsize::new(0));
            pool.install(|| {
                if pool.workers() > 1 && name != "deterministic" {
                    return;
                }
                let counted = Counted(Arc::clone(&dropped));
                let task = roving::spawn(move || {
                    drop(counted);
                    unreachable!("aborted");
                });
                assert!(!task.is_finished(), "{name}");
                task.abort();
                assert!(task.is_finished() && dropped.load(SeqCst) == 1, "{name}");
                task.abort();
                assert!(is_cancelled(task), "{name}");

                let counted = Counted(Arc::clone(&dropped));
                let task = roving::spawn(move || drop(counted)).abort_on_drop();
                drop(task);
                assert_eq!(dropped.load(SeqCst), 2, "{name}");
            });
        }
    });
}

#[test]
fn abort_leaves_what_runs_or_has_ended_alone() {
    watched(|| {
        let pool = pool(1);
        let done = pool.spawn(|| 1);
        wait_until(|| done.is_finished());
        done.abort();
        assert_eq!(done.join().unwrap(), 1);

        let (begun, has_begun) = mpsc::channel();
        let (go_on, may_go_on) = mpsc::channel::<()>();
        let runs = pool.spawn(move || {
            begun.send(()).unwrap();
            may_go_on.recv().is_err()
        });
        has_begun.recv().unwrap();
        runs.abort();
        assert!(!runs.is_finished());
        drop(go_on);
        assert!(runs.join().unwrap());
    });
}

/// Whatever the moment, each closure is dropped once, and runs or is cancelled.
#[test]
fn abort_races_with_the_worker() {
    watched(|| {
        for (_, pool) in pools() {
            let (dropped, ran) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
            let (mut aborted, count) = (0, tries(2000));
            for turn in 0..count {
                let (counted, ran) = (Counted(Arc::clone(&dropped)), Arc::clone(&ran));
                let task = pool.spawn(move || {
                    ran.fetch_add(1, SeqCst);
                    drop(counted);
                });
                (0..turn % 64).for_each(|_| std::hint::spin_loop());
                match turn % 3 {
                    0 => task.abort(),
                    1 => drop(task.abort_on_drop()),
                    _ => drop(task),
                }
                if turn % 3 == 0 {
                    continue;
                }
                let task = pool.spawn(|| ());
                task.abort();
                aborted += usize::from(is_cancelled(task));
            }
            drop(pool);
            assert_eq!(dropped.load(SeqCst), count);
            assert!(ran.load(SeqCst) <= count && aborted <= count);
        }
    });
}

#[test]
fn a_cancelled_context_drops_the_task_and_says_so() {
    watched(|| {
        for (name, pool) in pools() {
            let request = Cancel::new();
            let handles = pool.install(|| {
                request.run_partial(|| {
                    let early = roving::spawn(roving::is_cancelled);
                    let early = early.join().unwrap();
                    request.cancel();
                    (early, roving::spawn(|| unreachable!("cancelled")))
                })
            });
            let (early, late): (bool, JoinHandle<()>) = handles.unwrap();
            assert!(!early && is_cancelled(late), "{name}");
        }
    });
}

/// A loop that ends early unwinds with what says so.
#[test]
fn a_loop_that_was_cancelled_in_a_task_is_no_panic() {
    watched(|| {
        let pool = pool(2);
        let request = Cancel::new();
        let inside = request.clone();
        let task = request.run_partial(|| {
            pool.spawn(move || {
                inside.cancel();
                roving::par_for(0..1_000_000, |_| ());
                unreachable!("the loop has not ended");
            })
        });
        let task: JoinHandle<()> = task.unwrap();
        assert!(is_cancelled(task));
    });
}

#[test]
fn shutdown_drops_what_waits_and_tells_its_handles() {
    watched(|| {
        let pool = pool(1);
        let busy = occupy(&pool);
        let (waiting, aborted) = (pool.spawn(|| 1), pool.spawn(|| 2));
        aborted.abort();
        let dropped = Arc::new(AtomicUsize::new(0));
        let counted = Counted(Arc::clone(&dropped));
        drop(pool.spawn(move || drop(counted)));
        let stopper = thread::spawn(|| pool.shutdown_now());
        wait_until(|| waiting.is_finished() && dropped.load(SeqCst) == 1);
        drop(busy);
        assert_eq!(
            stopper.join().unwrap().tasks(),
            2,
            "the aborted one is none of these"
        );
        assert!(is_cancelled(waiting) && is_cancelled(aborted));
    });
}

#[test]
fn a_dropped_pool_runs_what_waits_and_handles_outlive_it() {
    watched(|| {
        for (name, pool) in pools() {
            let tasks: Vec<_> = (0..10).map(|n| pool.spawn(move || n)).collect();
            drop(pool);
            let sum: usize = tasks.into_iter().map(|task| task.join().unwrap()).sum();
            assert_eq!(sum, 45, "{name}");
        }
    });
}

#[test]
fn an_awaiter_is_woken_and_the_last_one_counts() {
    struct Flag(AtomicBool);
    impl std::task::Wake for Flag {
        fn wake(self: Arc<Flag>) {
            self.0.store(true, SeqCst);
        }
    }
    watched(|| {
        let pool = pool(1);
        let busy = occupy(&pool);
        let mut task = pool.spawn(|| "done");
        let flags = [(); 2].map(|()| Arc::new(Flag(AtomicBool::new(false))));
        for flag in &flags {
            let waker = Waker::from(Arc::clone(flag));
            let polled = Pin::new(&mut task).poll(&mut Context::from_waker(&waker));
            assert!(polled.is_pending());
        }
        drop(busy);
        wait_until(|| flags[1].0.load(SeqCst));
        assert!(!flags[0].0.load(SeqCst));
        let polled = Pin::new(&mut task).poll(&mut Context::from_waker(Waker::noop()));
        assert!(matches!(polled, Poll::Ready(Ok("done"))));
    });
}

/// A handle that is dropped takes back what it has left with its task or child.
#[test]
fn a_handle_that_goes_keeps_no_waker() {
    struct Wakes(AtomicUsize);
    impl std::task::Wake for Wakes {
        fn wake(self: Arc<Wakes>) {
            self.0.fetch_add(1, SeqCst);
        }
    }
    watched(|| {
        let pool = pool(1);
        let wakes = Arc::new(Wakes(AtomicUsize::new(0)));
        let waker = Waker::from(Arc::clone(&wakes));
        let mut context = Context::from_waker(&waker);
        let busy = occupy(&pool);
        let mut task = pool.spawn(|| ());
        assert!(Pin::new(&mut task).poll(&mut context).is_pending());
        drop(task);
        assert_eq!(Arc::strong_count(&wakes), 2);
        drop(busy);
        let (goes, go) = async_channel::bounded::<()>(1);
        pool.run(|_| async {
            let mut child = task::spawn(async move { go.recv().await.unwrap() });
            let is_pending = {
                let mut context = Context::from_waker(&waker);
                Pin::new(&mut child).poll(&mut context).is_pending()
            };
            assert!(is_pending);
            drop(child);
            assert_eq!(Arc::strong_count(&wakes), 2);
            goes.send(()).await.unwrap();
        });
        drop(pool);
        assert_eq!(wakes.0.load(SeqCst), 0);
    });
}

#[test]
fn a_handle_that_waited_can_be_dropped_joined_or_aborted() {
    watched(|| {
        let pool = pool(1);
        let busy = occupy(&pool);
        let tasks = [(); 3].map(|()| {
            let mut task = pool.spawn(|| 1);
            let polled = Pin::new(&mut task).poll(&mut Context::from_waker(Waker::noop()));
            assert!(polled.is_pending());
            task
        });
        let [dropped, joined, aborted] = tasks;
        drop(dropped);
        aborted.abort();
        assert!(is_cancelled(aborted));
        drop(busy);
        assert_eq!(joined.join().unwrap(), 1);
    });
}

#[test]
fn handles_are_joined_inside_everything() {
    watched(|| {
        for (name, pool) in pools() {
            fn spawned() -> usize {
                roving::spawn(|| 1).join().unwrap()
            }
            let sum = pool.install(|| {
                let total = AtomicUsize::new(0);
                let add = |n: usize| _ = total.fetch_add(n, SeqCst);
                scope(|s| {
                    s.spawn(|_| add(spawned()));
                    let (a, b) = join(spawned, || roving::blocking(spawned));
                    add(a + b);
                });
                roving::par_for(0..4, |_| add(spawned()));
                add(Cancel::new().run(spawned).unwrap());
                add(task::block_on(async {
                    task::spawn(async { spawned() }).await
                }));
                total.into_inner()
            });
            assert_eq!(sum, 9, "{name}");
        }
    });
}

#[test]
fn an_adopted_thread_waits_for_its_tasks() {
    let adopting = || {
        for workers in [1, 2] {
            let builder = Pool::builder().workers(workers).adopt_current_thread();
            let pool = builder.build().unwrap();
            assert_eq!(pool.spawn(|| 1).join().unwrap(), 1);
            let task = roving::spawn(|| 2);
            drop(pool);
            assert_eq!(task.join().unwrap(), 2);
        }
    };
    watched(|| thread::spawn(adopting).join().unwrap());
}

#[test]
fn classes_hold_and_a_wait_overrides_them() {
    watched(|| {
        let pool = pool(1);
        pool.install(|| {
            let high = pool.spawn_with(Priority::High, || ());
            let low = pool.spawn_with(Priority::Low, || 1);
            assert_eq!(low.join().unwrap(), 1, "it is waited for");
            assert!(!high.is_finished());
        });
    });
}

#[test]
fn a_resized_pool_runs_its_tasks() {
    watched(|| {
        let builder = Pool::builder().workers(2).workers_max(4);
        let pool = builder.build().unwrap();
        let tasks: Vec<_> = (0..size(200, 20))
            .map(|n| {
                pool.resize(1 + n % 4).unwrap();
                pool.spawn(move || n)
            })
            .collect();
        for (n, task) in tasks.into_iter().enumerate() {
            assert_eq!(task.join().unwrap(), n);
        }
    });
}

#[test]
#[should_panic(expected = "polled after it was ready")]
fn a_handle_has_one_result() {
    let mut task = roving::spawn(|| ());
    task::block_on(async move {
        let _ = (&mut task).await;
        poll_fn(|context| Pin::new(&mut task).poll(context)).await
    })
    .unwrap();
}

/// A closure whose drop panics: the handle hears of it, or else the pool's handler.
#[test]
fn a_panic_in_the_drop_of_an_aborted_closure_reaches_the_handle() {
    struct Fails;
    impl Drop for Fails {
        fn drop(&mut self) {
            fails();
        }
    }
    watched(|| {
        let pool = pool(1);
        let busy = occupy(&pool);
        let fails = Fails;
        let task = pool.spawn(move || drop(fails));
        task.abort();
        drop(busy);
        assert_eq!(payload(task), "on purpose");
        // The result's own drop, where nobody asks for it.
        drop(pool.spawn(|| Fails));
        assert_eq!(pool.spawn(|| 1).join().unwrap(), 1);
    });
}
