//! Small programs on one thread, which Miri can follow in a few seconds.

use std::future::poll_fn;
use std::panic::{self, AssertUnwindSafe};
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;

use super::{Scope, Task, branch, call, fork, spawn};
use crate::Pool;
use crate::join;

/// A pool without threads, as it is, and handing on every parent.
fn pools() -> [Pool; 2] {
    [false, true].map(|migrate| {
        let builder = Pool::builder().caller_runs();
        match migrate {
            true => builder.migrate_at_each_fork().build().unwrap(),
            false => builder.build().unwrap(),
        }
    })
}

fn fib(n: u32) -> impl Task<u64> {
    async move {
        if n < 2 {
            return n.into();
        }
        let a = fork(fib(n - 1)).await;
        let b = call(fib(n - 2)).await;
        a.await + b
    }
}

fn help_first(n: u32) -> impl Task<u64> {
    async move {
        if n < 2 {
            return n.into();
        }
        let a = spawn(help_first(n - 1));
        let b = branch(help_first(n - 2)).await;
        b.await + a.await
    }
}

#[test]
fn trees_of_tasks() {
    for pool in pools() {
        assert_eq!(pool.run(|_| fib(4)), 3);
        assert_eq!(pool.run(|_| help_first(4)), 3);
    }
}

#[test]
fn borrowed_and_dropped() {
    fn fill<'scope>(s: Scope<'scope>, to: &'scope mut [String]) -> impl Task<()> {
        async move {
            match to {
                [] => {}
                [one] => one.push('x'),
                _ => {
                    let (left, right) = to.split_at_mut(to.len() / 2);
                    drop(s.fork(fill(s, left)).await);
                    drop(s.spawn(fill(s, right)));
                }
            }
        }
    }
    for pool in pools() {
        let mut texts = vec![String::new(); 5];
        pool.run(|s| fill(s, &mut texts));
        assert!(texts.iter().all(|text| text == "x"));
    }
}

#[test]
fn panics_and_what_was_never_started() {
    for pool in pools() {
        for awaited in [true, false] {
            let outcome = panic::catch_unwind(AssertUnwindSafe(|| {
                pool.run(|_| async move {
                    let text = String::from("dropped");
                    drop(fork(async move { drop(text) }));
                    let child = fork(async { panic::resume_unwind(Box::new("on purpose")) }).await;
                    if awaited {
                        child.await
                    }
                })
            }));
            let payload = outcome.unwrap_err();
            assert_eq!(payload.downcast_ref(), Some(&"on purpose"));
        }
    }
}

#[test]
fn woken_from_another_thread() {
    for pool in pools() {
        let shared: Arc<Mutex<(bool, Option<Waker>)>> = Arc::default();
        let setter = Arc::clone(&shared);
        let other = thread::spawn(move || {
            let waker = {
                let mut shared = setter.lock().unwrap();
                shared.0 = true;
                shared.1.take()
            };
            if let Some(waker) = waker {
                waker.wake();
            }
        });
        let kept = pool.run(|_| async move {
            let (a, b) = join(|| 1, || 2);
            let child = spawn(poll_fn(move |context| {
                let mut shared = shared.lock().unwrap();
                if shared.0 {
                    return Poll::Ready(context.waker().clone());
                }
                shared.1 = Some(context.waker().clone());
                Poll::Pending
            }));
            assert_eq!(a + b, 3);
            child.await
        });
        other.join().unwrap();
        kept.wake();
    }
}

/// A waker that is called at a frame's end runs in no task: the task that has just ended may have
/// lost its frame.
#[test]
fn a_waker_that_spawns_is_in_no_task() {
    struct Spawns(Mutex<Vec<bool>>);
    impl Wake for Spawns {
        fn wake(self: Arc<Self>) {
            let outcome = panic::catch_unwind(|| drop(spawn(async {})));
            self.0.lock().unwrap().push(outcome.is_err());
        }
    }
    let hook = panic::take_hook();
    panic::set_hook(Box::new(|_| ()));
    for pool in pools() {
        let spawns = Arc::new(Spawns(Mutex::default()));
        let waker = Waker::from(Arc::clone(&spawns));
        let _kept = pool.run(|_| async move {
            let mut child = spawn(async {});
            let polled = Pin::new(&mut child).poll(&mut Context::from_waker(&waker));
            assert!(polled.is_pending());
            drop(waker);
            // A handle that is dropped takes the waker back.
            Some(child)
        });
        assert_eq!(*spawns.0.lock().unwrap(), [true]);
    }
    panic::set_hook(hook);
}
