//! The collections of `std` other than vectors. Their items, or references to them, are gathered
//! in a vector first, on the calling thread: most of them cannot be divided. So are the items that
//! are drained out of these and out of vectors.

use std::collections::{BTreeMap, BTreeSet, BinaryHeap, HashMap, HashSet, LinkedList, VecDeque};
use std::ops::RangeBounds;

use super::vec;
use crate::iter::{IntoParallelIterator, ParallelDrainFull, ParallelDrainRange};

macro_rules! gathered {
    ($([$($param:tt)*] $of:ty => $item:ty;)+) => {$(
        impl<$($param)*> IntoParallelIterator for $of {
            type Iter = vec::IntoIter<$item>;
            type Item = $item;

            fn into_par_iter(self) -> vec::IntoIter<$item> {
                self.into_iter().collect::<Vec<_>>().into_par_iter()
            }
        }
    )+};
}

gathered! {
    [K: Send, V: Send, S] HashMap<K, V, S> => (K, V);
    ['data, K: Sync, V: Sync, S] &'data HashMap<K, V, S> => (&'data K, &'data V);
    ['data, K: Sync, V: Send, S] &'data mut HashMap<K, V, S> => (&'data K, &'data mut V);
    [K: Send, V: Send] BTreeMap<K, V> => (K, V);
    ['data, K: Sync, V: Sync] &'data BTreeMap<K, V> => (&'data K, &'data V);
    ['data, K: Sync, V: Send] &'data mut BTreeMap<K, V> => (&'data K, &'data mut V);
    [T: Send, S] HashSet<T, S> => T;
    ['data, T: Sync, S] &'data HashSet<T, S> => &'data T;
    [T: Send] BTreeSet<T> => T;
    ['data, T: Sync] &'data BTreeSet<T> => &'data T;
    [T: Send] BinaryHeap<T> => T;
    ['data, T: Sync] &'data BinaryHeap<T> => &'data T;
    [T: Send] VecDeque<T> => T;
    ['data, T: Sync] &'data VecDeque<T> => &'data T;
    ['data, T: Send] &'data mut VecDeque<T> => &'data mut T;
    [T: Send] LinkedList<T> => T;
    ['data, T: Sync] &'data LinkedList<T> => &'data T;
    ['data, T: Send] &'data mut LinkedList<T> => &'data mut T;
}

impl<T: Send> ParallelDrainRange<usize> for &mut Vec<T> {
    type Iter = vec::IntoIter<T>;
    type Item = T;

    fn par_drain<R: RangeBounds<usize>>(self, range: R) -> vec::IntoIter<T> {
        self.drain(range).collect::<Vec<T>>().into_par_iter()
    }
}

impl<T: Send> ParallelDrainRange<usize> for &mut VecDeque<T> {
    type Iter = vec::IntoIter<T>;
    type Item = T;

    fn par_drain<R: RangeBounds<usize>>(self, range: R) -> vec::IntoIter<T> {
        self.drain(range).collect::<Vec<T>>().into_par_iter()
    }
}

macro_rules! drain_full {
    ($([$($param:tt)*] $of:ty => $item:ty;)+) => {$(
        impl<$($param)*> ParallelDrainFull for &mut $of {
            type Iter = vec::IntoIter<$item>;
            type Item = $item;

            fn par_drain(self) -> vec::IntoIter<$item> {
                self.drain().collect::<Vec<_>>().into_par_iter()
            }
        }
    )+};
}

drain_full! {
    [K: Send, V: Send, S] HashMap<K, V, S> => (K, V);
    [T: Send, S] HashSet<T, S> => T;
    [T: Send] BinaryHeap<T> => T;
}
