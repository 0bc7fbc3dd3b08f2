//! The memory of a task stack.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::ops::Deref;
use std::ptr::NonNull;
use std::slice;

use super::slot::Slot;
use crate::faults::with_answered_memory;

/// An array of slots of which no page is touched before it is used: a stack that stays shallow
/// costs a page or two, and one that is never used costs none.
pub(super) struct Slots {
    first: NonNull<Slot>,
    count: usize,
    memory: NonNull<u8>,
    layout: Layout,
}

impl Slots {
    /// `None` when there is no memory.
    pub(super) fn new(count: usize) -> Option<Slots> {
        // The allocator has zeroed memory to hand out untouched, but only for ordinary
        // alignments; so a slot more is asked for, and the first put where it belongs.
        let layout = Layout::array::<u64>((count + 1) * size_of::<Slot>() / size_of::<u64>());
        let layout = layout.expect("SLOTS_MAX bounds it");
        // SAFETY: the layout is not empty.
        let memory = with_answered_memory(|| NonNull::new(unsafe { alloc_zeroed(layout) }))?;
        // SAFETY: less than a slot's size further, and there is one slot more than `count`.
        let first = unsafe { memory.add(memory.align_offset(align_of::<Slot>())) }.cast();
        Some(Slots {
            first,
            count,
            memory,
            layout,
        })
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

impl Drop for Slots {
    fn drop(&mut self) {
        // Slots have nothing to drop: a pool that ends has run all its tasks.
        // SAFETY: allocated with this layout.
        unsafe { dealloc(self.memory.as_ptr(), self.layout) };
    }
}
