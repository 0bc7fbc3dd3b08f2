//! The slot of a movable process on each rank, which receives the messages about its moves.

use std::future::poll_fn;
use std::sync::PoisonError;
use std::task::{Poll, Waker};

use crate::prim::{AtomicU8, Mutex, MutexGuard, Ordering};

/// The data that comes to a host with its process.
pub(super) struct Coming {
    pub(super) state: Vec<u8>,
    /// How its ports stand: see [`Shelf`](super::carried::Shelf).
    pub(super) layout: Vec<u64>,
}

/// An event for a process that is not in a step.
pub(super) enum HostEvent {
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
pub(super) struct HostSlot {
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
    event: Option<HostEvent>,
    waker: Option<Waker>,
    /// A process that has come, until all ranks know.
    coming: Option<Coming>,
    /// The process as a checkpoint has it, until its host begins.
    resumed: Option<ResumedProcess>,
}

/// A process in a checkpoint from which the run resumes.
pub(super) enum ResumedProcess {
    Between(Coming),
    Ended,
}

impl HostSlot {
    fn waits(&self) -> MutexGuard<'_, Waits> {
        self.waits.lock().unwrap_or_else(PoisonError::into_inner)
    }

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
        if let Some(waker) = self.waits().waker.take() {
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
        self.waits().resumed = Some(match body {
            Some((state, layout)) => ResumedProcess::Between(Coming { state, layout }),
            None => ResumedProcess::Ended,
        });
    }

    /// Takes what was resumed.
    pub(super) fn take_resumed(&self) -> Option<ResumedProcess> {
        self.waits().resumed.take()
    }

    /// The process has come, and begins when it is told to.
    pub(super) fn put(&self, coming: Coming) {
        self.waits().coming = Some(coming);
    }

    /// Takes what was put there.
    pub(super) fn take(&self) -> Option<Coming> {
        self.waits().coming.take()
    }

    pub(super) fn tell(&self, event: HostEvent) {
        let mut waits = self.waits();
        waits.event = Some(event);
        // Under the lock, so that there is no waker left when the process sees the event.
        if let Some(waker) = waits.waker.take() {
            waker.wake();
        }
    }

    /// Waits for the next event. Leaves no waker behind: a process that might be woken by anything
    /// but its channels is never taken for one that waits for ever.
    pub(super) async fn event(&self) -> HostEvent {
        poll_fn(|context| {
            let mut waits = self.waits();
            if let Some(event) = waits.event.take() {
                waits.waker = None;
                return Poll::Ready(event);
            }
            if self.take_record() {
                waits.waker = None;
                return Poll::Ready(HostEvent::Record);
            }
            waits.waker = Some(context.waker().clone());
            Poll::Pending
        })
        .await
    }
}

#[cfg(all(test, loom))]
mod loom_tests {
    use std::future::Future as _;
    use std::pin::pin;
    use std::sync::Arc;
    use std::task::Context;

    use super::*;
    use crate::prim::{Woken, explore_within};

    fn poll(slot: &HostSlot, woken: &Arc<Woken>) -> Option<HostEvent> {
        let waker = Waker::from(Arc::clone(woken));
        match pin!(slot.event()).poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(event) => Some(event),
            Poll::Pending => None,
        }
    }

    /// A process that waits is told that it stays, and asked to be recorded, at any moment: it
    /// hears of both, or is woken to hear of what is left.
    #[test]
    fn loom_a_process_that_waits_hears_of_all_that_it_is_told() {
        explore_within(None, || {
            let slot = Arc::new(HostSlot::default());
            let there = Arc::clone(&slot);
            let thread = loom::thread::spawn(move || {
                there.tell(HostEvent::Stay);
                there.ask_to_record();
            });
            let mut heard = Vec::new();
            let mut waits = None;
            // Each time with a waker of its own, as a process that moves from thread to thread.
            for _ in 0..2 {
                let woken = Arc::new(Woken::default());
                let event = poll(&slot, &woken);
                waits = event.is_none().then_some(woken);
                heard.extend(event);
            }
            thread.join().unwrap();
            let is_woken = waits.is_none_or(|woken| woken.times() > 0);
            assert!(
                is_woken || heard.len() == 2,
                "nobody would come to hear of the rest"
            );
            let rest =
                std::iter::repeat_with(|| poll(&slot, &Arc::default()).expect("it is there"));
            heard.extend(rest.take(2 - heard.len()));
            let is_any = |which: fn(&HostEvent) -> bool| heard.iter().any(which);
            assert!(is_any(|one| matches!(one, HostEvent::Record)));
            assert!(is_any(|one| matches!(one, HostEvent::Stay)));
        });
    }
}
