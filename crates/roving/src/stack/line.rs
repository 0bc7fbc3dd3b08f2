//! The owner's hot cache line, and the trip wire that leads to it.

use std::cell::Cell;
use std::ptr;

use super::slot::Slot;

/// The owner's hot words: all that a push or pop of a private task reads and writes. None of them
/// is shared.
///
/// A push is fast below `push_limit`, that of a task which is left for later below `spawn_limit`, a
/// pop at or above `pop_limit`. One of these comparisons
/// fails in every rare case: the thread is no worker, the stack is full, too few tasks are public,
/// a thief wants work, the task is public, or an unjoined task lies above it.
#[repr(C, align(128))]
pub(crate) struct Line {
    /// The first free slot.
    pub(crate) top: Cell<*const Slot>,
    pub(crate) push_limit: Cell<*const Slot>,
    pub(crate) spawn_limit: Cell<*const Slot>,
    pub(crate) pop_limit: Cell<*const Slot>,
}

// SAFETY: only the owning thread writes a `Line` or reads its cells; `ALARM` is never written.
unsafe impl Sync for Line {}

/// The line that fails all comparisons. A thread that is no worker has it for its line, and a
/// thief that wants work makes its victim's thread have it: that is the trip wire. The owner pays
/// nothing to look, because it has to load the pointer to its line in any case.
pub(crate) static ALARM: Line = Line {
    top: Cell::new(ptr::null()),
    push_limit: Cell::new(ptr::null()),
    spawn_limit: Cell::new(ptr::null()),
    pop_limit: Cell::new(ptr::without_provenance(usize::MAX)),
};

impl Line {
    pub(super) fn new(first: *const Slot) -> Line {
        Line {
            top: Cell::new(first),
            push_limit: Cell::new(ptr::null()),
            spawn_limit: Cell::new(ptr::null()),
            pop_limit: Cell::new(ptr::null()),
        }
    }
}

#[cfg(not(loom))]
pub(crate) use thread::{LentWire, current_line, set_current_line, wire_of_this_thread};

#[cfg(not(loom))]
mod thread {
    use std::ptr;

    use super::{ALARM, Line};
    use crate::machine::prim::{AtomicPtr, Ordering};

    thread_local! {
        // Const and without a destructor, so that reading it is one instruction.
        static LINE: AtomicPtr<Line> =
            const { AtomicPtr::new((&raw const ALARM).cast_mut()) };
    }

    /// The line of the worker that this thread is, or [`ALARM`].
    #[inline(always)]
    pub(crate) fn current_line() -> *const Line {
        // Ordering: Relaxed; what the alarm means is in the span, read with an acquire.
        LINE.with(|line| line.load(Ordering::Relaxed))
    }

    pub(crate) fn set_current_line(line: *const Line) {
        // Ordering: Relaxed; the owner's next change of the span orders it ([publish]).
        LINE.with(|at| at.store(line.cast_mut(), Ordering::Relaxed));
    }

    /// The wire of a thread that may end before the thieves do. Used under a lock.
    pub(crate) struct LentWire(pub(crate) *const AtomicPtr<Line>);

    // SAFETY: what it leads to is an atomic, alive until the thread takes it back.
    unsafe impl Send for LentWire {}

    /// Where a thief trips the wire of the worker that this thread is.
    pub(crate) fn wire_of_this_thread() -> *const AtomicPtr<Line> {
        LINE.with(ptr::from_ref)
    }
}
