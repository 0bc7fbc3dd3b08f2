//! Small enough for Miri, which runs them: see the page about iterators.

use std::cmp::Ordering;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use roving::raw::loops::Heed;

use super::{Filled, append_filled, own_all, sort_nearly_sorted, sort_runs};
use crate::engine::Companion;

fn texts(len: usize) -> Vec<String> {
    // A permutation, because 7 divides no power of two.
    let texts = (0..len).map(|n| (n * 7 % len.next_power_of_two()).to_string());
    texts.collect()
}

#[test]
fn owned_items_are_taken_from_both_ends_and_the_rest_is_dropped() {
    let token = Arc::new(());
    let mut vec: Vec<(usize, Arc<()>)> = (0..10).map(|n| (n, Arc::clone(&token))).collect();
    {
        let (lower, upper) = own_all(&mut vec).cut(4);
        let (middle, last) = upper.cut(3);
        assert_eq!((lower.len(), middle.len(), last.len()), (4, 3, 3));
        let mut seq = middle.into_seq();
        assert_eq!(seq.next().map(|item| item.0), Some(4));
        assert_eq!(seq.next_back().map(|item| item.0), Some(6));
        assert_eq!(seq.len(), 1);
        drop(lower);
        assert_eq!(
            last.into_seq().map(|item| item.0).collect::<Vec<_>>(),
            [7, 8, 9]
        );
    }
    assert_eq!(Arc::strong_count(&token), 1);
    vec.push((1, token));
    assert_eq!(vec.len(), 1);
}

#[test]
fn owned_items_without_a_size() {
    let mut vec = vec![(); 9];
    let (lower, upper) = own_all(&mut vec).cut(5);
    assert_eq!(
        (lower.into_seq().count(), upper.into_seq().rev().count()),
        (5, 4)
    );
}

#[test]
fn slots_are_filled_in_any_order() {
    let mut vec = texts(2);
    append_filled(&mut vec, 6, |slots| {
        let (lower, upper) = slots.cut(4);
        let (first, second) = lower.cut(1);
        let upper = upper.fill(["e", "f"].into_iter().map(String::from));
        let second = second.fill(["b", "c", "d"].into_iter().map(String::from));
        let first = first.fill(std::iter::once(String::from("a")));
        first.and(Filled::none()).and(second).and(upper)
    });
    assert_eq!(vec[2..], ["a", "b", "c", "d", "e", "f"]);
}

#[test]
fn slots_that_were_not_all_filled_are_told() {
    let token = Arc::new(());
    let mut vec = vec![Arc::clone(&token)];
    let items = || std::iter::repeat_with(|| Arc::clone(&token));
    // Too few, none, those of nobody, not adjacent.
    for case in 0..4 {
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            append_filled(&mut vec, 4, |slots| {
                let (lower, mut upper) = slots.cut(2);
                match case {
                    0 => lower.fill(items()),
                    1 => Filled::none(),
                    2 => upper.inside().fill(items()).and(upper.fill(items())),
                    _ => lower.fill(items().take(1)).and(upper.fill(items())),
                }
            });
        }));
        assert!(outcome.is_err());
        // None is leaked, also of those that are not adjacent.
        assert_eq!((vec.len(), Arc::strong_count(&token)), (1, 2), "{case}");
    }
}

/// Those that are not adjacent are dropped, and panic.
#[test]
fn filled_slots_stay_where_others_panic_in_their_drop() {
    struct Bomb {
        _token: Arc<()>,
        is_live: bool,
    }
    impl Drop for Bomb {
        fn drop(&mut self) {
            assert!(!self.is_live, "as it should");
        }
    }
    let token = Arc::new(());
    let mut vec = Vec::new();
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        append_filled(&mut vec, 4, |slots| {
            let (lower, upper) = slots.cut(2);
            let bomb = |is_live| Bomb {
                _token: Arc::clone(&token),
                is_live,
            };
            let item = |is_live| std::iter::once(bomb(is_live));
            lower.fill(item(false)).and(upper.fill(item(true)))
        });
    }));
    assert!(outcome.is_err());
    assert_eq!((vec.len(), Arc::strong_count(&token)), (0, 1));
}

#[test]
fn filled_slots_are_dropped_when_the_next_item_panics() {
    let token = Arc::new(());
    let mut vec = vec![Arc::clone(&token)];
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        append_filled(&mut vec, 8, |slots| {
            let (lower, upper) = slots.cut(3);
            let lower = lower.fill(std::iter::repeat_n(Arc::clone(&token), 9));
            let items = (0..5).map(|n| {
                assert!(n < 2, "as it should");
                Arc::clone(&token)
            });
            lower.and(upper.fill(items))
        });
    }));
    assert!(outcome.is_err());
    assert_eq!(Arc::strong_count(&token), 2);
}

