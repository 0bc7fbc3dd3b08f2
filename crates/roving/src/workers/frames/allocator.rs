//! The allocator of frames: from a worker's free list, or else from the system.

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::ptr::NonNull;

use super::free_lists::{ALIGN, Class, Size};
use super::header::Header;
use super::local::Local;
use crate::stats::{Activity, bump};
use crate::workers::Worker;

/// Memory for a frame of that size.
#[inline(always)]
pub(super) fn take(size: &'static Size) -> NonNull<u8> {
    match Local::with(|local| local.store.list(size.class).pop()) {
        Some(at) => at,
        None => take_slowly(size),
    }
}

/// The memory of a frame with such a body.
pub(super) const fn layout_of(body: Layout) -> Layout {
    match Layout::new::<Header>().extend(body) {
        Ok((layout, _)) => layout,
        Err(_) => panic!("a future is too large"),
    }
}

/// How far into its memory a frame begins: so that its body lies right behind the header, and is
/// aligned as the memory is.
fn before(layout: Layout) -> usize {
    size_of::<Header>().next_multiple_of(layout.align()) - size_of::<Header>()
}

// Those of the lists begin where their memory does.
const _: () = assert!(size_of::<Header>() % ALIGN == 0);

/// A foreign function, so that the compiler knows that nothing unwinds out of it: then nothing has
/// to keep the future's address for a clean-up, and it is made where it belongs instead of being
/// copied there.
#[cold]
#[inline(never)]
extern "C" fn take_slowly(size: &'static Size) -> NonNull<u8> {
    let get = || {
        // SAFETY: a frame is never empty.
        let at = NonNull::new(unsafe { alloc(size.layout) });
        let at = at.unwrap_or_else(|| handle_alloc_error(size.layout));
        // SAFETY: within the memory, which is that large and a header more.
        unsafe { at.add(before(size.layout)) }
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
/// `at` came from [`take`] with a size of that class and layout, and is not used any more.
#[inline(always)]
pub(super) unsafe fn give(at: NonNull<u8>, class: Class, layout: impl FnOnce() -> Layout) {
    if !Local::with(|local| local.store.list(class).push(at)) {
        // SAFETY: the caller's promise.
        unsafe { give_slowly(at, layout()) };
    }
}

/// # Safety
/// As [`give`].
#[cold]
#[inline(never)]
unsafe fn give_slowly(at: NonNull<u8>, layout: Layout) {
    // SAFETY: the caller's promise; `take_slowly` used the same layout.
    let free = || unsafe { dealloc(at.sub(before(layout)).as_ptr(), layout) };
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
