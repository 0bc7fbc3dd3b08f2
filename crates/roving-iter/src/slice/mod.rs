//! Iterators over slices, and parallel sorting.
//!
//! ```
//! use roving_iter::prelude::*;
//!
//! let mut numbers = [5, 3, 4, 1];
//! numbers.par_sort_unstable();
//! let sums: Vec<i32> = numbers.par_windows(2).map(|two| two.iter().sum()).collect();
//! assert_eq!(sums, [4, 7, 9]);
//! ```

mod sort;

use std::cmp::Ordering;

pub use crate::sources::slice::{
    Chunks, ChunksExact, ChunksExactMut, ChunksMut, Iter, IterMut, RChunks, RChunksMut, Windows,
};

/// Iterators over parts of a slice.
///
/// ```
/// use roving_iter::prelude::*;
///
/// let sums: Vec<i32> = [1, 2, 3, 4].par_chunks(2).map(|chunk| chunk.iter().sum()).collect();
/// assert_eq!(sums, [3, 7]);
/// ```
pub trait ParallelSlice<T: Sync> {
    /// Returns the slice.
    #[doc(hidden)]
    fn as_parallel_slice(&self) -> &[T];

    /// Iterates over all windows of `size` items, which overlap.
    ///
    /// # Panics
    /// If `size` is 0.
    ///
    /// ```
    /// use roving_iter::prelude::*;
    ///
    /// assert_eq!([1, 2, 4].par_windows(2).map(|pair| pair[1] - pair[0]).collect::<Vec<_>>(), [1, 2]);
    /// ```
    #[track_caller]
    fn par_windows(&self, size: usize) -> Windows<'_, T> {
        Windows {
            slice: self.as_parallel_slice(),
            size: checked(size),
        }
    }

    /// Iterates over chunks of `size` items; the last may be shorter.
    ///
    /// # Panics
    /// If `size` is 0.
    ///
    /// ```
    /// use roving_iter::prelude::*;
    ///
    /// assert_eq!([1, 2, 3].par_chunks(2).collect::<Vec<_>>(), [&[1, 2][..], &[3]]);
    /// ```
    #[track_caller]
    fn par_chunks(&self, size: usize) -> Chunks<'_, T> {
        Chunks {
            slice: self.as_parallel_slice(),
            size: checked(size),
        }
    }

    /// Iterates over chunks of exactly `size` items; the rest is left out, see
    /// [`remainder`](ChunksExact::remainder).
    ///
    /// # Panics
    /// If `size` is 0.
    ///
    /// ```
    /// use roving_iter::prelude::*;
    ///
    /// assert_eq!([1, 2, 3].par_chunks_exact(2).count(), 1);
    /// ```
    #[track_caller]
    fn par_chunks_exact(&self, size: usize) -> ChunksExact<'_, T> {
        ChunksExact {
            slice: self.as_parallel_slice(),
            size: checked(size),
        }
    }

    /// Iterates over chunks of `size` items from the end on; the last may be shorter.
    ///
    /// # Panics
    /// If `size` is 0.
    ///
    /// ```
    /// use roving_iter::prelude::*;
    ///
    /// assert_eq!([1, 2, 3].par_rchunks(2).collect::<Vec<_>>(), [&[2, 3][..], &[1]]);
    /// ```
    #[track_caller]
    fn par_rchunks(&self, size: usize) -> RChunks<'_, T> {
        RChunks {
            slice: self.as_parallel_slice(),
            size: checked(size),
        }
    }
}

impl<T: Sync> ParallelSlice<T> for [T] {
    fn as_parallel_slice(&self) -> &[T] {
        self
    }
}

/// Iterators over mutable parts of a slice, and sorting. Should a comparison panic, all items are
/// in the slice still, in some order.
///
/// ```
/// use roving_iter::prelude::*;
///
/// let mut words = vec!["not", "to", "be"];
/// words.par_sort();
/// assert_eq!(words, ["be", "not", "to"]);
/// ```
pub trait ParallelSliceMut<T: Send> {
    /// Returns the slice.
    #[doc(hidden)]
    fn as_parallel_slice_mut(&mut self) -> &mut [T];

