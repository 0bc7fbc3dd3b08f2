//! Reductions in a fixed tree: bitwise the serial value on any number of workers and under any
//! schedule.

mod common;

use std::collections::HashSet;
use std::panic::{self, AssertUnwindSafe};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use common::{pool, size, watched};
use proptest::prelude::*;
use roving::{Pool, reduce, reduce_chunks, reduce_slice};

/// The stated tree, by another way: leaves one after the other, with a stack of whole powers of two
/// as in a binary counter, whose rest is combined from the right.
fn serially<E, T>(
    items: &[E],
    grain: usize,
    map: impl Fn(&E) -> T,
    combine: impl Fn(T, T) -> T,
) -> Option<T> {
    let mut parts: Vec<(u32, T)> = Vec::new();
    for leaf in items.chunks(grain) {
        let mut mapped = leaf.iter().map(&map);
        let first = mapped.next().expect("chunks are not empty");
        let mut part = (0, mapped.fold(first, &combine));
        while parts.last().is_some_and(|(height, _)| *height == part.0) {
            let (height, left) = parts.pop().expect("just seen");
            part = (height + 1, combine(left, part.1));
        }
        parts.push(part);
    }
    let right = parts.pop()?.1;
    let whole = parts.into_iter().rev();
    Some(whole.fold(right, |right, (_, left)| combine(left, right)))
}

/// The shape of a tree: parentheses for each combination.
fn shape(a: String, b: String) -> String {
    format!("({a}{b})")
}

fn pools() -> &'static [Pool] {
    static POOLS: OnceLock<Vec<Pool>> = OnceLock::new();
    POOLS.get_or_init(|| [1, 2, 3, 8].into_iter().map(pool).collect())
}

fn on_all_pools(seed: u64, test: impl Fn() + Sync) {
    pools().iter().for_each(|pool| pool.install(&test));
    let builder = Pool::builder().deterministic(seed).workers(3);
    builder.build().unwrap().install(&test);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(size(64, 2)))]

    #[test]
    fn float_sums_are_bitwise_those_of_the_serial_tree(
        numbers in prop::collection::vec(-1e9..1e9_f64, 0..size(600, 40)),
        grain in 1_usize..40,
        seed: u64,
    ) {
        let add = |a: f64, b: f64| a + b;
        let serial = serially(&numbers, grain, |&x| x, add).unwrap_or(-1.0).to_bits();
        on_all_pools(seed, || {
            let by_element = reduce_slice(&numbers, grain, || -1.0, |&x| x, add);
            assert_eq!(by_element.to_bits(), serial);
            let by_index = reduce(0..numbers.len(), grain, || -1.0, |n| numbers[n], add);
            assert_eq!(by_index.to_bits(), serial);
            let leaf = |chunk: &[f64]| chunk.iter().copied().reduce(add).unwrap();
            let by_chunk = reduce_chunks(&numbers, grain, || -1.0, leaf, add);
            assert_eq!(by_chunk.to_bits(), serial);
        });
    }

    #[test]
    fn the_order_of_the_items_and_the_tree_are_kept(
        length in 0_usize..80,
        start in 0_usize..1000,
        grain in 1_usize..8,
        seed: u64,
    ) {
        let items: Vec<usize> = (start..start + length).collect();
        let text = |n: &usize| format!("{n} ");
        let serial = serially(&items, grain, text, shape).unwrap_or_default();
        on_all_pools(seed, || {
            let range = start..start + length;
            assert_eq!(reduce(range, grain, String::new, |n| text(&n), shape), serial);
            assert_eq!(reduce_slice(&items, grain, String::new, text, shape), serial);
        });
    }
}

#[test]
fn the_tree_is_the_one_that_is_stated() {
    let tree = |length, grain| reduce(0..length, grain, String::new, |n| n.to_string(), shape);
    assert_eq!(tree(0, 1), "");
    assert_eq!(tree(1, 1), "0");
    assert_eq!(tree(3, 4), "((01)2)");
    assert_eq!(tree(6, 1), "(((01)(23))(45))");
    assert_eq!(tree(7, 2), "(((01)(23))((45)6))");
}

#[test]
fn another_tree_would_be_seen() {
    // A sum that no two of these grains agree on: so equal bits say something.
    let term = |n: usize| 1.0 / (n as f64 + 0.1);
    let sum = |grain| reduce(0..size(10_000, 1_500), grain, || 0.0, term, |a, b| a + b).to_bits();
    let sums: HashSet<u64> = [1, 3, 10, 100, 1000].into_iter().map(sum).collect();
    assert_eq!(sums.len(), 5);
}

