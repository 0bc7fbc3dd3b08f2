//! Operations that wait: one of them, or several, in one pointer.

use std::ptr::{self, NonNull};

use super::words::{ChannelEnd, Words};

/// An operation that could not be done at once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Op {
    words: NonNull<Words>,
    pub(crate) end: ChannelEnd,
}

// SAFETY: the words are made for several threads, and the network keeps its channels while any of
// its processes is there.
unsafe impl Send for Op {}

impl Op {
    /// By a process that keeps the channel.
    #[inline(always)]
    pub(crate) fn new(words: &Words, end: ChannelEnd) -> Op {
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
            0 => ChannelEnd::Reader,
            _ => ChannelEnd::Writer,
        };
        // SAFETY: what was packed is not null.
        let words = unsafe { NonNull::new_unchecked(packed.map_addr(|at| at & !1)) };
        Op { words, end }
    }
}

/// Where a process is suspended, in one pointer, so that a process is small: null for nowhere; an
/// operation, packed; or those of a list, with the second lowest bit.
pub(crate) struct Waits(*mut ());

/// The operations of [`Waits`].
pub(crate) enum At<'w> {
    Nowhere,
    One(Op),
    Any(&'w [Op]),
}

const SEVERAL: usize = 0b10;

/// A list of operations.
struct Several {
    ops: Vec<Op>,
    /// The process waits for each of them. Else it may have given one up.
    is_exact: bool,
}

// SAFETY: operations are `Send`, and the list is this one's own.
unsafe impl Send for Waits {}

impl Waits {
    pub(crate) const NOWHERE: Waits = Waits(ptr::null_mut());

    #[inline(always)]
    fn one(op: Op) -> Waits {
        Waits(op.pack().cast())
    }

    fn any(ops: Vec<Op>) -> Waits {
        let is_exact = false;
        let list: *mut Several = Box::into_raw(Box::new(Several { ops, is_exact }));
        Waits(list.map_addr(|at| at | SEVERAL).cast())
    }

    /// Those of these operations and that one.
    #[inline(always)]
    pub(crate) fn and(self, op: Op) -> Waits {
        match self.at() {
            At::Nowhere => Waits::one(op),
            At::One(only) if only == op => self,
            At::One(_) | At::Any(_) => self.and_another(op),
        }
    }

    /// Apart from what nearly all wait for, which is one thing.
    #[inline(never)]
    fn and_another(self, op: Op) -> Waits {
        let Some(list) = self.list() else {
            let At::One(first) = self.at() else {
                return Waits::one(op);
            };
            return Waits::any(vec![first, op]);
        };
        // SAFETY: made by `any`, and this one's own.
        let several = unsafe { &mut *list };
        several.is_exact = false;
        if !several.ops.contains(&op) {
            several.ops.push(op);
        }
        self
    }

    /// The process waits for each of these operations.
    pub(crate) fn exactly(self) -> Waits {
        if let Some(list) = self.list() {
            // SAFETY: made by `any`, and this one's own.
            unsafe { (*list).is_exact = true };
        }
        self
    }

    /// Whether the process waits for each of these operations, or may have given one up.
    pub(crate) fn are_exact(&self) -> bool {
        // SAFETY: made by `any`, and dropped with this.
        self.list().is_none_or(|list| unsafe { (*list).is_exact })
    }

    /// Those of these operations that are another one.
    pub(crate) fn without(self, op: Op) -> Waits {
        let left = |ops: &[Op]| ops.iter().copied().filter(|one| *one != op).collect();
        let left: Vec<Op> = match self.at() {
            At::Nowhere => return self,
            At::One(only) => left(&[only]),
            At::Any(ops) => left(ops),
        };
        match left[..] {
            [] => Waits::NOWHERE,
            [only] => Waits::one(only),
            _ => Waits::any(left),
        }
    }

    fn list(&self) -> Option<*mut Several> {
        let is_list = self.0.addr() & SEVERAL != 0;
        is_list.then(|| self.0.map_addr(|at| at & !SEVERAL).cast())
    }

    #[inline(always)]
    pub(crate) fn at(&self) -> At<'_> {
        match self.list() {
            None if self.0.is_null() => At::Nowhere,
            // SAFETY: packed by `one`, whose caller keeps the channel.
            None => At::One(unsafe { Op::unpack(self.0.cast()) }),
            // SAFETY: made by `any`, and dropped with this.
            Some(list) => At::Any(unsafe { &(*list).ops }),
        }
    }
}

impl Drop for Waits {
    #[inline(always)]
    fn drop(&mut self) {
        if let Some(list) = self.list() {
            // SAFETY: made by `any`, and given up here.
            drop(unsafe { Box::from_raw(list) });
        }
    }
}
