//! Each item is dropped once, whatever panics.

mod common;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};

use common::size;
use roving_iter::prelude::*;

/// Counts itself.
struct Item<'c> {
    count: &'c Counts,
    number: usize,
}

#[derive(Default)]
struct Counts {
    made: AtomicUsize,
    dropped: AtomicUsize,
}

impl Counts {
    fn item(&self, number: usize) -> Item<'_> {
        self.made.fetch_add(1, Ordering::Relaxed);
        Item {
            count: self,
            number,
        }
    }

    fn items(&self, len: usize) -> Vec<Item<'_>> {
        (0..len).map(|number| self.item(number)).collect()
    }

    #[track_caller]
    fn check(&self) {
        let made = self.made.load(Ordering::Relaxed);
        assert_eq!(self.dropped.load(Ordering::Relaxed), made);
    }
}

impl Drop for Item<'_> {
    fn drop(&mut self) {
        self.count.dropped.fetch_add(1, Ordering::Relaxed);
    }
}

/// Runs `f`, which is to panic, or not, for each number.
#[track_caller]
fn on_pools(f: impl Fn(&Counts) + Sync) {
    for seed in 0..size(40, 2) {
        let counts = Counts::default();
        let pool = roving::Pool::builder().deterministic(seed).build().unwrap();
        let _ = catch_unwind(AssertUnwindSafe(|| pool.install(|| f(&counts))));
        counts.check();
    }
    let counts = Counts::default();
    let _ = catch_unwind(AssertUnwindSafe(|| f(&counts)));
    counts.check();
}

fn panics_at(number: usize) -> impl Fn(usize) -> usize + Sync {
    move |n| {
        assert!(n != number, "as it should");
        n
    }
}

#[test]
fn a_panic_in_a_closure_drops_what_was_taken_and_what_was_not() {
    for at in [0, 1, 57, 99, usize::MAX] {
        let check = panics_at(at);
        on_pools(|counts| {
            counts
                .items(100)
                .into_par_iter()
                .for_each(|item| assert!(check(item.number) < 100));
        });
        on_pools(|counts| {
            let items = counts.items(100).into_par_iter().rev().enumerate();
            items.for_each(|(at, item)| assert_eq!(check(item.number), 99 - at));
        });
    }
}

#[test]
fn a_panic_while_a_vector_is_filled_drops_what_was_made() {
    for at in [0, 1, 57, 99, usize::MAX] {
        let check = panics_at(at);
        on_pools(|counts| {
            let made = |n| counts.item(check(n));
            let all: Vec<Item<'_>> = (0..100).into_par_iter().map(made).collect();
            assert_eq!(all.len(), 100);
        });
        on_pools(|counts| {
            let made = |n| (n % 3 == 0).then(|| counts.item(check(n)));
            let some: Vec<Item<'_>> = (0..100).into_par_iter().filter_map(made).collect();
            assert_eq!(some.len(), 34);
        });
        on_pools(|counts| {
            let items = counts.items(50).into_par_iter().chain(counts.items(50));
            let mut all = counts.items(3);
            all.par_extend(items.map(|item| {
                check(item.number);
                item
            }));
            assert_eq!(all.len(), 103);
        });
    }
}

#[test]
fn items_that_nobody_takes_are_dropped() {
    on_pools(|counts| drop(counts.items(10).into_par_iter()));
    on_pools(|counts| {
        assert_eq!(
            counts.items(100).into_par_iter().skip(7).take(50).count(),
            50
        )
    });
    on_pools(|counts| assert_eq!(counts.items(100).into_par_iter().zip(0..3).count(), 3));
    on_pools(|counts| assert_eq!(counts.items(100).into_par_iter().step_by(9).count(), 12));
    on_pools(|counts| {
        let found = counts
            .items(100)
            .into_par_iter()
            .find_any(|item| item.number == 40);
        assert_eq!(found.unwrap().number, 40);
    });
    on_pools(|counts| {
        let found = counts
            .items(100)
            .into_par_iter()
            .find_first(|item| item.number > 40);
        assert_eq!(found.unwrap().number, 41);
    });
    on_pools(|counts| {
        let failed: Result<Vec<Item<'_>>, usize> = counts
            .items(100)
            .into_par_iter()
            .map(|item| {
                if item.number < 50 {
                    Ok(item)
                } else {
                    Err(item.number)
                }
            })
            .collect();
        assert!(failed.is_err());
    });
}

