//! Parts of a slice that are handed to tasks, come back, and become one slice again.
//!
//! A closure lends half of a slice to another closure and has it back after the `join`. An async
//! task cannot lend what it holds, because a task may be forgotten; it can only give away. So the
//! halves of a slice are given to tasks as parts, the tasks give them back as results, and two
//! neighbours are rejoined.
#![allow(unsafe_code)] // neighbours of one slice become one slice, which `&mut` alone cannot

use std::marker::PhantomData;
use std::ops::{Deref, DerefMut, Range};
use std::ptr::NonNull;

/// Exclusive access to a range of a slice that was borrowed for `'scope`.
pub(super) struct SlicePart<'scope, T> {
    /// The whole slice, by which it is known, and through which all its parts are reached.
    whole: NonNull<[T]>,
    /// No other part of the same slice shares any of this range.
    range: Range<usize>,
    borrow: PhantomData<&'scope mut [T]>,
}

/// Shared access to a range of a slice: a part that nobody writes again.
pub(super) struct Final<'scope, T> {
    whole: NonNull<[T]>,
    range: (usize, usize),
    borrow: PhantomData<&'scope [T]>,
}

// SAFETY: a part is the only access to its range, like the `&mut [T]` that it stands for: `whole`
// is never read, written or made a reference beyond `range`. So it may go to another thread where
// that may, for which `T: Send` is asked.
unsafe impl<T: Send> Send for SlicePart<'_, T> {}
// SAFETY: through a shared part its range can only be read, as through a `&&mut [T]`: `T: Sync`.
unsafe impl<T: Sync> Sync for SlicePart<'_, T> {}
// SAFETY: a final part only reads `range` through `whole`, and nobody writes there for `'scope`, so
// it is a `&[T]`, which goes to other threads where `T: Sync`.
unsafe impl<T: Sync> Send for Final<'_, T> {}
// SAFETY: as a shared reference to a `&[T]`: everybody only reads `range`, which `T: Sync` allows.
unsafe impl<T: Sync> Sync for Final<'_, T> {}

impl<T> Clone for Final<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Final<'_, T> {}

impl<'scope, T> SlicePart<'scope, T> {
    /// All of a slice.
    pub(super) fn new(slice: &'scope mut [T]) -> Self {
        const { assert!(size_of::<T>() > 0, "two empty places would be the same one") };
        let range = 0..slice.len();
        SlicePart {
            whole: NonNull::from(slice),
            range,
            borrow: PhantomData,
        }
    }

    /// Splits the part into what is before `at`, and the rest.
    pub(super) fn split_at(self, at: usize) -> (Self, Self) {
        let Range { start, end } = self.range;
        assert!(at <= end - start, "a part is split within itself");
        let part = |range| SlicePart {
            whole: self.whole,
            range,
            borrow: PhantomData,
        };
        (part(start..start + at), part(start + at..end))
    }

    /// This part and `next`, which begins where this one ends.
    pub(super) fn rejoin(self, next: Self) -> Self {
        // Two slices that are borrowed exclusively at the same time and have the same place and
        // length are the same one, or empty.
        assert!(
            std::ptr::eq(self.whole.as_ptr(), next.whole.as_ptr())
                && self.range.end == next.range.start,
            "only neighbours in one slice are rejoined"
        );
        // An empty part may come from another borrow of the same slice: its pointer is not taken.
        if self.is_empty() {
            return next;
        }
        if next.is_empty() {
            return self;
        }
        SlicePart {
            whole: self.whole,
            range: self.range.start..next.range.end,
            borrow: PhantomData,
        }
    }

    /// Four parts of one length.
    pub(super) fn quarters(self) -> [Self; 4] {
        let half = self.len() / 2;
        let (low, high) = self.split_at(half);
        let ((a, b), (c, d)) = (low.split_at(half / 2), high.split_at(half / 2));
        [a, b, c, d]
    }

    /// The four parts that [`SlicePart::quarters`] gave, as one.
    pub(super) fn rejoin_all([a, b, c, d]: [Self; 4]) -> Self {
        a.rejoin(b).rejoin(c.rejoin(d))
    }

    /// Ends the writing of the range: any task may read it from now on.
    pub(super) fn finish(self) -> Final<'scope, T> {
        Final {
            whole: self.whole,
            range: (self.range.start, self.range.end),
            borrow: PhantomData,
        }
    }
}

