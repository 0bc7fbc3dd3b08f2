//! The word in which a process says what it waits for.

use std::ptr;

use crate::machine::prim::{AtomicPtr, Ordering, ord};

/// A packed statement that its process writes, and others read while the network runs. What it says
/// is known where channels are: see [`Statement`](crate::channel::statement::Statement).
pub(crate) struct AtomicWord(AtomicPtr<()>);

impl AtomicWord {
    /// Of a process that has not begun.
    pub(crate) fn new() -> AtomicWord {
        AtomicWord(AtomicPtr::new(ptr::null_mut()))
    }

    #[inline]
    pub(crate) fn load(&self) -> *mut () {
        // Ordering: Acquire. Pairs with [wait], a fence before the word says that a process waits
        // for any of several: all those waits are seen.
        self.0.load(ord("see_word", Ordering::Acquire))
    }

    /// By the process alone.
    ///
    /// # Safety
    /// It is a packed statement: who reads the word takes it for one.
    #[inline(always)]
    pub(crate) unsafe fn store(&self, statement: *mut ()) {
        // Ordering: Relaxed; only the process writes it.
        if self.0.load(Ordering::Relaxed) != statement {
            // Ordering: Relaxed; between this and what it is about there is a fence, or [wait] or
            // [resumed].
            self.0.store(statement, Ordering::Relaxed);
        }
    }
}
