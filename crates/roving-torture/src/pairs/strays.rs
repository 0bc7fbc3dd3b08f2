//! Panics that nobody gets: of a waker that is called, and of a value that a context drops.

use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

use roving::context;

use super::kept::Deaf;
use super::program::FeatureStep;
use super::world::{Cx, Ticket, World};

/// The payload of such a panic. Wherever it comes out, but of a poll, that is wrong.
struct Stray {
    _ticket: Ticket,
}

fn throw(world: &Arc<World>) -> ! {
    panic::resume_unwind(Box::new(Stray {
        _ticket: world.ticket(),
    }))
}

/// Panics when it is called.
struct Loud(Arc<World>);

impl Wake for Loud {
    fn wake(self: Arc<Self>) {
        throw(&self.0);
    }
}

/// A waker that panics when it is called.
pub(super) fn loud(cx: &Cx<'_>) -> Waker {
    Waker::from(Arc::new(Loud(Arc::clone(&cx.world))))
}

/// A value of a context, which panics when it is dropped.
struct Inherited(Arc<World>);

impl Drop for Inherited {
    fn drop(&mut self) {
        throw(&self.0);
    }
}

/// Calls `f` in a context that nobody else keeps: what `f` makes is the last to have it.
pub(super) fn with_bomb<R>(cx: &Cx<'_>, f: impl FnOnce() -> R) -> R {
    context::with(Inherited(Arc::clone(&cx.world)), f)
}

/// The waker of nobody who would poll again: one that notes nothing, or one that panics.
pub(super) fn waker(step: &FeatureStep, cx: &Cx<'_>) -> Waker {
    match step.id % 2 {
        0 => Waker::from(Arc::new(Deaf)),
        _ => loud(cx),
    }
}

/// Polls with that waker. A poll may call it at once, and then its panic is the caller's.
pub(super) fn poll<R>(waker: &Waker, poll: impl FnOnce(&mut Context<'_>) -> Poll<R>) -> Poll<R> {
    let poll = AssertUnwindSafe(|| poll(&mut Context::from_waker(waker)));
    panic::catch_unwind(poll).unwrap_or_else(|payload| match payload.is::<Stray>() {
        true => Poll::Pending,
        false => panic::resume_unwind(payload),
    })
}
