//! The memory of a task stack.

use std::ops::Deref;
use std::ptr::NonNull;
use std::slice;

use super::slot::Slot;
use crate::machine::prim::IS_EXPLORED;
use memory::ZeroedMemory;

/// An array of slots of which no page is touched before it is used: a stack that stays shallow
/// costs a page or two, and one that is never used costs none.
pub(super) struct Slots {
    first: NonNull<Slot>,
    count: usize,
    _memory: ZeroedMemory,
}

impl Slots {
    /// `None` when there is no memory.
    pub(super) fn new(count: usize) -> Option<Slots> {
        // Memory that is aligned for slots comes at the price of being touched; so a slot more is
        // asked for, and the first put where it belongs.
        let memory = ZeroedMemory::zeroed((count + 1) * size_of::<Slot>())?;
        let start = memory.start();
        // SAFETY: less than a slot's size further, and there is one slot more than `count`.
        let first = unsafe { start.add(start.align_offset(align_of::<Slot>())) }.cast();
        let slots = Slots {
            first,
            count,
            _memory: memory,
        };
        if IS_EXPLORED {
            for slot in 0..count {
                // SAFETY: that many fit.
                unsafe { slots.first.add(slot).write(Slot::new()) };
            }
        }
        Some(slots)
    }
}

impl Deref for Slots {
    type Target = [Slot];

    fn deref(&self) -> &[Slot] {
        // SAFETY: that many fit, and all-zero bytes are a free slot: generation 0, a null link,
        // and cells that count as uninitialised.
        unsafe { slice::from_raw_parts(self.first.as_ptr(), self.count) }
    }
}

// Slots have nothing to drop: a pool that ends has run all its tasks.

#[cfg(all(target_os = "linux", not(miri), not(roving_asan)))]
mod memory {
    use std::ptr::{self, NonNull};

    use crate::machine::faults::{self, Point};
    use crate::machine::linux;

    /// Zeroed memory straight from the system. An allocator keeps what is given back, and has to
    /// overwrite it with zeros when it hands it out again: for a pool that is made after another
    /// one, that was most of its cost, and touched every page.
    pub(super) struct ZeroedMemory {
        start: NonNull<u8>,
        bytes: usize,
    }

    impl ZeroedMemory {
        pub(super) fn zeroed(bytes: usize) -> Option<ZeroedMemory> {
            faults::ask(Point::Memory).ok()?;
            let (access, kind) = (
                linux::PROT_READ | linux::PROT_WRITE,
                linux::MAP_PRIVATE | linux::MAP_ANONYMOUS,
            );
            // SAFETY: a new mapping, wherever there is room.
            let start = unsafe { linux::mmap(ptr::null_mut(), bytes, access, kind, -1, 0) };
            let start = (start.addr() != usize::MAX).then(|| NonNull::new(start.cast()))??;
            Some(ZeroedMemory { start, bytes })
        }

        pub(super) fn start(&self) -> NonNull<u8> {
            self.start
        }
    }

    impl Drop for ZeroedMemory {
        fn drop(&mut self) {
            // SAFETY: mapped with this size by `zeroed`, and unmapped nowhere else.
            unsafe { linux::munmap(self.start.as_ptr().cast(), self.bytes) };
        }
    }
}

#[cfg(not(all(target_os = "linux", not(miri), not(roving_asan))))]
mod memory {
    use std::alloc::{Layout, alloc_zeroed, dealloc};
    use std::ptr::NonNull;

    use crate::machine::faults::with_answered_memory;

    /// Zeroed memory of the allocator, which a tool that looks for leaks and for use after free
    /// knows.
    pub(super) struct ZeroedMemory {
        start: NonNull<u8>,
        layout: Layout,
    }

    impl ZeroedMemory {
        pub(super) fn zeroed(bytes: usize) -> Option<ZeroedMemory> {
            // The allocator has zeroed memory to hand out untouched, but only for ordinary
            // alignments.
            let layout = Layout::array::<u64>(bytes / size_of::<u64>());
            let layout = layout.expect("SLOTS_MAX bounds it");
            // SAFETY: the layout is not empty.
            let start = with_answered_memory(|| NonNull::new(unsafe { alloc_zeroed(layout) }))?;
            Some(ZeroedMemory { start, layout })
        }

        pub(super) fn start(&self) -> NonNull<u8> {
            self.start
        }
    }

    impl Drop for ZeroedMemory {
        fn drop(&mut self) {
            // SAFETY: allocated with this layout by `zeroed`, and freed nowhere else.
            unsafe { dealloc(self.start.as_ptr(), self.layout) };
        }
    }
}
