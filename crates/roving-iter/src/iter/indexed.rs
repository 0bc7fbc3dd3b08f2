//! The trait of parallel iterators that know where each item stands.

use std::cmp::Ordering;

use super::collect::append_exact;
use super::{
    Chunks, Enumerate, IntoParallelIterator, MaxLen, MinLen, ParallelIterator, Rev, Skip, StepBy,
    Take, Zip,
};
use crate::engine::Exact;

/// A parallel iterator that knows where each item stands, and how many there are.
///
/// ```
/// use roving_iter::prelude::*;
///
/// let words = ["to", "be", "or", "not"];
/// let at = words.par_iter().position_any(|word| *word == "or");
/// assert_eq!(at, Some(2));
/// ```
#[allow(clippy::len_without_is_empty, reason = "the methods are Rayon's")]
pub trait IndexedParallelIterator: ParallelIterator {
    /// The parts into which it is cut.
    #[doc(hidden)]
    type Piece<'a>: Exact<Item = Self::Item>
    where
        Self: 'a;

    /// Returns the number of items.
    ///
    /// ```
    /// use roving_iter::prelude::*;
    ///
    /// assert_eq!((0..10).into_par_iter().skip(3).len(), 7);
    /// ```
    fn len(&self) -> usize;

    /// Returns all items as one piece. Called once.
    #[doc(hidden)]
    fn piece(&mut self) -> Self::Piece<'_>;

    /// Pairs each item with the item of another iterator at the same place, up to the end of the
    /// shorter one.
    ///
    /// ```
    /// use roving_iter::prelude::*;
    ///
    /// let sums = [1, 2].par_iter().zip([10, 20]).map(|(a, b)| a + b);
    /// assert_eq!(sums.collect::<Vec<_>>(), [11, 22]);
    /// ```
    fn zip<Z>(self, other: Z) -> Zip<Self, Z::Iter>
    where
        Z: IntoParallelIterator<Iter: IndexedParallelIterator>,
    {
        Zip {
            first: self,
            second: other.into_par_iter(),
        }
    }

    /// Pairs items like [`zip`](Self::zip), of an iterator of the same length.
    ///
    /// # Panics
    /// If the lengths differ.
    ///
    /// ```
    /// use roving_iter::prelude::*;
    ///
    /// assert_eq!([1, 2].par_iter().zip_eq([3, 4]).count(), 2);
    /// ```
    fn zip_eq<Z>(self, other: Z) -> Zip<Self, Z::Iter>
    where
        Z: IntoParallelIterator<Iter: IndexedParallelIterator>,
    {
        let other = other.into_par_iter();
        let (ours, theirs) = (self.len(), other.len());
        assert_eq!(
            ours, theirs,
            "iterators of {ours} and {theirs} items are zipped: they must have the same length"
        );
        Zip {
            first: self,
            second: other,
        }
    }

    /// Pairs each item with its number, from 0 on.
    ///
    /// ```
    /// use roving_iter::prelude::*;
    ///
    /// let mut squares = [0; 4];
    /// squares.par_iter_mut().enumerate().for_each(|(at, square)| *square = at * at);
    /// assert_eq!(squares, [0, 1, 4, 9]);
    /// ```
    fn enumerate(self) -> Enumerate<Self> {
        Enumerate { base: self }
    }

    /// Reverses the order of the items.
    ///
    /// ```
    /// use roving_iter::prelude::*;
    ///
    /// assert_eq!((0..4).into_par_iter().rev().collect::<Vec<_>>(), [3, 2, 1, 0]);
    /// ```
    fn rev(self) -> Rev<Self> {
        Rev { base: self }
    }

    /// Leaves out the first `count` items, which are made and dropped.
    ///
    /// ```
    /// use roving_iter::prelude::*;
    ///
    /// assert_eq!((0..4).into_par_iter().skip(2).collect::<Vec<_>>(), [2, 3]);
    /// ```
    fn skip(self, count: usize) -> Skip<Self> {
        Skip { base: self, count }
    }

