//! The trait of all parallel iterators.

use std::cmp::Ordering;
use std::iter;
use std::marker::PhantomData;
use std::mem;

use super::attempt::{Try, sealed::Try as _};
use super::collect::{parted, unzipped};
use super::consume::{
    Count, FindAny, FindFirst, FindLast, ForEach, Product, Reduce, Sum, TryForEach, TryReduce,
};
use super::map::{Cloning, Copying, InitFn, InspectFn, MapFn, UpdateFn, WithFn};
use super::position::UnitPosition;
use super::{
    Chain, Cloned, Copied, Either, Filter, FilterMap, FlatMap, FlatMapIter, Flatten, FlattenIter,
    Fold, FoldWith, FromParallelIterator, Inspect, IntoParallelIterator, Map, MapInit, MapWith,
    Mapped, ParallelExtend, TryFold, Update, WhileSome,
};
use crate::engine::{Companion, Consumer, Whole};

/// An iterator whose items are used by many workers at a time.
///
/// Its methods have the names and meanings of those of [`Iterator`]; closures are called by several
/// workers at a time, and in no particular order, but results are put together in the order of the
/// items. A panic in a closure comes out of the call that runs the iterator, as
/// does a request to stop: see [`roving::Cancel`].
///
/// ```
/// use roving_iter::prelude::*;
///
/// let total: u64 = (1..1_000_u64).into_par_iter().filter(|n| n % 3 == 0).map(|n| n * n).sum();
/// assert_eq!(total, (1..1_000).filter(|n| n % 3 == 0).map(|n| n * n).sum::<u64>());
/// ```
pub trait ParallelIterator: Sized + Send {
    /// The items.
    type Item: Send;

    /// Has a consumer take all items. The calling thread is a worker.
    #[doc(hidden)]
    fn drive<B, C>(self, beside: B, consumer: &C, state: C::State) -> C::State
    where
        B: Companion,
        C: Consumer<Self::Item, B>;

    /// Returns the number of units by which companions are cut, or `usize::MAX` if it is not known.
    #[doc(hidden)]
    fn span(&self) -> usize;

    /// Whether each unit is one item. Where the span is `usize::MAX`, there may be more items.
    #[doc(hidden)]
    fn is_exact(&self) -> bool {
        false
    }

    /// Calls `f` with each item.
    ///
    /// ```
    /// use roving_iter::prelude::*;
    ///
    /// use std::sync::atomic::{AtomicU32, Ordering};
    ///
    /// let sum = AtomicU32::new(0);
    /// (0..10).into_par_iter().for_each(|n| {
    ///     sum.fetch_add(n, Ordering::Relaxed);
    /// });
    /// assert_eq!(sum.into_inner(), 45);
    /// ```
    fn for_each<F>(self, f: F)
    where
        F: Fn(Self::Item) + Send + Sync,
    {
        run(self, (), ForEach(f))
    }

    /// Calls `f` with each item and a clone of `init`; each part of the work has one.
    ///
    /// ```
    /// use roving_iter::prelude::*;
    ///
    /// let (sender, receiver) = std::sync::mpsc::channel();
    /// (0..5).into_par_iter().for_each_with(sender, |sender, n| sender.send(n).unwrap());
    /// assert_eq!(receiver.iter().sum::<i32>(), 10);
    /// ```
    fn for_each_with<W, F>(self, init: W, f: F)
    where
        W: Clone + Send,
        F: Fn(&mut W, Self::Item) + Send + Sync,
    {
        self.map_with(init, f).for_each(drop)
    }

    /// Calls `f` with each item and a value that `init` makes; each part of the work has one.
    ///
    /// ```
    /// use roving_iter::prelude::*;
    ///
    /// ["to", "be"].par_iter().for_each_init(String::new, |text, word| {
    ///     text.push_str(word);
    ///     assert!(text.len() <= 4);
    /// });
    /// ```
    fn for_each_init<N, W, F>(self, init: N, f: F)
    where
        N: Fn() -> W + Send + Sync,
        F: Fn(&mut W, Self::Item) + Send + Sync,
    {
        self.map_init(init, f).for_each(drop)
    }