    /// Iterates over mutable chunks of `size` items; the last may be shorter.
    ///
    /// # Panics
    /// If `size` is 0.
    ///
    /// ```
    /// use roving_iter::prelude::*;
    ///
    /// let mut numbers = [1, 2, 3];
    /// numbers.par_chunks_mut(2).for_each(|chunk| chunk[0] = 0);
    /// assert_eq!(numbers, [0, 2, 0]);
    /// ```
    #[track_caller]
    fn par_chunks_mut(&mut self, size: usize) -> ChunksMut<'_, T> {
        ChunksMut {
            slice: self.as_parallel_slice_mut(),
            size: checked(size),
        }
    }

    /// Iterates over mutable chunks of exactly `size` items; the rest is left out, see
    /// [`take_remainder`](ChunksExactMut::take_remainder).
    ///
    /// # Panics
    /// If `size` is 0.
    ///
    /// ```
    /// use roving_iter::prelude::*;
    ///
    /// let mut numbers = [1, 2, 3];
    /// numbers.par_chunks_exact_mut(2).for_each(|chunk| chunk[0] = 0);
    /// assert_eq!(numbers, [0, 2, 3]);
    /// ```
    #[track_caller]
    fn par_chunks_exact_mut(&mut self, size: usize) -> ChunksExactMut<'_, T> {
        ChunksExactMut {
            slice: self.as_parallel_slice_mut(),
            size: checked(size),
        }
    }

    /// Iterates over mutable chunks of `size` items from the end on; the last may be shorter.
    ///
    /// # Panics
    /// If `size` is 0.
    ///
    /// ```
    /// use roving_iter::prelude::*;
    ///
    /// let mut numbers = [1, 2, 3];
    /// numbers.par_rchunks_mut(2).for_each(|chunk| chunk[0] = 0);
    /// assert_eq!(numbers, [0, 0, 3]);
    /// ```
    #[track_caller]
    fn par_rchunks_mut(&mut self, size: usize) -> RChunksMut<'_, T> {
        RChunksMut {
            slice: self.as_parallel_slice_mut(),
            size: checked(size),
        }
    }

    /// Sorts stably: equal items keep their order. Needs memory for as many items again.
    ///
    /// ```
    /// use roving_iter::prelude::*;
    ///
    /// let mut numbers = [3, 1, 2];
    /// numbers.par_sort();
    /// assert_eq!(numbers, [1, 2, 3]);
    /// ```
    fn par_sort(&mut self)
    where
        T: Ord,
    {
        sort::stable(self.as_parallel_slice_mut(), &T::cmp);
    }

    /// Sorts stably by `compare`.
    ///
    /// ```
    /// use roving_iter::prelude::*;
    ///
    /// let mut numbers = [1.5_f32, -2.0, 0.5];
    /// numbers.par_sort_by(|a, b| b.total_cmp(a));
    /// assert_eq!(numbers, [1.5, 0.5, -2.0]);
    /// ```
    fn par_sort_by<F>(&mut self, compare: F)
    where
        F: Fn(&T, &T) -> Ordering + Sync,
    {
        sort::stable(self.as_parallel_slice_mut(), &compare);
    }

    /// Sorts stably by a key, which is made at each comparison.
    ///
    /// ```
    /// use roving_iter::prelude::*;
    ///
    /// let mut words = ["not", "to", "be"];
    /// words.par_sort_by_key(|word| word.len());
    /// assert_eq!(words, ["to", "be", "not"]);
    /// ```
    fn par_sort_by_key<K, F>(&mut self, key: F)
    where
        K: Ord,
        F: Fn(&T) -> K + Sync,
    {
        sort::stable(self.as_parallel_slice_mut(), &|a: &T, b: &T| {
            key(a).cmp(&key(b))
        });
    }

    /// Sorts stably by a key, which is made once for each item: for keys that are expensive.
    ///
    /// ```
    /// use roving_iter::prelude::*;
    ///
    /// let mut words = ["or", "to", "be"];
    /// words.par_sort_by_cached_key(|word| word.to_uppercase());
    /// assert_eq!(words, ["be", "or", "to"]);
    /// ```
    fn par_sort_by_cached_key<K, F>(&mut self, key: F)
    where
        K: Ord + Send,
        F: Fn(&T) -> K + Send + Sync,
        T: Sync,
    {
        sort::by_cached_key(self.as_parallel_slice_mut(), key);
    }

    /// Sorts in place; equal items may change their order.
    ///
    /// ```
    /// use roving_iter::prelude::*;
    ///
    /// let mut numbers = [3, 1, 2];
    /// numbers.par_sort_unstable();
    /// assert_eq!(numbers, [1, 2, 3]);
    /// ```
    fn par_sort_unstable(&mut self)
    where
        T: Ord,
    {
        sort::unstable(self.as_parallel_slice_mut(), &T::cmp);
    }

    /// Sorts in place by `compare`; equal items may change their order.
    ///
    /// ```
    /// use roving_iter::prelude::*;
    ///
    /// let mut numbers = [1.5_f32, -2.0, 0.5];
    /// numbers.par_sort_unstable_by(|a, b| a.total_cmp(b));
    /// assert_eq!(numbers, [-2.0, 0.5, 1.5]);
    /// ```
    fn par_sort_unstable_by<F>(&mut self, compare: F)
    where
        F: Fn(&T, &T) -> Ordering + Sync,
    {
        sort::unstable(self.as_parallel_slice_mut(), &compare);
    }

    /// Sorts in place by a key, which is made at each comparison; equal items may change their
    /// order.
    ///
    /// ```
    /// use roving_iter::prelude::*;
    ///
    /// let mut numbers = [-3, 1, -2];
    /// numbers.par_sort_unstable_by_key(|n: &i32| n.abs());
    /// assert_eq!(numbers, [1, -2, -3]);
    /// ```
    fn par_sort_unstable_by_key<K, F>(&mut self, key: F)
    where
        K: Ord,
        F: Fn(&T) -> K + Sync,
    {
        sort::unstable(self.as_parallel_slice_mut(), &|a: &T, b: &T| {
            key(a).cmp(&key(b))
        });
    }
}

