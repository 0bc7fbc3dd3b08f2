//! Items in vectors of a fixed length.

use super::adaptors::Chunks;
use super::{IndexedParallelIterator, drive_exactly};
use crate::engine::{Exact, IterPiece};

drive_exactly! {
    impl [I: IndexedParallelIterator] for Chunks<I>, Item = Vec<I::Item>;
    fn len(self) { self.base.len().div_ceil(self.size) }
    type Piece<'a> = ChunksPiece<I::Piece<'a>>;
    fn piece(self) { ChunksPiece::new(self.base.piece(), self.size) }
}

/// A part of an iterator that begins with a chunk.
pub struct ChunksPiece<P> {
    piece: P,
    size: usize,
    /// The number of chunks, for which the loop asks more often than a division is cheap.
    chunks: usize,
}

impl<P: Exact> ChunksPiece<P> {
    fn new(piece: P, size: usize) -> ChunksPiece<P> {
        ChunksPiece {
            chunks: piece.units().div_ceil(size),
            piece,
            size,
        }
    }
}

impl<P: Exact> IterPiece for ChunksPiece<P> {
    type Item = Vec<P::Item>;
    type Seq = ChunksSeq<P>;

    #[inline]
    fn units(&self) -> usize {
        self.chunks
    }
    #[inline]
    fn cut(self, at: usize) -> (Self, Self) {
        let size = self.size;
        let middle = at.saturating_mul(size).min(self.piece.units());
        let (lower, upper) = self.piece.cut(middle);
        let part = |piece, chunks| ChunksPiece {
            piece,
            size,
            chunks,
        };
        (part(lower, at), part(upper, self.chunks - at))
    }
    fn least(&self) -> usize {
        self.piece.least().div_ceil(self.size)
    }
    fn most(&self) -> usize {
        self.piece.most().div_ceil(self.size)
    }
    #[inline]
    fn into_seq(self) -> Self::Seq {
        ChunksSeq {
            size: self.size,
            chunks: self.chunks,
            piece: Some(self.piece),
        }
    }
}

impl<P: Exact> Exact for ChunksPiece<P> {}

/// Chunks, one by one. Each is cut off the piece and becomes an iterator of its own.
pub struct ChunksSeq<P> {
    /// The rest, as long as there is one.
    piece: Option<P>,
    size: usize,
    chunks: usize,
}

impl<P: Exact> Iterator for ChunksSeq<P> {
    type Item = Vec<P::Item>;

    #[inline]
    fn next(&mut self) -> Option<Vec<P::Item>> {
        self.chunks = self.chunks.checked_sub(1)?;
        let mut chunk = self.piece.take()?;
        if self.chunks > 0 {
            let (lower, upper) = chunk.cut(self.size);
            (chunk, self.piece) = (lower, Some(upper));
        }
        Some(all(chunk.into_seq()))
    }
    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.chunks, Some(self.chunks))
    }
}

impl<P: Exact> DoubleEndedIterator for ChunksSeq<P> {
    fn next_back(&mut self) -> Option<Vec<P::Item>> {
        self.chunks = self.chunks.checked_sub(1)?;
        let mut chunk = self.piece.take()?;
        if self.chunks > 0 {
            let (lower, upper) = chunk.cut(self.chunks * self.size);
            (self.piece, chunk) = (Some(lower), upper);
        }
        Some(all(chunk.into_seq()))
    }
}

impl<P: Exact> ExactSizeIterator for ChunksSeq<P> {}

/// Not by `collect`: that looks for room with each item of an iterator which is not of `std`.
#[inline]
fn all<T>(items: impl ExactSizeIterator<Item = T>) -> Vec<T> {
    let mut all = Vec::with_capacity(items.len());
    items.for_each(|item| all.push(item));
    all
}
