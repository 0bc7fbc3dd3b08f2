//! A pool that is being stopped at once drops what nobody waits for.

use crate::machine::prim::{AtomicBool, AtomicUsize, Ordering};

/// Whether a pool is being stopped at once, and what that has cost so far.
#[derive(Default)]
pub(crate) struct Stopping {
    is_on: AtomicBool,
    dropped: AtomicUsize,
}

impl Stopping {
    #[inline]
    pub(crate) fn is_on(&self) -> bool {
        // Ordering: Relaxed; a request. A task that is begun at the same moment runs.
        self.is_on.load(Ordering::Relaxed)
    }

    #[inline]
    pub(crate) fn begin(&self) {
        // Ordering: Relaxed, as in `is_on`.
        self.is_on.store(true, Ordering::Relaxed);
    }

    pub(crate) fn count(&self) {
        // Ordering: Relaxed; a figure. Who reports it has joined the threads that count.
        self.dropped.fetch_add(1, Ordering::Relaxed);
    }

    #[inline]
    pub(crate) fn dropped(&self) -> usize {
        // Ordering: Relaxed, as in `count`.
        self.dropped.load(Ordering::Relaxed)
    }
}