#[test]
fn the_identity_is_for_empty_ranges_only() {
    let calls = AtomicUsize::new(0);
    let identity = || {
        calls.fetch_add(1, Ordering::Relaxed);
        7
    };
    assert_eq!(reduce(0..100, 3, identity, |n| n, |a, b| a + b), 4950);
    assert_eq!(calls.load(Ordering::Relaxed), 0);
    assert_eq!(reduce(5..5, 3, identity, |n| n, |a, b| a + b), 7);
    assert_eq!(
        reduce_slice(&[0_usize; 0], 3, identity, |&n| n, |a, b| a + b),
        7
    );
    assert_eq!(
        reduce_chunks(&[0_usize; 0], 3, identity, <[usize]>::len, |a, b| a + b),
        7
    );
    assert_eq!(calls.into_inner(), 3);
}

#[test]
fn ranges_at_the_end_of_what_there_is() {
    let end = usize::MAX;
    assert_eq!(reduce(end - 5..end, 2, || 0, |n| end - n, |a, b| a + b), 15);
    assert_eq!(
        reduce(end - 5..end, usize::MAX, || 0, |n| end - n, |a, b| a + b),
        15
    );
    let units = vec![(); 1000];
    assert_eq!(reduce_slice(&units, 7, || 0, |()| 1, |a, b| a + b), 1000);
}

#[test]
fn a_grain_of_0_is_refused() {
    let refused = panic::catch_unwind(|| reduce(0..1, 0, || 0, |n| n, |a, b| a + b));
    let payload = refused.unwrap_err();
    let text = payload.downcast_ref::<&str>().expect("a message");
    assert_eq!(*text, "grain is 0: say 1 or more items a leaf");
}

/// Each value that was made is dropped once, whichever call panics.
#[test]
fn values_are_dropped_once_when_a_call_panics() {
    struct Counted<'c> {
        alive: &'c AtomicUsize,
        value: usize,
    }
    impl Drop for Counted<'_> {
        fn drop(&mut self) {
            self.alive.fetch_sub(1, Ordering::Relaxed);
        }
    }
    const LENGTH: usize = size(40, 3);
    let run = |pool: &Pool, fatal_map: usize, fatal_combine: usize| {
        let (alive, combined) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let panicked = AtomicBool::new(false);
        let make = |value| {
            alive.fetch_add(1, Ordering::Relaxed);
            let alive = &alive;
            Counted { alive, value }
        };
        let fail = |text: &'static str| -> ! {
            panicked.store(true, Ordering::Relaxed);
            panic::resume_unwind(Box::new(text))
        };
        let map = |n| match n == fatal_map {
            true => fail("map"),
            false => make(n),
        };
        let combine = |a: Counted<'_>, b: Counted<'_>| {
            if combined.fetch_add(1, Ordering::Relaxed) == fatal_combine {
                fail("combine");
            }
            make(a.value + b.value)
        };
        let reduced = panic::catch_unwind(AssertUnwindSafe(|| {
            pool.install(|| reduce(0..LENGTH, 3, || unreachable!("not empty"), map, combine).value)
        }));
        assert_eq!(alive.load(Ordering::Relaxed), 0);
        match reduced {
            Ok(sum) => assert!(sum == LENGTH * (LENGTH - 1) / 2 && !panicked.into_inner()),
            Err(payload) => assert!(["map", "combine"].contains(payload.downcast_ref().unwrap())),
        }
    };
    watched(|| {
        for fatal in 0..=LENGTH {
            for pool in pools() {
                run(pool, fatal, usize::MAX);
                run(pool, usize::MAX, fatal);
                run(pool, fatal, fatal);
            }
            let drawn = Pool::builder().deterministic(fatal as u64).build().unwrap();
            run(&drawn, fatal, usize::MAX);
            run(&drawn, usize::MAX, fatal);
        }
    });
}

/// Parts that have not begun when another panics are left out.
#[test]
fn a_reduction_that_has_panicked_is_given_up() {
    let mapped = AtomicUsize::new(0);
    let alone = pool(1);
    let reduced = panic::catch_unwind(AssertUnwindSafe(|| {
        alone.install(|| {
            let map = |n| {
                mapped.fetch_add(1, Ordering::Relaxed);
                if n == 10 {
                    panic::resume_unwind(Box::new("ten"));
                }
            };
            reduce(0..1_000_000, 1, || (), map, |(), ()| ());
        });
    }));
    assert!(reduced.is_err());
    assert_eq!(mapped.into_inner(), 11);
}
