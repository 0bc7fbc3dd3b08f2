//! Collections that are made from the items of a parallel iterator, or to which they are added.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, HashMap, HashSet, LinkedList, VecDeque};
use std::hash::{BuildHasher, Hash};
use std::rc::Rc;
use std::sync::Arc;

use super::consume::{Fill, Push, PushText, Separate, Unzip};
use super::parallel::run;
use super::{Either, IntoParallelIterator, ParallelIterator};
use crate::memory::append_filled;

/// A collection or other value that can be made from the items of a parallel iterator.
///
/// ```
/// use std::collections::HashMap;
///
/// use roving_iter::prelude::*;
///
/// let squares: HashMap<u32, u32> = (0..10).into_par_iter().map(|n| (n, n * n)).collect();
/// assert_eq!(squares[&9], 81);
/// ```
pub trait FromParallelIterator<T: Send> {
    /// Makes it from these items.
    ///
    /// ```
    /// use roving_iter::prelude::*;
    ///
    /// assert_eq!(Vec::from_par_iter(0..3), [0, 1, 2]);
    /// ```
    fn from_par_iter<I: IntoParallelIterator<Item = T>>(iter: I) -> Self;
}

/// A collection to which the items of a parallel iterator can be added.
///
/// ```
/// use roving_iter::prelude::*;
///
/// let mut numbers = vec![1];
/// numbers.par_extend(2..4);
/// assert_eq!(numbers, [1, 2, 3]);
/// ```
pub trait ParallelExtend<T: Send> {
    /// Adds these items.
    ///
    /// ```
    /// use roving_iter::prelude::*;
    ///
    /// let mut text = String::from("a");
    /// text.par_extend(["b", "c"]);
    /// assert_eq!(text, "abc");
    /// ```
    fn par_extend<I: IntoParallelIterator<Item = T>>(&mut self, iter: I);
}

/// Puts all items into a vector, in their order: directly to where they belong, if it is known
/// before where that is.
pub(super) fn into_vec<I: ParallelIterator>(iter: I) -> Vec<I::Item> {
    if iter.is_exact() {
        let mut vec = Vec::new();
        append_exact(&mut vec, iter);
        vec
    } else {
        run(iter, (), Push)
    }
}

/// Puts the items of an exact iterator behind those of a vector.
///
/// # Panics
/// If a vector cannot have so many, before the first item is made.
pub(super) fn append_exact<I: ParallelIterator>(vec: &mut Vec<I::Item>, iter: I) {
    append_filled(vec, iter.span(), |slots| run(iter, slots, Fill::new()));
}

/// Puts the halves of pairs into two vectors, in their order.
///
/// # Panics
/// As [`append_exact`].
pub(super) fn unzipped<I, A, B>(iter: I) -> (Vec<A>, Vec<B>)
where
    I: ParallelIterator<Item = (A, B)>,
    A: Send,
    B: Send,
{
    if iter.is_exact() {
        assert_room(iter.span(), size_of::<A>().max(size_of::<B>()));
    }
    run(iter, (), Unzip)
}

/// Puts what `f` makes of each item into one of two vectors, in their order.
///
/// # Panics
/// As [`append_exact`]: one of the two has at least half of the items.
pub(super) fn parted<I, P, L, R>(iter: I, f: P) -> (Vec<L>, Vec<R>)
where
    I: ParallelIterator,
    L: Send,
    R: Send,
    P: Fn(I::Item) -> Either<L, R> + Send + Sync,
{
    if iter.is_exact() {
        let half = iter.span().div_ceil(2);
        assert_room(half, size_of::<L>().min(size_of::<R>()));
    }
    run(iter, (), Separate(f))
}

/// # Panics
/// If no vector can have so many items of that size; as it would itself.
fn assert_room(len: usize, size: usize) {
    let bytes = len.checked_mul(size);
    let has_room = bytes.is_some_and(|bytes| isize::try_from(bytes).is_ok());
    assert!(has_room, "capacity overflow");
}

impl<T: Send> FromParallelIterator<T> for Vec<T> {
    fn from_par_iter<I: IntoParallelIterator<Item = T>>(iter: I) -> Self {
        into_vec(iter.into_par_iter())
    }
}

impl FromParallelIterator<()> for () {
    fn from_par_iter<I: IntoParallelIterator<Item = ()>>(iter: I) {
        iter.into_par_iter().for_each(|()| ());
    }
}

/// Collections made from a vector at once, or item by item.
macro_rules! by_way_of_a_vector {
    ($([$($param:tt)*] $item:ty => $of:ty, |$vec:ident| $make:expr;)+) => {$(
        impl<$($param)*> FromParallelIterator<$item> for $of {
            fn from_par_iter<It: IntoParallelIterator<Item = $item>>(iter: It) -> Self {
                let $vec = into_vec(iter.into_par_iter());
                $make
            }
        }
    )+};
}

by_way_of_a_vector! {
    [T: Send] T => Box<[T]>, |vec| vec.into();
    [T: Send] T => Rc<[T]>, |vec| vec.into();
    [T: Send] T => Arc<[T]>, |vec| vec.into();
    [T: Send] T => VecDeque<T>, |vec| vec.into();
    [T: Ord + Send] T => BinaryHeap<T>, |vec| vec.into();
    [T: Send] T => LinkedList<T>, |vec| vec.into_iter().collect();
    [T: Ord + Send] T => BTreeSet<T>, |vec| vec.into_iter().collect();
    [T: Eq + Hash + Send, S: BuildHasher + Default] T => HashSet<T, S>,
        |vec| vec.into_iter().collect();
    [K: Ord + Send, V: Send] (K, V) => BTreeMap<K, V>, |vec| vec.into_iter().collect();
    [K: Eq + Hash + Send, V: Send, S: BuildHasher + Default] (K, V) => HashMap<K, V, S>,
        |vec| vec.into_iter().collect();
    ['a, T: Clone + Send] T => Cow<'a, [T]>, |vec| Cow::Owned(vec);
}

/// Puts texts behind each other.
pub(super) fn into_text<I: ParallelIterator>(iter: I) -> String
where
    String: Extend<I::Item>,
{
    run(iter, (), PushText)
}

macro_rules! texts {
    ($([$($life:lifetime)?] $item:ty;)+) => {$(
        impl<$($life)?> FromParallelIterator<$item> for String {
            fn from_par_iter<I: IntoParallelIterator<Item = $item>>(iter: I) -> Self {
                into_text(iter.into_par_iter())
            }
        }
    )+};
}

texts! {
    [] char;
    ['a] &'a char;
    ['a] &'a str;
    [] String;
    [] Box<str>;
    ['a] Cow<'a, str>;
}

macro_rules! cows {
    ($([$($life:lifetime)?] $item:ty;)+) => {$(
        impl<'c $(, $life)?> FromParallelIterator<$item> for Cow<'c, str> {
            fn from_par_iter<I: IntoParallelIterator<Item = $item>>(iter: I) -> Self {
                Cow::Owned(into_text(iter.into_par_iter()))
            }
        }
    )+};
}

cows! {
    [] char;
    ['a] &'a str;
    [] String;
}

impl<A, B, FromA, FromB> FromParallelIterator<(A, B)> for (FromA, FromB)
where
    A: Send,
    B: Send,
    FromA: FromParallelIterator<A>,
    FromB: FromParallelIterator<B>,
{
    fn from_par_iter<I: IntoParallelIterator<Item = (A, B)>>(iter: I) -> Self {
        let (a, b) = unzipped(iter.into_par_iter());
        (FromA::from_par_iter(a), FromB::from_par_iter(b))
    }
}