    /// Calls `f` with each item until it says that this is enough: `None`, `Err` or `Break`. Which
    /// one
    /// is returned, if several do, depends on the run.
    ///
    /// ```
    /// use roving_iter::prelude::*;
    ///
    /// let numbers = ["3", "14", "x"];
    /// let checked = numbers.par_iter().try_for_each(|text| text.parse::<u32>().map(drop));
    /// assert!(checked.is_err());
    /// ```
    fn try_for_each<F, R>(self, f: F) -> R
    where
        R: Try<Output = ()> + Send,
        F: Fn(Self::Item) -> R + Send + Sync,
    {
        run(self, (), TryForEach::new(f)).unwrap_or_else(|| R::from_output(()))
    }

    /// Like [`try_for_each`](Self::try_for_each), with a clone of `init` for each part of the work.
    ///
    /// ```
    /// use roving_iter::prelude::*;
    ///
    /// let (sender, receiver) = std::sync::mpsc::channel();
    /// let sent = (0..5).into_par_iter().try_for_each_with(sender, |sender, n| sender.send(n));
    /// assert!(sent.is_ok() && receiver.iter().count() == 5);
    /// ```
    fn try_for_each_with<W, F, R>(self, init: W, f: F) -> R
    where
        W: Clone + Send,
        R: Try<Output = ()> + Send,
        F: Fn(&mut W, Self::Item) -> R + Send + Sync,
    {
        self.map_with(init, f).try_for_each(|result| result)
    }

    /// Like [`try_for_each`](Self::try_for_each), with a value that `init` makes for each part of
    /// the
    /// work.
    ///
    /// ```
    /// use roving_iter::prelude::*;
    ///
    /// let all = (0..9).into_par_iter().try_for_each_init(|| 10, |limit, n| (n < *limit).then_some(()));
    /// assert!(all.is_some());
    /// ```
    fn try_for_each_init<N, W, F, R>(self, init: N, f: F) -> R
    where
        N: Fn() -> W + Send + Sync,
        R: Try<Output = ()> + Send,
        F: Fn(&mut W, Self::Item) -> R + Send + Sync,
    {
        self.map_init(init, f).try_for_each(|result| result)
    }

    /// Returns the number of items.
    ///
    /// ```
    /// use roving_iter::prelude::*;
    ///
    /// assert_eq!((0..10).into_par_iter().filter(|n| n % 3 == 0).count(), 4);
    /// ```
    fn count(self) -> usize {
        run(self, (), Count)
    }

    /// Makes one item of each item.
    ///
    /// ```
    /// use roving_iter::prelude::*;
    ///
    /// assert_eq!((0..4).into_par_iter().map(|n| n * n).collect::<Vec<_>>(), [0, 1, 4, 9]);
    /// ```
    fn map<F, R>(self, f: F) -> Map<Self, F>
    where
        R: Send,
        F: Fn(Self::Item) -> R + Send + Sync,
    {
        Mapped::new(self, MapFn(f))
    }

    /// Makes one item of each item, with a clone of `init` for each part of the work; and for each
    /// block where [`map_init`](Self::map_init) makes its value for each.
    ///
    /// ```
    /// use roving_iter::prelude::*;
    ///
    /// let lengths = ["to", "be"].par_iter().map_with(String::new(), |text, word| {
    ///     text.clone_from(&word.repeat(2));
    ///     text.len()
    /// });
    /// assert_eq!(lengths.collect::<Vec<_>>(), [4, 4]);
    /// ```
    fn map_with<W, F, R>(self, init: W, f: F) -> MapWith<Self, W, F>
    where
        W: Clone + Send,
        R: Send,
        F: Fn(&mut W, Self::Item) -> R + Send + Sync,
    {
        Mapped::new(self, WithFn::new(init, f))
    }

