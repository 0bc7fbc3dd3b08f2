//! The word of a detached task: where the queue that holds it and its handle meet.

use crate::machine::duty::{Due, Free};
use crate::machine::prim::{AtomicU64, Ordering, ord};
use crate::workers::frames::child_end::{Awaiting, Dispose, Ending, Retracted};

/// The word between the two that keep a detached task: the *job*, which lies in a queue of the pool
/// until a worker takes it out, and the *handle* of the thread that spawned it. Either may begin
/// the task; the other finds that it has, and the last to go frees the memory.
///
/// | flag | meaning | added by |
/// |---|---|---|
/// | `CLAIMED` | somebody runs the closure, or drops it | whoever does: the job's worker; the handle, to abort or to run in its own wait |
/// | `AWAITED` | the awaiter's waker is in the task | the handle, and taken off by it; turned into `TAKING` by who ends the task |
/// | `TAKING` | who ends the task takes the waker out | who ends it, and turned into `ENDED` |
/// | `ENDED` | the outcome is in the task, and is the handle's | who has claimed |
/// | `DETACHED` | the handle is gone | the handle |
/// | `ABORTS` | the handle aborts the task when it is dropped | the handle; nobody else looks |
/// | `EMPTY` | the handle has taken the outcome | the handle; nobody else looks |
/// | `TAKEN_OUT` | the job is gone | the job's worker: with `ENDED` if it has claimed, else when it finds that it was too late |
///
/// The word begins as 0. While it is `DETACHED` alone nobody but the job can touch the task, so its
/// worker needs no read-modify-write.
///
/// Who disposes of the outcome, unless it was taken: the handle if it sees `ENDED` before it adds
/// `DETACHED`, or finds `ENDED` then; else who ends the task, which finds `DETACHED`. Who frees the
/// memory: the second of those that add `DETACHED` and `TAKEN_OUT`. A handle that has claimed ends
/// the task before it goes, and a job that has claimed adds `TAKEN_OUT` not before `ENDED`; so
/// nobody runs in memory that is freed.
pub(super) struct Word(AtomicU64);

const CLAIMED: u64 = 1;
const ENDED: u64 = 2;
const AWAITED: u64 = 4;
const TAKING: u64 = 8;
const DETACHED: u64 = 16;
const TAKEN_OUT: u64 = 32;
const ABORTS: u64 = 64;
const EMPTY: u64 = 128;

/// One of the two that keep a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Keeper {
    Job,
    Handle,
}

/// The duties of a handle that goes.
#[derive(Debug, PartialEq, Eq)]
#[must_use]
pub(super) struct Leaving {
    /// Due if the task has ended, unless the caller did it before.
    pub(super) dispose: Due<Dispose>,
    /// Due for the second keeper that goes.
    pub(super) free: Due<Free>,
}

impl Word {
    /// The word of a task with a handle, or of one that never had one.
    #[inline(always)]
    pub(super) fn new(has_handle: bool) -> Word {
        Word(AtomicU64::new(if has_handle { 0 } else { DETACHED }))
    }

    /// Job: whether the task is its alone.
    #[inline(always)]
    pub(super) fn is_alone(&self) -> bool {
        // Ordering: Acquire. Pairs with [let_go]: the handle is done with the task.
        self.0.load(ord("is_alone", Ordering::Acquire)) == DETACHED
    }

    /// Whether the task is the caller's to run or to drop.
    #[must_use]
    pub(super) fn claim(&self) -> bool {
        // Ordering: Relaxed; the closure has been there since before the queue and the handle, each
        // of which handed it over by its own means. The read-modify-write alone makes one winner.
        self.0.fetch_or(CLAIMED, Ordering::Relaxed) & CLAIMED == 0
    }

    /// Whether nobody has begun the task. A hint.
    #[inline]
    pub(super) fn is_unclaimed(&self) -> bool {
        // Ordering: Relaxed; who acts on it claims.
        self.0.load(Ordering::Relaxed) & CLAIMED == 0
    }

    /// Job: it was claimed by the handle, and goes.
    pub(super) fn take_out(&self) -> Due<Free> {
        // Ordering: Acquire pairs with [let_go]: the handle is done with the task. Edge [take_out]:
        // Release, so that a handle which frees the memory comes after this.
        let order = ord("take_out", Ordering::AcqRel);
        Due::when(self.0.fetch_or(TAKEN_OUT, order) & DETACHED != 0)
    }