impl<'scope, T> Final<'scope, T> {
    /// This part and `next`, which begins where this one ends.
    pub(super) fn rejoin(self, next: Self) -> Self {
        assert!(
            std::ptr::eq(self.whole.as_ptr(), next.whole.as_ptr()) && self.range.1 == next.range.0,
            "only neighbours in one slice are rejoined"
        );
        if self.is_empty() {
            return next;
        }
        if next.is_empty() {
            return self;
        }
        let range = (self.range.0, next.range.1);
        Final { range, ..self }
    }

    /// The slice itself.
    pub(super) fn slice(self) -> &'scope [T] {
        let (start, end) = self.range;
        // SAFETY: the memory was borrowed for `'scope` by `SlicePart::new`, and the range is within
        // it. `finish` took the part that alone could write here, so nobody does for `'scope`.
        unsafe { &*slice_of(self.whole, start..end) }
    }
}

/// A range of a slice, as a pointer.
///
/// # Safety
/// `whole` points to a slice that is borrowed now, and `range` is within it.
unsafe fn slice_of<T>(whole: NonNull<[T]>, range: Range<usize>) -> *mut [T] {
    let first = whole.as_ptr().cast::<T>();
    // SAFETY: the range is within the slice, by the condition, so the place is, or just behind it.
    let first = unsafe { first.add(range.start) };
    std::ptr::slice_from_raw_parts_mut(first, range.len())
}

/// A range of a slice, to be written.
///
/// # Safety
/// As [`slice_of`]; and nobody else has access to the range for `'a`.
unsafe fn slice_mut<'a, T>(whole: NonNull<[T]>, range: Range<usize>) -> &'a mut [T] {
    // SAFETY: both are the caller's conditions: the range is within a borrowed slice, and the
    // reference is the only access to it for `'a`.
    unsafe { &mut *slice_of(whole, range) }
}

impl<T> Deref for SlicePart<'_, T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        // SAFETY: the memory is borrowed by `new`, and `range` is within it. This part is the only
        // one that reaches into it, and it is borrowed shared, so nobody writes meanwhile.
        unsafe { &*slice_of(self.whole, self.range.clone()) }
    }
}

impl<T> DerefMut for SlicePart<'_, T> {
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: the memory is borrowed exclusively by `new`, and `range` is within it. This part
        // is the only one that reaches into it, and it is borrowed exclusively meanwhile.
        unsafe { slice_mut(self.whole, self.range.clone()) }
    }
}

impl<T> Deref for Final<'_, T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        self.slice()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_written_apart_and_rejoined() {
        let mut numbers = [0; 10];
        let (mut low, mut high) = SlicePart::new(&mut numbers).split_at(4);
        std::thread::scope(|scope| {
            scope.spawn(|| low.fill(1));
            scope.spawn(|| high.fill(2));
        });
        let mut whole = low.rejoin(high);
        whole[3] = 5;
        let (left, right) = whole.split_at(9);
        assert_eq!((left[3], right.len()), (5, 1));
        let quarters = left.split_at(8).0.quarters();
        assert!(quarters.iter().all(|quarter| quarter.len() == 2));
        let (one, other) = SlicePart::rejoin_all(quarters).split_at(3);
        let (one, other) = (one.finish(), other.finish());
        assert_eq!(
            (one.slice(), other.slice()),
            (&[1, 1, 1][..], &[5, 2, 2, 2, 2][..])
        );
        assert_eq!(one.rejoin(other).slice(), [1, 1, 1, 5, 2, 2, 2, 2]);
        assert_eq!(numbers, [1, 1, 1, 5, 2, 2, 2, 2, 2, 2]);
    }

    #[test]
    #[should_panic(expected = "only neighbours")]
    fn parts_with_a_gap_are_not_rejoined() {
        let mut numbers = [0; 10];
        let (low, high) = SlicePart::new(&mut numbers).split_at(4);
        let (_, high) = high.split_at(1);
        low.rejoin(high);
    }

    #[test]
    #[should_panic(expected = "only neighbours")]
    fn parts_of_two_slices_are_not_rejoined() {
        let mut numbers = [0; 10];
        let (low, high) = numbers.split_at_mut(5);
        SlicePart::new(low).rejoin(SlicePart::new(high).split_at(0).1);
    }

    #[test]
    #[should_panic(expected = "within itself")]
    fn a_part_is_not_split_beyond_its_end() {
        let mut numbers = [0; 10];
        let (low, _high) = SlicePart::new(&mut numbers).split_at(4);
        low.split_at(5);
    }
}
