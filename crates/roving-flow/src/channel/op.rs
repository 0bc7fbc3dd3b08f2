//! An operation that waits, in one pointer.

use std::ptr::NonNull;

use super::words::{End, Words};

/// An operation that could not be done at once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Op {
    words: NonNull<Words>,
    pub(crate) end: End,
}

// SAFETY: the words are made for several threads, and the network keeps its channels while any of
// its processes is there.
unsafe impl Send for Op {}

impl Op {
    /// By a process that keeps the channel.
    #[inline(always)]
    pub(crate) fn new(words: &Words, end: End) -> Op {
        let words = NonNull::from(words);
        Op { words, end }
    }

    #[inline(always)]
    pub(crate) fn words(&self) -> &Words {
        // SAFETY: noted by a process of the network that the channel belongs to, which keeps it.
        unsafe { self.words.as_ref() }
    }

    /// In one pointer: which end, in the lowest bit.
    #[inline(always)]
    pub(crate) fn pack(self) -> *mut Words {
        self.words.as_ptr().map_addr(|at| at | self.end as usize)
    }

    /// # Safety
    /// The pointer was packed, and the channel's network still runs.
    pub(crate) unsafe fn unpack(packed: *mut Words) -> Op {
        let end = match packed.addr() & 1 {
            0 => End::Reader,
            _ => End::Writer,
        };
        // SAFETY: what was packed is not null.
        let words = unsafe { NonNull::new_unchecked(packed.map_addr(|at| at & !1)) };
        Op { words, end }
    }
}
