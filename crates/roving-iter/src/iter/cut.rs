//! The items in reverse, and the first or the last of them.

use std::iter;

use super::adaptors::{Rev, Skip, Take};
use super::consume::ForEach;
use super::{IndexedParallelIterator, drive_exactly};
use crate::engine::{Exact, IterPiece, drive};

drive_exactly! {
    impl [I: IndexedParallelIterator] for Rev<I>, Item = I::Item;
    fn len(self) { self.base.len() }
    type Piece<'a> = RevPiece<I::Piece<'a>>;
    fn piece(self) { RevPiece(self.base.piece()) }
}

/// A part of an iterator, from its end.
pub struct RevPiece<P>(P);

impl<P: Exact> IterPiece for RevPiece<P> {
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

drive_exactly! {
    impl [I: IndexedParallelIterator] for Skip<I>, Item = I::Item;
    fn len(self) { self.base.len().saturating_sub(self.count) }
    type Piece<'a> = I::Piece<'a>;
    fn piece(self) {
        let count = self.count.min(self.base.len());
        let (skipped, rest) = self.base.piece().cut(count);
        // What they do when they are made happens, as in `std`.
        drive(skipped, (), &ForEach(drop), ());
        rest
    }
}

/// Cuts off the rest, which is dropped while the first part is a variable: should an item of the
/// rest panic in its drop, the first part is dropped, and not leaked as what is being returned is.
pub(super) fn first_items<P: Exact>(piece: P, count: usize) -> P {
    let (first, rest) = piece.cut(count);
    drop(rest);
    first
}

drive_exactly! {
    impl [I: IndexedParallelIterator] for Take<I>, Item = I::Item;
    fn len(self) { self.base.len().min(self.count) }
    type Piece<'a> = I::Piece<'a>;
    fn piece(self) {
        let count = self.len();
        first_items(self.base.piece(), count)
    }
}
