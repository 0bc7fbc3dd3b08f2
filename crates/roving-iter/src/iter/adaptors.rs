//! The iterators that methods of the traits return. How each works stands with the others of its
//! kind: `filter.rs`, `zip.rs` and so on.
//!
//! They stand here so that the traits need to know only what they are, and not how they work.

use std::marker::PhantomData;
use std::sync::Mutex;

/// An iterator over the items of one and then of another:
/// [`chain`](super::ParallelIterator::chain).
///
/// ```
/// use roving_iter::iter::Chain;
/// use roving_iter::prelude::*;
///
/// let iter: Chain<_, _> = (0..2).into_par_iter().chain(5..6);
/// assert_eq!(iter.collect::<Vec<_>>(), [0, 1, 5]);
/// ```
#[derive(Clone, Debug)]
pub struct Chain<A, B> {
    pub(super) first: A,
    pub(super) second: B,
}

/// An iterator over pairs of items of two others: [`zip`](super::IndexedParallelIterator::zip).
///
/// ```
/// use roving_iter::iter::Zip;
/// use roving_iter::prelude::*;
///
/// let iter: Zip<_, _> = (0..2).into_par_iter().zip(5..9);
/// assert_eq!(iter.collect::<Vec<_>>(), [(0, 5), (1, 6)]);
/// ```
#[derive(Clone, Debug)]
pub struct Zip<A, B> {
    pub(super) first: A,
    pub(super) second: B,
}

/// An iterator over items with their numbers:
/// [`enumerate`](super::IndexedParallelIterator::enumerate).
///
/// ```
/// use roving_iter::iter::Enumerate;
/// use roving_iter::prelude::*;
///
/// let iter: Enumerate<_> = (5..7).into_par_iter().enumerate();
/// assert_eq!(iter.collect::<Vec<_>>(), [(0, 5), (1, 6)]);
/// ```
#[derive(Clone, Debug)]
pub struct Enumerate<I> {
    pub(super) base: I,
}

/// An iterator over vectors of adjacent items: [`chunks`](super::IndexedParallelIterator::chunks).
///
/// ```
/// use roving_iter::iter::Chunks;
/// use roving_iter::prelude::*;
///
/// let iter: Chunks<_> = (0..3).into_par_iter().chunks(2);
/// assert_eq!(iter.collect::<Vec<_>>(), [vec![0, 1], vec![2]]);
/// ```
#[derive(Clone, Debug)]
pub struct Chunks<I> {
    pub(super) base: I,
    pub(super) size: usize,
}

/// An iterator over the items in reverse: [`rev`](super::IndexedParallelIterator::rev).
///
/// ```
/// use roving_iter::iter::Rev;
/// use roving_iter::prelude::*;
///
/// let iter: Rev<_> = (0..3).into_par_iter().rev();
/// assert_eq!(iter.collect::<Vec<_>>(), [2, 1, 0]);
/// ```
#[derive(Clone, Debug)]
pub struct Rev<I> {
    pub(super) base: I,
}

/// An iterator without the first items: [`skip`](super::IndexedParallelIterator::skip).
///
/// ```
/// use roving_iter::iter::Skip;
/// use roving_iter::prelude::*;
///
/// let iter: Skip<_> = (0..3).into_par_iter().skip(1);
/// assert_eq!(iter.collect::<Vec<_>>(), [1, 2]);
/// ```
#[derive(Clone, Debug)]
pub struct Skip<I> {
    pub(super) base: I,
    pub(super) count: usize,
}

/// An iterator over the first items alone: [`take`](super::IndexedParallelIterator::take).
///
/// ```
/// use roving_iter::iter::Take;
/// use roving_iter::prelude::*;
///
/// let iter: Take<_> = (0..3).into_par_iter().take(2);
/// assert_eq!(iter.collect::<Vec<_>>(), [0, 1]);
/// ```
#[derive(Clone, Debug)]
pub struct Take<I> {
    pub(super) base: I,
    pub(super) count: usize,
}

/// An iterator over the first item, and from there on in steps:
/// [`step_by`](super::IndexedParallelIterator::step_by).
///
/// ```
/// use roving_iter::iter::StepBy;
/// use roving_iter::prelude::*;
///
/// let iter: StepBy<_> = (0..5).into_par_iter().step_by(2);
/// assert_eq!(iter.collect::<Vec<_>>(), [0, 2, 4]);
/// ```
#[derive(Clone, Debug)]
pub struct StepBy<I> {
    pub(super) base: I,
    pub(super) step: usize,
}

/// An iterator whose parts have a number of items at least:
/// [`with_min_len`](super::IndexedParallelIterator::with_min_len).
///
/// ```
/// use roving_iter::iter::MinLen;
/// use roving_iter::prelude::*;
///
/// let iter: MinLen<_> = (0..3).into_par_iter().with_min_len(2);
/// assert_eq!(iter.collect::<Vec<_>>(), [0, 1, 2]);
/// ```
#[derive(Clone, Debug)]
pub struct MinLen<I> {
    pub(super) base: I,
    pub(super) least: usize,
}