/// An item that may panic in its drop.
struct Bomb<'c> {
    item: Item<'c>,
    is_live: bool,
}

impl Drop for Bomb<'_> {
    fn drop(&mut self) {
        assert!(!self.is_live || std::thread::panicking(), "as it should");
    }
}

/// A hundred items, one of which is live.
fn bombs(counts: &Counts, live: usize) -> roving_iter::vec::IntoIter<Bomb<'_>> {
    let items = counts.items(100).into_iter();
    let bombs = items.map(|item| Bomb {
        is_live: item.number == live,
        item,
    });
    bombs.collect::<Vec<_>>().into_par_iter()
}

#[test]
fn an_item_that_panics_in_its_drop_leaks_no_other() {
    for at in [2, 3, 57, 99] {
        on_pools(|counts| assert_eq!(bombs(counts, at).take(3).count(), 3));
        on_pools(|counts| {
            let few = bombs(counts, at).take(3);
            assert_eq!(bombs(counts, at).zip(few).count(), 3);
        });
        on_pools(|counts| drop(bombs(counts, at).find_any(|bomb| bomb.item.number == 1)));
        on_pools(|counts| drop(bombs(counts, at).find_first(|bomb| bomb.item.number > 40)));
        on_pools(|counts| {
            let failed = bombs(counts, at).try_for_each(|bomb| match bomb.item.number {
                40 => Err(counts.item(1000)),
                _ => Ok(()),
            });
            drop(failed);
        });
        on_pools(|counts| {
            let all = bombs(counts, at).map(|bomb| match bomb.item.number {
                40 => Err(counts.item(1000)),
                _ => Ok(bomb),
            });
            let last = |lower, upper| {
                drop(lower);
                Ok(upper)
            };
            drop(all.try_reduce_with(last));
        });
    }
}

/// The other one was dropped when what is chosen was already on its way out.
#[test]
fn an_item_that_panics_in_its_drop_leaks_not_the_one_that_is_chosen() {
    for &at in &[3, 57][..size(2, 1)] {
        let key = |bomb: &Bomb<'_>| bomb.item.number;
        on_pools(|counts| drop(bombs(counts, at).find_last(|bomb| key(bomb) >= at)));
        on_pools(|counts| drop(bombs(counts, at).max_by(|a, b| key(a).cmp(&key(b)))));
        on_pools(|counts| drop(bombs(counts, at).min_by(|a, b| key(a).cmp(&key(b)))));
        on_pools(|counts| drop(bombs(counts, at).max_by_key(key)));
        on_pools(|counts| drop(bombs(counts, at).min_by_key(key)));
        on_pools(|counts| {
            let all = bombs(counts, at).map(|bomb| match bomb.item.number {
                99 => Err(counts.item(1000)),
                _ => Ok(bomb),
            });
            drop(all.collect::<Result<Vec<_>, _>>());
        });
        // The value of a part.
        on_pools(|counts| {
            let value = || Bomb {
                item: counts.item(1000),
                is_live: true,
            };
            let all = bombs(counts, 100).map_init(value, |_, bomb| bomb);
            drop(all.collect::<Vec<_>>());
        });
    }
}

/// An item whose drop panics, in any case.
struct Wreck(usize);

impl Drop for Wreck {
    fn drop(&mut self) {
        assert!(self.0 != WRECK, "in a drop");
    }
}

const WRECK: usize = 40;

