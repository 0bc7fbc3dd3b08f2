//! The count by which a root knows that it is over.

use crate::machine::prim::{AtomicUsize, Ordering, ord};

/// Counts what can still bring frames of a root to life. It starts with one, and never comes back
/// from 0: only what is counted itself may count more.
pub(crate) struct Open(AtomicUsize);

impl Open {
    pub(crate) fn new() -> Open {
        Open(AtomicUsize::new(1))
    }

    /// One more. The caller is counted.
    pub(crate) fn add(&self) {
        // Ordering: Relaxed; the caller takes itself out later, and that is a change of this word.
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    /// `count` less. When none is left, the count may be gone at once; so what is to be done then
    /// is taken before, by `prepare`, and returned.
    pub(crate) fn sub<R>(&self, count: usize, prepare: impl Fn() -> R) -> Option<R> {
        // Ordering: Relaxed; the compare-and-swap decides.
        let mut before = self.0.load(Ordering::Relaxed);
        loop {
            let prepared = (before == count).then(&prepare);
            // Ordering: Edge [close]: Release hands what the frames did to who waits; that all
            // earlier ones come along is the release sequence.
            let order = ord("close", Ordering::Release);
            let after = before - count;
            match self
                .0
                .compare_exchange(before, after, order, Ordering::Relaxed)
            {
                Ok(_) => return prepared,
                Err(now) => before = now,
            }
        }
    }

    pub(crate) fn is_over(&self) -> bool {
        // Ordering: Acquire pairs with [close]: all frames have ended.
        self.0.load(ord("root_is_over", Ordering::Acquire)) == 0
    }
}
