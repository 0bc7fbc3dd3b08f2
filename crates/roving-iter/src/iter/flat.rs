//! Iterators that make many items of each item.

use super::{IntoParallelIterator, ParallelIterator};
use crate::engine::{Companion, Consumer, forward_to};

/// An iterator over the items of the parallel iterators that a closure makes:
/// [`flat_map`](ParallelIterator::flat_map).
///
/// ```
/// use roving_iter::iter::FlatMap;
/// use roving_iter::prelude::*;
///
/// let iter: FlatMap<_, _> = (1..3).into_par_iter().flat_map(|n| 0..n);
/// assert_eq!(iter.collect::<Vec<_>>(), [0, 0, 1]);
/// ```
#[derive(Clone, Debug)]
pub struct FlatMap<I, F> {
    pub(super) base: I,
    pub(super) f: F,
}

/// An iterator over the items of items: [`flatten`](ParallelIterator::flatten).
///
/// ```
/// use roving_iter::iter::Flatten;
/// use roving_iter::prelude::*;
///
/// let iter: Flatten<_> = vec![vec![1], vec![2, 3]].into_par_iter().flatten();
/// assert_eq!(iter.collect::<Vec<_>>(), [1, 2, 3]);
/// ```
#[derive(Clone, Debug)]
pub struct Flatten<I> {
    pub(super) base: I,
}

/// An iterator over the items of the iterators of `std` that a closure makes:
/// [`flat_map_iter`](ParallelIterator::flat_map_iter).
///
/// ```
/// use roving_iter::iter::FlatMapIter;
/// use roving_iter::prelude::*;
///
/// let iter: FlatMapIter<_, _> = (1..3).into_par_iter().flat_map_iter(|n| 0..n);
/// assert_eq!(iter.collect::<Vec<_>>(), [0, 0, 1]);
/// ```
#[derive(Clone, Debug)]
pub struct FlatMapIter<I, F> {
    pub(super) base: I,
    pub(super) f: F,
}

/// An iterator over the items of items, which are iterators of `std`:
/// [`flatten_iter`](ParallelIterator::flatten_iter).
///
/// ```
/// use roving_iter::iter::FlattenIter;
/// use roving_iter::prelude::*;
///
/// let iter: FlattenIter<_> = vec![vec![1], vec![2, 3]].into_par_iter().flatten_iter();
/// assert_eq!(iter.collect::<Vec<_>>(), [1, 2, 3]);
/// ```
#[derive(Clone, Debug)]
pub struct FlattenIter<I> {
    pub(super) base: I,
}

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
