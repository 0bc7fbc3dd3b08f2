//! Panics that must not go further.

use std::panic::{self, AssertUnwindSafe};

/// Drops a value whose drop may panic; a panic of that is dropped in its turn, or forgotten.
pub(crate) fn drop_quietly<T>(value: T) {
    if let Err(payload) = panic::catch_unwind(AssertUnwindSafe(|| drop(value)))
        && let Err(again) = panic::catch_unwind(AssertUnwindSafe(|| drop(payload)))
    {
        std::mem::forget(again);
    }
}
