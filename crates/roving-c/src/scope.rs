//! Scopes: any number of tasks, which end before the scope does.

use std::ffi::{c_int, c_void};
use std::mem::MaybeUninit;

use roving::Scope;
use roving::raw::foreign;

use crate::call::{Border, Sendable, function, required, zeroed};
use crate::status::{CallFailure, Status, guard};

/// The body of a scope, or one of its tasks.
type InScope =
    unsafe extern "C-unwind" fn(worker: *const (), scope: *const c_void, arg: *mut c_void);

/// So many bytes of an argument travel in the slot.
const INLINE: usize = 3 * size_of::<u64>();

/// A copy of an argument for its task, aligned as `malloc` aligns.
#[repr(C, align(16))]
struct Copied(MaybeUninit<[u64; INLINE / 8]>);

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
                let mut copy = Copied(copy);
                call(task, scope, copy.0.as_mut_ptr().cast());
            });
        } else {
            let mut copy = zeroed(bytes);
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

/// Gives an argument back.
type GiveBack = unsafe extern "C-unwind" fn(arg: *mut c_void);

/// An argument whose task has not run.
struct Owned {
    arg: Sendable,
    drop: GiveBack,
}

impl Owned {
    /// The task runs, and gives it back by itself.
    fn into_arg(self) -> *mut c_void {
        std::mem::ManuallyDrop::new(self).arg.0
    }
}

impl Drop for Owned {
    fn drop(&mut self) {
        // SAFETY: who gave the function has promised that it can be called so, once.
        unsafe { (self.drop)(self.arg.0) };
    }
}

/// # Safety
/// As [`roving_scope_spawn`]; `drop` can be called in place of the task.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn roving_scope_spawn_owned(
    scope: *const c_void,
    task: Option<InScope>,
    drop: Option<GiveBack>,
    arg: *mut c_void,
) -> Status {
    guard(|| {
        let drop = function(drop, "drop")?;
        let arg = Sendable(arg);
        let owned = Owned { arg, drop };
        let task = function(task, "task")?;
        // SAFETY: the caller says so.
        let scope = unsafe { borrowed(scope) }?;
        scope.spawn(move |scope| {
            let owned = { owned };
            call(task, scope, owned.into_arg());
        });
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
unsafe fn borrowed<'s>(scope: *const c_void) -> Result<&'s Scope<'static>, CallFailure> {
    let scope = required(scope.cast_mut(), "scope")?;
    // SAFETY: made from such a reference by `call`; `'static` only says that the tasks borrow
    // nothing that the compiler knows of.
    Ok(unsafe { &*scope.cast::<Scope<'static>>() })
}
