//! The allocator of frames: from a worker's free list, or else from the system.

use std::alloc::{alloc, dealloc, handle_alloc_error};
use std::ptr::NonNull;

use super::local::Local;
use super::store::Size;
use crate::stats::{Activity, bump};
use crate::workers::Worker;

/// Memory for a frame of that size.
#[inline(always)]
pub(super) fn take(size: &'static Size) -> NonNull<u8> {
    let kept = Local::with(|local| local.store.lists.get(size.class)?.pop());
    match kept {
        Some(at) => at,
        None => take_slowly(size),
    }
}

/// A foreign function, so that the compiler knows that nothing unwinds out of it: then nothing has
/// to keep the future's address for a clean-up, and it is made where it belongs instead of being
/// copied there.
#[cold]
#[inline(never)]
extern "C" fn take_slowly(size: &'static Size) -> NonNull<u8> {
    let get = || {
        // SAFETY: a frame is never empty.
        let at = NonNull::new(unsafe { alloc(size.layout) });
        at.unwrap_or_else(|| handle_alloc_error(size.layout))
    };
    Worker::with_current(|worker| match worker {
        None => get(),
        Some(worker) => {
            let doing = worker.clock().enter(Activity::Frame);
            bump(&worker.tally().frames_allocated, 1);
            let at = get();
            worker.clock().enter(doing);
            at
        }
    })
}

/// Takes the memory of a frame back.
///
/// # Safety
/// `at` came from [`take`] with that size, and is not used any more.
#[inline(always)]
pub(super) unsafe fn give(at: NonNull<u8>, size: &'static Size) {
    let list = |local: &Local| Some(local.store.lists.get(size.class)?.push(at));
    if Local::with(list) != Some(true) {
        // SAFETY: the caller's promise.
        unsafe { give_slowly(at, size) };
    }
}

/// # Safety
/// As [`give`].
#[cold]
#[inline(never)]
unsafe fn give_slowly(at: NonNull<u8>, size: &'static Size) {
    // SAFETY: the caller's promise; `take_slowly` used the same layout.
    let free = || unsafe { dealloc(at.as_ptr(), size.layout) };
    Worker::with_current(|worker| match worker {
        None => free(),
        Some(worker) => {
            let doing = worker.clock().enter(Activity::Frame);
            bump(&worker.tally().frames_freed, 1);
            free();
            worker.clock().enter(doing);
        }
    });
}
