//! The slot of a movable process on each rank, which receives the messages about its moves.

use std::future::poll_fn;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU8, Ordering};
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
    /// It is to be recorded where it waits.
    Record,
}

/// One for each movable process, on each rank.
#[derive(Default)]
pub(super) struct Slot {
    /// Requests for the end of its step: [`LEAVE`] and [`RECORD`].
    asked: AtomicU8,
    waits: Mutex<Waits>,
}

/// It is to stop, in order to leave.
pub(super) const LEAVE: u8 = 1;
/// It is to be recorded.
pub(super) const RECORD: u8 = 2;

#[derive(Default)]
struct Waits {
    event: Option<Event>,
    waker: Option<Waker>,
    /// A process that has come, until all ranks know.
    coming: Option<Coming>,
    /// The process as a checkpoint has it, until its host begins.
    resumed: Option<Resumed>,
}

/// A process in a checkpoint from which the run resumes.
pub(super) enum Resumed {
    Between(Coming),
    Ended,
}

impl Slot {
    /// Asks it to stop.
    pub(super) fn ask(&self) {
        // Ordering: Relaxed; a request that is seen one step later is as good.
        self.asked.fetch_or(LEAVE, Ordering::Relaxed);
    }

    /// Asks it to be recorded, also where it has stopped and waits.
    pub(super) fn ask_to_record(&self) {
        // Ordering: Relaxed, as above. One that waits sees it under the lock: either it looks again
        // after this, or it has left its waker.
        self.asked.fetch_or(RECORD, Ordering::Relaxed);
        if let Some(waker) = lock(&self.waits).waker.take() {
            waker.wake();
        }
    }

    /// Takes the requests since the last time: [`LEAVE`], [`RECORD`], both, or 0.
    pub(super) fn take_asked(&self) -> u8 {
        // Ordering: Relaxed, both; as above.
        match self.asked.load(Ordering::Relaxed) {
            0 => 0,
            _ => self.asked.swap(0, Ordering::Relaxed),
        }
    }

    /// Whether it was asked to be recorded since the last time.
    fn take_record(&self) -> bool {
        // Ordering: Relaxed, both; as above.
        self.asked.load(Ordering::Relaxed) & RECORD != 0
            && self.asked.fetch_and(!RECORD, Ordering::Relaxed) & RECORD != 0
    }

    /// The process was recorded as this, before the network runs; none when it had ended.
    pub(super) fn resume(&self, body: Option<(Vec<u8>, Vec<u64>)>) {
        lock(&self.waits).resumed = Some(match body {
            Some((state, layout)) => Resumed::Between(Coming { state, layout }),
            None => Resumed::Ended,
        });
    }

    /// Takes what was resumed.
    pub(super) fn take_resumed(&self) -> Option<Resumed> {
        lock(&self.waits).resumed.take()
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
            if self.take_record() {
                waits.waker = None;
                return Poll::Ready(Event::Record);
            }
            waits.waker = Some(context.waker().clone());
            Poll::Pending
        })
        .await
    }
}