    /// Makes one item of each item, with a value that `init` makes for each part of the work: for
    /// what is expensive to make, or cannot be sent. Before an adaptor that numbers or pairs items,
    /// as `enumerate`, `zip`, `rev` or `chunks`, it makes one for each block of some microseconds:
    /// put that adaptor first.
    ///
    /// ```
    /// use roving_iter::prelude::*;
    ///
    /// let sums = (0..3).into_par_iter().map_init(Vec::new, |scratch, n| {
    ///     scratch.clear();
    ///     scratch.extend(0..=n);
    ///     scratch.iter().sum::<i32>()
    /// });
    /// assert_eq!(sums.collect::<Vec<_>>(), [0, 1, 3]);
    /// ```
    fn map_init<N, W, F, R>(self, init: N, f: F) -> MapInit<Self, N, F>
    where
        N: Fn() -> W + Send + Sync,
        R: Send,
        F: Fn(&mut W, Self::Item) -> R + Send + Sync,
    {
        Mapped::new(self, InitFn { init, f })
    }

    /// Clones each item, which is a reference.
    ///
    /// ```
    /// use roving_iter::prelude::*;
    ///
    /// let words = [String::from("to"), String::from("be")];
    /// assert_eq!(words.par_iter().cloned().collect::<String>(), "tobe");
    /// ```
    fn cloned<'a, T>(self) -> Cloned<Self>
    where
        T: Clone + Send + 'a,
        Self: ParallelIterator<Item = &'a T>,
    {
        Mapped::new(self, Cloning)
    }

    /// Copies each item, which is a reference.
    ///
    /// ```
    /// use roving_iter::prelude::*;
    ///
    /// assert_eq!([1, 2, 3].par_iter().copied().max(), Some(3));
    /// ```
    fn copied<'a, T>(self) -> Copied<Self>
    where
        T: Copy + Send + 'a,
        Self: ParallelIterator<Item = &'a T>,
    {
        Mapped::new(self, Copying)
    }

    /// Shows each item to `f`.
    ///
    /// ```
    /// use roving_iter::prelude::*;
    ///
    /// let sum: u32 = (0..4).into_par_iter().inspect(|n| assert!(*n < 4)).sum();
    /// assert_eq!(sum, 6);
    /// ```
    fn inspect<F>(self, f: F) -> Inspect<Self, F>
    where
        F: Fn(&Self::Item) + Send + Sync,
    {
        Mapped::new(self, InspectFn(f))
    }

    /// Lets `f` change each item.
    ///
    /// ```
    /// use roving_iter::prelude::*;
    ///
    /// assert_eq!((0..3).into_par_iter().update(|n| *n += 1).collect::<Vec<_>>(), [1, 2, 3]);
    /// ```
    fn update<F>(self, f: F) -> Update<Self, F>
    where
        F: Fn(&mut Self::Item) + Send + Sync,
    {
        Mapped::new(self, UpdateFn(f))
    }

    /// Leaves out the items for which `is_kept` says `false`.
    ///
    /// ```
    /// use roving_iter::prelude::*;
    ///
    /// assert_eq!((0..9).into_par_iter().filter(|n| n % 4 == 0).collect::<Vec<_>>(), [0, 4, 8]);
    /// ```
    fn filter<P>(self, is_kept: P) -> Filter<Self, P>
    where
        P: Fn(&Self::Item) -> bool + Send + Sync,
    {
        Filter {
            base: self,
            is_kept,
        }
    }

    /// Makes an item of each item for which `f` returns one.
    ///
    /// ```
    /// use roving_iter::prelude::*;
    ///
    /// let numbers = ["3", "x", "14"].par_iter().filter_map(|text| text.parse::<u32>().ok());
    /// assert_eq!(numbers.sum::<u32>(), 17);
    /// ```
    fn filter_map<F, R>(self, f: F) -> FilterMap<Self, F>
    where
        R: Send,
        F: Fn(Self::Item) -> Option<R> + Send + Sync,
    {
        FilterMap { base: self, f }
    }

    /// Makes any number of items of each item, by a parallel iterator. For a few items
    /// [`flat_map_iter`](Self::flat_map_iter) costs less.
    ///
    /// ```
    /// use roving_iter::prelude::*;
    ///
    /// assert_eq!((1..4).into_par_iter().flat_map(|n| 0..n).collect::<Vec<_>>(), [0, 0, 1, 0, 1, 2]);
    /// ```
    fn flat_map<F, R>(self, f: F) -> FlatMap<Self, F>
    where
        R: IntoParallelIterator,
        F: Fn(Self::Item) -> R + Send + Sync,
    {
        FlatMap { base: self, f }
    }

