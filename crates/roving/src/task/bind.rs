//! A new child gets its root.

use std::mem;

use super::fork::not_a_task;
use super::frame::{self, Frame, Header};
use super::local::Local;

const OTHER_ROOT: &str =
    "a child was made for another root: use the Scope that this task was given";

#[cold]
#[inline(never)]
fn of_another_root() -> ! {
    panic!("{OTHER_ROOT}")
}

/// The child belongs to this task's root from now on. False where that takes longer: then it is for
/// [`bind_slowly`] to say.
#[inline(always)]
#[must_use]
pub(super) fn bind(child: Frame, parent: &Header) -> bool {
    // SAFETY: a child that was not started is its maker's.
    let child = unsafe { child.as_ref() };
    let (root, of_child) = (parent.root.get(), child.root.get());
    if of_child != root {
        if !of_child.is_null() {
            return false;
        }
        child.root.set(root);
    }
    true
}

/// The same for a child that was made by a token of another root, which has to be above the task's; and where no
/// task is polled but one beneath: then the child gets a root of the context that this has entered.
pub(super) fn bind_slowly(child: Frame) {
    // SAFETY: a child that was not started is its maker's.
    let child = unsafe { child.as_ref() };
    let root = Local::with(|local| {
        // SAFETY: a frame that is being polled is alive.
        let current = unsafe { local.current.get().as_ref() };
        current.map_or_else(|| local.root_here(), |current| current.root.get())
    });
    if root.is_null() {
        not_a_task();
    }
    let of_child = child.root.get();
    // SAFETY: the root of a task that is polled is open, also beneath.
    if !of_child.is_null() && !unsafe { &*root }.is_below(of_child) {
        of_another_root();
    }
    child.root.set(root);
}

/// The same for a child that nobody else has yet, and the task that is polled: if that refuses it,
/// it is disposed of.
#[inline(always)]
pub(super) fn bind_new(child: Frame) {
    Local::with(|local| {
        // SAFETY: a frame that is being polled is alive.
        let current = unsafe { local.current.get().as_ref() };
        if !current.is_some_and(|current| bind(child, current)) {
            bind_new_slowly(child);
        }
    });
}

#[cold]
#[inline(never)]
fn bind_new_slowly(child: Frame) {
    struct Unbound(Frame);
    impl Drop for Unbound {
        fn drop(&mut self) {
            // SAFETY: a child that was not started is its maker's.
            unsafe { frame::dispose(self.0) };
        }
    }
    let unbound = Unbound(child);
    bind_slowly(child);
    mem::forget(unbound);
}
