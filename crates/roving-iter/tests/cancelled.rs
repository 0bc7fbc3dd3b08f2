//! Iterators and sorts inside of a call that is cancelled.

mod common;

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use common::size;
use roving::Cancel;
use roving_iter::prelude::*;

#[test]
fn a_cancelled_iterator_ends() {
    for workers in 1..4 {
        let pool = roving::Pool::new(workers).unwrap();
        let cancel = Cancel::new();
        let calls = AtomicUsize::new(0);
        let outcome = pool.install(|| {
            cancel.run(|| {
                (0..u64::MAX).into_par_iter().for_each(|_| {
                    if calls.fetch_add(1, Relaxed) == 1_000 {
                        cancel.cancel();
                    }
                });
            })
        });
        assert!(outcome.is_err());
        assert!(calls.into_inner() > 1_000);
    }
}

#[test]
fn a_cancelled_collection_drops_what_it_has() {
    let cancel = Cancel::new();
    let token = std::sync::Arc::new(());
    let outcome = cancel.run(|| {
        let all: Vec<_> = (0..size(1_000_000_usize, 1_000))
            .into_par_iter()
            .map(|n| {
                if n == 70 {
                    cancel.cancel();
                }
                std::sync::Arc::clone(&token)
            })
            .collect();
        all.len()
    });
    assert!(outcome.is_err());
    assert_eq!(std::sync::Arc::strong_count(&token), 1);
}

/// A sort looks at the token between its runs: it does not make all comparisons, and has all items.
#[test]
fn a_cancelled_sort_ends_and_loses_no_item() {
    type Sort = fn(&mut [Box<usize>], &(dyn Fn(&usize) + Sync));
    let sorts: [Sort; 3] = [
        |items, look| {
            items.par_sort_by(|a, b| {
                look(a);
                a.cmp(b)
            });
        },
        |items, look| {
            items.par_sort_unstable_by(|a, b| {
                look(a);
                a.cmp(b)
            });
        },
        |items, look| {
            items.par_sort_by_cached_key(|n| {
                look(n);
                **n
            });
        },
    ];
    const LEN: usize = size(120_000, 5_000);
    let mixed = || (0..LEN).map(|n| Box::new(n * 79_193 % LEN)).collect();
    for (sort, workers) in sorts.iter().flat_map(|sort| (1..4).map(move |w| (sort, w))) {
        let pool = roving::Pool::new(workers).unwrap();
        let (all, some) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let mut items: Vec<Box<usize>> = mixed();
        pool.install(|| sort(&mut items, &|_| _ = all.fetch_add(1, Relaxed)));
        let mut items = mixed();
        let cancel = Cancel::new();
        let outcome = pool.install(|| {
            cancel.run(|| {
                sort(&mut items, &|_| {
                    // Whoever comes next, should this one be stopped here.
                    if some.fetch_add(1, Relaxed) >= 3_000 {
                        cancel.cancel();
                    }
                });
            })
        });
        assert!(outcome.is_err());
        assert!(some.into_inner() < all.into_inner() / 2 || cfg!(miri));
        items.sort();
        assert!(items.iter().map(|item| **item).eq(0..LEN));
    }
}

/// It cannot unwind there.
#[test]
fn a_sort_in_a_destructor_of_a_cancelled_call_runs_to_its_end() {
    struct Sorts<'i>(&'i mut Vec<usize>);
    impl Drop for Sorts<'_> {
        fn drop(&mut self) {
            self.0.par_sort();
        }
    }
    const LEN: usize = size(100_000, 5_000);
    let mut items: Vec<usize> = (0..LEN).rev().collect();
    let pool = roving::Pool::new(3).unwrap();
    let cancel = Cancel::new();
    let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        pool.install(|| {
            cancel.run(|| {
                let _sorts = Sorts(&mut items);
                cancel.cancel();
                panic!("on purpose");
            })
        })
    }));
    assert_eq!(outcome.unwrap_err().downcast_ref(), Some(&"on purpose"));
    assert!(items.is_sorted());
}
