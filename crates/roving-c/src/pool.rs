//! Pools: create, run on, ask, free.

use std::ffi::{CStr, c_char, c_int, c_void};

use roving::Pool;
use roving::raw::foreign::{self, Layout};
use roving::raw::loops::run_on_worker;

use crate::call::{Body, Border, Sendable, free, required};
use crate::status::{CallFailure, Status, guard};

/// `roving_options` of the header.
#[repr(C)]
pub(crate) struct Options {
    workers: usize,
    stack_size: usize,
    task_slots: usize,
    assume_cores: usize,
    pin: c_int,
    profile: c_int,
    name: *const c_char,
}

/// # Safety
/// `options` is null, or valid with a name that is null or a string; `pool` is null, or valid.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn roving_pool_new_(
    layout: *const Layout,
    options: *const Options,
    pool: *mut *mut Pool,
) -> Status {
    guard(|| {
        // SAFETY: a constant of the header.
        if unsafe { layout.as_ref() } != Some(&foreign::LAYOUT) {
            return Err(CallFailure::of(Status::Version));
        }
        let pool = required(pool, "pool")?;
        // SAFETY: the caller says so.
        let built = unsafe { build(options.as_ref()) }?;
        // SAFETY: not null, and the caller says that it is valid.
        unsafe { pool.write(Box::into_raw(Box::new(built))) };
        Ok(())
    })
}

/// # Safety
/// The name is null, or a string.
unsafe fn build(options: Option<&Options>) -> Result<Pool, CallFailure> {
    let mut builder = Pool::builder();
    let Some(options) = options else {
        return Ok(builder.build()?);
    };
    if options.workers > 0 {
        builder = builder.workers(options.workers);
    }
    if options.stack_size > 0 {
        builder = builder.stack_size(options.stack_size);
    }
    if options.task_slots > 0 {
        builder = builder.task_slots(options.task_slots);
    }
    if options.assume_cores > 0 {
        builder = builder.assume_cores(options.assume_cores);
    }
    if !options.name.is_null() {
        // SAFETY: not null, and the caller says that it is a string.
        let name = unsafe { CStr::from_ptr(options.name) };
        builder = builder.name(name.to_string_lossy());
    }
    let builder = builder.pin(options.pin != 0);
    Ok(builder.profile(options.profile != 0).build()?)
}

/// # Safety
/// The pool is null, or was made by [`roving_pool_new_`] and not freed.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn roving_pool_free(pool: *mut Pool) -> Status {
    // SAFETY: the caller says so.
    unsafe { free(pool) }
}

/// # Safety
/// The pool is null or alive, and the body can be called on one of its workers.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn roving_pool_run(
    pool: *const Pool,
    body: Option<Body>,
    arg: *mut c_void,
) -> Status {
    guard(|| {
        let body = body.ok_or_else(|| CallFailure::argument("the function is null"))?;
        let arg = Sendable(arg);
        let run = move || {
            let Sendable(arg) = { arg };
            let _border = Border::cross();
            // SAFETY: the caller's promise.
            unsafe { body(foreign::wire(), arg) };
        };
        // SAFETY: the caller says so.
        match unsafe { pool.as_ref() } {
            Some(pool) => pool.install(run),
            None => run_on_worker(run),
        }
        Ok(())
    })
}

/// # Safety
/// The pool is null or alive.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn roving_pool_workers(pool: *const Pool) -> usize {
    let mut workers = 0;
    // The number says whether it failed.
    let _ = guard(|| {
        // SAFETY: the caller says so.
        workers = match unsafe { pool.as_ref() } {
            Some(pool) => pool.workers(),
            None => roving::current_workers(),
        };
        Ok(())
    });
    workers
}

/// # Safety
/// `index` is null, or valid.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn roving_current_worker(index: *mut usize) -> Status {
    guard(|| {
        let index = required(index, "index")?;
        let here = roving::current_worker().ok_or_else(|| CallFailure::of(Status::NotAWorker))?;
        // SAFETY: not null, and the caller says that it is valid.
        unsafe { index.write(here) };
        Ok(())
    })
}
