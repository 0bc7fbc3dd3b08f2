//! Frames that are to be polled go to whoever may poll them.

use std::ptr;
use std::sync::Arc;

use super::drive::Frames;
use super::header::{COUNTED, Frame, place_of};
use super::local::Local;
use super::root::Root;
use crate::workers::Worker;

impl Root {
    /// Passes a frame on to be polled by any worker, or by the one that its place names.
    ///
    /// # Safety
    /// The frame is the caller's, and counted at this root.
    pub(crate) unsafe fn make_ready(this: *const Root, frame: Frame) {
        // SAFETY: the caller's promise, and it is to be polled, so it holds its future.
        unsafe {
            let place = place_of(frame);
            if !place.is_some_and(|index| Root::deliver(this, index, frame)) {
                Root::enqueue(this, frame);
            }
        }
    }

    /// Gives a ready frame to the worker with that index of the root's pool. False if there is
    /// none, or it is away.
    ///
    /// # Safety
    /// The frame is the caller's, and counted at this root.
    unsafe fn deliver(this: *const Root, index: usize, frame: Frame) -> bool {
        // The frame may run as soon as it has been sent, its root be over, and the pool be gone:
        // hence no reference for an argument, and another handle of the pool before that.
        // SAFETY: the root is not over before the frame has run.
        let pool = unsafe { &(*this).pool };
        let address = Arc::as_ptr(pool).cast();
        let keep = |local: &Local| {
            local
                .is_at(address, index)
                .then(|| local.placed.keep(frame))
        };
        if let Some(is_kept) = Local::with(keep) {
            return is_kept;
        }
        let pool = Arc::clone(pool);
        // SAFETY: the caller's promise is handed on; it was not kept.
        unsafe { pool.send(index, frame) }
    }
}

impl Worker {
    /// Puts a frame that this worker has woken in a poll onto its stack. False when the frame has
    /// to go through its root's queue instead.
    ///
    /// Frames on the stack run newest first, and two that keep waking each other would keep all
    /// others waiting. So their number is bounded until the stack has been emptied of frames. And
    /// where thieves leave a few tasks alone, or no thief takes those of a parked worker, a frame
    /// that its waker then waits for would stay here: see `Spares::takes_any`.
    ///
    /// # Safety
    /// The frame is the caller's, and counted at its root.
    pub(super) unsafe fn push_woken(&self, local: &Local, frame: Frame) -> bool {
        // SAFETY: the frame is the caller's.
        let root = unsafe { frame.as_ref() }.root.get();
        let is_here = ptr::eq(local.resumes.get(), root) && !local.current.get().is_null();
        let registry = self.registry();
        let is_taken = registry.spares.takes_any(registry.settings.amount.least());
        let may_stay =
            is_here && is_taken && Frames(self).is_at_level(local) && local.may_push_woken();
        // SAFETY: the caller's promise.
        may_stay && unsafe { Frames(self).leave_frame(local, frame, COUNTED) }
    }
}
