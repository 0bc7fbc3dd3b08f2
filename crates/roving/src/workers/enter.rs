//! A worker enters a context: what it pushes there belongs to a segment of its task stack.

use std::panic::{self, AssertUnwindSafe};
use std::ptr;
use std::sync::Arc;

use crate::inherit::node::{Inside, Node, Place, place, place_of};
use crate::stack::owner::{OuterFrame, Owner};
use crate::stack::slot::Slot;
use crate::workers::Worker;

/// The scopes whose tasks may be pushed in a frame. A frame joins what lies in it when it ends: so
/// one that ends in the middle of a program's code has no task that is none of its own. Such a task
/// might wait for what that code does next, or want a lock that it has.
pub(crate) trait Spawns {
    type Outer;

    /// Opens the frame. Returns its base, and what [`Spawns::close`] needs.
    fn open(self, owner: &Owner<'_>) -> (*const Slot, Self::Outer);

    fn close(owner: &Owner<'_>, outer: Self::Outer);
}

/// The scope with that address.
pub(crate) struct OfScope(pub(crate) *const ());

/// No scope further out: a call of the program's.
pub(crate) struct OfNone;

/// All scopes of the pool: a task, whose end is nobody's but the scheduler's.
pub(crate) struct OfAll;

/// Those of the frame around it: something that knows none of them.
pub(crate) struct AsBefore;

impl Spawns for OfScope {
    type Outer = OuterFrame;

    #[inline]
    fn open(self, owner: &Owner<'_>) -> (*const Slot, OuterFrame) {
        owner.open_frame_of(self.0)
    }

    #[inline]
    fn close(owner: &Owner<'_>, outer: OuterFrame) {
        owner.close_frame_of(outer);
    }
}

impl Spawns for OfNone {
    type Outer = OuterFrame;

    #[inline]
    fn open(self, owner: &Owner<'_>) -> (*const Slot, OuterFrame) {
        owner.open_frame_of(ptr::null())
    }

    #[inline]
    fn close(owner: &Owner<'_>, outer: OuterFrame) {
        owner.close_frame_of(outer);
    }
}

impl Spawns for OfAll {
    type Outer = OuterFrame;

    #[inline]
    fn open(self, owner: &Owner<'_>) -> (*const Slot, OuterFrame) {
        owner.open_frame_of_all()
    }

    #[inline]
    fn close(owner: &Owner<'_>, outer: OuterFrame) {
        owner.close_frame_of(outer);
    }
}

impl Spawns for AsBefore {
    type Outer = *const Slot;

    #[inline]
    fn open(self, owner: &Owner<'_>) -> (*const Slot, *const Slot) {
        owner.open_frame()
    }

    #[inline]
    fn close(owner: &Owner<'_>, outer: *const Slot) {
        owner.close_frame(outer);
    }
}

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
    /// stack, which are tasks of those scopes: before that, nobody may hear that `f` has ended.
    pub(crate) fn framed<S: Spawns, R>(&self, spawns: S, f: impl FnOnce() -> R) -> R {
        let (base, outer) = spawns.open(self.owner());
        // Nor may a frame that `f` wakes be among what is joined here: it would run on top of the
        // poll that calls this.
        let level = self.seat().tasks.hide_level();
        let result = f();
        self.drain(base);
        self.seat().tasks.show_level(level);
        S::close(self.owner(), outer);
        result
    }

    /// [`Worker::framed`], in that context.
    ///
    /// # Safety
    /// As [`Self::within`].
    pub(crate) unsafe fn framed_in<R>(
        &self,
        context: Place,
        spawns: impl Spawns,
        f: impl FnOnce() -> R,
    ) -> R {
        // SAFETY: the caller's promise.
        unsafe { self.within(context, || self.framed(spawns, f)) }
    }

    /// [`Worker::framed`], in no context. Where a task may be polled further out, it is
    /// called by way of [`Jobs::on_top`](super::job_runs::Jobs::on_top).
    pub(crate) fn framed_outside<R>(&self, f: impl FnOnce() -> R) -> R {
        debug_assert!(!self.seat().tasks.is_in_a_task());
        // SAFETY: null.
        unsafe { self.framed_in(ptr::null(), AsBefore, f) }
    }
}

/// Calls `f` in that context, whatever thread this is. What it leaves unjoined, tasks of those
/// scopes, is joined before this returns.
pub(crate) fn run_in<R>(
    context: Option<&Arc<Node>>,
    spawns: impl Spawns,
    f: impl FnOnce() -> R,
) -> R {
    // SAFETY: borrowed for longer than the call.
    unsafe { run_at(place_of(context), spawns, f) }
}

/// Runs `f` in the context at this address.
///
/// # Safety
/// The context is null, or alive until this returns.
pub(crate) unsafe fn run_at<R>(context: Place, spawns: impl Spawns, f: impl FnOnce() -> R) -> R {
    let run = || panic::catch_unwind(AssertUnwindSafe(f));
    let result = Worker::with_current(|worker| match worker {
        // SAFETY: the caller's promise.
        Some(worker) => unsafe { worker.framed_in(context, spawns, run) },
        None => {
            // SAFETY: the caller promises that the context is null, or alive until this returns.
            let _inside = unsafe { Inside::enter(context) };
            run()
        }
    });
    result.unwrap_or_else(|payload| panic::resume_unwind(payload))
}
