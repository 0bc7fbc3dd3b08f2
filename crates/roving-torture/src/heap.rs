//! An allocator that counts what it has given out and not got back.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicI64, Ordering::Relaxed};

use crate::census::shard;

/// The system's allocator, and two sums.
pub(crate) struct Counting;

#[repr(align(128))]
struct Shard {
    blocks: AtomicI64,
    bytes: AtomicI64,
}

static SHARDS: [Shard; 64] = [const {
    Shard {
        blocks: AtomicI64::new(0),
        bytes: AtomicI64::new(0),
    }
}; 64];

/// Memory that is in use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct InUse {
    pub(crate) blocks: i64,
    pub(crate) bytes: i64,
}

/// Returns the memory in use by the whole program; exact while no other thread allocates.
pub(crate) fn in_use() -> InUse {
    let mut sum = InUse::default();
    for shard in &SHARDS {
        sum.blocks += shard.blocks.load(Relaxed);
        sum.bytes += shard.bytes.load(Relaxed);
    }
    sum
}

fn count(blocks: i64, bytes: i64) {
    let shard = &SHARDS[shard()];
    shard.blocks.fetch_add(blocks, Relaxed);
    shard.bytes.fetch_add(bytes, Relaxed);
}

// SAFETY: every call goes on to the system's allocator with what it came with; counting allocates
// nothing, because the thread-local that it reads needs neither initialisation nor a destructor.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(1, layout.size() as i64);
        // SAFETY: the caller's promise is handed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(1, layout.size() as i64);
        // SAFETY: the caller's promise is handed on.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        count(-1, -(layout.size() as i64));
        // SAFETY: the caller's promise is handed on.
        unsafe { System.dealloc(at, layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(0, size as i64 - layout.size() as i64);
        // SAFETY: the caller's promise is handed on.
        unsafe { System.realloc(at, layout, size) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_large_block_is_counted_until_it_is_freed() {
        // Other tests allocate meanwhile, but not as much.
        const SIZE: i64 = 1 << 30;
        let before = in_use().bytes;
        let block = vec![0_u8; SIZE as usize];
        assert!(in_use().bytes - before > SIZE / 2);
        drop(block);
        assert!(in_use().bytes - before < SIZE / 2);
    }
}