    /// Leaves out all but the first `count` items.
    ///
    /// ```
    /// use roving_iter::prelude::*;
    ///
    /// assert_eq!((0..4).into_par_iter().take(2).collect::<Vec<_>>(), [0, 1]);
    /// ```
    fn take(self, count: usize) -> Take<Self> {
        Take { base: self, count }
    }

    /// Keeps the first item, and from there on each that is `step` behind the one before.
    ///
    /// # Panics
    /// If `step` is 0.
    ///
    /// ```
    /// use roving_iter::prelude::*;
    ///
    /// assert_eq!((0..8).into_par_iter().step_by(3).collect::<Vec<_>>(), [0, 3, 6]);
    /// ```
    #[track_caller]
    fn step_by(self, step: usize) -> StepBy<Self> {
        assert!(step > 0, "step is 0: say 1 or more");
        StepBy { base: self, step }
    }

    /// Gathers items in vectors of `size`; the last may be shorter.
    ///
    /// # Panics
    /// If `size` is 0.
    ///
    /// ```
    /// use roving_iter::prelude::*;
    ///
    /// let chunks: Vec<Vec<i32>> = (0..5).into_par_iter().chunks(2).collect();
    /// assert_eq!(chunks, [vec![0, 1], vec![2, 3], vec![4]]);
    /// ```
    #[track_caller]
    fn chunks(self, size: usize) -> Chunks<Self> {
        assert!(size != 0, "chunk_size must not be zero");
        Chunks { base: self, size }
    }

    /// Never cuts into parts of fewer than `least` items. It is seldom of use: a part that no
    /// worker
    /// asks for is not cut in any case.
    ///
    /// ```
    /// use roving_iter::prelude::*;
    ///
    /// assert_eq!((0..100).into_par_iter().with_min_len(10).sum::<u32>(), 4950);
    /// ```
    fn with_min_len(self, least: usize) -> MinLen<Self> {
        MinLen { base: self, least }
    }

    /// Cuts into parts of at most `most` items each, whether or not a worker asks for them.
    ///
    /// ```
    /// use roving_iter::prelude::*;
    ///
    /// let parts = (0..100).into_par_iter().with_max_len(10).fold(|| 0, |count, _| count + 1);
    /// assert!(parts.all(|count| count <= 10));
    /// ```
    fn with_max_len(self, most: usize) -> MaxLen<Self> {
        MaxLen {
            base: self,
            most: most.max(1),
        }
    }

    /// Replaces the items of a vector by those of this iterator. The memory is kept.
    ///
    /// ```
    /// use roving_iter::prelude::*;
    ///
    /// let mut numbers = vec![7];
    /// (0..3).into_par_iter().collect_into_vec(&mut numbers);
    /// assert_eq!(numbers, [0, 1, 2]);
    /// ```
    fn collect_into_vec(self, target: &mut Vec<Self::Item>) {
        target.clear();
        append_exact(target, self);
    }

    /// Replaces the items of two vectors by the halves of the pairs of this iterator.
    ///
    /// ```
    /// use roving_iter::prelude::*;
    ///
    /// let (mut numbers, mut squares) = (vec![], vec![]);
    /// (0..3).into_par_iter().map(|n| (n, n * n)).unzip_into_vecs(&mut numbers, &mut squares);
    /// assert_eq!((numbers, squares), (vec![0, 1, 2], vec![0, 1, 4]));
    /// ```
    fn unzip_into_vecs<A, B>(self, left: &mut Vec<A>, right: &mut Vec<B>)
    where
        Self: IndexedParallelIterator<Item = (A, B)>,
        A: Send,
        B: Send,
    {
        (*left, *right) = self.unzip();
    }

    /// Returns the number of an item for which `is_wanted` says `true`; which one depends on the
    /// run.
    ///
    /// ```
    /// use roving_iter::prelude::*;
    ///
    /// assert_eq!(["to", "be"].par_iter().position_any(|word| *word == "be"), Some(1));
    /// ```
    fn position_any<P>(self, is_wanted: P) -> Option<usize>
    where
        P: Fn(Self::Item) -> bool + Send + Sync,
    {
        let wanted = self.map(is_wanted).enumerate();
        wanted
            .find_any(|(_, is_wanted)| *is_wanted)
            .map(|(at, _)| at)
    }

