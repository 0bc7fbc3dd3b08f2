//! Requests to stop, and regions that block.

use std::ffi::{c_int, c_void};
use std::time::Duration;

use roving::Cancel;
use roving::raw::foreign;

use crate::call::{Body, Border, free, function, required};
use crate::status::{CallFailure, Status, guard};

/// # Safety
/// The parent is null, or alive; `cancel` is null, or valid.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn roving_cancel_new(
    parent: *const Cancel,
    nanoseconds: u64,
    cancel: *mut *mut Cancel,
) -> Status {
    guard(|| {
        let cancel = required(cancel, "cancel")?;
        let time = Duration::from_nanos(nanoseconds);
        // SAFETY: the caller says so.
        let made = match (unsafe { parent.as_ref() }, nanoseconds) {
            (None, 0) => Cancel::new(),
            (None, _) => Cancel::after(time),
            (Some(parent), 0) => parent.child(),
            (Some(parent), _) => match std::time::Instant::now().checked_add(time) {
                Some(deadline) => parent.child_at(deadline),
                None => parent.child(),
            },
        };
        // SAFETY: not null, and the caller says that it is valid.
        unsafe { cancel.write(Box::into_raw(Box::new(made))) };
        Ok(())
    })
}

/// # Safety
/// The request is null, or was made by [`roving_cancel_new`] and not freed.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn roving_cancel_free(cancel: *mut Cancel) -> Status {
    // SAFETY: the caller says so.
    unsafe { free(cancel) }
}

/// # Safety
/// The request is null, or alive.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn roving_cancel(cancel: *const Cancel) -> Status {
    guard(|| {
        // SAFETY: the caller says so.
        unsafe { borrowed(cancel) }?.cancel();
        Ok(())
    })
}

/// # Safety
/// The request is null, or alive; the body can be called here.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn roving_cancel_run(
    cancel: *const Cancel,
    body: Option<Body>,
    arg: *mut c_void,
) -> Status {
    guard(|| {
        let body = function(body, "body")?;
        // SAFETY: the caller says so. The body may free it.
        let cancel = unsafe { borrowed(cancel) }?.clone();
        cancel.run(|| {
            let _border = Border::cross();
            // SAFETY: the caller's promise.
            unsafe { body(foreign::wire(), arg) }
        })?;
        Ok(())
    })
}

/// # Safety
/// The request is null, or alive.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn roving_is_cancelled(cancel: *const Cancel) -> c_int {
    // SAFETY: the caller says so.
    match unsafe { cancel.as_ref() } {
        Some(cancel) => cancel.is_cancelled(),
        None => roving::is_cancelled(),
    }
    .into()
}

/// # Safety
/// The request is null, or alive while the result is used.
unsafe fn borrowed<'c>(cancel: *const Cancel) -> Result<&'c Cancel, CallFailure> {
    let cancel = required(cancel.cast_mut(), "cancel")?;
    // SAFETY: not null, and the caller says that it is alive.
    Ok(unsafe { &*cancel })
}

/// # Safety
/// The body can be called here.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn roving_blocking_run(
    body: Option<Body>,
    arg: *mut c_void,
) -> Status {
    guard(|| {
        let body = function(body, "body")?;
        roving::blocking(|| {
            let _border = Border::cross();
            // SAFETY: the caller's promise.
            unsafe { body(foreign::wire(), arg) }
        });
        Ok(())
    })
}
