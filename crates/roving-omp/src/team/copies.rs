//! The copies of what tasks of a loop reduce whose region is cancelled: the threads that have left
//! it do not wait for the others, which may use their copies yet.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

/// Copies that are to be freed when the region has ended.
#[derive(Default)]
pub(crate) struct LeftCopies {
    /// Their addresses.
    all: Mutex<Vec<usize>>,
    has_some: AtomicBool,
}

impl LeftCopies {
    /// A thread leaves a loop that has these, as others do or have done.
    pub(crate) fn leave(&self, copies: *mut ()) {
        let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        if !all.contains(&copies.expose_provenance()) {
            all.push(copies.expose_provenance());
        }
        // Ordering: Relaxed; the region's end orders it.
        self.has_some.store(true, Ordering::Relaxed);
    }

    /// Frees them.
    ///
    /// # Safety
    /// No thread is in the region.
    pub(super) unsafe fn free(&self) {
        // Ordering: Relaxed, as above.
        if self.has_some.load(Ordering::Relaxed) {
            self.has_some.store(false, Ordering::Relaxed);
            let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
            for copies in all.drain(..) {
                // SAFETY: allocated by C's function, and nobody uses them any more.
                unsafe { libc::free(std::ptr::with_exposed_provenance_mut(copies)) };
            }
        }
    }
}

impl Drop for LeftCopies {
    fn drop(&mut self) {
        // SAFETY: the team ends.
        unsafe { self.free() };
    }
}