impl<T: Send> ParallelSliceMut<T> for [T] {
    fn as_parallel_slice_mut(&mut self) -> &mut [T] {
        self
    }
}

#[track_caller]
fn checked(size: usize) -> usize {
    assert!(size > 0, "size is 0: say 1 or more");
    size
}

impl<'data, T: Sync> ChunksExact<'data, T> {
    /// Returns the items behind the last chunk.
    ///
    /// ```
    /// use roving_iter::prelude::*;
    ///
    /// assert_eq!([1, 2, 3].par_chunks_exact(2).remainder(), [3]);
    /// ```
    pub fn remainder(&self) -> &'data [T] {
        &self.slice[self.slice.len() / self.size * self.size..]
    }
}

impl<'data, T: Send> ChunksExactMut<'data, T> {
    /// Returns the items behind the last chunk, mutably.
    ///
    /// ```
    /// use roving_iter::prelude::*;
    ///
    /// assert_eq!([1, 2, 3].par_chunks_exact_mut(2).remainder(), [3]);
    /// ```
    pub fn remainder(&mut self) -> &mut [T] {
        let whole = self.slice.len() / self.size * self.size;
        &mut self.slice[whole..]
    }

    /// Turns into the items behind the last chunk.
    ///
    /// ```
    /// use roving_iter::prelude::*;
    ///
    /// assert_eq!([1, 2, 3].par_chunks_exact_mut(2).into_remainder(), [3]);
    /// ```
    pub fn into_remainder(mut self) -> &'data mut [T] {
        self.take_remainder()
    }

    /// Takes the items behind the last chunk; none the second time.
    ///
    /// ```
    /// use roving_iter::prelude::*;
    ///
    /// let mut numbers = [1, 2, 3];
    /// numbers.par_chunks_exact_mut(2).take_remainder()[0] = 0;
    /// assert_eq!(numbers, [1, 2, 0]);
    /// ```
    pub fn take_remainder(&mut self) -> &'data mut [T] {
        let whole = self.slice.len() / self.size * self.size;
        let (chunks, rest) = std::mem::take(&mut self.slice).split_at_mut(whole);
        self.slice = chunks;
        rest
    }
}