    /// Makes any number of items of each item, by an iterator of `std`.
    ///
    /// ```
    /// use roving_iter::prelude::*;
    ///
    /// let letters = ["to", "be"].par_iter().flat_map_iter(|word| word.chars());
    /// assert_eq!(letters.collect::<String>(), "tobe");
    /// ```
    fn flat_map_iter<F, R>(self, f: F) -> FlatMapIter<Self, F>
    where
        R: IntoIterator<Item: Send>,
        F: Fn(Self::Item) -> R + Send + Sync,
    {
        FlatMapIter { base: self, f }
    }

    /// Joins the items of all items, each of which is turned into a parallel iterator.
    ///
    /// ```
    /// use roving_iter::prelude::*;
    ///
    /// assert_eq!(vec![vec![1, 2], vec![], vec![3]].into_par_iter().flatten().sum::<i32>(), 6);
    /// ```
    fn flatten(self) -> Flatten<Self>
    where
        Self::Item: IntoParallelIterator,
    {
        Flatten { base: self }
    }

    /// Joins the items of all items, each of which is turned into an iterator of `std`.
    ///
    /// ```
    /// use roving_iter::prelude::*;
    ///
    /// assert_eq!(vec![Some(1), None, Some(3)].into_par_iter().flatten_iter().sum::<i32>(), 4);
    /// ```
    fn flatten_iter(self) -> FlattenIter<Self>
    where
        Self::Item: IntoIterator<Item: Send>,
    {
        FlattenIter { base: self }
    }

    /// Combines items by `f` until one is left; `identity` makes what changes nothing, and is what
    /// no items give. `f` has to be associative: where the items are parted depends on the run.
    ///
    /// ```
    /// use roving_iter::prelude::*;
    ///
    /// let longest = ["to", "be", "not"].par_iter().map(|word| word.len()).reduce(|| 0, usize::max);
    /// assert_eq!(longest, 3);
    /// ```
    fn reduce<N, F>(self, identity: N, f: F) -> Self::Item
    where
        N: Fn() -> Self::Item + Send + Sync,
        F: Fn(Self::Item, Self::Item) -> Self::Item + Send + Sync,
    {
        self.reduce_with(f).unwrap_or_else(identity)
    }

    /// Combines items by `f`, which has to be associative, until one is left; `None` if there is
    /// none.
    ///
    /// ```
    /// use roving_iter::prelude::*;
    ///
    /// assert_eq!((1..5).into_par_iter().reduce_with(|a, b| a * b), Some(24));
    /// ```
    fn reduce_with<F>(self, f: F) -> Option<Self::Item>
    where
        F: Fn(Self::Item, Self::Item) -> Self::Item + Send + Sync,
    {
        if !mem::needs_drop::<Self::Item>() {
            return run(self, (), Reduce::new(f));
        }
        // What owns memory may grow, and a fold knows what to do then.
        let both = |total, item| match (total, item) {
            (Some(total), Some(item)) => Some(f(total, item)),
            (total, item) => total.or(item),
        };
        let totals = self.fold(|| None, |total, item| both(total, Some(item)));
        run(totals, (), Reduce::new(both)).flatten()
    }

    /// Combines the values of items by `f` until one of them, or `f`, says that this is enough.
    ///
    /// ```
    /// use roving_iter::prelude::*;
    ///
    /// let sum = [Some(1_u8), Some(2)].into_par_iter().try_reduce(|| 0, u8::checked_add);
    /// assert_eq!(sum, Some(3));
    /// ```
    fn try_reduce<T, N, F>(self, identity: N, f: F) -> Self::Item
    where
        Self::Item: Try<Output = T>,
        N: Fn() -> T + Send + Sync,
        F: Fn(T, T) -> Self::Item + Send + Sync,
    {
        self.try_reduce_with(f)
            .unwrap_or_else(|| Self::Item::from_output(identity()))
    }

