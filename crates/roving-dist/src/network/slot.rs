//! The slot of a movable process on each rank, which receives the messages about its moves.

use std::future::poll_fn;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Poll, Waker};

use crate::unwind::lock;

/// The data that comes to a host with its process.
pub(super) struct Coming {
    pub(super) state: Vec<u8>,
    /// How its ports stand: see [`Shelf`](super::carried::Shelf).
    pub(super) layout: Vec<u64>,
}

/// An event for a process that is not in a step.
pub(super) enum Event {
    /// It has come to this rank.
    Begin(Coming),
    /// It leaves for that rank, by the move of that number.
    Go { to: usize, number: u64 },
    /// It stays after all.
    Stay,
    /// It has ended elsewhere.
    Retire,
}

/// One for each movable process, on each rank.
#[derive(Default)]
pub(super) struct Slot {
    /// It is to stop when its step has ended.
    is_asked: AtomicBool,
    waits: Mutex<Waits>,
}

#[derive(Default)]
struct Waits {
    event: Option<Event>,
    waker: Option<Waker>,
    /// A process that has come, until all ranks know.
    coming: Option<Coming>,
}

impl Slot {
    pub(super) fn ask(&self) {
        // Ordering: Relaxed; a request that is seen one step later is as good.
        self.is_asked.store(true, Ordering::Relaxed);
    }

    /// Whether it was asked since the last time.
    pub(super) fn take_asked(&self) -> bool {
        // Ordering: Relaxed, both; as above.
        self.is_asked.load(Ordering::Relaxed) && self.is_asked.swap(false, Ordering::Relaxed)
    }

    /// The process has come, and begins when it is told to.
    pub(super) fn put(&self, coming: Coming) {
        lock(&self.waits).coming = Some(coming);
    }

    /// Takes what was put there.
    pub(super) fn take(&self) -> Option<Coming> {
        lock(&self.waits).coming.take()
    }

    pub(super) fn tell(&self, event: Event) {
        let mut waits = lock(&self.waits);
        waits.event = Some(event);
        // Under the lock, so that there is no waker left when the process sees the event.
        if let Some(waker) = waits.waker.take() {
            waker.wake();
        }
    }

    /// Waits for the next event. Leaves no waker behind: a process that might be woken by anything
    /// but its channels is never taken for one that waits for ever.
    pub(super) async fn event(&self) -> Event {
        poll_fn(|context| {
            let mut waits = lock(&self.waits);
            if let Some(event) = waits.event.take() {
                waits.waker = None;
                return Poll::Ready(event);
            }
            waits.waker = Some(context.waker().clone());
            Poll::Pending
        })
        .await
    }
}
