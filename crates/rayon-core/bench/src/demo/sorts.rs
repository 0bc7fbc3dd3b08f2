//! Sorting: by hand with `join` and `split`, and by Rayon's own sorts on several kinds of lists.

use std::cmp::Ordering;

#[cfg(feature = "whole")]
use rayon::iter;
use rayon::join;
use rayon::prelude::*;

use crate::random::Random;
use crate::work::{Scale, Work, in_place, sorted};

/// Lists not longer than this are sorted by one task.
const CUT_OFF: usize = 4096;

fn random(len: usize) -> Vec<u32> {
    Random::new(17).words(len)
}

/// Sorts `list`; `space` is as long, and what is in it does not count.
fn merge_sort(list: &mut [u32], space: &mut [u32]) {
    if list.len() <= CUT_OFF {
        list.sort();
        return;
    }
    let middle = list.len() / 2;
    {
        let (left, right) = list.split_at_mut(middle);
        let (left_space, right_space) = space.split_at_mut(middle);
        join(
            || merge_sort(left, left_space),
            || merge_sort(right, right_space),
        );
    }
    space.copy_from_slice(list);
    let (left, right) = space.split_at(middle);
    merge(left, right, list);
}

/// Merges two sorted lists into `out`, which is as long as both.
fn merge(left: &[u32], right: &[u32], out: &mut [u32]) {
    if left.len() < right.len() {
        return merge(right, left, out);
    }
    if out.len() <= CUT_OFF {
        return merge_plainly(left, right, out);
    }
    let middle = left.len() / 2;
    let there = right.partition_point(|item| *item < left[middle]);
    let (first, second) = out.split_at_mut(middle + there);
    join(
        || merge(&left[..middle], &right[..there], first),
        || merge(&left[middle..], &right[there..], second),
    );
}

fn merge_plainly<'l>(mut left: &'l [u32], mut right: &'l [u32], out: &mut [u32]) {
    for slot in out {
        let from = match (left.first(), right.first()) {
            (Some(a), Some(b)) if b < a => &mut right,
            (None, _) => &mut right,
            _ => &mut left,
        };
        if let Some((item, rest)) = from.split_first() {
            *slot = *item;
            *from = rest;
        }
    }
}

/// Merge sort by `join`, with merges in parallel.
pub(crate) fn mergesort(scale: Scale) -> Box<dyn Work> {
    in_place(
        scale.size(500_000, 20_000),
        random,
        |list| {
            let mut space = vec![0; list.len()];
            merge_sort(list, &mut space);
        },
        sorted,
    )
}

/// Splits at the item in the middle: smaller ones to the left, the others to the right.
fn partition(list: &mut [u32]) -> usize {
    let last = list.len() - 1;
    list.swap(list.len() / 2, last);
    let pivot = list[last];
    let mut small = 0;
    for place in 0..last {
        if list[place] < pivot {
            list.swap(place, small);
            small += 1;
        }
    }
    list.swap(small, last);
    small
}

fn quick_sort(list: &mut [u32]) {
    if list.len() > 1 {
        let middle = partition(list);
        let (left, right) = list.split_at_mut(middle);
        let right = &mut right[1..];
        if left.len().max(right.len()) <= CUT_OFF {
            quick_sort(left);
            quick_sort(right);
        } else {
            join(|| quick_sort(left), || quick_sort(right));
        }
    }
}

/// Quicksort by `join`.
pub(crate) fn quicksort(scale: Scale) -> Box<dyn Work> {
    in_place(
        scale.size(300_000, 20_000),
        random,
        |list| quick_sort(list),
        sorted,
    )
}

/// Quicksort by `iter::split`, which decides itself how far to go in parallel.
#[cfg(feature = "whole")]
pub(crate) fn quicksort_split(scale: Scale) -> Box<dyn Work> {
    in_place(
        scale.size(300_000, 20_000),
        random,
        |list| {
            iter::split(&mut list[..], |list| {
                if list.len() <= 1 {
                    return (list, None);
                }
                let middle = partition(list);
                let (left, right) = list.split_at_mut(middle);
                (left, Some(&mut right[1..]))
            })
            .for_each(quick_sort);
        },
        sorted,
    )
}

fn mostly_ascending(len: usize) -> Vec<u64> {
    let mut random = Random::new(19);
    let mut list: Vec<u64> = (0..len as u64).collect();
    for _ in 0..len.isqrt() {
        let (a, b) = (random.below(len as u64), random.below(len as u64));
        list.swap(a as usize, b as usize);
    }
    list
}

fn strings(len: usize) -> Vec<String> {
    let mut random = Random::new(23);
    let string = |_| {
        let len = 1 + random.below(20);
        let letter = |_| char::from(b'a' + random.below(26) as u8);
        (0..len).map(letter).collect()
    };
    (0..len).map(string).collect()
}

fn large(len: usize) -> Vec<[u64; 16]> {
    let mut random = Random::new(29);
    (0..len)
        .map(|_| [0; 16].map(|_: i32| random.bits()))
        .collect()
}

/// `par_sort` of numbers that are nearly in order.
pub(crate) fn stable_ascending(scale: Scale) -> Box<dyn Work> {
    let len = scale.size(500_000, 10_000);
    in_place(len, mostly_ascending, |list| list.par_sort(), sorted)
}

/// `par_sort` of random numbers.
pub(crate) fn stable_random(scale: Scale) -> Box<dyn Work> {
    let len = scale.size(200_000, 10_000);
    in_place(len, random, |list| list.par_sort(), sorted)
}

/// `par_sort` of strings.
pub(crate) fn stable_strings(scale: Scale) -> Box<dyn Work> {
    let len = scale.size(50_000, 3000);
    in_place(len, strings, |list| list.par_sort(), sorted)
}

/// `par_sort` of items of 128 bytes.
pub(crate) fn stable_large(scale: Scale) -> Box<dyn Work> {
    let len = scale.size(50_000, 3000);
    in_place(len, large, |list| list.par_sort(), sorted)
}

/// `par_sort_unstable` of numbers that are nearly in order.
pub(crate) fn unstable_ascending(scale: Scale) -> Box<dyn Work> {
    let len = scale.size(500_000, 10_000);
    in_place(
        len,
        mostly_ascending,
        |list| list.par_sort_unstable(),
        sorted,
    )
}

/// `par_sort_unstable` of strings.
pub(crate) fn unstable_strings(scale: Scale) -> Box<dyn Work> {
    let len = scale.size(50_000, 3000);
    in_place(len, strings, |list| list.par_sort_unstable(), sorted)
}

/// By a comparison that takes long: by sines, then by value.
fn by_sine(a: &u32, b: &u32) -> Ordering {
    let sine = |item: &u32| f64::from(*item).sin();
    sine(a).total_cmp(&sine(b)).then(a.cmp(b))
}

/// `par_sort_by` with a comparison that takes long.
pub(crate) fn stable_expensive(scale: Scale) -> Box<dyn Work> {
    in_place(
        scale.size(30_000, 3000),
        random,
        |list| list.par_sort_by(by_sine),
        |after, before| {
            if !after.is_sorted_by(|a, b| by_sine(a, b).is_le()) {
                return Err("not sorted by sines".into());
            }
            let (mut after, mut before) = (after.to_vec(), before.to_vec());
            after.sort_unstable();
            before.sort_unstable();
            let same = after == before;
            same.then_some(())
                .ok_or_else(|| "other items than before".to_owned())
        },
    )
}
