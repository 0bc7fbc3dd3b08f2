//! Where the memory of frames comes from: free lists of each worker, one for each size.

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::cell::Cell;
use std::ptr::{self, NonNull};

use super::local::Local;
use crate::prim::{AtomicU64, Ordering};
use crate::stats::{Activity, bump};
use crate::worker::Worker;

/// Sizes are multiples of this, and frames aligned to it: a cache line.
const UNIT: usize = 64;
/// Frames of more units than this come from the allocator.
const UNITS_MAX: usize = 16;
/// A list holds at most so many units, a megabyte.
const KEPT_MAX: u64 = 1 << 14;

/// The free frames of one worker. A frame that is freed by another worker than took it stays with
/// that one; the bound on a list's length bounds what can gather there.
pub(super) struct Store {
    lists: [List; UNITS_MAX],
}

/// Free frames of one size; the owner's alone but for the length.
struct List {
    first: Cell<*mut Free>,
    length: AtomicU64,
}

/// A free frame.
struct Free {
    next: *mut Free,
}

/// Which list a frame of that layout belongs to.
#[inline(always)]
const fn class(layout: Layout) -> Option<usize> {
    let units = layout.size().div_ceil(UNIT);
    if units <= UNITS_MAX && layout.align() <= UNIT {
        Some(units - 1)
    } else {
        None
    }
}

/// The layout that a frame is allocated with.
const fn whole(layout: Layout) -> Layout {
    match class(layout) {
        Some(class) => match Layout::from_size_align((class + 1) * UNIT, UNIT) {
            Ok(layout) => layout,
            Err(_) => unreachable!(),
        },
        None => layout,
    }
}

impl Store {
    pub(super) fn new() -> Store {
        Store {
            lists: std::array::from_fn(|_| List {
                first: Cell::new(ptr::null_mut()),
                length: AtomicU64::new(0),
            }),
        }
    }

    /// How many frames lie here. By anybody.
    pub(super) fn kept(&self) -> u64 {
        // Ordering: Relaxed; a figure.
        let lengths = self.lists.iter().map(|l| l.length.load(Ordering::Relaxed));
        lengths.sum()
    }
}

impl List {
    #[inline(always)]
    fn length(&self) -> u64 {
        // Ordering: Relaxed; written by the calling worker alone.
        self.length.load(Ordering::Relaxed)
    }

    #[inline(always)]
    fn set_length(&self, length: u64) {
        // Ordering: Relaxed; a figure to others.
        self.length.store(length, Ordering::Relaxed);
    }

    #[inline(always)]
    fn pop(&self) -> Option<NonNull<u8>> {
        let first = NonNull::new(self.first.get())?;
        // SAFETY: what is in the list is free memory, with the link written into it.
        self.first.set(unsafe { first.as_ref() }.next);
        self.set_length(self.length() - 1);
        Some(first.cast())
    }

    #[inline(always)]
    fn push(&self, at: NonNull<u8>) {
        let free = at.cast::<Free>();
        let next = self.first.get();
        // SAFETY: the caller gives the memory up; it is large and aligned enough.
        unsafe { free.write(Free { next }) };
        self.first.set(free.as_ptr());
        self.set_length(self.length() + 1);
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        for (class, list) in self.lists.iter().enumerate() {
            let layout = Layout::from_size_align((class + 1) * UNIT, UNIT).expect("small");
            while let Some(at) = list.pop() {
                // SAFETY: allocated with that layout, by `take_slowly`.
                unsafe { dealloc(at.as_ptr(), layout) };
            }
        }
    }
}

/// Memory for a frame of that layout.
#[inline(always)]
pub(super) fn take(layout: Layout) -> NonNull<u8> {
    if let Some(class) = class(layout) {
        let kept = Local::with(|local| local.and_then(|local| local.store.lists[class].pop()));
        if let Some(at) = kept {
            return at;
        }
    }
    take_slowly(layout)
}

#[cold]
#[inline(never)]
fn take_slowly(layout: Layout) -> NonNull<u8> {
    let layout = whole(layout);
    let get = || {
        // SAFETY: a frame is never empty.
        let at = NonNull::new(unsafe { alloc(layout) });
        at.unwrap_or_else(|| handle_alloc_error(layout))
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
/// `at` came from [`take`] with that layout, and is not used any more.
#[inline(always)]
pub(super) unsafe fn give(at: NonNull<u8>, layout: Layout) {
    if let Some(class) = class(layout) {
        let kept = Local::with(|local| {
            let Some(local) = local else { return false };
            let list = &local.store.lists[class];
            let room = (list.length() + 1) * (class as u64 + 1) <= KEPT_MAX;
            if room {
                list.push(at);
            }
            room
        });
        if kept {
            return;
        }
    }
    // SAFETY: the caller's promise.
    unsafe { give_slowly(at, layout) };
}

/// # Safety
/// As [`give`].
#[cold]
#[inline(never)]
unsafe fn give_slowly(at: NonNull<u8>, layout: Layout) {
    // SAFETY: the caller's promise; `take_slowly` used the same layout.
    let free = || unsafe { dealloc(at.as_ptr(), whole(layout)) };
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
