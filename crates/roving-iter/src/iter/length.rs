//! How long the parts of an iterator are to be, at least or at most.

use super::adaptors::{MaxLen, MinLen};
use super::{IndexedParallelIterator, drive_exactly};
use crate::engine::{Exact, IterPiece};

drive_exactly! {
    impl [I: IndexedParallelIterator] for MinLen<I>, Item = I::Item;
    fn len(self) { self.base.len() }
    type Piece<'a> = BoundedPiece<I::Piece<'a>>;
    fn piece(self) {
        let piece = self.base.piece();
        BoundedPiece { least: piece.least().max(self.least), most: piece.most(), piece }
    }
}

drive_exactly! {
    impl [I: IndexedParallelIterator] for MaxLen<I>, Item = I::Item;
    fn len(self) { self.base.len() }
    type Piece<'a> = BoundedPiece<I::Piece<'a>>;
    fn piece(self) {
        let piece = self.base.piece();
        BoundedPiece { least: piece.least(), most: piece.most().min(self.most), piece }
    }
}

/// A part of an iterator with bounds of its own.
pub struct BoundedPiece<P> {
    piece: P,
    least: usize,
    most: usize,
}

impl<P: Exact> IterPiece for BoundedPiece<P> {
    type Item = P::Item;
    type Seq = P::Seq;

    fn units(&self) -> usize {
        self.piece.units()
    }
    fn cut(self, at: usize) -> (Self, Self) {
        let (least, most) = (self.least, self.most);
        let (lower, upper) = self.piece.cut(at);
        let part = |piece| BoundedPiece { piece, least, most };
        (part(lower), part(upper))
    }
    fn least(&self) -> usize {
        self.least
    }
    fn most(&self) -> usize {
        self.most
    }
    fn into_seq(self) -> P::Seq {
        self.piece.into_seq()
    }
}

impl<P: Exact> Exact for BoundedPiece<P> {}
