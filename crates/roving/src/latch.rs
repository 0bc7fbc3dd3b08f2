//! A count that one thread waits for, parked.

use crate::prim::thread::{self, Thread};
use crate::prim::{AtomicUsize, Ordering, ord, park};

/// Looks before a waiter parks: a few microseconds, about what it costs to park and to be woken.
#[cfg(not(loom))]
const LOOKS_BEFORE_PARK: usize = 256;
/// Under loom the shortest way to park is all that has to be explored.
#[cfg(loom)]
const LOOKS_BEFORE_PARK: usize = 0;

/// Looks before the waiter first gives its core to whoever else wants it: about a microsecond, in
/// which a small call has returned.
const LOOKS_BEFORE_YIELD: usize = 24;
/// Then one look in so many does so.
const YIELD_EVERY: usize = 8;

/// Counts down to what the creating thread waits for.
pub(crate) struct Latch {
    open: AtomicUsize,
    waiter: Thread,
}

impl Latch {
    /// A latch that the calling thread will wait for until it was counted down `count` times.
    pub(crate) fn new(count: usize) -> Latch {
        Latch {
            open: AtomicUsize::new(count),
            waiter: thread::current(),
        }
    }

    /// Counts one down; the last wakes the waiter, which may drop the latch at once.
    ///
    /// # Safety
    /// The latch is alive, and this is one of the `count` calls that it was made for.
    pub(crate) unsafe fn count_down(this: *const Latch) {
        // SAFETY: this call is still open, so the waiter keeps the latch alive; the handle is
        // cloned before.
        let waiter = unsafe { (*this).waiter.clone() };
        // Ordering: Edge [count_down]: Release hands over what the waiter waits for; that the
        // earlier calls' work comes along is the release sequence.
        let order = ord("count_down", Ordering::Release);
        // SAFETY: this call is still open until this change, so the waiter keeps the latch alive.
        if unsafe { (*this).open.fetch_sub(1, order) } == 1 {
            waiter.unpark();
        }
    }

    pub(crate) fn is_over(&self) -> bool {
        // Ordering: Acquire pairs with [count_down].
        self.open.load(ord("latch_is_over", Ordering::Acquire)) == 0
    }

    /// Blocks the creating thread until the count is down.
    pub(crate) fn wait(&self) {
        for look in 0..LOOKS_BEFORE_PARK {
            if self.is_over() {
                return;
            }
            // The core may be one that a worker needs.
            match look >= LOOKS_BEFORE_YIELD && look % YIELD_EVERY == 0 {
                true => thread::yield_now(),
                false => std::hint::spin_loop(),
            }
        }
        while !self.is_over() {
            park();
        }
    }
}
