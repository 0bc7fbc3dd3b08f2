//! Iterators inside the items of others, and behind others: how one part ends all the others.

mod common;

use std::hint::black_box;

use common::{Signal, size, watched};
use roving::{Cancel, Pool};
use roving_iter::prelude::*;

/// Two parts with a plain iterator in each, one of them without an end. The only item of the other
/// waits until that one has begun.
fn endless_and_short(endless: usize, begun: &Signal) -> impl ParallelIterator<Item = usize> {
    let parts = (0..2_usize).into_par_iter().with_max_len(1);
    parts.flat_map_iter(move |part| {
        let items = if part == endless { u64::MAX } else { 1 };
        (0..items).map(move |n| {
            match part == endless {
                true => begun.set(),
                false => begun.wait(),
            }
            black_box(n);
            part
        })
    })
}

/// The whole inner iterator was one block, which nobody ended.
#[test]
fn a_plain_iterator_inside_an_item_ends_with_the_others() {
    let pool = Pool::new(2).unwrap();
    let run = |search: &(dyn Fn(&Signal) + Sync)| {
        for _ in 0..size(3, 1) {
            watched(|| pool.install(|| search(&Signal::default())));
        }
    };
    run(&|begun| {
        let found = endless_and_short(0, begun).find_any(|part| *part == 1);
        assert_eq!(found, Some(1));
    });
    run(&|begun| assert!(!endless_and_short(0, begun).all(|part| part == 0)));
    run(&|begun| {
        let found = endless_and_short(0, begun).find_last(|part| *part == 1);
        assert_eq!(found, Some(1));
    });
    run(&|begun| {
        let found = endless_and_short(1, begun).find_first(|part| *part == 0);
        assert_eq!(found, Some(0));
    });
    run(&|begun| {
        let totals = endless_and_short(0, begun).fold(|| 0, |sum, part| sum + part);
        assert_eq!(totals.find_any(|sum| *sum == 1), Some(1));
    });
    run(&|begun| {
        let add = |sum: usize, part| (part == 0).then_some(sum);
        let totals = endless_and_short(0, begun).try_fold(|| 0, add);
        assert_eq!(totals.try_reduce(|| 0, |a, _| Some(a)), None);
    });
    run(&|begun| {
        let cancel = Cancel::new();
        let outcome = cancel.run(|| {
            endless_and_short(0, begun).for_each(|part| {
                if part == 1 {
                    cancel.cancel();
                }
            });
        });
        assert!(outcome.is_err());
    });
}