    /// Returns the number of the first item for which `is_wanted` says `true`.
    ///
    /// ```
    /// use roving_iter::prelude::*;
    ///
    /// assert_eq!([1, 2, 1].par_iter().position_first(|n| *n == 1), Some(0));
    /// ```
    fn position_first<P>(self, is_wanted: P) -> Option<usize>
    where
        P: Fn(Self::Item) -> bool + Send + Sync,
    {
        let wanted = self.map(is_wanted).enumerate();
        wanted
            .find_first(|(_, is_wanted)| *is_wanted)
            .map(|(at, _)| at)
    }

    /// Returns the number of the last item for which `is_wanted` says `true`.
    ///
    /// ```
    /// use roving_iter::prelude::*;
    ///
    /// assert_eq!([1, 2, 1].par_iter().position_last(|n| *n == 1), Some(2));
    /// ```
    fn position_last<P>(self, is_wanted: P) -> Option<usize>
    where
        P: Fn(Self::Item) -> bool + Send + Sync,
    {
        let wanted = self.map(is_wanted).enumerate();
        wanted
            .find_last(|(_, is_wanted)| *is_wanted)
            .map(|(at, _)| at)
    }

    /// Compares the items one after the other with those of another iterator: the first that differ
    /// decide, or else the lengths.
    ///
    /// ```
    /// use roving_iter::prelude::*;
    ///
    /// use std::cmp::Ordering;
    ///
    /// assert_eq!(IndexedParallelIterator::cmp([1, 2].par_iter(), &[1, 3]), Ordering::Less);
    /// ```
    fn cmp<O>(self, other: O) -> Ordering
    where
        O: IntoParallelIterator<Item = Self::Item, Iter: IndexedParallelIterator>,
        Self::Item: Ord,
    {
        let other = other.into_par_iter();
        let lengths = self.len().cmp(&other.len());
        let differing = self.zip(other).map(|(a, b)| a.cmp(&b));
        differing
            .find_first(|order| order.is_ne())
            .unwrap_or(lengths)
    }

    /// Compares like [`cmp`](Self::cmp), where items may have no order; the first pair that has
    /// none
    /// decides, too.
    ///
    /// ```
    /// use roving_iter::prelude::*;
    ///
    /// assert_eq!([1.0, f64::NAN].par_iter().partial_cmp(&[1.0, 2.0]), None);
    /// ```
    fn partial_cmp<O>(self, other: O) -> Option<Ordering>
    where
        O: IntoParallelIterator<Iter: IndexedParallelIterator>,
        Self::Item: PartialOrd<O::Item>,
    {
        let other = other.into_par_iter();
        let lengths = self.len().cmp(&other.len());
        let differing = self.zip(other).map(|(a, b)| a.partial_cmp(&b));
        let first = differing.find_first(|order| *order != Some(Ordering::Equal));
        first.unwrap_or(Some(lengths))
    }

    /// Whether the items are equal to those of another iterator, and as many.
    ///
    /// ```
    /// use roving_iter::prelude::*;
    ///
    /// assert!(IndexedParallelIterator::eq([1, 2].par_iter(), &[1, 2]));
    /// ```
    fn eq<O>(self, other: O) -> bool
    where
        O: IntoParallelIterator<Iter: IndexedParallelIterator>,
        Self::Item: PartialEq<O::Item>,
    {
        let other = other.into_par_iter();
        self.len() == other.len() && self.zip(other).all(|(a, b)| a == b)
    }

