//! Free frames: lists of each worker, one for each class of sizes.

use std::alloc::{Layout, dealloc};
use std::cell::Cell;
use std::ptr::{self, NonNull};

use crate::machine::prim::Ordering;
use crate::machine::prim::unexplored::AtomicU64;

/// Sizes are multiples of this, a cache line, less [`BEFORE`].
const UNIT: usize = 64;
/// Bytes that the system's allocator may put before a frame: those of a list lie one behind the
/// other with theirs.
const BEFORE: usize = size_of::<usize>();
/// Allocators align to this in any case. Asked for whole cache lines, glibc takes 96 bytes more for
/// each frame, which nothing else uses.
pub(super) const ALIGN: usize = 2 * size_of::<usize>();
/// Frames of more units than this come from the allocator.
const UNITS_MAX: usize = 16;
/// A list holds at most so many units, a megabyte.
const KEPT_MAX: usize = 1 << 14;

/// The free frames of one worker. A frame that is freed by another worker than took it stays with
/// that one; the bound on a list's length bounds what can gather there.
pub(super) struct Store {
    lists: [List; CLASSES],
}

/// Which list a frame belongs to: units less one. The last list is for those that belong to none:
/// it never has room, so nobody has to ask.
#[derive(Clone, Copy)]
pub(super) struct Class(u8);

const CLASSES: usize = UNITS_MAX + 1;

/// Free frames of one size; the owner's alone but for the room.
pub(super) struct List {
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
    pub(super) class: Class,
    pub(super) layout: Layout,
}

impl Size {
    pub(super) const fn of(layout: Layout) -> Size {
        let units = (layout.size() + BEFORE).div_ceil(UNIT);
        if units > UNITS_MAX || layout.align() > ALIGN {
            let class = Class(UNITS_MAX as u8);
            return Size { class, layout };
        }
        Size::of_class(units - 1)
    }

    const fn of_class(class: usize) -> Size {
        match Layout::from_size_align((class + 1) * UNIT - BEFORE, ALIGN) {
            Ok(layout) => Size {
                class: Class(class as u8),
                layout,
            },
            Err(_) => unreachable!(),
        }
    }
}

/// How many frames of a class may lie in its list.
fn most(class: usize) -> u64 {
    match class {
        UNITS_MAX => 0,
        _ => (KEPT_MAX / (class + 1)) as u64,
    }
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
            }; CLASSES],
        }
    }

    #[inline(always)]
    pub(super) fn list(&self, class: Class) -> &List {
        // SAFETY: a class is made by `Size`, and less than `CLASSES`.
        unsafe { self.lists.get_unchecked(usize::from(class.0)) }
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
    pub(super) fn pop(&self) -> Option<NonNull<u8>> {
        let first = NonNull::new(self.first.get())?;
        // SAFETY: what is in the list is free memory, with the link written into it.
        self.first.set(unsafe { first.as_ref() }.next);
        self.set_room(self.room() + 1);
        Some(first.cast())
    }

    /// False when it holds as many as it may.
    #[inline(always)]
    pub(super) fn push(&self, at: NonNull<u8>) -> bool {
        let Some(room) = self.room().checked_sub(1) else {
            return false;
        };
        let free = at.cast::<Free>();
        let next = self.first.get();
        // SAFETY: the caller gives the memory up; it is large and aligned enough.
        unsafe { free.write(Free { next }) };
        self.first.set(free.as_ptr());
        self.set_room(room);
        true
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        for (class, list) in self.lists.iter().enumerate() {
            let layout = Size::of_class(class).layout;
            while let Some(at) = list.pop() {
                // SAFETY: allocated with that layout, by `memory::take_slowly`.
                unsafe { dealloc(at.as_ptr(), layout) };
            }
        }
    }
}