    /// The outcome is in the task. By whoever has claimed it.
    #[inline]
    pub(super) fn end(&self, by: Keeper) -> Ending {
        let over = match by {
            Keeper::Job => ENDED | TAKEN_OUT,
            Keeper::Handle => ENDED,
        };
        // Ordering: Relaxed; the compare-and-swap decides.
        let mut word = self.0.load(Ordering::Relaxed);
        loop {
            let (next, ending) = if word & AWAITED != 0 {
                (word & !AWAITED | TAKING, Ending::TakeAwaiter)
            } else if word & DETACHED != 0 {
                (word & !TAKING | over, Ending::Abandoned)
            } else {
                (word & !TAKING | over, Ending::HandedOver)
            };
            // Ordering: Edge [task_end]: Release hands the outcome to the handle. Acquire pairs
            // with [leave_waker] for the waker, and with [let_go]: the handle is done with the
            // task.
            let order = ord("task_end", Ordering::AcqRel);
            let changed = self
                .0
                .compare_exchange(word, next, order, Ordering::Relaxed);
            match changed {
                Ok(_) => return ending,
                Err(now) => word = now,
            }
        }
    }

    /// Handle: whether the task has ended. If so, the outcome is the caller's.
    #[inline]
    pub(super) fn is_ended(&self) -> bool {
        // Ordering: Acquire pairs with [task_end]: the outcome is in the task.
        self.0.load(ord("is_over", Ordering::Acquire)) & ENDED != 0
    }

    /// Handle: a waker is in the task, where none was.
    #[inline]
    pub(super) fn leave_awaiter(&self) -> Awaiting {
        // Ordering: Relaxed; the compare-and-swap decides.
        let mut word = self.0.load(Ordering::Relaxed);
        loop {
            if word & ENDED != 0 {
                // Who asks again finds it by `is_ended`.
                return Awaiting::Ended;
            }
            // Ordering: Edge [leave_waker]: Release hands the waker to who ends the task.
            let order = ord("leave_waker", Ordering::Release);
            let left = word | AWAITED;
            match self
                .0
                .compare_exchange(word, left, order, Ordering::Relaxed)
            {
                Ok(_) => return Awaiting::Left,
                Err(now) => word = now,
            }
        }
    }

    /// Handle: wants the waker back that it left.
    #[inline]
    pub(super) fn retract_awaiter(&self) -> Retracted {
        // Ordering: Relaxed; the handle itself leaves wakers, and the compare-and-swap decides.
        let mut word = self.0.load(Ordering::Relaxed);
        loop {
            match word {
                _ if word & ENDED != 0 => return Retracted::Ended,
                _ if word & TAKING != 0 => return Retracted::BeingWoken,
                _ if word & AWAITED == 0 => return Retracted::None,
                _ => {}
            }
            let back = word & !AWAITED;
            // Ordering: Relaxed; the waker was never anybody else's.
            let (success, failure) = (Ordering::Relaxed, Ordering::Relaxed);
            match self.0.compare_exchange(word, back, success, failure) {
                Ok(_) => return Retracted::Back,
                Err(now) => word = now,
            }
        }
    }

    /// Handle: its drop is to abort the task.
    pub(super) fn set_aborts(&self) {
        // Ordering: Relaxed; only the handle looks at it, which is handed on as a whole.
        self.0.fetch_or(ABORTS, Ordering::Relaxed);
    }

    /// Handle: whether its drop is to abort the task.
    #[inline]
    pub(super) fn aborts(&self) -> bool {
        // Ordering: Relaxed, as in `set_aborts`.
        self.0.load(Ordering::Relaxed) & ABORTS != 0
    }

    /// Handle: it has taken the outcome.
    pub(super) fn set_empty(&self) {
        // Ordering: Relaxed, as in `set_aborts`.
        self.0.fetch_or(EMPTY, Ordering::Relaxed);
    }

    /// Handle: whether it has taken the outcome.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        // Ordering: Relaxed, as in `set_aborts`.
        self.0.load(Ordering::Relaxed) & EMPTY != 0
    }

    /// Handle: it goes, from a task that nobody has touched. False if somebody has.
    #[inline(always)]
    #[must_use]
    pub(super) fn let_go_at_once(&self) -> bool {
        // Ordering: Release pairs with the Acquire of [let_go], as in `let_go`; a failure hands
        // nothing over.
        let order = ord("let_go", Ordering::Release);
        self.0
            .compare_exchange(0, DETACHED, order, Ordering::Relaxed)
            .is_ok()
    }

    /// Handle: it goes.
    pub(super) fn let_go(&self) -> Leaving {
        // Ordering: Edge [let_go]: Release, so that who disposes of the task comes after all that
        // the handle did with it. Acquire pairs with [task_end] for the outcome, and with
        // [take_out]: the job is done with the task.
        let before = self
            .0
            .fetch_or(DETACHED, ord("let_go_late", Ordering::AcqRel));
        Leaving {
            dispose: Due::when(before & ENDED != 0),
            free: Due::when(before & TAKEN_OUT != 0),
        }
    }
}
