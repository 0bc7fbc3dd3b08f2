//! A child's end and its handle: where the two meet.

use crate::machine::duty::Due;
use crate::machine::prim::{AtomicU64, Ordering, ord, pause};

/// The word between the worker that ends a frame and the holder of the frame's handle.
///
/// | word | meaning | next, and by whom |
/// |---|---|---|
/// | 0 | not ended, and nobody waits | `ENDED` by the worker, also by [`End::end_alone`]; `AWAITED`, `DETACHED` by the handle |
/// | `AWAITED` | the awaiter's waker is in the frame | 0 by the handle, that wants to replace it; `TAKING` by the worker |
/// | `TAKING` | the worker takes the waker out | `ENDED` by the worker |
/// | `ENDED` | the outcome is in the frame, which is the handle's alone | nothing: the frame is freed |
/// | `ENDED` + `ALONE` | the same, and the frame never had a waker | as above |
/// | any + `DETACHED` | the handle is gone: who adds `ENDED` disposes of the frame | `ENDED` by the worker |
///
/// The frame belongs to the handle as soon as the word says `ENDED` without `DETACHED`, so the
/// worker takes the waker out before it says so.
pub(crate) struct End(AtomicU64);

const ENDED: u64 = 1;
const AWAITED: u64 = 2;
const TAKING: u64 = 4;
const DETACHED: u64 = 8;
const ALONE: u64 = 16;

/// The duty of a handle that goes when the frame has ended: what is in it is nobody else's.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Dispose {}

/// The duty of the worker that ends a frame.
#[derive(Debug, PartialEq, Eq)]
#[must_use]
pub(crate) enum Ending {
    /// Take the waker out of the frame, then ask again.
    TakeAwaiter,
    /// Nothing more: the frame is the handle's.
    HandedOver,
    /// Dispose of the frame: its handle is gone.
    Abandoned,
}

/// The result of an attempt to leave a waker.
#[derive(Debug, PartialEq, Eq)]
#[must_use]
pub(crate) enum Awaiting {
    /// It will be woken.
    Left,
    /// The frame has ended meanwhile: the waker is still the caller's, and so is the outcome.
    Ended,
}

/// The result of an attempt to take a waker back.
#[derive(Debug, PartialEq, Eq)]
#[must_use]
pub(crate) enum Retracted {
    /// It is the caller's again.
    Back,
    /// None was left.
    None,
    /// The worker has it, and is about to end the frame.
    BeingWoken,
    /// The frame has ended.
    Ended,
}

impl End {
    pub(super) fn new() -> End {
        End(AtomicU64::new(0))
    }

    /// Whether the frame has ended. If so, the outcome is the caller's, who holds the handle.
    #[inline(always)]
    pub(crate) fn is_ended(&self) -> bool {
        // Ordering: Acquire pairs with [end] and [end_alone]: the outcome is in the frame.
        self.0.load(ord("is_ended", Ordering::Acquire)) & ENDED != 0
    }

    /// Whether the frame has been ended by [`End::end_alone`], as it is where nothing else happens.
    /// If so, the outcome is the caller's, who holds the handle, and nobody has a waker of it.
    #[inline(always)]
    pub(crate) fn is_ended_alone(&self) -> bool {
        // Ordering: Acquire pairs with [end_alone]: the outcome is in the frame.
        self.0.load(ord("is_ended_alone", Ordering::Acquire)) == ENDED | ALONE
    }

    /// Whether nobody has said anything yet. For the worker, which asks when the holder of the
    /// handle cannot act meanwhile.
    #[inline(always)]
    pub(super) fn is_untouched(&self) -> bool {
        // Ordering: Relaxed; the holder of the handle ran on this thread, or handed over to it.
        self.0.load(Ordering::Relaxed) == 0
    }

    /// Ends a frame whose word was untouched just now, and whose handle belongs to a task that is
    /// suspended and about to be resumed by the caller: no read-modify-write. Nor has the frame
    /// a waker.
    ///
    /// That task may have put the handle elsewhere, where nobody can poll it but anybody can drop
    /// it ([`End::detach`]). A drop that comes between the look and this store is overwritten by
    /// the store: then nobody disposes of the frame, whose memory and value are leaked, which is
    /// safe. A drop that comes before is seen by the look, and one that comes after sees the end. A
    /// frame that has panicked is never ended like this, so no panic is lost.
    #[inline(always)]
    pub(super) fn end_alone(&self) {
        pause();
        // Ordering: Edge [end_alone]: Release hands the outcome to whoever drops the handle
        // elsewhere. The task itself goes on on this thread.
        self.0
            .store(ENDED | ALONE, ord("end_alone", Ordering::Release));
    }

    /// The outcome is in the frame.
    pub(super) fn end(&self) -> Ending {
        // Ordering: Relaxed; the compare-and-swap decides.
        let mut word = self.0.load(Ordering::Relaxed);
        pause();
        loop {
            let (next, ending) = if word & AWAITED != 0 {
                (word & !AWAITED | TAKING, Ending::TakeAwaiter)
            } else if word & DETACHED != 0 {
                (word | ENDED, Ending::Abandoned)
            } else {
                (ENDED, Ending::HandedOver)
            };
            // Ordering: Edge [end]: Release hands the outcome to the handle. Acquire pairs with
            // [await] for the waker, and with [detach]: the handle is done with the frame.
            let order = ord("end", Ordering::AcqRel);
            match self
                .0
                .compare_exchange(word, next, order, Ordering::Relaxed)
            {
                Ok(_) => return ending,
                Err(now) => word = now,
            }
        }
    }

    /// Handle: a waker is in the frame, where none was.
    #[inline]
    pub(super) fn leave_awaiter(&self) -> Awaiting {
        // Ordering: Edge [await]: Release hands the waker to the worker. On failure Acquire, which
        // pairs with [end]: the outcome is in the frame.
        let (success, failure) = (
            ord("await", Ordering::Release),
            ord("await_late", Ordering::Acquire),
        );
        match self.0.compare_exchange(0, AWAITED, success, failure) {
            Ok(_) => Awaiting::Left,
            Err(_) => Awaiting::Ended,
        }
    }

    /// Handle: wants the waker back that it left.
    #[inline]
    pub(super) fn retract_awaiter(&self) -> Retracted {
        // Ordering: Relaxed; the handle itself leaves wakers.
        if self.0.load(Ordering::Relaxed) == 0 {
            return Retracted::None;
        }
        // Ordering: Relaxed; the waker was never anybody else's. Who finds that the frame has ended
        // asks `is_ended` before it looks at the outcome.
        let (success, failure) = (Ordering::Relaxed, Ordering::Relaxed);
        match self.0.compare_exchange(AWAITED, 0, success, failure) {
            Ok(_) => Retracted::Back,
            Err(0) => Retracted::None,
            Err(word) if word & ENDED != 0 => Retracted::Ended,
            Err(_) => Retracted::BeingWoken,
        }
    }

    /// Handle: it will never ask again.
    pub(crate) fn detach(&self) -> Due<Dispose> {
        pause();
        // Ordering: Edge [detach]: Release, so that the worker which disposes of the frame comes
        // after all that the handle did with it. Acquire pairs with [end] and [end_alone] for the
        // outcome.
        let before = self.0.fetch_or(DETACHED, ord("detach", Ordering::AcqRel));
        Due::when(before & ENDED != 0)
    }
}
