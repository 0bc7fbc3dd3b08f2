//! The collections of `std` to which the items of a parallel iterator are added.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, HashMap, HashSet, LinkedList, VecDeque};
use std::hash::{BuildHasher, Hash};

use super::collect::{ParallelExtend, append_exact, into_text, into_vec, unzipped};
use super::{IntoParallelIterator, ParallelIterator};

impl<T: Send> ParallelExtend<T> for Vec<T> {
    fn par_extend<I: IntoParallelIterator<Item = T>>(&mut self, iter: I) {
        let iter = iter.into_par_iter();
        if iter.is_exact() {
            append_exact(self, iter);
        } else if self.is_empty() {
            *self = into_vec(iter);
        } else {
            self.append(&mut into_vec(iter));
        }
    }
}

impl ParallelExtend<()> for () {
    fn par_extend<I: IntoParallelIterator<Item = ()>>(&mut self, iter: I) {
        iter.into_par_iter().for_each(|()| ());
    }
}

impl<A, B, FromA, FromB> ParallelExtend<(A, B)> for (FromA, FromB)
where
    A: Send,
    B: Send,
    FromA: ParallelExtend<A>,
    FromB: ParallelExtend<B>,
{
    fn par_extend<I: IntoParallelIterator<Item = (A, B)>>(&mut self, iter: I) {
        let (a, b) = unzipped(iter.into_par_iter());
        self.0.par_extend(a);
        self.1.par_extend(b);
    }
}

macro_rules! by_extend {
    ($([$($param:tt)*] $item:ty => $of:ty, $gather:ident;)+) => {$(
        impl<$($param)*> ParallelExtend<$item> for $of {
            fn par_extend<It: IntoParallelIterator<Item = $item>>(&mut self, iter: It) {
                self.extend($gather(iter.into_par_iter()));
            }
        }
    )+};
}

by_extend! {
    [T: Send] T => VecDeque<T>, into_vec;
    [T: Ord + Send] T => BinaryHeap<T>, into_vec;
    [T: Send] T => LinkedList<T>, into_vec;
    [T: Ord + Send] T => BTreeSet<T>, into_vec;
    [T: Eq + Hash + Send, S: BuildHasher] T => HashSet<T, S>, into_vec;
    [K: Ord + Send, V: Send] (K, V) => BTreeMap<K, V>, into_vec;
    [K: Eq + Hash + Send, V: Send, S: BuildHasher] (K, V) => HashMap<K, V, S>, into_vec;
    ['a, T: Copy + Send + Sync + 'a] &'a T => Vec<T>, copy_all;
    ['a, T: Copy + Send + Sync + 'a] &'a T => VecDeque<T>, copy_all;
    ['a, T: Copy + Send + Sync + 'a] &'a T => LinkedList<T>, copy_all;
    ['a, T: Copy + Ord + Send + Sync + 'a] &'a T => BinaryHeap<T>, copy_all;
    ['a, T: Copy + Ord + Send + Sync + 'a] &'a T => BTreeSet<T>, copy_all;
    ['a, T: Copy + Eq + Hash + Send + Sync + 'a, S: BuildHasher] &'a T => HashSet<T, S>, copy_all;
    ['a, K: Copy + Ord + Send + Sync + 'a, V: Copy + Send + Sync + 'a]
        (&'a K, &'a V) => BTreeMap<K, V>, copy_pairs;
    ['a, K: Copy + Eq + Hash + Send + Sync + 'a, V: Copy + Send + Sync + 'a, S: BuildHasher]
        (&'a K, &'a V) => HashMap<K, V, S>, copy_pairs;
}

fn copy_all<'a, T, I>(iter: I) -> Vec<T>
where
    T: Copy + Send + Sync + 'a,
    I: ParallelIterator<Item = &'a T>,
{
    into_vec(iter.copied())
}

fn copy_pairs<'a, K, V, I>(iter: I) -> Vec<(K, V)>
where
    K: Copy + Send + Sync + 'a,
    V: Copy + Send + Sync + 'a,
    I: ParallelIterator<Item = (&'a K, &'a V)>,
{
    into_vec(iter.map(|(key, value)| (*key, *value)))
}

macro_rules! texts {
    ($([$($life:lifetime)?] $item:ty;)+) => {$(
        impl<$($life)?> ParallelExtend<$item> for String {
            fn par_extend<I: IntoParallelIterator<Item = $item>>(&mut self, iter: I) {
                self.push_str(&into_text(iter.into_par_iter()));
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
