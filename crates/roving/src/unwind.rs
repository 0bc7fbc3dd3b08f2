//! What to do while a panic is on its way.

use std::mem;
use std::panic::{self, AssertUnwindSafe};

/// Drops a value whose drop may panic, while another panic is already on its way.
pub(crate) fn drop_quietly<T>(value: T) {
    let dropped = panic::catch_unwind(AssertUnwindSafe(|| drop(value)));
    // A payload whose drop panics again is beyond help, and leaking it is safe.
    mem::forget(dropped);
}