    /// Like [`try_reduce`](Self::try_reduce), but `None` if there are no items.
    ///
    /// ```
    /// use roving_iter::prelude::*;
    ///
    /// let sum = [Ok(1), Err("no")].into_par_iter().try_reduce_with(|a, b| Ok::<i32, &str>(a + b));
    /// assert_eq!(sum, Some(Err("no")));
    /// ```
    fn try_reduce_with<T, F>(self, f: F) -> Option<Self::Item>
    where
        Self::Item: Try<Output = T>,
        F: Fn(T, T) -> Self::Item + Send + Sync,
    {
        run(self, (), TryReduce::new(f))
    }

    /// Folds each part of the items, and iterates over what the parts come to. How many there are
    /// depends on the run. Before a search, such as [`find_any`](Self::find_any), each block of
    /// some microseconds is a part, so that what is found ends the fold.
    ///
    /// ```
    /// use roving_iter::prelude::*;
    ///
    /// let sum: usize = ["to", "be"].par_iter().fold(|| 0, |sum, word| sum + word.len()).sum();
    /// assert_eq!(sum, 4);
    /// ```
    fn fold<T, N, F>(self, identity: N, f: F) -> Fold<Self, N, F>
    where
        T: Send,
        N: Fn() -> T + Send + Sync,
        F: Fn(T, Self::Item) -> T + Send + Sync,
    {
        Fold {
            base: self,
            identity,
            f,
        }
    }

    /// Folds each part of the items from a clone of `identity` on.
    ///
    /// ```
    /// use roving_iter::prelude::*;
    ///
    /// let text = ('a'..'e').into_par_iter().fold_with(String::new(), |text, c| text + &c.to_string());
    /// assert_eq!(text.collect::<String>(), "abcd");
    /// ```
    fn fold_with<T, F>(self, identity: T, f: F) -> FoldWith<Self, T, F>
    where
        T: Clone + Send,
        F: Fn(T, Self::Item) -> T + Send + Sync,
    {
        FoldWith::new(self, identity, f)
    }

    /// Folds each part of the items until `f` says that this is enough for the part.
    ///
    /// ```
    /// use roving_iter::prelude::*;
    ///
    /// let sum = [100_u8, 100, 100].into_par_iter().try_fold(|| 0, u8::checked_add);
    /// assert_eq!(sum.try_reduce(|| 0, u8::checked_add), None);
    /// ```
    fn try_fold<T, R, N, F>(self, identity: N, f: F) -> TryFold<Self, R, N, F>
    where
        R: Try<Output = T> + Send,
        N: Fn() -> T + Send + Sync,
        F: Fn(T, Self::Item) -> R + Send + Sync,
    {
        TryFold {
            base: self,
            identity,
            f,
            result: PhantomData,
        }
    }

    /// Adds up the items.
    ///
    /// ```
    /// use roving_iter::prelude::*;
    ///
    /// assert_eq!((1..=100).into_par_iter().sum::<i32>(), 5050);
    /// ```
    fn sum<S>(self) -> S
    where
        S: Send + iter::Sum<Self::Item> + iter::Sum<S>,
    {
        run(self, (), Sum::new())
    }

    /// Multiplies the items.
    ///
    /// ```
    /// use roving_iter::prelude::*;
    ///
    /// assert_eq!((1..=5).into_par_iter().product::<u64>(), 120);
    /// ```
    fn product<P>(self) -> P
    where
        P: Send + iter::Product<Self::Item> + iter::Product<P>,
    {
        run(self, (), Product::new())
    }

    /// Returns the least item, the first of several.
    ///
    /// ```
    /// use roving_iter::prelude::*;
    ///
    /// assert_eq!([3, 1, 2].par_iter().min(), Some(&1));
    /// ```
    fn min(self) -> Option<Self::Item>
    where
        Self::Item: Ord,
    {
        self.min_by(Self::Item::cmp)
    }

    /// Returns the least item by `compare`, the first of several.
    ///
    /// ```
    /// use roving_iter::prelude::*;
    ///
    /// assert_eq!([2.5_f32, 1.5].par_iter().min_by(|a, b| a.total_cmp(b)), Some(&1.5));
    /// ```
    fn min_by<F>(self, compare: F) -> Option<Self::Item>
    where
        F: Fn(&Self::Item, &Self::Item) -> Ordering + Send + Sync,
    {
        self.reduce_with(move |a, b| match compare(&a, &b).is_gt() {
            true => instead_of(a, b),
            false => instead_of(b, a),
        })
    }

