//! A count that one thread waits for, parked.

use crate::machine::meeting_points::{park, unpark};
use crate::machine::prim::thread::{self, Thread};
use crate::machine::prim::{AtomicUsize, IS_EXPLORED, Ordering, ord};

/// Looks before a waiter parks: a few microseconds, in which a small call has returned. It does not
/// yield meanwhile: on a busy machine that gives the core away for milliseconds, while a thread
/// that has parked gets it back when it is woken. Under loom the shortest way to park is all that
/// has to be explored.
const LOOKS_BEFORE_PARK: usize = if IS_EXPLORED { 0 } else { 64 };

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
            unpark(&waiter);
        }
    }

    pub(crate) fn is_over(&self) -> bool {
        // Ordering: Acquire pairs with [count_down].
        self.open.load(ord("latch_is_over", Ordering::Acquire)) == 0
    }

    /// Blocks the creating thread until the count is down.
    pub(crate) fn wait(&self) {
        for _ in 0..LOOKS_BEFORE_PARK {
            if self.is_over() {
                return;
            }
            std::hint::spin_loop();
        }
        while !self.is_over() {
            park();
        }
    }
}

/// Pointers into a frame that waits, on a latch, until they have been used.
pub(crate) struct SendPtr<T>(pub(crate) T);

// SAFETY: who uses it answers for what is behind the pointers: handed over by the latch, `Send`
// itself.
unsafe impl<T> Send for SendPtr<T> {}