#[test]
fn runs_are_merged_stably() {
    let pool = roving::Pool::new(2).unwrap();
    for len in [0, 1, 2, 5, 64, 67] {
        let mut items: Vec<(usize, String)> = texts(len).into_iter().enumerate().collect();
        let mut sorted = items.clone();
        let first = |a: &(usize, String), b: &(usize, String)| {
            a.1.as_bytes().first().cmp(&b.1.as_bytes().first())
        };
        sorted.sort_by(first);
        pool.install(|| sort_runs(&mut items, 4, Heed::of_caller(), &first));
        assert_eq!(items, sorted);
    }
}

#[test]
fn a_comparison_that_panics_leaves_all_items() {
    let pool = roving::Pool::new(2).unwrap();
    let mut all = texts(40);
    all.sort();
    for at in (0..200).step_by(if cfg!(miri) { 37 } else { 1 }) {
        let calls = std::sync::atomic::AtomicUsize::new(0);
        let compare = |a: &String, b: &String| -> Ordering {
            let call = calls.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            assert!(call != at, "as it should");
            a.cmp(b)
        };
        let mut items = texts(40);
        let sort = || pool.install(|| sort_runs(&mut items, 3, Heed::of_caller(), &compare));
        let outcome = catch_unwind(AssertUnwindSafe(sort));
        assert_eq!(outcome.is_err(), calls.into_inner() > at);
        items.sort();
        assert_eq!(items, all);
    }
}

/// Texts in order, but for so many that have changed places with others, and some that are equal.
fn nearly_sorted(len: usize, swaps: usize) -> Vec<String> {
    let mut items: Vec<String> = (0..len).map(|n| format!("{:06}", n / 3)).collect();
    let mut seed = swaps;
    for _ in 0..swaps {
        let mut place = || {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (seed >> 33) % len
        };
        let (a, b) = (place(), place());
        items.swap(a, b);
    }
    items
}

const NEARLY: usize = if cfg!(miri) { 300 } else { 3000 };

#[test]
fn what_is_nearly_sorted_is_sorted() {
    for swaps in [0, 1, 2, 5, 20, NEARLY / 60] {
        let mut items = nearly_sorted(NEARLY, swaps);
        let mut sorted = items.clone();
        sorted.sort();
        let is_done = sort_nearly_sorted(&mut items, &Ord::cmp);
        assert!(is_done || swaps > NEARLY / 100, "{swaps}");
        assert!(!is_done || items == sorted, "{swaps}");
        items.sort();
        assert!(items == sorted, "{swaps}");
    }
    // The ends, and neighbours, are out of order.
    for (a, b) in [(0, NEARLY - 1), (0, 1), (NEARLY - 2, NEARLY - 1), (7, 9)] {
        let mut items: Vec<usize> = (0..NEARLY).collect();
        items.swap(a, b);
        assert!(sort_nearly_sorted(&mut items, &Ord::cmp));
        assert!(items.is_sorted());
    }
    let mut others: Vec<usize> = (0..NEARLY).rev().collect();
    assert!(!sort_nearly_sorted(&mut others, &Ord::cmp));
}

#[test]
fn a_panic_or_a_false_order_leaves_what_is_nearly_sorted_whole() {
    let items = nearly_sorted(NEARLY, NEARLY / 100);
    let mut sorted = items.clone();
    sorted.sort();
    let calls = std::cell::Cell::new(0);
    let counted = |a: &String, b: &String| {
        calls.set(calls.get() + 1);
        a.cmp(b)
    };
    assert!(sort_nearly_sorted(&mut items.clone(), &counted));
    let most = calls.get();
    for at in (1..most).step_by(if cfg!(miri) { most / 9 } else { 11 }) {
        for panics in [true, false] {
            calls.set(0);
            let false_order = |a: &String, b: &String| {
                calls.set(calls.get() + 1);
                assert!(!(panics && calls.get() == at), "as it should");
                match calls.get() < at {
                    true => a.cmp(b),
                    false => b.cmp(a),
                }
            };
            let mut items = items.clone();
            let sort = || sort_nearly_sorted(&mut items, &false_order);
            let outcome = catch_unwind(AssertUnwindSafe(sort));
            // `std` may say that an order is none.
            assert!(outcome.is_err() || !panics);
            items.sort();
            assert!(items == sorted);
        }
    }
}
