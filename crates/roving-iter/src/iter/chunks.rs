//! Items in vectors of a fixed length.

use super::{IndexedParallelIterator, drive_exactly};
use crate::engine::{Exact, Piece};

/// An iterator over vectors of adjacent items: [`chunks`](IndexedParallelIterator::chunks).
///
/// ```
/// use roving_iter::iter::Chunks;
/// use roving_iter::prelude::*;
///
/// let iter: Chunks<_> = (0..3).into_par_iter().chunks(2);
/// assert_eq!(iter.collect::<Vec<_>>(), [vec![0, 1], vec![2]]);
/// ```
#[derive(Clone, Debug)]
pub struct Chunks<I> {
    pub(super) base: I,
    pub(super) size: usize,
}

drive_exactly! {
    impl [I: IndexedParallelIterator] for Chunks<I>, Item = Vec<I::Item>;
    fn len(self) { self.base.len().div_ceil(self.size) }
    type Piece<'a> = ChunksPiece<I::Piece<'a>>;
    fn piece(self) { ChunksPiece { piece: self.base.piece(), size: self.size } }
}

/// A part of an iterator that begins with a chunk.
pub struct ChunksPiece<P> {
    piece: P,
    size: usize,
}

impl<P: Exact> Piece for ChunksPiece<P> {
    type Item = Vec<P::Item>;
    type Seq = ChunksSeq<P::Seq>;

    fn units(&self) -> usize {
        self.piece.units().div_ceil(self.size)
    }
    fn cut(self, at: usize) -> (Self, Self) {
        let size = self.size;
        let middle = at.saturating_mul(size).min(self.piece.units());
        let (lower, upper) = self.piece.cut(middle);
        (
            ChunksPiece { piece: lower, size },
            ChunksPiece { piece: upper, size },
        )
    }
    fn least(&self) -> usize {
        self.piece.least().div_ceil(self.size)
    }
    fn most(&self) -> usize {
        self.piece.most().div_ceil(self.size)
    }
    fn into_seq(self) -> Self::Seq {
        ChunksSeq {
            items: self.piece.into_seq(),
            size: self.size,
        }
    }
}

impl<P: Exact> Exact for ChunksPiece<P> {}

/// Chunks, one by one.
pub struct ChunksSeq<S> {
    items: S,
    size: usize,
}

impl<S: ExactSizeIterator> Iterator for ChunksSeq<S> {
    type Item = Vec<S::Item>;

    fn next(&mut self) -> Option<Vec<S::Item>> {
        let chunk: Vec<S::Item> = self.items.by_ref().take(self.size).collect();
        (!chunk.is_empty()).then_some(chunk)
    }
    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.items.len().div_ceil(self.size);
        (left, Some(left))
    }
}

impl<S: ExactSizeIterator + DoubleEndedIterator> DoubleEndedIterator for ChunksSeq<S> {
    fn next_back(&mut self) -> Option<Vec<S::Item>> {
        let left = self.items.len();
        let size = match left % self.size {
            0 => self.size.min(left),
            short => short,
        };
        let mut chunk: Vec<S::Item> = self.items.by_ref().rev().take(size).collect();
        chunk.reverse();
        (!chunk.is_empty()).then_some(chunk)
    }
}

impl<S: ExactSizeIterator> ExactSizeIterator for ChunksSeq<S> {}
