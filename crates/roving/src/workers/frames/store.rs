//! The allocator of frames: free lists of each worker, one for each size.

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::cell::Cell;
use std::ptr::{self, NonNull};

use super::local::Local;
use crate::machine::prim::{AtomicU64, Ordering};
use crate::stats::{Activity, bump};
use crate::workers::Worker;

/// Sizes are multiples of this, and frames aligned to it: a cache line.
const UNIT: usize = 64;
/// Frames of more units than this come from the allocator.
const UNITS_MAX: usize = 16;
/// A list holds at most so many units, a megabyte.
const KEPT_MAX: usize = 1 << 14;

/// The free frames of one worker. A frame that is freed by another worker than took it stays with
/// that one; the bound on a list's length bounds what can gather there.
pub(super) struct Store {
    lists: [List; UNITS_MAX],
}

/// Free frames of one size; the owner's alone but for the room.
struct List {
    first: Cell<*mut Free>,
    /// How many more it may hold.
    room: AtomicU64,
}

/// A free frame.
struct Free {
    next: *mut Free,
}

/// How the memory of a frame is got and given back.
#[derive(Clone, Copy)]
pub(super) struct Size {
    /// Which list it belongs to; `UNITS_MAX` for none.
    class: usize,
    layout: Layout,
}

impl Size {
    pub(super) const fn of(layout: Layout) -> Size {
        let units = layout.size().div_ceil(UNIT);
        if units > UNITS_MAX || layout.align() > UNIT {
            let class = UNITS_MAX;
            return Size { class, layout };
        }
        match Layout::from_size_align(units * UNIT, UNIT) {
            Ok(layout) => Size {
                class: units - 1,
                layout,
            },
            Err(_) => unreachable!(),
        }
    }
}

/// How many frames of a class may lie in its list.
fn most(class: usize) -> u64 {
    (KEPT_MAX / (class + 1)) as u64
}

impl Store {
    pub(super) fn new() -> Store {
        let store = Store::none();
        for (class, list) in store.lists.iter().enumerate() {
            list.set_room(most(class));
        }
        store
    }

    /// Nothing in it, and no room.
    pub(super) const fn none() -> Store {
        Store {
            lists: [const {
                List {
                    first: Cell::new(ptr::null_mut()),
                    room: AtomicU64::new(0),
                }
            }; UNITS_MAX],
        }
    }

    /// How many frames lie here. By anybody.
    pub(super) fn kept(&self) -> u64 {
        let lists = self.lists.iter().enumerate();
        // Ordering: Relaxed; a figure.
        lists
            .map(|(class, list)| most(class) - list.room.load(Ordering::Relaxed))
            .sum()
    }
}

impl List {
    #[inline(always)]
    fn room(&self) -> u64 {
        // Ordering: Relaxed; written by the calling worker alone.
        self.room.load(Ordering::Relaxed)
    }

    #[inline(always)]
    fn set_room(&self, room: u64) {
        // Ordering: Relaxed; a figure to others.
        self.room.store(room, Ordering::Relaxed);
    }

    #[inline(always)]
    fn pop(&self) -> Option<NonNull<u8>> {
        let first = NonNull::new(self.first.get())?;
        // SAFETY: what is in the list is free memory, with the link written into it.
        self.first.set(unsafe { first.as_ref() }.next);
        self.set_room(self.room() + 1);
        Some(first.cast())
    }

    /// False when it holds as many as it may.
    #[inline(always)]
    fn push(&self, at: NonNull<u8>) -> bool {
        let room = self.room();
        if room == 0 {
            return false;
        }
        let free = at.cast::<Free>();
        let next = self.first.get();
        // SAFETY: the caller gives the memory up; it is large and aligned enough.
        unsafe { free.write(Free { next }) };
        self.first.set(free.as_ptr());
        self.set_room(room - 1);
        true
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
