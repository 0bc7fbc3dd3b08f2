//! Sorting gives what `std` gives, and loses nothing when a comparison panics.

mod common;

use std::cell::Cell;
use std::cmp::Ordering as Order;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};

use common::size;
use proptest::prelude::*;
use roving_iter::prelude::*;

fn numbers(len: usize, most: u64, mut seed: u64) -> Vec<u64> {
    let mut next = || {
        seed = seed
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        seed >> 33
    };
    (0..len).map(|_| next() % most).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(size(32, 1)))]

    #[test]
    fn all_six_forms(len in size(0, 2_100)..size(40_000_usize, 2_200), most in prop_oneof![Just(2), Just(100), Just(u64::MAX)], seed: u64) {
        let pool = roving::Pool::new(3).unwrap();
        let start = numbers(len, most, seed);
        let mut sorted = start.clone();
        sorted.sort();
        let check = |sort: &(dyn Fn(&mut Vec<u64>) + Sync)| {
            let mut items = start.clone();
            pool.install(|| sort(&mut items));
            assert!(items == sorted);
        };
        check(&|items| items.par_sort());
        check(&|items| items.par_sort_by(|a, b| a.cmp(b)));
        check(&|items| items.par_sort_by_key(|n| *n));
        check(&|items| items.par_sort_by_cached_key(|n| n.to_be_bytes()));
        check(&|items| items.par_sort_unstable());
        check(&|items| items.par_sort_unstable_by(|a, b| a.cmp(b)));
        check(&|items| items.par_sort_unstable_by_key(|n| *n));
    }

    #[test]
    fn equal_items_keep_their_order(len in size(0, 2_100)..size(40_000_usize, 2_200), seed: u64) {
        let pool = roving::Pool::new(4).unwrap();
        let start: Vec<(u64, usize)> = numbers(len, 50, seed).into_iter().zip(0..).collect();
        let mut sorted = start.clone();
        sorted.sort_by_key(|(key, _)| *key);
        let mut items = start.clone();
        pool.install(|| items.par_sort_by_key(|(key, _)| *key));
        assert!(items == sorted);
        let mut items = start;
        pool.install(|| items.par_sort_by_cached_key(|(key, _)| key.to_string().len() as u64 * 100 + key));
        assert!(items == sorted);
    }
}

#[test]
fn sorted_and_reversed_slices() {
    let pool = roving::Pool::new(3).unwrap();
    for len in [0, 1, 2, 2048, 2049, size(30_000, 2_500)] {
        let sorted: Vec<u64> = (0..len).collect();
        for mut items in [sorted.clone(), sorted.iter().rev().copied().collect()] {
            let mut other = items.clone();
            pool.install(|| items.par_sort());
            pool.install(|| other.par_sort_unstable());
            assert!(items == sorted && other == sorted);
        }
    }
}

/// A comparison that panics at some call, and items that each own memory.
#[test]
fn a_panic_loses_and_doubles_nothing() {
    let pool = roving::Pool::new(3).unwrap();
    let start: Vec<String> = numbers(size(20_000, 2_500), 5_000, 7)
        .iter()
        .map(u64::to_string)
        .collect();
    let mut all = start.clone();
    all.sort();
    for &at in size(
        &[0, 1, 5_000, 100_000, 180_000, 230_000, 250_000, 260_000][..],
        &[1, 20_000],
    ) {
        for is_stable in [true, false] {
            let calls = AtomicUsize::new(0);
            let compare = |a: &String, b: &String| {
                assert!(calls.fetch_add(1, Ordering::Relaxed) != at, "as it should");
                a.cmp(b)
            };
            let mut items = start.clone();
            let outcome = catch_unwind(AssertUnwindSafe(|| {
                pool.install(|| match is_stable {
                    true => items.par_sort_by(compare),
                    false => items.par_sort_unstable_by(compare),
                });
            }));
            assert_eq!(outcome.is_err(), calls.into_inner() > at);
            items.sort();
            assert!(items == all, "{at}");
        }
    }
}

/// An order that contradicts itself gives some order, and all items.
#[test]
fn a_false_order_loses_and_doubles_nothing() {
    let pool = roving::Pool::new(3).unwrap();
    let start: Vec<String> = numbers(size(20_000, 2_500), 5_000, 9)
        .iter()
        .map(u64::to_string)
        .collect();
    let mut all = start.clone();
    all.sort();
    let draws = AtomicUsize::new(1);
    let compare = |_: &String, _: &String| {
        let drawn = draws.fetch_add(0x9E37_79B9, Ordering::Relaxed);
        [Order::Less, Order::Equal, Order::Greater][drawn.wrapping_mul(0x2545_F491) >> 9 & 1]
    };
    for is_stable in [true, false] {
        let mut items = start.clone();
        let _ = catch_unwind(AssertUnwindSafe(|| {
            pool.install(|| match is_stable {
                true => items.par_sort_by(compare),
                false => items.par_sort_unstable_by(compare),
            });
        }));
        items.sort();
        assert!(items == all);
    }
}

/// A value that a comparison writes into an item is in the item afterwards.
#[test]
fn a_comparison_may_change_items() {
    let pool = roving::Pool::new(3).unwrap();
    let calls = AtomicUsize::new(0);
    let mut items: Vec<(u64, Cell<usize>)> = numbers(size(20_000, 2_500), u64::MAX, 3)
        .into_iter()
        .map(|n| (n, Cell::new(0)))
        .collect();
    pool.install(|| {
        items.par_sort_by(|a, b| {
            calls.fetch_add(1, Ordering::Relaxed);
            a.1.set(a.1.get() + 1);
            b.1.set(b.1.get() + 1);
            a.0.cmp(&b.0)
        });
    });
    assert_eq!(
        items.iter().map(|(_, seen)| seen.get()).sum::<usize>(),
        2 * calls.into_inner()
    );
    assert!(items.is_sorted_by_key(|(n, _)| *n));
}
