//! The first fault. Ranks that are threads share one; each process has its own.

use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::error::Error;

/// Empty until something goes wrong.
#[derive(Default)]
pub(crate) struct FirstFault {
    is_set: AtomicBool,
    first: Mutex<Option<Error>>,
}

impl FirstFault {
    /// One load, where nothing is wrong.
    pub(crate) fn is_set(&self) -> bool {
        // Ordering: Relaxed; a hint. The error itself is read under the lock.
        self.is_set.load(Ordering::Relaxed)
    }

    /// The first error.
    pub(crate) fn get(&self) -> Option<Error> {
        if !self.is_set() {
            return None;
        }
        let first = self.first.lock().unwrap_or_else(PoisonError::into_inner);
        first.clone()
    }

    /// Keeps the first error, and says which it was and whether it is this one.
    pub(crate) fn set(&self, error: Error) -> (Error, bool) {
        let mut first = self.first.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(first) = &*first {
            return (first.clone(), false);
        }
        *first = Some(error.clone());
        // Ordering: Relaxed, as in `is_set`: who sees it takes the lock.
        self.is_set.store(true, Ordering::Relaxed);
        (error, true)
    }
}
