//! Tasks await futures that know nothing of this runtime, and are woken from anywhere.

mod common;
#[path = "common/panics.rs"]
mod panics;
#[path = "common/signal.rs"]
mod signal;
#[path = "common/system.rs"]
mod system;

use std::future::{pending, poll_fn, ready};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::{Duration, Instant};

use common::{pool, size, tries, wait_until, watched, yield_now};
use futures_util::future::{self, Either, join_all};
use futures_util::stream::{FuturesUnordered, StreamExt};
use futures_util::{join, select_biased};
use roving::Pool;
use roving::task::{Task, block_on, call, fork, spawn};
use signal::Signal;

/// A timer that a thread of its own drives.
fn sleep(time: Duration) -> impl Future<Output = ()> + Send {
    let signal = Arc::new(Signal::default());
    let clock = Arc::clone(&signal);
    thread::spawn(move || {
        thread::sleep(time);
        clock.set();
    });
    async move { signal.wait().await }
}

fn on_pools(test: impl Fn(&Pool)) {
    panics::on_pools(&test);
    watched(|| {
        for &workers in size(&[1, 3][..], &[2]) {
            let builder = Pool::builder().workers(workers).migrate_at_each_fork();
            test(&builder.build().unwrap());
        }
        test(&Pool::builder().caller_runs().build().unwrap());
    });
}

#[test]
fn timers_driven_elsewhere() {
    on_pools(|pool| {
        let start = Instant::now();
        let sum = pool.run(|_| async {
            let naps: Vec<_> = (1..=8)
                .map(|n| {
                    spawn(async move {
                        sleep(Duration::from_millis(n)).await;
                        n
                    })
                })
                .collect();
            join_all(naps).await.iter().sum::<u64>()
        });
        assert_eq!(sum, 36);
        assert!(start.elapsed() >= Duration::from_millis(8));
    });
}

#[test]
fn a_task_that_is_woken_before_it_waits_or_twice_runs_on() {
    on_pools(|pool| {
        for _ in 0..tries(200) {
            let signal = Arc::new(Signal::default());
            let setter = Arc::clone(&signal);
            let other = thread::spawn(move || {
                setter.set();
                setter.set();
            });
            pool.run(|_| {
                let signal = &signal;
                async move { join!(signal.wait(), signal.wait(), yield_now()) }
            });
            other.join().unwrap();
        }
    });
}

/// A task that was woken by another one on its worker, and waits again, is not polled once more.
#[test]
fn a_task_is_polled_once_for_each_wake_up() {
    const WAKES: usize = 3;
    watched(|| {
        let kept: Mutex<Option<Waker>> = Mutex::default();
        let polls = AtomicUsize::new(0);
        let (kept, polls) = (&kept, &polls);
        pool(1).run(async move |scope| {
            let waits = scope.spawn(poll_fn(move |context: &mut Context<'_>| {
                *kept.lock().unwrap() = Some(context.waker().clone());
                match polls.fetch_add(1, SeqCst) < WAKES {
                    true => Poll::Pending,
                    false => Poll::Ready(()),
                }
            }));
            for woken in 1..=WAKES {
                while polls.load(SeqCst) < woken {
                    yield_now().await;
                }
                for _ in 0..3 {
                    yield_now().await;
                    assert_eq!(polls.load(SeqCst), woken);
                }
                let waker = kept.lock().unwrap().take();
                waker.expect("it has been polled").wake();
            }
            waits.await;
        });
        assert_eq!(polls.load(SeqCst), WAKES + 1);
    });
}

#[test]
fn channels_between_tasks() {
    on_pools(|pool| {
        let (to_first, first) = async_channel::bounded::<u64>(1);
        let (to_second, second) = async_channel::bounded::<u64>(2);
        let sum = pool.run(|_| async move {
            let doubler = fork(async move {
                while let Ok(n) = first.recv().await {
                    to_second.send(n * 2).await.unwrap();
                }
            })
            .await;
            let adder = fork(async move {
                let mut sum = 0;
                while let Ok(n) = second.recv().await {
                    sum += n;
                }
                sum
            })
            .await;
            for n in 0..size(100, 10) {
                to_first.send(n).await.unwrap();
            }
            drop(to_first);
            doubler.await;
            adder.await
        });
        assert_eq!(sum, size(9900, 90));
    });
}

