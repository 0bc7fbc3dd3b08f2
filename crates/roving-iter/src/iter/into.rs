//! Conversions into parallel iterators.

use std::ops::RangeBounds;

use super::ParallelIterator;

/// A value that can be turned into a parallel iterator.
///
/// ```
/// use roving_iter::prelude::*;
///
/// fn total(numbers: impl IntoParallelIterator<Item = u32>) -> u32 {
///     numbers.into_par_iter().sum()
/// }
/// assert_eq!(total(0..5) + total(vec![6, 7]) + total(Some(8)), 31);
/// ```
pub trait IntoParallelIterator {
    /// The iterator.
    type Iter: ParallelIterator<Item = Self::Item>;
    /// Its items.
    type Item: Send;

    /// Turns into a parallel iterator.
    ///
    /// ```
    /// use roving_iter::prelude::*;
    ///
    /// assert_eq!(vec![1, 2, 3].into_par_iter().map(|n| n * n).sum::<i32>(), 14);
    /// ```
    fn into_par_iter(self) -> Self::Iter;
}

impl<I: ParallelIterator> IntoParallelIterator for I {
    type Iter = I;
    type Item = I::Item;

    fn into_par_iter(self) -> I {
        self
    }
}

/// A collection that can be iterated by reference in parallel.
///
/// ```
/// use roving_iter::prelude::*;
///
/// let words = vec!["to", "be"];
/// assert!(words.par_iter().any(|word| *word == "be"));
/// ```
pub trait IntoParallelRefIterator<'data> {
    /// The iterator.
    type Iter: ParallelIterator<Item = Self::Item>;
    /// Its items.
    type Item: Send + 'data;

    /// Returns a parallel iterator over references.
    ///
    /// ```
    /// use roving_iter::prelude::*;
    ///
    /// assert_eq!([1, 2, 3].par_iter().copied().max(), Some(3));
    /// ```
    fn par_iter(&'data self) -> Self::Iter;
}

impl<'data, I: 'data + ?Sized> IntoParallelRefIterator<'data> for I
where
    &'data I: IntoParallelIterator,
{
    type Iter = <&'data I as IntoParallelIterator>::Iter;
    type Item = <&'data I as IntoParallelIterator>::Item;

    fn par_iter(&'data self) -> Self::Iter {
        self.into_par_iter()
    }
}

/// A collection that can be iterated by mutable reference in parallel.
///
/// ```
/// use roving_iter::prelude::*;
///
/// let mut words = vec![String::from("to"), String::from("be")];
/// words.par_iter_mut().for_each(|word| word.push('!'));
/// assert_eq!(words, ["to!", "be!"]);
/// ```
pub trait IntoParallelRefMutIterator<'data> {
    /// The iterator.
    type Iter: ParallelIterator<Item = Self::Item>;
    /// Its items.
    type Item: Send + 'data;

    /// Returns a parallel iterator over mutable references.
    ///
    /// ```
    /// use roving_iter::prelude::*;
    ///
    /// let mut numbers = [1, 2, 3];
    /// numbers.par_iter_mut().for_each(|number| *number += 1);
    /// assert_eq!(numbers, [2, 3, 4]);
    /// ```
    fn par_iter_mut(&'data mut self) -> Self::Iter;
}

impl<'data, I: 'data + ?Sized> IntoParallelRefMutIterator<'data> for I
where
    &'data mut I: IntoParallelIterator,
{
    type Iter = <&'data mut I as IntoParallelIterator>::Iter;
    type Item = <&'data mut I as IntoParallelIterator>::Item;

    fn par_iter_mut(&'data mut self) -> Self::Iter {
        self.into_par_iter()
    }
}

/// A collection that can be emptied by a parallel iterator, a range of positions at a time.
///
/// ```
/// use roving_iter::prelude::*;
///
/// let mut numbers = vec![1, 2, 3, 4];
/// assert_eq!(numbers.par_drain(1..3).sum::<i32>(), 5);
/// assert_eq!(numbers, [1, 4]);
/// ```
pub trait ParallelDrainRange<Idx = usize> {
    /// The iterator.
    type Iter: ParallelIterator<Item = Self::Item>;
    /// Its items.
    type Item: Send;

    /// Takes out the items at these positions at once, and returns a parallel iterator over them.
    ///
    /// ```
    /// use roving_iter::prelude::*;
    ///
    /// let mut numbers = vec![1, 2, 3, 4];
    /// assert_eq!(numbers.par_drain(..).sum::<i32>(), 10);
    /// assert!(numbers.is_empty());
    /// ```
    fn par_drain<R: RangeBounds<Idx>>(self, range: R) -> Self::Iter;
}

/// A collection that can be emptied by a parallel iterator as a whole.
///
/// ```
/// use std::collections::HashSet;
///
/// use roving_iter::prelude::*;
///
/// let mut numbers: HashSet<u32> = (1..5).collect();
/// assert_eq!(numbers.par_drain().sum::<u32>(), 10);
/// assert!(numbers.is_empty());
/// ```
pub trait ParallelDrainFull {
    /// The iterator.
    type Iter: ParallelIterator<Item = Self::Item>;
    /// Its items.
    type Item: Send;

    /// Takes out all items at once, and returns a parallel iterator over them.
    ///
    /// ```
    /// use std::collections::BinaryHeap;
    ///
    /// use roving_iter::prelude::*;
    ///
    /// let mut heap = BinaryHeap::from([3, 1, 2]);
    /// assert_eq!(heap.par_drain().sum::<i32>(), 6);
    /// ```
    fn par_drain(self) -> Self::Iter;
}
