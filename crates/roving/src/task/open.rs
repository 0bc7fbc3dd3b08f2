//! The count by which a root knows that it is over.

use crate::prim::{AtomicUsize, Ordering, ord};

/// Counts what can still bring frames of a root to life. It starts with one, and never comes back
/// from 0: only what is counted itself may count more.
pub(super) struct Open(AtomicUsize);

impl Open {
    pub(super) fn new() -> Open {
        Open(AtomicUsize::new(1))
    }

    /// One more. The caller is counted.
    pub(super) fn add(&self) {
        // Ordering: Relaxed; the caller takes itself out later, and that is a change of this word.
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    /// `count` less; true when none is left. Then, and only then, may the count be gone already.
    pub(super) fn sub(&self, count: usize) -> bool {
        // Ordering: Edge [close]: Release hands what the frames did to who waits; that all earlier
        // ones come along is the release sequence.
        self.0.fetch_sub(count, ord("close", Ordering::Release)) == count
    }

    pub(super) fn is_over(&self) -> bool {
        // Ordering: Acquire pairs with [close]: all frames have ended.
        self.0.load(ord("root_is_over", Ordering::Acquire)) == 0
    }
}
