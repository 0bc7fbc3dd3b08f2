//! Helpers for code that runs while a panic unwinds.

use std::mem;
use std::panic::{self, AssertUnwindSafe};
use std::process;

/// How many payloads in a row may panic when they are dropped.
const PAYLOADS_MAX: usize = 16;

/// Drops a value whose drop may panic, while another panic is already on its way.
pub(crate) fn drop_quietly<T>(value: T) {
    let mut outcome = panic::catch_unwind(AssertUnwindSafe(|| drop(value)));
    for _ in 0..PAYLOADS_MAX {
        match outcome {
            Ok(()) => return,
            Err(payload) => {
                outcome = panic::catch_unwind(AssertUnwindSafe(|| drop(payload)));
            }
        }
    }
    // One whose payloads go on panicking is beyond help, and leaking it is safe.
    mem::forget(outcome);
}

/// Calls `f`, foreign code whose panic has nobody to go to: the panic hook has told it.
pub(crate) fn run_quietly(f: impl FnOnce()) {
    match panic::catch_unwind(AssertUnwindSafe(f)) {
        // The model checker panics with a fault that it has found.
        Err(payload) if cfg!(loom) => panic::resume_unwind(payload),
        outcome => drop_quietly(outcome),
    }
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
