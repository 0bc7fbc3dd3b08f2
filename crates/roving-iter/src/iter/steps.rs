//! Every so manieth item.

use std::iter;

use super::adaptors::StepBy;
use super::{IndexedParallelIterator, drive_exactly};
use crate::engine::{Exact, IterPiece};

drive_exactly! {
    impl [I: IndexedParallelIterator] for StepBy<I>, Item = I::Item;
    fn len(self) { self.base.len().div_ceil(self.step) }
    type Piece<'a> = StepPiece<I::Piece<'a>>;
    fn piece(self) { StepPiece { piece: self.base.piece(), step: self.step } }
}

/// A part of an iterator that begins with an item that is kept.
pub struct StepPiece<P> {
    piece: P,
    step: usize,
}

impl<P: Exact> IterPiece for StepPiece<P> {
    type Item = P::Item;
    type Seq = iter::StepBy<P::Seq>;

    fn units(&self) -> usize {
        self.piece.units().div_ceil(self.step)
    }
    fn cut(self, at: usize) -> (Self, Self) {
        let step = self.step;
        let middle = at.saturating_mul(step).min(self.piece.units());
        let (lower, upper) = self.piece.cut(middle);
        (
            StepPiece { piece: lower, step },
            StepPiece { piece: upper, step },
        )
    }
    fn least(&self) -> usize {
        self.piece.least().div_ceil(self.step)
    }
    fn most(&self) -> usize {
        self.piece.most().div_ceil(self.step)
    }
    fn into_seq(self) -> Self::Seq {
        self.piece.into_seq().step_by(self.step)
    }
}

impl<P: Exact> Exact for StepPiece<P> {}