    /// Returns the item with the least key, the first of several.
    ///
    /// ```
    /// use roving_iter::prelude::*;
    ///
    /// assert_eq!(["not", "to", "be"].par_iter().min_by_key(|word| word.len()), Some(&"to"));
    /// ```
    fn min_by_key<K, F>(self, key: F) -> Option<Self::Item>
    where
        K: Ord + Send,
        F: Fn(&Self::Item) -> K + Send + Sync,
    {
        let keyed = self.map(move |item| (key(&item), item));
        let least = keyed.min_by(|a, b| a.0.cmp(&b.0));
        least.map(|(key, item)| instead_of(key, item))
    }

    /// Returns the greatest item, the last of several.
    ///
    /// ```
    /// use roving_iter::prelude::*;
    ///
    /// assert_eq!([3, 1, 2].par_iter().max(), Some(&3));
    /// ```
    fn max(self) -> Option<Self::Item>
    where
        Self::Item: Ord,
    {
        self.max_by(Self::Item::cmp)
    }

    /// Returns the greatest item by `compare`, the last of several.
    ///
    /// ```
    /// use roving_iter::prelude::*;
    ///
    /// assert_eq!([2.5_f32, 1.5].par_iter().max_by(|a, b| a.total_cmp(b)), Some(&2.5));
    /// ```
    fn max_by<F>(self, compare: F) -> Option<Self::Item>
    where
        F: Fn(&Self::Item, &Self::Item) -> Ordering + Send + Sync,
    {
        self.reduce_with(move |a, b| match compare(&a, &b).is_gt() {
            true => instead_of(b, a),
            false => instead_of(a, b),
        })
    }

    /// Returns the item with the greatest key, the last of several.
    ///
    /// ```
    /// use roving_iter::prelude::*;
    ///
    /// assert_eq!(["not", "to", "be"].par_iter().max_by_key(|word| word.len()), Some(&"not"));
    /// ```
    fn max_by_key<K, F>(self, key: F) -> Option<Self::Item>
    where
        K: Ord + Send,
        F: Fn(&Self::Item) -> K + Send + Sync,
    {
        let keyed = self.map(move |item| (key(&item), item));
        let most = keyed.max_by(|a, b| a.0.cmp(&b.0));
        most.map(|(key, item)| instead_of(key, item))
    }

    /// Appends the items of another iterator.
    ///
    /// ```
    /// use roving_iter::prelude::*;
    ///
    /// assert_eq!((0..2).into_par_iter().chain(5..7).collect::<Vec<_>>(), [0, 1, 5, 6]);
    /// ```
    fn chain<C>(self, other: C) -> Chain<Self, C::Iter>
    where
        C: IntoParallelIterator<Item = Self::Item>,
    {
        Chain {
            first: self,
            second: other.into_par_iter(),
        }
    }

    /// Returns an item for which `is_wanted` says `true`; which one depends on the run.
    ///
    /// ```
    /// use roving_iter::prelude::*;
    ///
    /// assert_eq!((0..100).into_par_iter().find_any(|n| n * n == 49), Some(7));
    /// ```
    fn find_any<P>(self, is_wanted: P) -> Option<Self::Item>
    where
        P: Fn(&Self::Item) -> bool + Send + Sync,
    {
        run(self, (), FindAny::new(is_wanted))
    }

    /// Returns the first item for which `is_wanted` says `true`. Those behind it are left out as
    /// far as
    /// they have not begun.
    ///
    /// ```
    /// use roving_iter::prelude::*;
    ///
    /// assert_eq!((0..100).into_par_iter().find_first(|n| n % 7 == 6), Some(6));
    /// ```
    fn find_first<P>(self, is_wanted: P) -> Option<Self::Item>
    where
        P: Fn(&Self::Item) -> bool + Send + Sync,
    {
        run(self, UnitPosition::start(), FindFirst::new(is_wanted))
    }