#[test]
fn a_task_that_yields_lets_those_run_that_it_waits_for() {
    on_pools(|pool| {
        let done = Arc::new(AtomicBool::new(false));
        pool.run(|_| async move {
            let setter = Arc::clone(&done);
            let child = spawn(async move { setter.store(true, SeqCst) });
            while !done.load(SeqCst) {
                yield_now().await;
            }
            child.await;
        });
    });
}

/// Under combinators, several children of a task are asked for in one poll.
#[test]
fn forks_and_calls_under_combinators() {
    on_pools(|pool| {
        let sum = pool.run(|_| async {
            let (a, b, c) = join!(fork(async { 1 }), fork(async { 2 }), call(async { 3 }));
            let (d, e) = future::join(call(async { 4 }), call(async { 5 })).await;
            a.await + b.await + c + d + e
        });
        assert_eq!(sum, 15);
        let sum = pool.run(|_| async {
            let mut calls: FuturesUnordered<_> = (0..size(20_u64, 5))
                .map(|n| call(async move { n }))
                .collect();
            let mut sum = 0;
            while let Some(n) = calls.next().await {
                sum += n;
            }
            let forks: FuturesUnordered<_> = (0..size(20_u64, 5))
                .map(|n| fork(async move { n }))
                .collect();
            for child in forks.collect::<Vec<_>>().await {
                sum += child.await;
            }
            sum
        });
        assert_eq!(sum, size(380, 20));
    });
}

/// The loser of a race is dropped halfway; it still runs to its end before the root has ended.
#[test]
fn losers_of_a_race_are_completed() {
    on_pools(|pool| {
        let ended = AtomicUsize::new(0);
        let ended = &ended;
        pool.run(|s| async move {
            for _ in 0..10 {
                let slow = s.call(async move {
                    sleep(Duration::from_millis(1)).await;
                    ended.fetch_add(1, SeqCst);
                });
                let quick = ready(());
                assert!(matches!(
                    future::select(slow, quick).await,
                    Either::Right(_)
                ));
                let mut slow = s
                    .fork(async move {
                        sleep(Duration::from_millis(1)).await;
                        ended.fetch_add(1, SeqCst);
                    })
                    .await;
                let mut quick = ready(());
                select_biased! {
                    () = futures_util::FutureExt::fuse(&mut quick) => {}
                    () = futures_util::FutureExt::fuse(&mut slow) => {}
                }
            }
        });
        assert_eq!(ended.load(SeqCst), 20);
    });
}

#[test]
fn a_task_called_halfway_wakes_for_its_other_branch() {
    on_pools(|pool| {
        let (sender, receiver) = async_channel::bounded::<u32>(1);
        let (back, answer) = async_channel::bounded::<u32>(1);
        let result = pool.run(|_| async move {
            // The callee waits for what only the caller's other branch can send.
            let callee = call(async move { answer.recv().await.unwrap() });
            let other = async move {
                let n = receiver.recv().await.unwrap();
                back.send(n + 1).await.unwrap();
            };
            let feeder = async move { sender.send(6).await.unwrap() };
            join!(callee, other, feeder).0
        });
        assert_eq!(result, 7);
    });
}

#[test]
fn a_waker_may_outlive_the_root_and_the_pool() {
    let kept: Arc<Mutex<Vec<Waker>>> = Arc::default();
    watched(|| {
        for _ in 0..tries(50) {
            let pool = pool(2);
            let keep = Arc::clone(&kept);
            pool.run(|_| async move {
                let children: Vec<_> = (0..4)
                    .map(|_| {
                        let keep = Arc::clone(&keep);
                        spawn(poll_fn(move |context: &mut Context<'_>| {
                            keep.lock().unwrap().push(context.waker().clone());
                            Poll::Ready(())
                        }))
                    })
                    .collect();
                join_all(children).await;
            });
        }
    });
    let kept = std::mem::take(&mut *kept.lock().unwrap());
    assert_eq!(kept.len(), tries(50) * 4);
    let copies: Vec<Waker> = kept.clone();
    copies.iter().for_each(Waker::wake_by_ref);
    kept.into_iter().for_each(Waker::wake);
}

