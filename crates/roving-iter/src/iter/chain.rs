//! One iterator behind another.

use std::iter;

use super::adaptors::Chain;
use super::{IndexedParallelIterator, ParallelIterator};
use crate::engine::{Companion, Consumer, Exact, IterPiece, or_fail};

impl<I, J> ParallelIterator for Chain<I, J>
where
    I: ParallelIterator,
    J: ParallelIterator<Item = I::Item>,
{
    type Item = I::Item;

    fn drive<B, C>(self, beside: B, consumer: &C, state: C::State) -> C::State
    where
        B: Companion,
        C: Consumer<I::Item, B>,
    {
        let (first, second) = (self.first, self.second);
        let (lower, upper) = beside.chained(first.span());
        if second.span() == 0 {
            return first.drive(lower, consumer, state);
        }
        // The state stays on this thread: the first goes on from what was made of it.
        let outcome = consumer.end(state);
        let first = || consumer.end(first.drive(lower, consumer, consumer.resume(outcome)));
        let second = || {
            let state = consumer.begin();
            if consumer.is_done(&state, &upper) {
                return consumer.end(state);
            }
            consumer.end(second.drive(upper, consumer, state))
        };
        let (lower, upper) =
            roving::join(|| or_fail(consumer, first), || or_fail(consumer, second));
        consumer.resume(consumer.join(lower, upper))
    }
    fn span(&self) -> usize {
        self.first.span().saturating_add(self.second.span())
    }
    fn is_exact(&self) -> bool {
        self.first.is_exact() && self.second.is_exact()
    }
}

impl<I, J> IndexedParallelIterator for Chain<I, J>
where
    I: IndexedParallelIterator,
    J: IndexedParallelIterator<Item = I::Item>,
{
    type Piece<'a>
        = ChainPiece<I::Piece<'a>, J::Piece<'a>>
    where
        Self: 'a;

    fn len(&self) -> usize {
        let len = self.first.len().checked_add(self.second.len());
        len.expect("a chain has more items than `usize::MAX`")
    }
    fn piece(&mut self) -> Self::Piece<'_> {
        // Panics if there are more than can be numbered.
        _ = self.len();
        ChainPiece {
            first: self.first.piece(),
            second: self.second.piece(),
        }
    }
}

/// A part of a chain.
pub struct ChainPiece<P, Q> {
    first: P,
    second: Q,
}

impl<P: Exact, Q: Exact + IterPiece<Item = P::Item>> IterPiece for ChainPiece<P, Q> {
    type Item = P::Item;
    type Seq = ChainSeq<P::Seq, Q::Seq>;

    fn units(&self) -> usize {
        self.first.units() + self.second.units()
    }
    fn cut(self, at: usize) -> (Self, Self) {
        let middle = self.first.units();
        let (first, first_rest) = self.first.cut(at.min(middle));
        let (second, second_rest) = self.second.cut(at.saturating_sub(middle));
        let lower = ChainPiece { first, second };
        let upper = ChainPiece {
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
    fn into_seq(self) -> Self::Seq {
        ChainSeq {
            left: self.units(),
            items: self.first.into_seq().chain(self.second.into_seq()),
        }
    }
}

impl<P: Exact, Q: Exact + IterPiece<Item = P::Item>> Exact for ChainPiece<P, Q> {}

/// A chain that knows its length.
pub struct ChainSeq<S, R> {
    items: iter::Chain<S, R>,
    left: usize,
}

impl<S: Iterator, R: Iterator<Item = S::Item>> Iterator for ChainSeq<S, R> {
    type Item = S::Item;

    fn next(&mut self) -> Option<S::Item> {
        let item = self.items.next()?;
        self.left -= 1;
        Some(item)
    }
    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
    fn fold<A, F: FnMut(A, S::Item) -> A>(self, start: A, f: F) -> A {
        self.items.fold(start, f)
    }
}

impl<S, R> DoubleEndedIterator for ChainSeq<S, R>
where
    S: DoubleEndedIterator,
    R: DoubleEndedIterator<Item = S::Item>,
{
    fn next_back(&mut self) -> Option<S::Item> {
        let item = self.items.next_back()?;
        self.left -= 1;
        Some(item)
    }
}

impl<S: Iterator, R: Iterator<Item = S::Item>> ExactSizeIterator for ChainSeq<S, R> {}