    /// Whether the items differ from those of another iterator, or are not as many.
    ///
    /// ```
    /// use roving_iter::prelude::*;
    ///
    /// assert!(IndexedParallelIterator::ne([1, 2].par_iter(), &[1]));
    /// ```
    fn ne<O>(self, other: O) -> bool
    where
        O: IntoParallelIterator<Iter: IndexedParallelIterator>,
        Self::Item: PartialEq<O::Item>,
    {
        !self.eq(other)
    }

    /// Whether the items are less than those of another iterator, as
    /// [`partial_cmp`](Self::partial_cmp)
    /// compares.
    ///
    /// ```
    /// use roving_iter::prelude::*;
    ///
    /// assert!(IndexedParallelIterator::lt([1].par_iter(), &[2]));
    /// ```
    fn lt<O>(self, other: O) -> bool
    where
        O: IntoParallelIterator<Iter: IndexedParallelIterator>,
        Self::Item: PartialOrd<O::Item>,
    {
        self.partial_cmp(other).is_some_and(Ordering::is_lt)
    }

    /// Whether the items are less than or equal to those of another iterator, as
    /// [`partial_cmp`](Self::partial_cmp)
    /// compares.
    ///
    /// ```
    /// use roving_iter::prelude::*;
    ///
    /// assert!(IndexedParallelIterator::le([2].par_iter(), &[2]));
    /// ```
    fn le<O>(self, other: O) -> bool
    where
        O: IntoParallelIterator<Iter: IndexedParallelIterator>,
        Self::Item: PartialOrd<O::Item>,
    {
        self.partial_cmp(other).is_some_and(Ordering::is_le)
    }

    /// Whether the items are greater than those of another iterator, as
    /// [`partial_cmp`](Self::partial_cmp)
    /// compares.
    ///
    /// ```
    /// use roving_iter::prelude::*;
    ///
    /// assert!(IndexedParallelIterator::gt([3].par_iter(), &[2]));
    /// ```
    fn gt<O>(self, other: O) -> bool
    where
        O: IntoParallelIterator<Iter: IndexedParallelIterator>,
        Self::Item: PartialOrd<O::Item>,
    {
        self.partial_cmp(other).is_some_and(Ordering::is_gt)
    }

    /// Whether the items are greater than or equal to those of another iterator, as
    /// [`partial_cmp`](Self::partial_cmp)
    /// compares.
    ///
    /// ```
    /// use roving_iter::prelude::*;
    ///
    /// assert!(IndexedParallelIterator::ge([2].par_iter(), &[2]));
    /// ```
    fn ge<O>(self, other: O) -> bool
    where
        O: IntoParallelIterator<Iter: IndexedParallelIterator>,
        Self::Item: PartialOrd<O::Item>,
    {
        self.partial_cmp(other).is_some_and(Ordering::is_ge)
    }
}

/// Implements both traits for an iterator whose pieces are exact.
macro_rules! drive_exactly {
    (
        impl [$($param:tt)*] for $of:ty, Item = $item:ty $(, where [$($bounds:tt)*])?;
        fn len($this:ident) $len:block
        type Piece<$life:lifetime> = $piece:ty;
        fn piece($that:ident) $make:block
    ) => {
        impl<$($param)*> $crate::iter::ParallelIterator for $of
        $(where $($bounds)*)?
        {
            type Item = $item;

            #[inline]
            fn drive<B, C>(mut self, beside: B, consumer: &C, state: C::State) -> C::State
            where
                B: $crate::engine::Companion,
                C: $crate::engine::Consumer<Self::Item, B>,
            {
                let piece = $crate::iter::IndexedParallelIterator::piece(&mut self);
                $crate::engine::drive(piece, beside, consumer, state)
            }
            fn span(&self) -> usize {
                $crate::iter::IndexedParallelIterator::len(self)
            }
            fn is_exact(&self) -> bool {
                true
            }
        }

        impl<$($param)*> $crate::iter::IndexedParallelIterator for $of
        $(where $($bounds)*)?
        {
            type Piece<$life> = $piece where Self: $life;

            fn len(&$this) -> usize $len
            fn piece(&mut $that) -> Self::Piece<'_> $make
        }
    };
}
pub(crate) use drive_exactly;
