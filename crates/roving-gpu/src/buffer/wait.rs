//! Waiting on a thread.

use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::Instant;

use roving::raw::panics::contain;
use roving::raw::reports;

/// Wakes a thread that is parked.
struct ThreadUnparker(Thread);

impl Wake for ThreadUnparker {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Wakes all of them. Each may be a program's own, and panic: the others are woken all the same,
/// and the caller, which may be the thread of a back-end, goes on. The panic hook has told of it.
pub(crate) fn wake_all(wakers: Vec<Waker>) {
    for waker in wakers {
        let _ = contain(|| waker.wake());
    }
}

/// Blocks until the future has ended. A worker waits as it does for a root: it gives its core away.
/// Another thread sleeps, without a pool; where `ROVING_WATCH` asks for it, it says once what it
/// waits for. A worker's pool does so itself.
pub(crate) fn block<F>(tell: impl Fn() -> String, future: F) -> F::Output
where
    F: Future + Send,
    F::Output: Send,
{
    if roving::current_worker().is_some() {
        return roving::task::block_on(future);
    }
    let waker = Waker::from(Arc::new(ThreadUnparker(thread::current())));
    let mut context = Context::from_waker(&waker);
    let mut future = pin!(future);
    let (mut patience, begun) = (reports::watch_patience(), Instant::now());
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut context) {
            return output;
        }
        match patience {
            None => thread::park(),
            Some(most) => {
                thread::park_timeout(most);
                if begun.elapsed() >= most {
                    let text = format!("roving-gpu: a thread has waited {most:?} for {}\n", tell());
                    reports::tell_standstill(&text);
                    patience = None;
                }
            }
        }
    }
}