    /// Returns the last item for which `is_wanted` says `true`.
    ///
    /// ```
    /// use roving_iter::prelude::*;
    ///
    /// assert_eq!((0..100).into_par_iter().find_last(|n| n % 7 == 6), Some(97));
    /// ```
    fn find_last<P>(self, is_wanted: P) -> Option<Self::Item>
    where
        P: Fn(&Self::Item) -> bool + Send + Sync,
    {
        run(self, UnitPosition::start(), FindLast::new(is_wanted))
    }

    /// Returns a value that `f` gives for an item; which one depends on the run.
    ///
    /// ```
    /// use roving_iter::prelude::*;
    ///
    /// let found = ["x", "14"].par_iter().find_map_any(|text| text.parse().ok());
    /// assert_eq!(found, Some(14));
    /// ```
    fn find_map_any<F, R>(self, f: F) -> Option<R>
    where
        R: Send,
        F: Fn(Self::Item) -> Option<R> + Send + Sync,
    {
        self.filter_map(f).find_any(|_| true)
    }

    /// Returns the value that `f` gives for the first item for which it gives one.
    ///
    /// ```
    /// use roving_iter::prelude::*;
    ///
    /// let found = ["x", "3", "14"].par_iter().find_map_first(|text| text.parse().ok());
    /// assert_eq!(found, Some(3));
    /// ```
    fn find_map_first<F, R>(self, f: F) -> Option<R>
    where
        R: Send,
        F: Fn(Self::Item) -> Option<R> + Send + Sync,
    {
        self.filter_map(f).find_first(|_| true)
    }

    /// Returns the value that `f` gives for the last item for which it gives one.
    ///
    /// ```
    /// use roving_iter::prelude::*;
    ///
    /// let found = ["3", "14", "x"].par_iter().find_map_last(|text| text.parse().ok());
    /// assert_eq!(found, Some(14));
    /// ```
    fn find_map_last<F, R>(self, f: F) -> Option<R>
    where
        R: Send,
        F: Fn(Self::Item) -> Option<R> + Send + Sync,
    {
        self.filter_map(f).find_last(|_| true)
    }

    /// Whether `f` says `true` for an item. Ends as soon as it does.
    ///
    /// ```
    /// use roving_iter::prelude::*;
    ///
    /// assert!((0..100).into_par_iter().any(|n| n == 42));
    /// ```
    fn any<P>(self, f: P) -> bool
    where
        P: Fn(Self::Item) -> bool + Send + Sync,
    {
        self.map(f).find_any(|is_true| *is_true).is_some()
    }

    /// Whether `f` says `true` for all items. Ends as soon as it does not.
    ///
    /// ```
    /// use roving_iter::prelude::*;
    ///
    /// assert!((0..100).into_par_iter().all(|n| n < 100));
    /// ```
    fn all<P>(self, f: P) -> bool
    where
        P: Fn(Self::Item) -> bool + Send + Sync,
    {
        self.map(f).find_any(|is_true| !*is_true).is_none()
    }

    /// Unwraps items up to a `None`. Which items are before that depends on the run.
    ///
    /// ```
    /// use roving_iter::prelude::*;
    ///
    /// let sum: i32 = [Some(1), Some(2)].into_par_iter().while_some().sum();
    /// assert_eq!(sum, 3);
    /// ```
    fn while_some<T>(self) -> WhileSome<Self>
    where
        T: Send,
        Self: ParallelIterator<Item = Option<T>>,
    {
        WhileSome { base: self }
    }

    /// Makes a collection of all items. Those that have an order get the items in their order.
    ///
    /// ```
    /// use roving_iter::prelude::*;
    ///
    /// use std::collections::BTreeSet;
    ///
    /// assert_eq!((0..3).into_par_iter().collect::<Vec<_>>(), [0, 1, 2]);
    /// let checked: Result<BTreeSet<u32>, _> = ["3", "x"].par_iter().map(|text| text.parse()).collect();
    /// assert!(checked.is_err());
    /// ```
    fn collect<C>(self) -> C
    where
        C: FromParallelIterator<Self::Item>,
    {
        C::from_par_iter(self)
    }

