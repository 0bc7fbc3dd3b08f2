//! Common to the calls: the shape of C functions, and the checks of arguments.

use std::ffi::c_void;

use roving::raw::foreign;

use crate::status::{CallFailure, NoMemory, Status, guard};
use crate::task::Unsynced;

/// Held while a function of the caller's runs. A panic that leaves such a function may leave tasks
/// that it was to sync, and that use its frame: then nothing can go on. Those that had no slot have
/// run, and what is kept of them is thrown away: else the next sync further out would take it for
/// its own.
pub(crate) struct Border {
    depth: Option<usize>,
    unsynced: Unsynced,
}

impl Border {
    #[inline]
    pub(crate) fn cross() -> Border {
        let (depth, unsynced) = (foreign::depth(), Unsynced::now());
        Border { depth, unsynced }
    }
}

impl Drop for Border {
    #[inline]
    fn drop(&mut self) {
        if !std::thread::panicking() {
            return self.unsynced.check();
        }
        if self.depth.is_some_and(foreign::has_pushed_above) {
            eprintln!(
                "roving: a panic has left a C function that had spawned tasks and not synced them: \
                 the process ends. Catch it before it reaches C code, or sync first"
            );
            std::process::abort();
        }
        self.unsynced.forget_later();
    }
}

/// A function of the caller's, with its worker and its own argument. A panic or an exception may
/// come out of it, and ends at the border: see the header.
pub(crate) type Body = unsafe extern "C-unwind" fn(worker: *const (), arg: *mut c_void);

/// A pointer of the caller's, who says that it may go to another thread.
#[derive(Clone, Copy)]
pub(crate) struct Sendable(pub(crate) *mut c_void);

// SAFETY: what it leads to is touched by the caller's functions alone, which are told where they
// run.
unsafe impl Send for Sendable {}
// SAFETY: the caller shares what it leads to, and is told where its functions run.
unsafe impl Sync for Sendable {}

/// Memory of so many bytes, aligned as `malloc` aligns. Unwinds with [`NoMemory`] if there is none.
pub(crate) fn zeroed(bytes: usize) -> Vec<u128> {
    let (mut memory, units) = (Vec::new(), bytes.div_ceil(size_of::<u128>()));
    if memory.try_reserve_exact(units).is_err() {
        NoMemory(bytes).unwind();
    }
    memory.resize(units, 0);
    memory
}

/// Drops what a call of ours has made and handed out, unless that is null.
///
/// # Safety
/// It is null, or came out of a box there, and is freed once.
pub(crate) unsafe fn free<T>(made: *mut T) -> Status {
    guard(|| {
        if !made.is_null() {
            // SAFETY: the caller's promise.
            drop(unsafe { Box::from_raw(made) });
        }
        Ok(())
    })
}

/// A pointer that must not be null.
pub(crate) fn required<T>(pointer: *mut T, name: &str) -> Result<*mut T, CallFailure> {
    match pointer.is_null() {
        true => Err(CallFailure::argument(format!("{name} is null"))),
        false => Ok(pointer),
    }
}

/// A function that must not be null.
pub(crate) fn function<F>(function: Option<F>, name: &str) -> Result<F, CallFailure> {
    function.ok_or_else(|| CallFailure::argument(format!("{name} is null")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn null_is_named() {
        let refused =
            required(std::ptr::null_mut::<u8>(), "pool").map_err(|failure| failure.detail);
        assert_eq!(refused, Err("pool is null".to_owned()));
        assert!(function(Some(1), "body").is_ok());
        assert!(function::<u8>(None, "body").is_err());
    }
}
