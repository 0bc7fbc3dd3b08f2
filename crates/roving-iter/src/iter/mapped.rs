//! How an iterator makes one item of each item.

use super::map::{Mapped, Op};
use super::{IndexedParallelIterator, ParallelIterator};
use crate::engine::{Companion, Consumer, Exact, IterPiece, with_quiet};

impl<I, O> ParallelIterator for Mapped<I, O>
where
    I: ParallelIterator,
    O: Op<I::Item, Output: Send>,
{
    type Item = O::Output;

    #[inline]
    fn drive<B, C>(self, beside: B, consumer: &C, state: C::State) -> C::State
    where
        B: Companion,
        C: Consumer<O::Output, B>,
    {
        let into = MapInto {
            op: &self.op,
            to: consumer,
        };
        let state = (self.op.local(), state);
        let (local, state) = self.base.drive(beside, &into, state);
        // While the state is a variable still: it is not leaked where this panics.
        drop(local);
        state
    }
    fn span(&self) -> usize {
        self.base.span()
    }
    fn is_exact(&self) -> bool {
        self.base.is_exact()
    }
}

/// A consumer that maps what it takes for another one. Each part has one value of the closure's.
struct MapInto<'c, O, C> {
    op: &'c O,
    to: &'c C,
}

impl<T, B, O, C> Consumer<T, B> for MapInto<'_, O, C>
where
    O: Op<T>,
    C: Consumer<O::Output, B>,
{
    type State = (O::Local, C::State);
    type Outcome = C::Outcome;
    const ENDS_EARLY: bool = C::ENDS_EARLY;

    #[inline]
    fn begin(&self) -> Self::State {
        (self.op.local(), self.to.begin())
    }
    #[inline]
    fn feed<I: Iterator<Item = T>>(&self, state: Self::State, items: I, beside: B) -> Self::State {
        let (local, state) = state;
        with_quiet(local, |local| {
            let items = items.map(|item| self.op.apply(local, item));
            self.to.feed(state, items, beside)
        })
    }
    #[inline]
    fn end(&self, (local, state): Self::State) -> C::Outcome {
        drop(local);
        self.to.end(state)
    }
    #[inline]
    fn resume(&self, outcome: C::Outcome) -> Self::State {
        (self.op.local(), self.to.resume(outcome))
    }
    #[inline]
    fn join(&self, lower: C::Outcome, upper: C::Outcome) -> C::Outcome {
        self.to.join(lower, upper)
    }
    #[inline]
    fn is_over(&self, beside: &B) -> bool {
        self.to.is_over(beside)
    }
    fn fail(&self) {
        self.to.fail();
    }
    #[inline]
    fn is_done(&self, state: &Self::State, beside: &B) -> bool {
        self.to.is_done(&state.1, beside)
    }
}

impl<I, O> IndexedParallelIterator for Mapped<I, O>
where
    I: IndexedParallelIterator,
    O: Op<I::Item, Output: Send>,
{
    type Piece<'a>
        = MapPiece<'a, I::Piece<'a>, O>
    where
        Self: 'a;

    fn len(&self) -> usize {
        self.base.len()
    }
    fn piece(&mut self) -> Self::Piece<'_> {
        MapPiece {
            piece: self.base.piece(),
            op: &self.op,
        }
    }
}

/// A part of a mapped iterator.
pub struct MapPiece<'a, P, O> {
    piece: P,
    op: &'a O,
}

impl<'a, P: IterPiece, O: Op<P::Item>> IterPiece for MapPiece<'a, P, O> {
    type Item = O::Output;
    type Seq = MapSeq<'a, P::Seq, O, O::Local>;

    fn units(&self) -> usize {
        self.piece.units()
    }
    fn cut(self, at: usize) -> (Self, Self) {
        let (lower, upper) = self.piece.cut(at);
        let op = self.op;
        (MapPiece { piece: lower, op }, MapPiece { piece: upper, op })
    }
    fn least(&self) -> usize {
        self.piece.least()
    }
    fn most(&self) -> usize {
        self.piece.most()
    }
    fn into_seq(self) -> Self::Seq {
        MapSeq {
            seq: self.piece.into_seq(),
            op: self.op,
            local: self.op.local(),
        }
    }
}

impl<P: Exact, O: Op<P::Item>> Exact for MapPiece<'_, P, O> {}

/// Mapped items, one by one.
pub struct MapSeq<'a, S, O, L> {
    seq: S,
    op: &'a O,
    local: L,
}

impl<S: Iterator, O: Op<S::Item>> Iterator for MapSeq<'_, S, O, O::Local> {
    type Item = O::Output;

    #[inline]
    fn next(&mut self) -> Option<O::Output> {
        let item = self.seq.next()?;
        Some(self.op.apply(&mut self.local, item))
    }
    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        self.seq.size_hint()
    }
    #[inline]
    fn fold<A, F: FnMut(A, O::Output) -> A>(self, start: A, mut f: F) -> A {
        let (op, mut local) = (self.op, self.local);
        let result = self
            .seq
            .fold(start, |so_far, item| f(so_far, op.apply(&mut local, item)));
        // While the result is a variable still, as in `drive`.
        drop(local);
        result
    }
}

impl<S: DoubleEndedIterator, O: Op<S::Item>> DoubleEndedIterator for MapSeq<'_, S, O, O::Local> {
    #[inline]
    fn next_back(&mut self) -> Option<O::Output> {
        let item = self.seq.next_back()?;
        Some(self.op.apply(&mut self.local, item))
    }
}

impl<S: ExactSizeIterator, O: Op<S::Item>> ExactSizeIterator for MapSeq<'_, S, O, O::Local> {}
