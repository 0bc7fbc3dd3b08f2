//! How often tasks are polled: once for each time that they are woken, and never because of what
//! happened before. A lost wake-up hangs, and one too many is counted.

#![forbid(unsafe_code)]

mod common;

use std::future::poll_fn;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};

use common::{pool, size, watched};
use roving::task;

/// Lets others go first, so often.
async fn yields(times: usize) {
    let mut left = times;
    poll_fn(|context| {
        if left == 0 {
            return Poll::Ready(());
        }
        left -= 1;
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

/// Counts the polls of a future.
async fn counted<F: Future>(polls: &AtomicUsize, future: F) -> F::Output {
    let mut future = pin!(future);
    poll_fn(|context| {
        polls.fetch_add(1, SeqCst);
        future.as_mut().poll(context)
    })
    .await
}

/// The waker of the task that asks.
async fn own_waker() -> Waker {
    poll_fn(|context| Poll::Ready(context.waker().clone())).await
}

#[test]
fn a_task_that_has_yielded_sleeps_until_it_is_woken() {
    watched(|| {
        let (polls, told) = (AtomicUsize::new(0), AtomicBool::new(false));
        let waker = Mutex::new(None);
        pool(1).run(|s| {
            let (polls, told, waker) = (&polls, &told, &waker);
            async move {
                let waits = s.spawn(counted(polls, async move {
                    yields(1).await;
                    poll_fn(|context| {
                        *waker.lock().unwrap() = Some(context.waker().clone());
                        match told.load(SeqCst) {
                            true => Poll::Ready(()),
                            false => Poll::Pending,
                        }
                    })
                    .await;
                }));
                let other = s.spawn(async move {
                    yields(size(200, 20)).await;
                    told.store(true, SeqCst);
                    let waker = waker.lock().unwrap().take();
                    waker.expect("it has been polled").wake();
                });
                other.await;
                waits.await;
            }
        });
        assert_eq!(polls.into_inner(), 3, "to begin, to go on, to end");
    });
}

/// A task that waits on a stack for its child to end or to be suspended is polled next anyway:
/// to wake it then comes to nothing, and it can be woken as any other when it goes on.
#[test]
fn a_continuation_that_is_woken_is_polled_once() {
    watched(|| {
        for wakes in [false, true] {
            let polls = AtomicUsize::new(0);
            pool(1).run(|s| {
                let polls = &polls;
                counted(polls, async move {
                    let waker = own_waker().await;
                    let child = s.fork(async move {
                        if wakes {
                            waker.wake_by_ref();
                        }
                        yields(size(200, 20)).await;
                    });
                    let child = child.await;
                    child.await;
                })
            });
            assert_eq!(
                polls.into_inner(),
                3,
                "to begin, beside its child, after it"
            );
        }
    });
}

/// A future that is polled twice in one poll of its task, by somebody with another waker the second
/// time: that one is woken, as nobody will remember it, and the task is polled again anyway.
#[test]
fn another_waker_of_a_child_that_has_not_begun_is_woken() {
    struct Woken(AtomicUsize);
    impl Wake for Woken {
        fn wake(self: Arc<Woken>) {
            self.0.fetch_add(1, SeqCst);
        }
    }
    watched(|| {
        for is_other in [false, true] {
            let (polls, woken) = (AtomicUsize::new(0), Arc::new(Woken(AtomicUsize::new(0))));
            let other = Waker::from(Arc::clone(&woken));
            let counts = &polls;
            pool(1).run(move |s| {
                counted(counts, async move {
                    let mut fork = pin!(s.fork(async {}));
                    let mut is_first = true;
                    let ended = poll_fn(|context| {
                        let first = fork.as_mut().poll(context);
                        if !std::mem::take(&mut is_first) {
                            return first;
                        }
                        assert!(first.is_pending());
                        let again = match is_other {
                            true => fork.as_mut().poll(&mut Context::from_waker(&other)),
                            false => fork.as_mut().poll(context),
                        };
                        assert!(again.is_pending());
                        Poll::Pending
                    });
                    ended.await.await;
                })
            });
            assert_eq!(woken.0.load(SeqCst), usize::from(is_other));
            assert_eq!(
                polls.into_inner(),
                2,
                "to begin, and beside the child that has ended"
            );
        }
    });
}

/// The poll in which a task asks for a child may be its last.
#[test]
fn a_child_that_its_parent_asked_for_when_it_ended_runs() {
    // Whether the parent ends by a panic.
    for panics in [false, true] {
        watched(move || {
            let ran = Arc::new(AtomicUsize::new(0));
            let kept = Arc::new(Mutex::new(Vec::new()));
            let parent = {
                let (ran, kept) = (Arc::clone(&ran), Arc::clone(&kept));
                poll_fn(move |context| {
                    let ran = Arc::clone(&ran);
                    let mut fork = Box::pin(task::fork(async move {
                        yields(1).await;
                        ran.fetch_add(1, SeqCst);
                    }));
                    assert!(fork.as_mut().poll(context).is_pending());
                    kept.lock().unwrap().push(fork);
                    if panics {
                        std::panic::resume_unwind(Box::new("it ends"));
                    }
                    Poll::Ready(())
                })
            };
            let run = || pool(1).run(|_| async { task::spawn(parent).await });
            let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(run));
            assert_eq!(result.is_err(), panics);
            assert_eq!(ran.load(SeqCst), 1);
        });
    }
}
