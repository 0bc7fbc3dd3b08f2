//! Items that pieces own, inside the memory of a vector that outlives them.

use std::mem::{self, MaybeUninit};
use std::slice;
use std::thread;

use roving::raw::panics::run_quietly;

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
        // SAFETY: by the invariant they are initialized, and nobody else drops them.
        unsafe { drop_items(self.items) };
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
        // SAFETY: by the invariant those that are left are initialized, and nobody else drops them.
        unsafe { drop_items(mem::take(&mut self.items).into_slice()) };
    }
}

/// Drops items. Should one of them panic in its drop, the others are dropped all the same, and a
/// panic of theirs ends here; and so does each where the thread is panicking already. So where a
/// block ends does not decide whether the process does.
///
/// # Safety
/// The items are initialized, and neither read nor dropped by anyone afterwards.
pub(super) unsafe fn drop_items<T>(items: &mut [MaybeUninit<T>]) {
    struct LeftItems<'i, T>(slice::IterMut<'i, MaybeUninit<T>>);
    impl<T> Drop for LeftItems<'_, T> {
        fn drop(&mut self) {
            // SAFETY: the caller's promise for those that are left; each is yielded once.
            let drop_one = |slot: &mut MaybeUninit<T>| unsafe { slot.assume_init_drop() };
            self.0
                .by_ref()
                .for_each(|slot| run_quietly(|| drop_one(slot)));
        }
    }
    if !mem::needs_drop::<T>() {
        return;
    }
    let mut left = LeftItems(items.iter_mut());
    if !thread::panicking() {
        // SAFETY: the caller's promise; each is yielded once.
        left.0
            .by_ref()
            .for_each(|slot| unsafe { slot.assume_init_drop() });
    }
}
