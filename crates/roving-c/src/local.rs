//! One piece of memory for each worker.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::ffi::c_void;
use std::ptr::NonNull;

use roving::WorkerLocal;

use crate::call::{Sendable, free, function, required};
use crate::status::{CallFailure, NoMemory, Status, guard};

/// Makes or ends a value.
type Change = unsafe extern "C-unwind" fn(value: *mut c_void, arg: *mut c_void);

/// A value of the caller's, in memory that no other worker's shares a line with.
struct Value {
    memory: NonNull<u8>,
    layout: Layout,
    end: Option<Change>,
    arg: Sendable,
}

// SAFETY: only the caller's functions touch the memory, and they are told on which thread they run.
unsafe impl Send for Value {}

impl Value {
    fn at(&self) -> *mut c_void {
        self.memory.as_ptr().cast()
    }
}

impl Drop for Value {
    fn drop(&mut self) {
        if let Some(end) = self.end {
            // SAFETY: who gave the function has promised that it can be called with the value.
            unsafe { end(self.at(), self.arg.0) };
        }
        // SAFETY: allocated with this layout, and freed once.
        unsafe { dealloc(self.memory.as_ptr(), self.layout) };
    }
}

/// `roving_local` of the header.
pub(crate) struct ValuePerWorker(WorkerLocal<Value>);

/// # Safety
/// `local` is null, or valid; the functions can be called on any worker, with a value of so many
/// bytes.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn roving_local_new(
    bytes: usize,
    begin: Option<Change>,
    end: Option<Change>,
    arg: *mut c_void,
    local: *mut *mut ValuePerWorker,
) -> Status {
    guard(|| {
        let local = required(local, "local")?;
        let layout = Layout::from_size_align(bytes.max(1), 64);
        let layout =
            layout.map_err(|_| CallFailure::argument(format!("{bytes} bytes are too many")))?;
        let arg = Sendable(arg);
        let made = WorkerLocal::new(move || {
            let arg = { arg };
            // SAFETY: the layout is not empty.
            let memory = NonNull::new(unsafe { alloc_zeroed(layout) });
            let Some(memory) = memory else {
                NoMemory(bytes).unwind()
            };
            if let Some(begin) = begin {
                // SAFETY: who gave the function has promised that it can be called so.
                unsafe { begin(memory.as_ptr().cast(), arg.0) };
            }
            Value {
                memory,
                layout,
                end,
                arg,
            }
        });
        // SAFETY: not null, and the caller says that it is valid.
        unsafe { local.write(Box::into_raw(Box::new(ValuePerWorker(made)))) };
        Ok(())
    })
}

/// # Safety
/// Both are null, or valid.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn roving_local_get(
    local: *const ValuePerWorker,
    value: *mut *mut c_void,
) -> Status {
    guard(|| {
        let (local, value) = (
            required(local.cast_mut(), "local")?,
            required(value, "value")?,
        );
        // SAFETY: not null, and the caller says that it is alive.
        let at = unsafe { &(*local).0 }.try_with(Value::at);
        let at = at.ok_or_else(|| CallFailure::of(Status::NotAWorker))?;
        // SAFETY: not null, and the caller says that it is valid.
        unsafe { value.write(at) };
        Ok(())
    })
}

/// # Safety
/// The local is null, or alive and nobody uses it during the call.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn roving_local_each(
    local: *mut ValuePerWorker,
    each: Option<Change>,
    arg: *mut c_void,
) -> Status {
    guard(|| {
        let (local, each) = (required(local, "local")?, function(each, "each")?);
        // SAFETY: not null, and the caller says that nobody else uses it.
        for value in unsafe { &mut (*local).0 }.iter_mut() {
            // SAFETY: who gave the function has promised that it can be called so.
            unsafe { each(value.at(), arg) };
        }
        Ok(())
    })
}

/// # Safety
/// The local is null, or was made by [`roving_local_new`] and not freed.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn roving_local_free(local: *mut ValuePerWorker) -> Status {
    // SAFETY: the caller says so.
    unsafe { free(local) }
}
