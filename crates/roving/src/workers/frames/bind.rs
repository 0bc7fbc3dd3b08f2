//! A new child gets its root.

use std::mem;

use super::drive::Frames;
use super::frame;
use super::header::{Frame, Header};
use super::local::Local;
use super::root::RootId;
use crate::workers::Worker;

const OUTSIDE: &str = "not inside a task: fork, spawn and call want a future that task::block_on, \
                       task::scope or Pool::run runs";

const OTHER_ROOT: &str = "a child was made for another root, or by the Scope of a call that has \
                          returned: use the Scope that this task was given";

#[cold]
#[inline(never)]
fn of_another_root() -> ! {
    panic!("{OTHER_ROOT}")
}

/// Binds the child to the root of the task that is polled. It stays the caller's when this panics.
///
/// # Panics
/// Where the token that made the child is that of another blocking call.
#[inline(always)]
pub(crate) fn bind(child: Frame, token: RootId, parent: &Header) {
    let root = parent.root.get();
    // SAFETY: the root of a task that is polled is open.
    if !unsafe { &*root }.admits(token) {
        of_another_root();
    }
    // SAFETY: a child that was not started is its maker's.
    unsafe { child.as_ref() }.root.set(root);
}

/// Binds a child that nobody else has yet to the root of the task that is polled; or, where a task
/// beneath has entered another context, to the root of what it makes there. Disposes of the child
/// before a panic.
///
/// # Panics
/// Where there is no such task, and where the token that made the child is that of another blocking
/// call.
#[inline(always)]
pub(crate) fn bind_new(child: Frame, token: RootId) {
    Local::with(|local| {
        // SAFETY: a frame that is being polled is alive, and so is its root.
        let root = unsafe { local.current.get().as_ref() }.map(|current| current.root.get());
        match root {
            // SAFETY: the frame that is being polled keeps its root alive.
            Some(root) if unsafe { &*root }.admits(token) => {
                // SAFETY: a child that was not started is its maker's.
                unsafe { child.as_ref() }.root.set(root);
            }
            _ => bind_new_slowly(local, child, token),
        }
    });
}

#[cold]
#[inline(never)]
fn bind_new_slowly(local: &Local, child: Frame, token: RootId) {
    struct Unbound(Frame);
    impl Drop for Unbound {
        #[inline]
        fn drop(&mut self) {
            // SAFETY: a child that was not started is its maker's.
            unsafe { frame::dispose(self.0) };
        }
    }
    let unbound = Unbound(child);
    if !local.current.get().is_null() {
        of_another_root();
    }
    let root = local.root_here();
    if root.is_null() {
        not_a_task();
    }
    // SAFETY: the root of what a task makes beneath is open.
    if !unsafe { &*root }.admits(token) {
        of_another_root();
    }
    // SAFETY: as in `drop`.
    unsafe { child.as_ref() }.root.set(root);
    mem::forget(unbound);
}

#[cold]
#[inline(never)]
pub(crate) fn not_a_task() -> ! {
    panic!("{OUTSIDE}")
}

/// Puts a new child on this worker's stack, for thieves to take.
///
/// # Safety
/// The child is new, and bound to the root of the task that is polled.
#[inline]
pub(crate) unsafe fn put_on_stack(child: Frame) {
    Worker::with_current(|worker| {
        let worker = worker.expect("tasks are polled by workers");
        // SAFETY: the caller's promise; the root is open while one of its tasks is polled.
        unsafe { Frames(worker).spawn_frame(child) };
    });
}
