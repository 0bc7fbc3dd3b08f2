//! Memory of a vector that is written in parallel, and counted.

use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::{ptr, slice};

use super::owned::drop_items;
use crate::engine::Companion;

/// A range of slots behind the items of a vector, for whoever has this value and nobody else.
///
/// Invariant: `base` leads to memory of at least `end` items, which stays where it is for `'a`; no
/// other value of this type has a slot of this one's; and the slots are not initialized.
pub(crate) struct EmptySlots<'a, T> {
    base: *mut T,
    start: usize,
    end: usize,
    memory: PhantomData<&'a mut [T]>,
}

// SAFETY: `base` is what asks for this. Only the slots from `start` to `end` are reached through
// it, which by the invariant belong to this value alone; items are moved into them, so `T: Send`.
unsafe impl<T: Send> Send for EmptySlots<'_, T> {}

impl<'a, T: Send> EmptySlots<'a, T> {
    /// Moves items into the slots until either ends.
    #[inline]
    pub(crate) fn fill(self, items: impl Iterator<Item = T>) -> Filled<'a, T> {
        let mut filled = Filled {
            base: self.base,
            start: self.start,
            end: self.start,
            is_whole: true,
            memory: PhantomData,
        };
        let room = self.end - self.start;
        items.take(room).for_each(|item| {
            // SAFETY: at most `room` items come, so that the slot lies below `self.end`: inside
            // the memory, and this value's alone. Nothing in it needs to be dropped.
            unsafe { filled.base.add(filled.end).write(item) };
            // Only now does it belong to `filled`, which drops it should the next item panic.
            filled.end += 1;
        });
        filled
    }
}

impl<T: Send> Companion for EmptySlots<'_, T> {
    /// The invariant passes to the two halves, which have no slot in common.
    fn cut(self, at: usize) -> (Self, Self) {
        let middle = self.start.saturating_add(at).min(self.end);
        let upper = EmptySlots {
            start: middle,
            ..self
        };
        let lower = EmptySlots {
            end: middle,
            ..self
        };
        (lower, upper)
    }

    /// None: how many items a unit has inside is not known.
    fn inside(&mut self) -> Self {
        EmptySlots {
            end: self.start,
            ..*self
        }
    }
}

/// Slots that have been filled, and drop their items unless they get to [`append_filled`].
///
/// Invariant: the slots from `start` to `end` are initialized, inside the memory of `base`, and
/// belong to this value alone.
pub(crate) struct Filled<'a, T> {
    base: *mut T,
    start: usize,
    end: usize,
    /// None have been put beside these that were not adjacent.
    is_whole: bool,
    memory: PhantomData<&'a mut [T]>,
}

// SAFETY: `base` is what asks for this. Only the items from `start` to `end` are reached through
// it, which by the invariant belong to this value alone; they may be dropped on another thread, so
// `T: Send`.
unsafe impl<T: Send> Send for Filled<'_, T> {}

impl<'a, T> Filled<'a, T> {
    /// No slots.
    pub(crate) fn none() -> Filled<'a, T> {
        Filled {
            base: ptr::dangling_mut(),
            start: 0,
            end: 0,
            is_whole: true,
            memory: PhantomData,
        }
    }

    /// Puts `upper` behind these. Where they are not adjacent, because a part was cancelled or
    /// panicked, or by a fault of an iterator, those of `upper` are dropped, and [`append_filled`]
    /// panics.
    pub(crate) fn and(mut self, mut upper: Filled<'a, T>) -> Filled<'a, T> {
        self.is_whole &= upper.is_whole;
        if upper.start == upper.end {
            return self;
        }
        if self.start == self.end {
            upper.is_whole = self.is_whole;
            return upper;
        }
        if self.end == upper.start && ptr::eq(self.base, upper.base) {
            // The invariant: both were initialized and are `self`'s from here on.
            self.end = upper.end;
            upper.end = upper.start;
        } else {
            self.is_whole = false;
            // While these are a variable still: they are not leaked where that panics.
            drop(upper);
        }
        self
    }
}

impl<T> Drop for Filled<'_, T> {
    fn drop(&mut self) {
        if self.start == self.end {
            return;
        }
        // SAFETY: by the invariant these slots are initialized, inside the memory of `base`, and
        // belong to this value, which ends here; `MaybeUninit<T>` has the layout of `T`.
        unsafe {
            let first = self.base.add(self.start).cast::<MaybeUninit<T>>();
            drop_items(slice::from_raw_parts_mut(first, self.end - self.start));
        }
    }
}

/// Has `fill` write `len` items behind those of the vector. If it unwinds, the vector is as before.
///
/// # Panics
/// If `fill` has not filled all slots.
pub(crate) fn append_filled<T, F>(vec: &mut Vec<T>, len: usize, fill: F)
where
    T: Send,
    F: for<'a> FnOnce(EmptySlots<'a, T>) -> Filled<'a, T>,
{
    vec.reserve(len);
    let before = vec.len();
    // SAFETY: `before` is at most the capacity, so the result is inside the vector's memory, or
    // one past it.
    let base = unsafe { vec.as_mut_ptr().add(before) };
    // The invariant: `reserve` made room for `len` items from `base` on; the vector is not
    // touched before `fill` has returned, and then no `EmptySlots` of it are left, as `fill` knows
    // nothing of `'a` but that it is as long as the call.
    let slots = EmptySlots {
        base,
        start: 0,
        end: len,
        memory: PhantomData,
    };
    let mut filled = fill(slots);
    let (start, end) = (filled.start, filled.end);
    let is_ours = len == 0 || ptr::eq(filled.base, base);
    assert!(
        filled.is_whole && is_ours && start == 0 && end == len,
        "an iterator of {len} items yielded others: {start} to {end}"
    );
    filled.end = filled.start;
    // SAFETY: `before + len` is at most the capacity, and by the invariant of `filled`, whose
    // slots are those from `base` on, the `len` items behind the first `before` are initialized.
    // `filled` has let go of them.
    unsafe { vec.set_len(before + len) };
}
