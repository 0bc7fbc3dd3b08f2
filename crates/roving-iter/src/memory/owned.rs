//! Items that pieces own, inside the memory of a vector that outlives them.

use std::mem::{self, MaybeUninit};
use std::ptr;
use std::slice;

/// Some adjacent items of a vector's memory, which belong to this value.
///
/// Invariant: all of `items` are initialized, and nothing else reads or drops them.
pub(crate) struct Owned<'a, T> {
    items: &'a mut [MaybeUninit<T>],
}

/// Takes all items out of a vector, which is empty afterwards but keeps their memory.
pub(crate) fn own_all<T>(vec: &mut Vec<T>) -> Owned<'_, T> {
    let len = vec.len();
    // SAFETY: 0 is at most the capacity, and no item below 0 needs to be initialized. The items
    // are not the vector's from here on.
    unsafe { vec.set_len(0) };
    // The invariant: the first `len` slots hold the items that the vector had, which no longer
    // drops nor shows them; and it is borrowed mutably for as long as this value lives.
    Owned {
        items: &mut vec.spare_capacity_mut()[..len],
    }
}

impl<'a, T> Owned<'a, T> {
    pub(crate) fn len(&self) -> usize {
        self.items.len()
    }

    /// The invariant passes to the two halves, because `self` keeps no items.
    pub(crate) fn cut(mut self, at: usize) -> (Self, Self) {
        let (lower, upper) = mem::take(&mut self.items).split_at_mut(at);
        (Owned { items: lower }, Owned { items: upper })
    }

    /// The invariant passes to the iterator, because `self` keeps no items.
    pub(crate) fn into_seq(mut self) -> OwnedSeq<'a, T> {
        OwnedSeq {
            items: mem::take(&mut self.items).iter_mut(),
        }
    }
}

impl<T> Drop for Owned<'_, T> {
    fn drop(&mut self) {
        drop_items(self.items);
    }
}

/// The items of an [`Owned`], one by one.
///
/// Invariant: those that `items` has not yielded are initialized, and nothing else reads or drops
/// them.
pub struct OwnedSeq<'a, T> {
    items: slice::IterMut<'a, MaybeUninit<T>>,
}

impl<T> Iterator for OwnedSeq<'_, T> {
    type Item = T;

    #[inline]
    fn next(&mut self) -> Option<T> {
        let slot = self.items.next()?;
        // SAFETY: by the invariant the slot is initialized; it has been yielded, so that nobody
        // reads it again.
        Some(unsafe { slot.assume_init_read() })
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        self.items.size_hint()
    }
}

impl<T> DoubleEndedIterator for OwnedSeq<'_, T> {
    #[inline]
    fn next_back(&mut self) -> Option<T> {
        let slot = self.items.next_back()?;
        // SAFETY: as for `next`, the slot is initialized by the invariant, and has been yielded.
        Some(unsafe { slot.assume_init_read() })
    }
}

impl<T> ExactSizeIterator for OwnedSeq<'_, T> {}

impl<T> Drop for OwnedSeq<'_, T> {
    fn drop(&mut self) {
        drop_items(mem::take(&mut self.items).into_slice());
    }
}

/// Drops the items of an [`Owned`] or an [`OwnedSeq`] that is being dropped; private to these two,
/// whose invariants say that the items are there and are dropped by nobody else.
fn drop_items<T>(items: &mut [MaybeUninit<T>]) {
    let items: *mut [MaybeUninit<T>] = items;
    // SAFETY: `MaybeUninit<T>` has the layout of `T`, the items are initialized and belong to the
    // caller, which does not touch them again. Should one of them panic in its drop, the others
    // are dropped all the same.
    unsafe { ptr::drop_in_place(items as *mut [T]) };
}
