//! Iterators that make many items of each item.

use super::adaptors::{FlatMap, FlatMapIter, Flatten, FlattenIter};
use super::{IntoParallelIterator, ParallelIterator};
use crate::engine::{Companion, Consumer, forward_to};

impl<I, R, F> ParallelIterator for FlatMap<I, F>
where
    I: ParallelIterator,
    R: IntoParallelIterator,
    F: Fn(I::Item) -> R + Send + Sync,
{
    type Item = R::Item;

    fn drive<B, C>(self, beside: B, consumer: &C, state: C::State) -> C::State
    where
        B: Companion,
        C: Consumer<R::Item, B>,
    {
        let into = FlatInto {
            f: &self.f,
            to: consumer,
        };
        self.base.drive(beside, &into, state)
    }
    fn span(&self) -> usize {
        self.base.span()
    }
}

impl<I: ParallelIterator<Item: IntoParallelIterator>> ParallelIterator for Flatten<I> {
    type Item = <I::Item as IntoParallelIterator>::Item;

    fn drive<B, C>(self, beside: B, consumer: &C, state: C::State) -> C::State
    where
        B: Companion,
        C: Consumer<Self::Item, B>,
    {
        self.base
            .flat_map(|items| items)
            .drive(beside, consumer, state)
    }
    fn span(&self) -> usize {
        self.base.span()
    }
}

/// A consumer that runs an iterator for each item that it takes, in the state of another one.
struct FlatInto<'c, F, C> {
    f: &'c F,
    to: &'c C,
}

impl<T, R, B, F, C> Consumer<T, B> for FlatInto<'_, F, C>
where
    R: IntoParallelIterator,
    B: Companion,
    F: Fn(T) -> R + Send + Sync,
    C: Consumer<R::Item, B>,
{
    forward_to!(C, R::Item);

    fn feed<I>(&self, mut state: C::State, items: I, mut beside: B) -> C::State
    where
        I: Iterator<Item = T>,
    {
        for item in items {
            if self.to.is_done(&state, &beside) {
                break;
            }
            let inner = (self.f)(item).into_par_iter();
            state = inner.drive(beside.inside(), self.to, state);
        }
        state
    }
    fn is_done(&self, state: &C::State, beside: &B) -> bool {
        self.to.is_done(state, beside)
    }
}

impl<I, R, F> ParallelIterator for FlatMapIter<I, F>
where
    I: ParallelIterator,
    R: IntoIterator<Item: Send>,
    F: Fn(I::Item) -> R + Send + Sync,
{
    type Item = R::Item;

    fn drive<B, C>(self, beside: B, consumer: &C, state: C::State) -> C::State
    where
        B: Companion,
        C: Consumer<R::Item, B>,
    {
        let into = FlatIterInto {
            f: &self.f,
            to: consumer,
        };
        self.base.drive(beside, &into, state)
    }
    fn span(&self) -> usize {
        self.base.span()
    }
}

impl<I: ParallelIterator<Item: IntoIterator<Item: Send>>> ParallelIterator for FlattenIter<I> {
    type Item = <I::Item as IntoIterator>::Item;

    fn drive<B, C>(self, beside: B, consumer: &C, state: C::State) -> C::State
    where
        B: Companion,
        C: Consumer<Self::Item, B>,
    {
        let flat = self.base.flat_map_iter(|items| items);
        flat.drive(beside, consumer, state)
    }
    fn span(&self) -> usize {
        self.base.span()
    }
}

struct FlatIterInto<'c, F, C> {
    f: &'c F,
    to: &'c C,
}

impl<T, R, B, F, C> Consumer<T, B> for FlatIterInto<'_, F, C>
where
    R: IntoIterator,
    F: Fn(T) -> R + Send + Sync,
    C: Consumer<R::Item, B>,
{
    forward_to!(C, R::Item);

    #[inline]
    fn feed<I: Iterator<Item = T>>(&self, state: C::State, items: I, beside: B) -> C::State {
        self.to.feed(state, items.flat_map(self.f), beside)
    }
    fn is_done(&self, state: &C::State, beside: &B) -> bool {
        self.to.is_done(state, beside)
    }
}
