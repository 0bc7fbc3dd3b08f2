//! Joins and loops with next to nothing in them: what is left is overhead.

#[cfg(feature = "whole")]
use rayon::iter::split;
use rayon::join;
use rayon::prelude::*;

use crate::work::{Scale, Work, in_place, value};

fn fib(n: u32) -> u64 {
    let pair = (0..n).fold((0, 1), |(a, b), _| (b, a + b));
    pair.0
}

#[cfg(feature = "whole")]
fn fib_calls(n: u32) -> u64 {
    if n < 2 {
        u64::from(n)
    } else {
        fib_calls(n - 1) + fib_calls(n - 2)
    }
}

/// The larger half first.
fn fib_large(n: u32) -> u64 {
    if n < 2 {
        return u64::from(n);
    }
    let (a, b) = join(|| fib_large(n - 1), || fib_large(n - 2));
    a + b
}

/// The smaller half first.
fn fib_small(n: u32) -> u64 {
    if n < 2 {
        return u64::from(n);
    }
    let (a, b) = join(|| fib_small(n - 2), || fib_small(n - 1));
    a + b
}

#[cfg(feature = "whole")]
fn split_in_two(n: u32) -> (u32, Option<u32>) {
    if n < 2 {
        (n, None)
    } else {
        (n - 1, Some(n - 2))
    }
}

fn number(scale: Scale) -> u32 {
    scale.size(27, 12) as u32
}

/// Fibonacci numbers by `join`, the larger half first.
pub(crate) fn fibonacci_large_first(scale: Scale) -> Box<dyn Work> {
    value(number(scale), |n| fib(*n), |n| fib_large(*n))
}

/// Fibonacci numbers by `join`, the smaller half first.
pub(crate) fn fibonacci_small_first(scale: Scale) -> Box<dyn Work> {
    value(number(scale), |n| fib(*n), |n| fib_small(*n))
}

/// Fibonacci numbers by `iter::split`, plain calls where it stops splitting.
#[cfg(feature = "whole")]
pub(crate) fn fibonacci_split(scale: Scale) -> Box<dyn Work> {
    value(
        number(scale) + 4,
        |n| fib(*n),
        |n| split(*n, split_in_two).map(fib_calls).sum(),
    )
}

/// Fibonacci numbers by `iter::split` down to the smallest, with nothing to do where it stops.
#[cfg(feature = "whole")]
pub(crate) fn fibonacci_split_iterative(scale: Scale) -> Box<dyn Work> {
    value(
        number(scale),
        |n| fib(*n),
        |n| split(*n, split_in_two).map(fib).sum(),
    )
}

fn halves(depth: usize) -> u64 {
    if depth == 0 {
        return 1;
    }
    let (a, b) = join(|| halves(depth - 1), || halves(depth - 1));
    a + b
}

/// A full tree of joins.
pub(crate) fn recursive(scale: Scale) -> Box<dyn Work> {
    value(
        scale.size(16, 8),
        |depth| 1 << depth,
        |depth| halves(*depth),
    )
}

fn one_more(len: usize, change: fn(&mut Vec<u64>)) -> Box<dyn Work> {
    in_place(
        len,
        |len| (0..len as u64).collect(),
        change,
        |after, before| {
            let right = before.iter().map(|item| item + 1);
            let same = after.iter().copied().eq(right);
            same.then_some(())
                .ok_or_else(|| "an item was not counted up once".to_owned())
        },
    )
}

/// Adds one to each of a million items.
pub(crate) fn increment(scale: Scale) -> Box<dyn Work> {
    one_more(scale.size(1 << 20, 1 << 10), |list| {
        list.par_iter_mut().for_each(|item| *item += 1);
    })
}

/// Increments in pieces of at least 1024.
pub(crate) fn increment_min(scale: Scale) -> Box<dyn Work> {
    one_more(scale.size(1 << 20, 1 << 12), |list| {
        let items = list.par_iter_mut().with_min_len(1024);
        items.for_each(|item| *item += 1);
    })
}

/// Increments in pieces of at most 100.
pub(crate) fn increment_max(scale: Scale) -> Box<dyn Work> {
    one_more(scale.size(1 << 20, 1 << 10), |list| {
        let items = list.par_iter_mut().with_max_len(100);
        items.for_each(|item| *item += 1);
    })
}

/// Each item a task.
pub(crate) fn increment_atoms(scale: Scale) -> Box<dyn Work> {
    one_more(scale.size(1 << 16, 1 << 8), |list| {
        let items = list.par_iter_mut().with_max_len(1);
        items.for_each(|item| *item += 1);
    })
}

/// Never split.
pub(crate) fn increment_whole(scale: Scale) -> Box<dyn Work> {
    one_more(scale.size(1 << 20, 1 << 10), |list| {
        let items = list.par_iter_mut().with_min_len(usize::MAX);
        items.for_each(|item| *item += 1);
    })
}
