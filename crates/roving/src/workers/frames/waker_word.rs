//! A frame's wakers, and who is to poll it next.

use crate::machine::duty::{Due, Free};
use crate::machine::prim::{AtomicU64, Ordering, ord};

/// The word that a frame shares with its wakers. It is 0 until the first waker is made: then
/// nobody but the worker that polls the frame knows of it, and no transition is needed.
///
/// | phase | meaning | next, and by whom |
/// |---|---|---|
/// | `RUNNING` | a worker polls it, or will: whoever woke it has passed it on | `SUSPENDED` or `SCHEDULED` by that worker; `NOTIFIED` by a waker |
/// | `NOTIFIED` | the same, and it was woken meanwhile | `SCHEDULED` by that worker |
/// | `SUSPENDED` | nobody has it; it is counted at its root | `RUNNING` by a waker, which passes it on |
/// | `SCHEDULED` | it is a continuation on a stack, or was woken in its poll: it will be polled, and need not be woken | `RUNNING` by the worker that takes it |
/// | any + `OVER` | it has ended; waking does nothing | |
///
/// Above the phase stands the number of references: the wakers, and one for the frame itself
/// until its outcome has been taken. Who gives up the last one frees the memory.
pub(super) struct Life(AtomicU64);

const PHASE: u64 = 0b11;
const RUNNING: u64 = 0;
const NOTIFIED: u64 = 1;
const SUSPENDED: u64 = 2;
const SCHEDULED: u64 = 3;
const OVER: u64 = 0b100;
const REFERENCE: u64 = 0b1000;

/// The duty of who has woken a frame that was suspended: it is nobody else's, and is to be passed
/// on to be polled.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum PassOn {}

/// The duty of a worker that has polled a shared frame to `Pending`.
#[derive(Debug, PartialEq, Eq)]
#[must_use]
pub(super) enum Suspension {
    /// Leave it: whoever wakes it passes it on, perhaps at this very moment.
    Suspended,
    /// It was woken while it was polled: pass it on to be polled again.
    Again,
}

impl Life {
    pub(super) fn new() -> Life {
        Life(AtomicU64::new(0))
    }

    /// Whether the frame has ever had a waker of its own. For the worker that polls it: wakers are
    /// made from the one lent to the poll, so this is certain as soon as the poll has returned.
    #[inline(always)]
    pub(super) fn is_shared(&self) -> bool {
        // Ordering: Relaxed; the borrow of the lent waker ended before the poll did.
        self.0.load(Ordering::Relaxed) != 0
    }

    /// One more waker. The first also counts the frame itself.
    pub(super) fn share(&self) {
        // Ordering: Relaxed; the caller has a reference, which keeps the frame, and gives one away.
        let mut word = self.0.load(Ordering::Relaxed);
        loop {
            let next = match word {
                0 => (2 * REFERENCE) | RUNNING,
                _ => word + REFERENCE,
            };
            // Ordering: Relaxed, as above.
            match self
                .0
                .compare_exchange(word, next, Ordering::Relaxed, Ordering::Relaxed)
            {
                Ok(_) => return,
                Err(now) => word = now,
            }
        }
    }

    /// Waker: the frame is to be polled.
    pub(super) fn wake(&self) -> Due<PassOn> {
        // Ordering: Relaxed; the compare-and-swap decides.
        let mut word = self.0.load(Ordering::Relaxed);
        loop {
            let is_suspended = word & (PHASE | OVER) == SUSPENDED;
            // The usual case before the others, for which there is a table of jumps.
            let next = match is_suspended {
                true => word & !PHASE,
                false => match word & (PHASE | OVER) {
                    // By the waker lent to a poll, of a frame that has none of its own.
                    RUNNING if word == 0 => REFERENCE | NOTIFIED,
                    RUNNING => word | NOTIFIED,
                    NOTIFIED | SCHEDULED => word,
                    _ => return Due::none(),
                },
            };
            // Ordering: Edge [wake]: Release, so that the next poll sees why it was woken, or the
            // one after it, even where the word stays as it is. Acquire pairs with [suspend]: what
            // the last poll left in the frame goes along with it.
            let order = ord("wake", Ordering::AcqRel);
            match self
                .0
                .compare_exchange(word, next, order, Ordering::Relaxed)
            {
                Ok(_) => return Due::when(is_suspended),
                Err(now) => word = now,
            }
        }
    }

    /// Worker: the poll of a shared frame has returned, and nothing runs that will resume it.
    pub(super) fn suspend(&self) -> Suspension {
        // Ordering: Relaxed; the compare-and-swap decides.
        let mut word = self.0.load(Ordering::Relaxed);
        loop {
            let (next, suspension) = match word & PHASE {
                RUNNING => (word | SUSPENDED, Suspension::Suspended),
                _ => (word | SCHEDULED, Suspension::Again),
            };
            // Ordering: Edge [suspend]: Release hands the frame to whoever wakes it.
            let order = ord("suspend", Ordering::Release);
            match self
                .0
                .compare_exchange(word, next, order, Ordering::Relaxed)
            {
                Ok(_) => return suspension,
                Err(now) => word = now,
            }
        }
    }

    /// Worker: the shared frame becomes a continuation; to wake it from now on does nothing.
    pub(super) fn schedule(&self) {
        // Ordering: Relaxed; what a waker released meanwhile is acquired in `resume`, this change
        // being a part of its release sequence.
        self.0.fetch_or(SCHEDULED, Ordering::Relaxed);
    }

    /// Worker: is about to poll a shared frame.
    #[inline(always)]
    pub(super) fn resume(&self) {
        // Ordering: Relaxed; no waker changes a word that says so. One that was woken while it was
        // suspended was handed over since, with what it was woken for.
        if self.0.load(Ordering::Relaxed) & PHASE == SCHEDULED {
            // Ordering: Acquire pairs with [wake]: the poll sees what the frame was woken for.
            self.0.fetch_and(!PHASE, ord("resume", Ordering::Acquire));
        }
    }

    /// Worker: the frame has ended; to wake it does nothing any more.
    pub(super) fn over(&self) {
        // Ordering: Relaxed; nothing is handed over to wakers.
        self.0.fetch_or(OVER, Ordering::Relaxed);
    }

    /// The frame has ended and its outcome is out.
    #[inline(always)]
    pub(super) fn release(&self) -> Due<Free> {
        // The word is 0 for ever if it is 0 once the frame has ended: nobody is left who could
        // make a waker.
        match self.is_shared() {
            false => Due::when(true),
            true => self.drop_reference(),
        }
    }

    /// A waker, or the frame itself, gives up its reference.
    pub(super) fn drop_reference(&self) -> Due<Free> {
        // Ordering: Edge [drop_reference]: Release, so that the memory is freed after its use here;
        // Acquire, for who frees it.
        let order = ord("drop_reference", Ordering::AcqRel);
        Due::when(self.0.fetch_sub(REFERENCE, order) / REFERENCE == 1)
    }
}
