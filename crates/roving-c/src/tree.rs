//! Called by the coroutines of `roving_task.hpp`: trees of them, and the slow halves of a fork and
//! of its end.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr;

use roving::raw::foreign::{self, Opaque};
use roving::raw::trees::{self, Code, Tree, Words};

use crate::call::Body;
use crate::status::{CallFailure, Status, guard};
use crate::task::misuse;

/// Written by a fork into its slot, for a thief to call.
#[unsafe(no_mangle)]
pub(crate) static roving_run_tree_: Opaque = trees::RUN;

/// Runs the first coroutine of a tree. The last number is 1 if the tree may be cancelled.
type Begin = unsafe extern "C-unwind" fn(*const (), *const Tree, *mut c_void, c_int);

/// Calls `body` with a new tree; returns when all coroutines of that have ended.
///
/// # Safety
/// The body can be called with the argument; it throws nothing, and leaves the stack as it was.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn roving_tree_run_(body: Begin, arg: *mut c_void) -> Status {
    guard(|| {
        let has_token = Tree::has_token().into();
        // SAFETY: the caller's promise.
        let run = unsafe { Tree::run(|tree| body(foreign::wire(), tree, arg, has_token)) };
        run.then_some(())
            .ok_or_else(|| CallFailure::of(Status::NotAWorker))
    })
}

/// Calls `body` on a worker that has taken a coroutine of the tree out of a slot.
///
/// # Safety
/// As [`roving_tree_run_`]; the coroutine has not ended.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn roving_tree_join_(tree: *const Tree, body: Body, arg: *mut c_void) {
    // SAFETY: the caller's promise.
    unsafe { Tree::join_in(tree, || body(foreign::wire(), arg)) };
}

/// The slow push of a continuation, and that of a child which was spawned. 0: there is no room.
///
/// # Safety
/// As [`trees::push`].
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn roving_tree_push_(
    code: Code,
    words: *const Words,
    stays: c_int,
) -> c_int {
    // SAFETY: the caller's promise.
    let pushed = unsafe {
        match stays {
            0 => trees::push(code, *words),
            _ => trees::push_unjoined(code, *words),
        }
    };
    pushed.into()
}

/// The newest task of the calling worker, if it is one of that code and known by `key`, and no
/// thief has it; or null.
///
/// # Safety
/// The calling thread runs coroutines, and the code is that of its pushes.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn roving_tree_take_(code: Code, key: u64) -> *const () {
    // SAFETY: the caller's promise.
    unsafe { trees::take_newest(code, key) }.unwrap_or(ptr::null())
}

/// The first free slot of the calling worker's stack.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn roving_tree_top_() -> *const () {
    trees::top()
}

/// The newest coroutine above `base` on the calling worker's stack; null when nothing is left.
///
/// # Safety
/// The top was `base` when the calling thread began to run coroutines, and it runs none now.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn roving_tree_next_(base: *const ()) -> *const () {
    // SAFETY: the caller's promise.
    unsafe { trees::take_above(base) }.unwrap_or(ptr::null())
}

/// Says what the program did that it must not, and where, and ends the process.
///
/// # Safety
/// Strings.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn roving_misuse_(
    what: *const c_char,
    file: *const c_char,
    line: c_int,
) -> ! {
    // SAFETY: the caller's promise.
    let (what, file) = unsafe { (CStr::from_ptr(what), CStr::from_ptr(file)) };
    let (what, file) = (what.to_string_lossy(), file.to_string_lossy());
    misuse(&format!("{file}:{line}: {what}"));
}
