//! Frames that are to be polled go to whoever may poll them.

use std::sync::Arc;

use super::header::{Frame, place_of};
use super::local::Local;
use super::root::Root;

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
