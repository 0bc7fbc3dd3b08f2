//! Something that one task waits for and another says.

use std::future::poll_fn;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::task::{Poll, Waker};

/// Ready when another thread says so.
#[derive(Default)]
pub(crate) struct Signal {
    pub(crate) is_set: AtomicBool,
    pub(crate) wakers: Mutex<Vec<Waker>>,
}

impl Signal {
    pub(crate) fn set(&self) {
        self.is_set.store(true, SeqCst);
        for waker in std::mem::take(&mut *self.wakers.lock().unwrap()) {
            waker.wake();
        }
    }

    pub(crate) async fn wait(&self) {
        poll_fn(|context| {
            if self.is_set.load(SeqCst) {
                return Poll::Ready(());
            }
            self.wakers.lock().unwrap().push(context.waker().clone());
            match self.is_set.load(SeqCst) {
                true => Poll::Ready(()),
                false => Poll::Pending,
            }
        })
        .await;
    }
}
