//! A frame on a task stack.

use super::frame::{self, resume};
use super::header::{COUNTED, Frame, NEW_WITH_TOKEN};
use super::local::Local;
use crate::stack::slot::{Further, Run, Slot};

/// The payload of a slot that holds a frame. The number is that of the push, or odd where no
/// child's end looks for it.
#[derive(Clone, Copy)]
pub(super) struct PushedFrame {
    pub(super) frame: Frame,
    pub(super) number: u64,
}

impl PushedFrame {
    /// Prepares a popped frame for polling.
    ///
    /// # Safety
    /// The caller has popped `self` from its own stack and owns the frame.
    #[inline]
    pub(super) unsafe fn resume(self, local: &Local) -> Frame {
        if self.number >= NEW_WITH_TOKEN {
            // SAFETY: the caller's.
            unsafe { self.resume_specially(local) };
        }
        // SAFETY: the caller's.
        unsafe { resume(self.frame) };
        self.frame
    }

    /// # Safety
    /// As [`Self::resume`].
    #[inline]
    unsafe fn resume_specially(self, local: &Local) {
        if self.number == COUNTED {
            local.keep_counts(1);
        } else {
            // SAFETY: it is new, and this worker keeps its root open.
            unsafe { frame::drop_if_cancelled(self.frame) };
        }
    }
}

/// Takes a slot's frame out, on a thief or when a stack is drained. The slot is free again before
/// the frame is polled. The root is opened once more for the worker that takes it, unless it is
/// already.
///
/// Never inlined, because [`holds_frame`] knows it by its address: a function that may be inlined
/// can have several, and Miri draws one of them at each use.
///
/// # Safety
/// As [`Run`]; the payload is a [`PushedFrame`].
#[inline(never)]
pub(super) unsafe extern "C-unwind" fn run_pushed(slot: &Slot) -> Further {
    // SAFETY: the payload is a `PushedFrame`, as the caller promises.
    let pushed = unsafe { slot.take::<PushedFrame>() };
    if pushed.number != COUNTED {
        // SAFETY: the worker that pushed the frame keeps its root open until it knows that the slot
        // is free.
        unsafe { (*pushed.frame.as_ref().root.get()).open() };
    }
    if pushed.number == NEW_WITH_TOKEN {
        // SAFETY: it is new, and out of its slot this one's; its root was opened just now.
        unsafe { frame::drop_if_cancelled(pushed.frame) };
    }
    Further::Frame(pushed.frame.cast())
}

/// Whether the slot, which the caller has claimed, holds a frame. False is no harm: then it is run
/// as any other task.
pub(crate) fn holds_frame(slot: &Slot) -> bool {
    slot.will_run(run_pushed as Run)
}