    /// Makes two collections of the halves of pairs.
    ///
    /// ```
    /// use roving_iter::prelude::*;
    ///
    /// let (numbers, squares): (Vec<_>, Vec<_>) = (0..3).into_par_iter().map(|n| (n, n * n)).unzip();
    /// assert_eq!((numbers, squares), (vec![0, 1, 2], vec![0, 1, 4]));
    /// ```
    fn unzip<A, B, FromA, FromB>(self) -> (FromA, FromB)
    where
        Self: ParallelIterator<Item = (A, B)>,
        A: Send,
        B: Send,
        FromA: Default + Send + ParallelExtend<A>,
        FromB: Default + Send + ParallelExtend<B>,
    {
        let (a, b) = unzipped(self);
        extended(a, b)
    }

    /// Makes one collection of the items for which `is_left` says `true`, and one of the others.
    ///
    /// ```
    /// use roving_iter::prelude::*;
    ///
    /// let (even, odd): (Vec<_>, Vec<_>) = (0..5).into_par_iter().partition(|n| n % 2 == 0);
    /// assert_eq!((even, odd), (vec![0, 2, 4], vec![1, 3]));
    /// ```
    fn partition<A, B, P>(self, is_left: P) -> (A, B)
    where
        A: Default + Send + ParallelExtend<Self::Item>,
        B: Default + Send + ParallelExtend<Self::Item>,
        P: Fn(&Self::Item) -> bool + Send + Sync,
    {
        self.partition_map(move |item| {
            if is_left(&item) {
                Either::Left(item)
            } else {
                Either::Right(item)
            }
        })
    }

    /// Makes two collections of what `f` makes of items, each for the first or the second.
    ///
    /// ```
    /// use roving_iter::prelude::*;
    ///
    /// use roving_iter::iter::Either;
    ///
    /// let (good, bad): (Vec<u32>, Vec<&str>) =
    ///     ["3", "x"].into_par_iter().partition_map(|text| match text.parse::<u32>() {
    ///         Ok(number) => Either::Left(number),
    ///         Err(_) => Either::Right(text),
    ///     });
    /// assert_eq!((good, bad), (vec![3], vec!["x"]));
    /// ```
    fn partition_map<A, B, P, L, R>(self, f: P) -> (A, B)
    where
        A: Default + Send + ParallelExtend<L>,
        B: Default + Send + ParallelExtend<R>,
        L: Send,
        R: Send,
        P: Fn(Self::Item) -> Either<L, R> + Send + Sync,
    {
        let (a, b) = parted(self, f);
        extended(a, b)
    }

    /// Returns the number of items, if that is known before they are made.
    ///
    /// ```
    /// use roving_iter::prelude::*;
    ///
    /// assert_eq!((0..10).into_par_iter().opt_len(), Some(10));
    /// assert_eq!((0..10).into_par_iter().filter(|n| n % 2 == 0).opt_len(), None);
    /// ```
    fn opt_len(&self) -> Option<usize> {
        let is_known = self.is_exact() && self.span() < usize::MAX;
        is_known.then(|| self.span())
    }
}

/// Returns what is kept when the other has been dropped. What is being returned while a drop panics
/// is leaked; a variable is not.
fn instead_of<A, B>(dropped: A, kept: B) -> B {
    drop(dropped);
    kept
}

/// Puts two vectors into collections.
fn extended<A, B, FromA, FromB>(a: Vec<A>, b: Vec<B>) -> (FromA, FromB)
where
    A: Send,
    B: Send,
    FromA: Default + ParallelExtend<A>,
    FromB: Default + ParallelExtend<B>,
{
    let (mut from_a, mut from_b) = (FromA::default(), FromB::default());
    from_a.par_extend(a);
    from_b.par_extend(b);
    (from_a, from_b)
}

/// Runs an iterator to its end, on a worker.
#[inline]
pub(crate) fn run<I, B, C>(iter: I, beside: B, consumer: C) -> C::Outcome
where
    I: ParallelIterator,
    B: Companion,
    C: Consumer<I::Item, B>,
{
    roving::raw::loops::run_on_worker(move || {
        let consumer = Whole::new(consumer);
        let state = consumer.begin();
        consumer.end(iter.drive(beside, &consumer, state))
    })
}
