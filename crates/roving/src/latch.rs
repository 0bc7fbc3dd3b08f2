//! A flag that one thread waits for, parked.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, Thread};

/// Set once, by another thread, when what the creating thread waits for has happened.
pub(crate) struct Latch {
    set: AtomicBool,
    waiter: Thread,
}

impl Latch {
    /// A latch that the calling thread will wait for.
    pub(crate) fn new() -> Latch {
        Latch {
            set: AtomicBool::new(false),
            waiter: thread::current(),
        }
    }

    /// Sets the latch and wakes its waiter, which may drop the latch at once.
    ///
    /// # Safety
    /// The latch is alive, and stays so until this call has set it: nobody else sets it.
    pub(crate) unsafe fn set(this: *const Latch) {
        // SAFETY: not set yet, so the waiter keeps it alive; the handle is cloned before.
        let waiter = unsafe { (*this).waiter.clone() };
        // Ordering: Edge [latch_set]: Release hands over what the waiter waited for.
        // SAFETY: as above, up to this store.
        unsafe { (*this).set.store(true, Ordering::Release) };
        waiter.unpark();
    }

    pub(crate) fn is_set(&self) -> bool {
        // Ordering: Acquire pairs with [latch_set].
        self.set.load(Ordering::Acquire)
    }

    /// Blocks the creating thread until the latch is set.
    pub(crate) fn wait(&self) {
        while !self.is_set() {
            thread::park();
        }
    }
}
