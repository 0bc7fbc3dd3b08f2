//! Slices, by reference: their items, chunks and windows.

use std::slice;

use crate::engine::{Exact, IterPiece};
use crate::iter::{IntoParallelIterator, drive_exactly};

/// A piece that is a slice and its parts' length, and the iterator that begins with the whole.
macro_rules! slice_iterator {
    (
        $(#[$doc:meta])*
        $name:ident [$($sync:tt)+] $slice:ty => $item:ty;
        $seq:ident.$method:ident($($size:ident)?);
        |$this:ident| $units:expr;
        |$part:ident, $at:ident| $cut:expr;
    ) => {
        $(#[$doc])*
        #[derive(Debug)]
        pub struct $name<'data, T: $($sync)+> {
            pub(crate) slice: $slice,
            $(pub(crate) $size: usize,)?
        }

        drive_exactly! {
            impl ['data, T: $($sync)+] for $name<'data, T>, Item = $item;
            fn len(self) { IterPiece::units(self) }
            type Piece<'a> = $name<'data, T>;
            fn piece(self) {
                $name { slice: std::mem::take(&mut self.slice), $($size: self.$size)? }
            }
        }

        impl<'data, T: $($sync)+> IterPiece for $name<'data, T> {
            type Item = $item;
            type Seq = slice::$seq<'data, T>;

            #[inline]
            fn units(&self) -> usize {
                let $this = self;
                $units
            }
            #[inline]
            fn cut(self, $at: usize) -> (Self, Self) {
                let $part = self;
                let (lower, upper) = $cut;
                $(let $size = $part.$size;)?
                (
                    $name { slice: lower, $($size)? },
                    $name { slice: upper, $($size)? },
                )
            }
            #[inline]
            fn into_seq(self) -> Self::Seq {
                self.slice.$method($(self.$size)?)
            }
        }

        impl<T: $($sync)+> Exact for $name<'_, T> {}
    };
}

slice_iterator! {
    /// An iterator over references to the items of a slice.
    ///
    /// ```
    /// use roving_iter::prelude::*;
    ///
    /// assert_eq!([1, 2, 3].par_iter().sum::<i32>(), 6);
    /// ```
    Iter [Sync] &'data [T] => &'data T;
    Iter.iter();
    |all| all.slice.len();
    |all, at| all.slice.split_at(at);
}

slice_iterator! {
    /// An iterator over mutable references to the items of a slice.
    ///
    /// ```
    /// use roving_iter::prelude::*;
    ///
    /// let mut numbers = [1, 2, 3];
    /// numbers.par_iter_mut().for_each(|number| *number *= 10);
    /// assert_eq!(numbers, [10, 20, 30]);
    /// ```
    IterMut [Send] &'data mut [T] => &'data mut T;
    IterMut.iter_mut();
    |all| all.slice.len();
    |all, at| all.slice.split_at_mut(at);
}

slice_iterator! {
    /// An iterator over chunks of a slice: [`par_chunks`](crate::slice::ParallelSlice::par_chunks).
    ///
    /// ```
    /// use roving_iter::prelude::*;
    ///
    /// assert_eq!([1, 2, 3].par_chunks(2).map(|chunk| chunk.len()).collect::<Vec<_>>(), [2, 1]);
    /// ```
    Chunks [Sync] &'data [T] => &'data [T];
    Chunks.chunks(size);
    |all| all.slice.len().div_ceil(all.size);
    |all, at| all.slice.split_at(at.saturating_mul(all.size).min(all.slice.len()));
}

slice_iterator! {
    /// An iterator over mutable chunks of a slice:
    /// [`par_chunks_mut`](crate::slice::ParallelSliceMut::par_chunks_mut).
    ///
    /// ```
    /// use roving_iter::prelude::*;
    ///
    /// let mut numbers = [3, 2, 1];
    /// numbers.par_chunks_mut(2).for_each(|chunk| chunk.sort());
    /// assert_eq!(numbers, [2, 3, 1]);
    /// ```
    ChunksMut [Send] &'data mut [T] => &'data mut [T];
    ChunksMut.chunks_mut(size);
    |all| all.slice.len().div_ceil(all.size);
    |all, at| {
        let at = at.saturating_mul(all.size).min(all.slice.len());
        all.slice.split_at_mut(at)
    };
}

slice_iterator! {
    /// An iterator over chunks of a slice that are counted from its end:
    /// [`par_rchunks`](crate::slice::ParallelSlice::par_rchunks).
    ///
    /// ```
    /// use roving_iter::prelude::*;
    ///
    /// assert_eq!([1, 2, 3].par_rchunks(2).map(|chunk| chunk.len()).collect::<Vec<_>>(), [2, 1]);
    /// ```
    RChunks [Sync] &'data [T] => &'data [T];
    RChunks.rchunks(size);
    |all| all.slice.len().div_ceil(all.size);
    |all, at| {
        let at = all.slice.len().saturating_sub(at.saturating_mul(all.size));
        let (upper, lower) = all.slice.split_at(at);
        (lower, upper)
    };
}

slice_iterator! {
    /// An iterator over mutable chunks of a slice that are counted from its end:
    /// [`par_rchunks_mut`](crate::slice::ParallelSliceMut::par_rchunks_mut).
    ///
    /// ```
    /// use roving_iter::prelude::*;
    ///
    /// let mut numbers = [3, 2, 1];
    /// numbers.par_rchunks_mut(2).for_each(|chunk| chunk.sort());
    /// assert_eq!(numbers, [3, 1, 2]);
    /// ```
    RChunksMut [Send] &'data mut [T] => &'data mut [T];
    RChunksMut.rchunks_mut(size);
    |all| all.slice.len().div_ceil(all.size);
    |all, at| {
        let at = all.slice.len().saturating_sub(at.saturating_mul(all.size));
        let (upper, lower) = all.slice.split_at_mut(at);
        (lower, upper)
    };
}

slice_iterator! {
    /// An iterator over overlapping windows of a slice:
    /// [`par_windows`](crate::slice::ParallelSlice::par_windows).
    ///
    /// ```
    /// use roving_iter::prelude::*;
    ///
    /// assert!([1, 2, 3].par_windows(2).all(|pair| pair[0] < pair[1]));
    /// ```
    Windows [Sync] &'data [T] => &'data [T];
    Windows.windows(size);
    |all| all.slice.len().saturating_sub(all.size - 1);
    |all, at| {
        let end = at.saturating_add(all.size - 1).min(all.slice.len());
        let start = at.min(all.slice.len());
        // No windows end in a slice that is shorter than one.
        let lower = if at == 0 { &all.slice[..0] } else { &all.slice[..end] };
        (lower, &all.slice[start..])
    };
}

slice_iterator! {
    /// An iterator over chunks of a slice that all have the same length:
    /// [`par_chunks_exact`](crate::slice::ParallelSlice::par_chunks_exact).
    ///
    /// ```
    /// use roving_iter::prelude::*;
    ///
    /// let chunks = [1, 2, 3].par_chunks_exact(2);
    /// assert_eq!(chunks.remainder(), [3]);
    /// assert_eq!(chunks.map(|chunk| chunk[0] + chunk[1]).collect::<Vec<_>>(), [3]);
    /// ```
    ChunksExact [Sync] &'data [T] => &'data [T];
    ChunksExact.chunks_exact(size);
    |all| all.slice.len() / all.size;
    |all, at| all.slice.split_at(at.saturating_mul(all.size).min(all.slice.len()));
}

slice_iterator! {
    /// An iterator over mutable chunks of a slice that all have the same length:
    /// [`par_chunks_exact_mut`](crate::slice::ParallelSliceMut::par_chunks_exact_mut).
    ///
    /// ```
    /// use roving_iter::prelude::*;
    ///
    /// let mut numbers = [3, 2, 1];
    /// numbers.par_chunks_exact_mut(2).for_each(|chunk| chunk.sort());
    /// assert_eq!(numbers, [2, 3, 1]);
    /// ```
    ChunksExactMut [Send] &'data mut [T] => &'data mut [T];
    ChunksExactMut.chunks_exact_mut(size);
    |all| all.slice.len() / all.size;
    |all, at| {
        let at = at.saturating_mul(all.size).min(all.slice.len());
        all.slice.split_at_mut(at)
    };
}

impl<T: Sync> Clone for Iter<'_, T> {
    fn clone(&self) -> Self {
        Iter { slice: self.slice }
    }
}

/// Slices, and what holds one.
macro_rules! by_reference {
    ($([$($param:tt)*] $of:ty;)+) => {$(
        impl<'data, T: Sync + 'data, $($param)*> IntoParallelIterator for &'data $of {
            type Iter = Iter<'data, T>;
            type Item = &'data T;

            fn into_par_iter(self) -> Iter<'data, T> {
                Iter { slice: self }
            }
        }

        impl<'data, T: Send + 'data, $($param)*> IntoParallelIterator for &'data mut $of {
            type Iter = IterMut<'data, T>;
            type Item = &'data mut T;

            fn into_par_iter(self) -> IterMut<'data, T> {
                IterMut { slice: self }
            }
        }
    )+};
}

by_reference! {
    [] [T];
    [] Vec<T>;
    [] Box<[T]>;
    [const N: usize] [T; N];
}