#[test]
fn a_handle_may_leave_the_root_and_be_awaited_elsewhere() {
    let pool = pool(2);
    let handle =
        watched(|| pool.run(|_| async { Some(fork(async { String::from("text") }).await) }));
    let handle = handle.unwrap();
    assert!(handle.is_ended());
    assert_eq!(block_on(handle), "text");
    let (sender, receiver) = std::sync::mpsc::channel();
    let (late, signal) = (Arc::new(Signal::default()), Arc::new(Signal::default()));
    let waits = Arc::clone(&signal);
    let other = thread::spawn(move || {
        let handle = receiver.recv().unwrap();
        block_on(async move { handle.await + 1 })
    });
    let setter = Arc::clone(&late);
    thread::spawn(move || {
        thread::sleep(Duration::from_millis(5));
        setter.set();
    });
    watched(|| {
        pool.run(|_| async move {
            let child = spawn(async move {
                late.wait().await;
                41
            });
            sender.send(child).unwrap();
            drop(waits);
        });
    });
    assert_eq!(other.join().unwrap(), 42);
}

/// A future that has no waker is never polled again: the rest of a race goes on.
#[test]
fn what_is_never_woken_does_not_hold_up_its_siblings() {
    on_pools(|pool| {
        pool.run(|_| async {
            let never = pending::<()>();
            let child = fork(async {
                sleep(Duration::from_millis(1)).await;
                5
            })
            .await;
            match future::select(Box::pin(never), child).await {
                Either::Left(_) => unreachable!("pending"),
                Either::Right((five, _)) => assert_eq!(five, 5),
            }
        });
    });
}

/// Two tasks of one pool, neither of which goes on without the other.
#[test]
fn a_blocking_root_on_a_worker_leaves_its_core_to_others() {
    on_pools(|pool| {
        let signal = Arc::new(Signal::default());
        let setter = Arc::clone(&signal);
        let timer = thread::spawn(move || {
            thread::sleep(Duration::from_millis(2));
            setter.set();
        });
        let (a, b) = pool.install(|| {
            roving::join(
                || {
                    block_on(async {
                        signal.wait().await;
                        1
                    })
                },
                || block_on(async { call(async { 2 }).await }),
            )
        });
        assert_eq!(a + b, 3);
        timer.join().unwrap();
    });
}

#[test]
fn a_root_that_waits_uses_no_processor() {
    let pool = Pool::builder().workers(2).name("asleep").build().unwrap();
    let signal = Arc::new(Signal::default());
    let setter = Arc::clone(&signal);
    let timer = thread::spawn(move || {
        wait_until(|| setter.wakers.lock().unwrap().len() == 10);
        system::wait_until_asleep("asleep");
        let before = system::used_by_threads("asleep");
        thread::sleep(Duration::from_millis(200));
        let after = system::used_by_threads("asleep");
        setter.set();
        (before, after)
    });
    watched(|| {
        pool.install(|| {
            block_on(async {
                let children: Vec<_> = (0..10)
                    .map(|_| {
                        let signal = Arc::clone(&signal);
                        spawn(async move { signal.wait().await })
                    })
                    .collect();
                join_all(children).await;
            });
        });
    });
    if let (Some(before), Some(after)) = timer.join().unwrap() {
        let used = after.cpu_ns - before.cpu_ns;
        assert!(used < 5_000_000, "{used} ns in 200 ms");
    }
}

/// A recursion in which each task suspends once: parents wait for children that others run.
#[test]
fn every_task_of_a_tree_suspends() {
    fn nodes(depth: u32) -> impl Task<u64> {
        async move {
            yield_now().await;
            if depth == 0 {
                return 1;
            }
            let a = fork(nodes(depth - 1)).await;
            let b = spawn(nodes(depth - 1));
            yield_now().await;
            1 + a.await + b.await + call(async { 0 }).await
        }
    }
    on_pools(|pool| {
        for _ in 0..tries(10) {
            assert_eq!(pool.run(|_| nodes(6)), 127);
        }
    });
}

/// A future that is polled with a waker that is not the task's.
#[test]
fn a_foreign_executor_inside_a_task() {
    struct Through<F>(F);
    impl<F: Future + Unpin> Future for Through<F> {
        type Output = F::Output;
        fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
            let waker = Arc::new(Forward(context.waker().clone())).into();
            Pin::new(&mut self.0).poll(&mut Context::from_waker(&waker))
        }
    }
    struct Forward(Waker);
    impl std::task::Wake for Forward {
        fn wake(self: Arc<Self>) {
            self.0.wake_by_ref();
        }
    }
    on_pools(|pool| {
        let sum = pool.run(|_| async {
            let a = Through(fork(async { 1 })).await;
            let b = Through(call(async { 2 })).await;
            let c = Through(spawn(async { 3 })).await;
            Through(a).await + b + c
        });
        assert_eq!(sum, 6);
    });
}