/// Runs `f` with a closure that panics at an item before that one, at it or at one behind it. The
/// first panic comes out, wherever blocks end.
#[track_caller]
fn panics_near_the_wreck(f: impl Fn(&(dyn Fn(&Wreck) + Sync)) + Sync) {
    let near = [WRECK - 1, WRECK + 1, WRECK - 20, WRECK + 20];
    for &at in &near[..size(4, 1)] {
        let check = |wreck: &Wreck| {
            if wreck.0 == at {
                // Without the message, of which there are many.
                std::panic::resume_unwind(Box::new("as it should"));
            }
        };
        let run = |pool: &roving::Pool| {
            let run = AssertUnwindSafe(|| pool.install(|| f(&check)));
            catch_unwind(run).unwrap_err()
        };
        for seed in 0..size(3, 1) {
            run(&roving::Pool::builder().deterministic(seed).build().unwrap());
        }
        // One block after the other.
        let payload = run(&roving::Pool::new(1).unwrap());
        let text = payload.downcast_ref::<&str>().copied();
        assert!(at > WRECK || text == Some("as it should"), "{text:?}");
    }
}

/// It ended the process where both were in one block.
#[test]
fn a_panic_beside_an_item_that_panics_in_its_drop_comes_out() {
    let vec = || (0..100).map(Wreck).collect::<Vec<_>>().into_par_iter();
    fn range<'c>(
        check: &'c (dyn Fn(&Wreck) + Sync),
    ) -> impl IndexedParallelIterator<Item = Wreck> + 'c {
        (0..100).into_par_iter().map(move |n| {
            let wreck = Wreck(n);
            check(&wreck);
            wreck
        })
    }
    let forget = |wreck, check: &(dyn Fn(&Wreck) + Sync)| {
        check(&wreck);
        std::mem::forget(wreck);
    };
    panics_near_the_wreck(|check| vec().for_each(|wreck| forget(wreck, check)));
    panics_near_the_wreck(|check| vec().rev().for_each(|wreck| forget(wreck, check)));
    panics_near_the_wreck(|check| drop(range(check).collect::<Vec<_>>()));
    panics_near_the_wreck(|check| drop(range(check).filter(|_| true).collect::<Vec<_>>()));
    type Two = (Vec<Wreck>, Vec<Wreck>);
    panics_near_the_wreck(|check| drop::<Two>(range(check).partition(|wreck| wreck.0 % 3 == 0)));
    panics_near_the_wreck(|check| drop::<Two>(range(check).map(|w| (w, Wreck(0))).unzip()));
    panics_near_the_wreck(|check| drop(range(check).find_last(|wreck| wreck.0 <= WRECK)));
    let push = |mut all: Vec<_>, wreck| {
        all.push(wreck);
        all
    };
    panics_near_the_wreck(|check| drop(range(check).fold(Vec::new, push).collect::<Vec<_>>()));
    panics_near_the_wreck(|check| {
        let totals = range(check).try_fold(Vec::new, |all, wreck| Some(push(all, wreck)));
        drop(totals.try_reduce(Vec::new, |_, upper| Some(upper)));
    });
    panics_near_the_wreck(|check| {
        let inner = |n: usize| {
            check(&Wreck(n));
            (n..n + 1).into_par_iter().map(Wreck)
        };
        drop((0..100).into_par_iter().flat_map(inner).collect::<Vec<_>>());
    });
}

#[test]
fn a_panic_of_an_iterator_behind_a_bridge_comes_out() {
    for seed in 0..size(20, 2) {
        let pool = roving::Pool::builder().deterministic(seed).build().unwrap();
        let items = (0..100).map(panics_at(50));
        let used = AtomicUsize::new(0);
        let run = || {
            items.par_bridge().for_each(|_| {
                used.fetch_add(1, Ordering::Relaxed);
            });
        };
        assert!(catch_unwind(AssertUnwindSafe(|| pool.install(run))).is_err());
        assert!(used.into_inner() <= 50);
    }
}
