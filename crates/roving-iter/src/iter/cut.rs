//! The items in reverse, and the first or the last of them.

use std::iter;

use super::{IndexedParallelIterator, drive_exactly};
use crate::engine::{Exact, Piece};

/// An iterator over the items in reverse: [`rev`](IndexedParallelIterator::rev).
#[derive(Clone, Debug)]
pub struct Rev<I> {
    pub(super) base: I,
}

drive_exactly! {
    impl [I: IndexedParallelIterator] for Rev<I>, Item = I::Item;
    fn len(self) { self.base.len() }
    type Piece<'a> = RevPiece<I::Piece<'a>>;
    fn piece(self) { RevPiece(self.base.piece()) }
}

/// A part of an iterator, from its end.
pub struct RevPiece<P>(P);

impl<P: Exact> Piece for RevPiece<P> {
    type Item = P::Item;
    type Seq = iter::Rev<P::Seq>;

    fn units(&self) -> usize {
        self.0.units()
    }
    fn cut(self, at: usize) -> (Self, Self) {
        let middle = self.0.units() - at;
        let (lower, upper) = self.0.cut(middle);
        (RevPiece(upper), RevPiece(lower))
    }
    fn least(&self) -> usize {
        self.0.least()
    }
    fn most(&self) -> usize {
        self.0.most()
    }
    fn into_seq(self) -> Self::Seq {
        self.0.into_seq().rev()
    }
}

impl<P: Exact> Exact for RevPiece<P> {}

/// An iterator without the first items: [`skip`](IndexedParallelIterator::skip).
#[derive(Clone, Debug)]
pub struct Skip<I> {
    pub(super) base: I,
    pub(super) count: usize,
}

drive_exactly! {
    impl [I: IndexedParallelIterator] for Skip<I>, Item = I::Item;
    fn len(self) { self.base.len().saturating_sub(self.count) }
    type Piece<'a> = I::Piece<'a>;
    fn piece(self) {
        let count = self.count.min(self.base.len());
        self.base.piece().cut(count).1
    }
}

/// An iterator over the first items alone: [`take`](IndexedParallelIterator::take).
#[derive(Clone, Debug)]
pub struct Take<I> {
    pub(super) base: I,
    pub(super) count: usize,
}

drive_exactly! {
    impl [I: IndexedParallelIterator] for Take<I>, Item = I::Item;
    fn len(self) { self.base.len().min(self.count) }
    type Piece<'a> = I::Piece<'a>;
    fn piece(self) {
        let count = self.len();
        self.base.piece().cut(count).0
    }
}
