//! Two iterators side by side, and items with their numbers.

use std::iter;
use std::ops::Range;

use super::adaptors::{Enumerate, Zip};
use super::cut::first_items;
use super::{IndexedParallelIterator, drive_exactly};
use crate::engine::{Exact, IterPiece};

drive_exactly! {
    impl [I: IndexedParallelIterator, J: IndexedParallelIterator] for Zip<I, J>,
        Item = (I::Item, J::Item);
    fn len(self) { self.first.len().min(self.second.len()) }
    type Piece<'a> = ZipPiece<I::Piece<'a>, J::Piece<'a>>;
    fn piece(self) {
        let len = self.len();
        ZipPiece {
            first: first_items(self.first.piece(), len),
            second: first_items(self.second.piece(), len),
        }
    }
}

/// Parts of two iterators, of the same length.
pub struct ZipPiece<P, Q> {
    first: P,
    second: Q,
}

impl<P: Exact, Q: Exact> IterPiece for ZipPiece<P, Q> {
    type Item = (P::Item, Q::Item);
    type Seq = iter::Zip<P::Seq, Q::Seq>;

    #[inline]
    fn units(&self) -> usize {
        self.first.units()
    }
    #[inline]
    fn cut(self, at: usize) -> (Self, Self) {
        let (first, first_rest) = self.first.cut(at);
        let (second, second_rest) = self.second.cut(at);
        let lower = ZipPiece { first, second };
        let upper = ZipPiece {
            first: first_rest,
            second: second_rest,
        };
        (lower, upper)
    }
    fn least(&self) -> usize {
        self.first.least().max(self.second.least())
    }
    fn most(&self) -> usize {
        self.first.most().min(self.second.most())
    }
    #[inline]
    fn into_seq(self) -> Self::Seq {
        iter::zip(self.first.into_seq(), self.second.into_seq())
    }
}

impl<P: Exact, Q: Exact> Exact for ZipPiece<P, Q> {}

drive_exactly! {
    impl [I: IndexedParallelIterator] for Enumerate<I>, Item = (usize, I::Item);
    fn len(self) { self.base.len() }
    type Piece<'a> = EnumeratePiece<I::Piece<'a>>;
    fn piece(self) { EnumeratePiece { number: 0, piece: self.base.piece() } }
}

/// A part of an iterator, and the number of its first item.
pub struct EnumeratePiece<P> {
    number: usize,
    piece: P,
}

impl<P: Exact> IterPiece for EnumeratePiece<P> {
    type Item = (usize, P::Item);
    type Seq = iter::Zip<Range<usize>, P::Seq>;

    #[inline]
    fn units(&self) -> usize {
        self.piece.units()
    }
    #[inline]
    fn cut(self, at: usize) -> (Self, Self) {
        let (lower, upper) = self.piece.cut(at);
        let lower = EnumeratePiece {
            number: self.number,
            piece: lower,
        };
        let upper = EnumeratePiece {
            number: self.number + at,
            piece: upper,
        };
        (lower, upper)
    }
    fn least(&self) -> usize {
        self.piece.least()
    }
    fn most(&self) -> usize {
        self.piece.most()
    }
    #[inline]
    fn into_seq(self) -> Self::Seq {
        let numbers = self.number..self.number + self.piece.units();
        iter::zip(numbers, self.piece.into_seq())
    }
}

impl<P: Exact> Exact for EnumeratePiece<P> {}
