//! Scopes: any number of tasks, which end before the scope does.

use std::ffi::{c_int, c_void};
use std::mem::MaybeUninit;

use roving::Scope;
use roving::adapt::foreign;

use crate::call::{Border, Sendable, function, required};
use crate::status::{Failure, Status, guard};

/// The body of a scope, or one of its tasks.
type InScope =
    unsafe extern "C-unwind" fn(worker: *const (), scope: *const c_void, arg: *mut c_void);

/// So many bytes of an argument travel in the slot.
const INLINE: usize = 3 * size_of::<u64>();

fn call(task: InScope, scope: &Scope<'_>, arg: *mut c_void) {
    let _border = Border::cross();
    // SAFETY: who gave the function has promised that it can be called, and the scope is alive.
    unsafe { task(foreign::wire(), std::ptr::from_ref(scope).cast(), arg) };
}

/// # Safety
/// The body can be called on a worker.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn roving_scope_run(
    body: Option<InScope>,
    arg: *mut c_void,
) -> Status {
    guard(|| {
        let body = function(body, "body")?;
        let arg = Sendable(arg);
        roving::scope(move |scope| {
            let Sendable(arg) = { arg };
            call(body, scope, arg);
        });
        Ok(())
    })
}

/// # Safety
/// The scope has not ended, and the task can be called on any worker until it has.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn roving_scope_spawn(
    scope: *const c_void,
    task: Option<InScope>,
    arg: *mut c_void,
) -> Status {
    guard(|| {
        let task = function(task, "task")?;
        // SAFETY: the caller says so.
        let scope = unsafe { borrowed(scope) }?;
        let arg = Sendable(arg);
        scope.spawn(move |scope| {
            let Sendable(arg) = { arg };
            call(task, scope, arg);
        });
        Ok(())
    })
}

/// # Safety
/// As [`roving_scope_spawn`]; `data` has that many bytes.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn roving_scope_spawn_copy(
    scope: *const c_void,
    task: Option<InScope>,
    data: *const c_void,
    bytes: usize,
) -> Status {
    guard(|| {
        let task = function(task, "task")?;
        // SAFETY: the caller says so.
        let scope = unsafe { borrowed(scope) }?;
        if bytes > 0 {
            required(data.cast_mut(), "data")?;
        }
        if bytes <= INLINE {
            let mut copy = MaybeUninit::<[u64; INLINE / 8]>::zeroed();
            // SAFETY: it has so many bytes, and the copy has room for them.
            unsafe { copy_bytes(data, copy.as_mut_ptr().cast(), bytes) };
            scope.spawn(move |scope| {
                let mut copy = copy;
                call(task, scope, copy.as_mut_ptr().cast());
            });
        } else {
            // Aligned as `malloc` aligns.
            let mut copy = vec![0_u128; bytes.div_ceil(size_of::<u128>())];
            // SAFETY: it has so many bytes, and the copy has at least as many.
            unsafe { copy_bytes(data, copy.as_mut_ptr().cast(), bytes) };
            scope.spawn(move |scope| {
                let mut copy = copy;
                call(task, scope, copy.as_mut_ptr().cast());
            });
        }
        Ok(())
    })
}

/// # Safety
/// Both have so many bytes, unless there are none.
unsafe fn copy_bytes(from: *const c_void, to: *mut u8, bytes: usize) {
    if bytes > 0 {
        // SAFETY: the caller's promise; one is new.
        unsafe { std::ptr::copy_nonoverlapping(from.cast(), to, bytes) };
    }
}

/// # Safety
/// The scope has not ended.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn roving_scope_cancel(scope: *const c_void) -> Status {
    guard(|| {
        // SAFETY: the caller says so.
        unsafe { borrowed(scope) }?.cancel();
        Ok(())
    })
}

/// # Safety
/// The scope has not ended.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn roving_scope_is_cancelled(scope: *const c_void) -> c_int {
    // SAFETY: the caller says so.
    unsafe { borrowed(scope) }
        .is_ok_and(Scope::is_cancelled)
        .into()
}

/// # Safety
/// The scope has not ended, and does not while the result is used.
unsafe fn borrowed<'s>(scope: *const c_void) -> Result<&'s Scope<'static>, Failure> {
    let scope = required(scope.cast_mut(), "scope")?;
    // SAFETY: made from such a reference by `call`; `'static` only says that the tasks borrow
    // nothing that the compiler knows of.
    Ok(unsafe { &*scope.cast::<Scope<'static>>() })
}
