//! Iterators that leave items out.

use std::sync::atomic::{AtomicBool, Ordering};

use super::ParallelIterator;
use super::adaptors::{Filter, FilterMap, WhileSome};
use crate::engine::{Companion, Consumer, forward_to};

/// The methods of an iterator over fewer items than another one, by a consumer that wraps.
macro_rules! drive_into {
    ($into:ident, $field:ident) => {
        #[inline]
        fn drive<B, C>(self, beside: B, consumer: &C, state: C::State) -> C::State
        where
            B: Companion,
            C: Consumer<Self::Item, B>,
        {
            let into = $into {
                $field: &self.$field,
                to: consumer,
            };
            self.base.drive(beside, &into, state)
        }
        fn span(&self) -> usize {
            self.base.span()
        }
    };
}

impl<I, P> ParallelIterator for Filter<I, P>
where
    I: ParallelIterator,
    P: Fn(&I::Item) -> bool + Send + Sync,
{
    type Item = I::Item;
    drive_into!(FilterInto, is_kept);
}

struct FilterInto<'c, P, C> {
    is_kept: &'c P,
    to: &'c C,
}

impl<T, B, P, C> Consumer<T, B> for FilterInto<'_, P, C>
where
    P: Fn(&T) -> bool + Send + Sync,
    C: Consumer<T, B>,
{
    forward_to!(C, T);

    #[inline]
    fn feed<I: Iterator<Item = T>>(&self, state: C::State, items: I, beside: B) -> C::State {
        self.to.feed(state, items.filter(self.is_kept), beside)
    }
    fn is_over(&self, beside: &B) -> bool {
        self.to.is_over(beside)
    }
    fn is_done(&self, state: &C::State, beside: &B) -> bool {
        self.to.is_done(state, beside)
    }
}

impl<I, R, F> ParallelIterator for FilterMap<I, F>
where
    I: ParallelIterator,
    R: Send,
    F: Fn(I::Item) -> Option<R> + Send + Sync,
{
    type Item = R;
    drive_into!(FilterMapInto, f);
}

struct FilterMapInto<'c, F, C> {
    f: &'c F,
    to: &'c C,
}

impl<T, R, B, F, C> Consumer<T, B> for FilterMapInto<'_, F, C>
where
    F: Fn(T) -> Option<R> + Send + Sync,
    C: Consumer<R, B>,
{
    forward_to!(C, R);

    #[inline]
    fn feed<I: Iterator<Item = T>>(&self, state: C::State, items: I, beside: B) -> C::State {
        self.to.feed(state, items.filter_map(self.f), beside)
    }
    fn is_over(&self, beside: &B) -> bool {
        self.to.is_over(beside)
    }
    fn is_done(&self, state: &C::State, beside: &B) -> bool {
        self.to.is_done(state, beside)
    }
}

impl<T: Send, I: ParallelIterator<Item = Option<T>>> ParallelIterator for WhileSome<I> {
    type Item = T;

    fn drive<B, C>(self, beside: B, consumer: &C, state: C::State) -> C::State
    where
        B: Companion,
        C: Consumer<T, B>,
    {
        let into = WhileSomeInto {
            has_ended: AtomicBool::new(false),
            to: consumer,
        };
        self.base.drive(beside, &into, state)
    }
    fn span(&self) -> usize {
        self.base.span()
    }
}

struct WhileSomeInto<'c, C> {
    has_ended: AtomicBool,
    to: &'c C,
}

impl<T, B, C: Consumer<T, B>> Consumer<Option<T>, B> for WhileSomeInto<'_, C> {
    forward_to!(C, T);

    fn feed<I>(&self, state: C::State, items: I, beside: B) -> C::State
    where
        I: Iterator<Item = Option<T>>,
    {
        let items = items.map_while(|item| {
            // Ordering: Relaxed; a request to end, which carries nothing.
            if item.is_none() || self.has_ended.load(Ordering::Relaxed) {
                // Ordering: Relaxed, for the same reason.
                self.has_ended.store(true, Ordering::Relaxed);
                return None;
            }
            item
        });
        self.to.feed(state, items, beside)
    }
    fn is_over(&self, beside: &B) -> bool {
        // Ordering: Relaxed; a request to end, which carries nothing.
        self.has_ended.load(Ordering::Relaxed) || self.to.is_over(beside)
    }
    fn is_done(&self, state: &C::State, beside: &B) -> bool {
        // Ordering: Relaxed; a request to end, which carries nothing.
        self.has_ended.load(Ordering::Relaxed) || self.to.is_done(state, beside)
    }
}
