//! What to do while a panic is on its way.

use std::mem;
use std::panic::{self, AssertUnwindSafe};
use std::process;

/// Drops a value whose drop may panic, while another panic is already on its way.
pub(crate) fn drop_quietly<T>(value: T) {
    let dropped = panic::catch_unwind(AssertUnwindSafe(|| drop(value)));
    // A payload whose drop panics again is beyond help, and leaking it is safe.
    mem::forget(dropped);
}

/// Calls `f`, in which other threads use the caller's frame. Rather than let the frame go under
/// their hands, a panic of `f` ends the process; nothing that `f` calls should panic.
pub(crate) fn with_frame_lent<R>(f: impl FnOnce() -> R) -> R {
    struct AbortOnUnwind;
    impl Drop for AbortOnUnwind {
        fn drop(&mut self) {
            eprintln!("roving: a panic while other threads use the frame: a defect of roving");
            process::abort();
        }
    }
    let guard = AbortOnUnwind;
    let result = f();
    mem::forget(guard);
    result
}