/// An iterator whose parts have a number of items at most:
/// [`with_max_len`](super::IndexedParallelIterator::with_max_len).
///
/// ```
/// use roving_iter::iter::MaxLen;
/// use roving_iter::prelude::*;
///
/// let iter: MaxLen<_> = (0..3).into_par_iter().with_max_len(2);
/// assert_eq!(iter.collect::<Vec<_>>(), [0, 1, 2]);
/// ```
#[derive(Clone, Debug)]
pub struct MaxLen<I> {
    pub(super) base: I,
    pub(super) most: usize,
}

/// An iterator over the items for which a closure says `true`:
/// [`filter`](super::ParallelIterator::filter).
///
/// ```
/// use roving_iter::iter::Filter;
/// use roving_iter::prelude::*;
///
/// let iter: Filter<_, _> = (0..5).into_par_iter().filter(|n| n % 2 == 0);
/// assert_eq!(iter.collect::<Vec<_>>(), [0, 2, 4]);
/// ```
#[derive(Clone, Debug)]
pub struct Filter<I, P> {
    pub(super) base: I,
    pub(super) is_kept: P,
}

/// An iterator over what a closure makes of some items:
/// [`filter_map`](super::ParallelIterator::filter_map).
///
/// ```
/// use roving_iter::iter::FilterMap;
/// use roving_iter::prelude::*;
///
/// let iter: FilterMap<_, _> = (0_u8..3).into_par_iter().filter_map(|n| n.checked_sub(1));
/// assert_eq!(iter.collect::<Vec<_>>(), [0, 1]);
/// ```
#[derive(Clone, Debug)]
pub struct FilterMap<I, F> {
    pub(super) base: I,
    pub(super) f: F,
}

/// An iterator that ends at a `None`: [`while_some`](super::ParallelIterator::while_some).
///
/// ```
/// use roving_iter::iter::WhileSome;
/// use roving_iter::prelude::*;
///
/// let iter: WhileSome<_> = vec![Some(1), Some(2)].into_par_iter().while_some();
/// assert_eq!(iter.collect::<Vec<_>>(), [1, 2]);
/// ```
#[derive(Clone, Debug)]
pub struct WhileSome<I> {
    pub(super) base: I,
}

/// An iterator over the items of the parallel iterators that a closure makes:
/// [`flat_map`](super::ParallelIterator::flat_map).
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

/// An iterator over the items of items: [`flatten`](super::ParallelIterator::flatten).
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
/// [`flat_map_iter`](super::ParallelIterator::flat_map_iter).
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
/// [`flatten_iter`](super::ParallelIterator::flatten_iter).
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

/// An iterator over what the parts of another one come to: [`fold`](super::ParallelIterator::fold).
///
/// ```
/// use roving_iter::iter::Fold;
/// use roving_iter::prelude::*;
///
/// let iter: Fold<_, _, _> = (0..9).into_par_iter().fold(|| 0, |sum, n| sum + n);
/// assert_eq!(iter.sum::<i32>(), 36);
/// ```
#[derive(Clone, Debug)]
pub struct Fold<I, N, F> {
    pub(super) base: I,
    pub(super) identity: N,
    pub(super) f: F,
}

/// A [`Fold`] that begins with clones of a value:
/// [`fold_with`](super::ParallelIterator::fold_with).
///
/// ```
/// use roving_iter::iter::FoldWith;
/// use roving_iter::prelude::*;
///
/// let iter: FoldWith<_, _, _> = (0..9).into_par_iter().fold_with(0, |sum, n| sum + n);
/// assert_eq!(iter.sum::<i32>(), 36);
/// ```
#[derive(Debug)]
pub struct FoldWith<I, T, F> {
    pub(super) base: I,
    pub(super) identity: Mutex<T>,
    pub(super) f: F,
}

impl<I, T, F> FoldWith<I, T, F> {
    pub(super) fn new(base: I, identity: T, f: F) -> Self {
        FoldWith {
            base,
            identity: Mutex::new(identity),
            f,
        }
    }
}

/// An iterator over what the parts of another one come to, each up to its first failure:
/// [`try_fold`](super::ParallelIterator::try_fold).
///
/// ```
/// use roving_iter::iter::TryFold;
/// use roving_iter::prelude::*;
///
/// let iter: TryFold<_, Option<u8>, _, _> = (0..9).into_par_iter().try_fold(|| 0, u8::checked_add);
/// assert_eq!(iter.try_reduce(|| 0, u8::checked_add), Some(36));
/// ```
#[derive(Clone, Debug)]
pub struct TryFold<I, R, N, F> {
    pub(super) base: I,
    pub(super) identity: N,
    pub(super) f: F,
    pub(super) result: PhantomData<fn() -> R>,
}
