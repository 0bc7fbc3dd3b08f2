//! Iterators that make many items of each item.

use roving::raw::loops::Heed;

use super::adaptors::{FlatMap, FlatMapIter, Flatten, FlattenIter};
use super::{IntoParallelIterator, ParallelIterator};
use crate::engine::{Companion, Consumer, QuietState, forward_to};

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

    fn feed<I>(&self, state: C::State, items: I, mut beside: B) -> C::State
    where
        I: Iterator<Item = T>,
    {
        let mut state = QuietState::new(state);
        let mut at = beside.inside();
        for item in items {
            if self.to.is_done(state.get(), &at) {
                break;
            }
            let inner = (self.f)(item).into_par_iter();
            let (here, rest) = at.chained(inner.span());
            at = rest;
            state.replace(|state| inner.drive(here, self.to, state));
        }
        state.take()
    }
    fn is_over(&self, beside: &B) -> bool {
        self.to.is_over(beside)
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
            heed: Heed::of_caller(),
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

/// How many items of an iterator inside another one are taken between two looks.
const ITEMS_PER_LOOK: usize = 64;

/// A consumer that takes the items of plain iterators, each of which may be long or have no end.
struct FlatIterInto<'c, F, C> {
    heed: Heed,
    f: &'c F,
    to: &'c C,
}

impl<T, R, B, F, C> Consumer<T, B> for FlatIterInto<'_, F, C>
where
    R: IntoIterator,
    B: Companion,
    F: Fn(T) -> R + Send + Sync,
    C: Consumer<R::Item, B>,
{
    forward_to!(C, R::Item);

    #[inline]
    fn feed<I>(&self, state: C::State, items: I, mut beside: B) -> C::State
    where
        I: Iterator<Item = T>,
    {
        let inside = beside.inside();
        let is_over = || {
            self.heed.look();
            self.to.is_over(&beside)
        };
        let items = items.flat_map(|item| Looking {
            items: (self.f)(item).into_iter(),
            left: 0,
            is_over: &is_over,
        });
        self.to.feed(state, items, inside)
    }
    fn is_over(&self, beside: &B) -> bool {
        self.to.is_over(beside)
    }
    fn is_done(&self, state: &C::State, beside: &B) -> bool {
        self.to.is_done(state, beside)
    }
}

/// Items until a look says that it is over: before the first, and before each that follows so many.
struct Looking<'l, S, L> {
    items: S,
    /// How many until the next look.
    left: usize,
    is_over: &'l L,
}

impl<S: Iterator, L: Fn() -> bool> Iterator for Looking<'_, S, L> {
    type Item = S::Item;

    #[inline]
    fn next(&mut self) -> Option<S::Item> {
        if self.left == 0 {
            if (self.is_over)() {
                return None;
            }
            self.left = ITEMS_PER_LOOK;
        }
        self.left -= 1;
        self.items.next()
    }
    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        self.items.size_hint()
    }
    #[inline]
    fn fold<A, F: FnMut(A, S::Item) -> A>(mut self, start: A, mut f: F) -> A {
        let mut so_far = start;
        loop {
            if matches!(self.items.size_hint().1, Some(most) if most <= ITEMS_PER_LOOK) {
                return self.items.fold(so_far, f);
            }
            if (self.is_over)() {
                return so_far;
            }
            let mut taken = 0;
            let some = self.items.by_ref().take(ITEMS_PER_LOOK);
            so_far = some.fold(so_far, |so_far, item| {
                taken += 1;
                f(so_far, item)
            });
            if taken < ITEMS_PER_LOOK {
                return so_far;
            }
        }
    }
}
