//! A worker enters a context: what it pushes there belongs to a segment of its task stack.

use std::panic::{self, AssertUnwindSafe};
use std::ptr;
use std::sync::Arc;

use crate::inherit::node::{Inside, Node, Place, place, place_of};
use crate::workers::Worker;

impl Worker {
    /// Calls `f`, which does not unwind, in that context. It leaves the task stack as it finds it:
    /// what it pushes has been joined when it returns.
    ///
    /// # Safety
    /// The context is null, or alive until this returns.
    pub(crate) unsafe fn within<R>(&self, context: Place, f: impl FnOnce() -> R) -> R {
        if ptr::eq(place(), context) {
            return f();
        }
        // SAFETY: the caller's promise.
        let inside = unsafe { Inside::enter(context) };
        let result = self.segment(f);
        drop(inside);
        result
    }

    /// Calls `f`, which does not unwind and leaves the task stack as it finds it. What it pushes
    /// belongs to the context that the calling thread is in.
    pub(crate) fn segment<R>(&self, f: impl FnOnce() -> R) -> R {
        let (segments, base) = (&self.seat().segments, self.owner().top());
        let is_needed = !place().is_null() || !segments.is_empty();
        let opened = is_needed.then(|| segments.open(base, place().cast_mut().cast()));
        // A task that is being polled here is in another context: what is made in this one is not
        // its child.
        let result = self.seat().tasks.beneath(f);
        debug_assert_eq!(self.owner().top(), base);
        if let Some(opened) = opened {
            segments.close(opened);
        }
        result
    }

    /// Calls `f`, which does not unwind, and then joins what it left unjoined on this worker's
    /// stack: before that, nobody may hear that `f` has ended.
    pub(crate) fn framed<R>(&self, f: impl FnOnce() -> R) -> R {
        let (base, outer_floor) = self.owner().open_frame();
        // Nor may a frame that `f` wakes be among what is joined here: it would run on top of the
        // poll that calls this.
        let level = self.seat().tasks.hide_level();
        let result = f();
        self.drain(base);
        self.seat().tasks.show_level(level);
        self.owner().close_frame(outer_floor);
        result
    }

    /// [`Worker::framed`], in that context.
    ///
    /// # Safety
    /// As [`Self::within`].
    pub(crate) unsafe fn framed_in<R>(&self, context: Place, f: impl FnOnce() -> R) -> R {
        // SAFETY: the caller's promise.
        unsafe { self.within(context, || self.framed(f)) }
    }

    /// [`Worker::framed`], in no context. Where a task may be polled further out, it is
    /// called by way of [`Jobs::on_top`](super::job_runs::Jobs::on_top).
    pub(crate) fn framed_outside<R>(&self, f: impl FnOnce() -> R) -> R {
        debug_assert!(!self.seat().tasks.is_in_a_task());
        // SAFETY: null.
        unsafe { self.framed_in(ptr::null(), f) }
    }
}

/// Calls `f` in that context, whatever thread this is. What it leaves unjoined is joined before
/// this returns.
pub(crate) fn run_in<R>(context: Option<&Arc<Node>>, f: impl FnOnce() -> R) -> R {
    // SAFETY: borrowed for longer than the call.
    unsafe { run_at(place_of(context), f) }
}

/// Runs `f` in the context at this address.
///
/// # Safety
/// The context is null, or alive until this returns.
pub(crate) unsafe fn run_at<R>(context: Place, f: impl FnOnce() -> R) -> R {
    let run = || panic::catch_unwind(AssertUnwindSafe(f));
    let result = Worker::with_current(|worker| match worker {
        // SAFETY: the caller's promise.
        Some(worker) => unsafe { worker.framed_in(context, run) },
        None => {
            // SAFETY: the caller promises that the context is null, or alive until this returns.
            let _inside = unsafe { Inside::enter(context) };
            run()
        }
    });
    result.unwrap_or_else(|payload| panic::resume_unwind(payload))
}
