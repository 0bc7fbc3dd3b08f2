//! A lock that is held while its holder waits for tasks of its own: stock Rayon deadlocks when the
//! waiting thread picks up somebody who wants the lock.

mod common;

use std::sync::Mutex;

use common::{pool, watched};
use rayon_core::{ThreadPool, in_place_scope, join, scope};

fn sum(from: u64, to: u64) -> u64 {
    if to - from <= 16 {
        return (from..to).sum();
    }
    let middle = from.midpoint(to);
    let (a, b) = join(|| sum(from, middle), || sum(middle, to));
    a + b
}

/// Many tasks, each of which holds the lock while it waits for tasks of its own.
fn all_hold_it(pool: &ThreadPool, inside: impl Fn() -> u64 + Sync) {
    watched(|| {
        let total = Mutex::new(0);
        let hold = || {
            let mut total = total.lock().unwrap();
            *total += inside();
        };
        for _ in 0..20 {
            pool.install(|| {
                scope(|s| (0..50).for_each(|_| s.spawn(|_| hold())));
                join(hold, || join(hold, hold));
            });
        }
        assert_eq!(*total.lock().unwrap(), 20 * 53 * (1023 * 512));
    });
}

#[test]
fn a_lock_can_be_held_across_join() {
    for threads in [1, 2, 4] {
        all_hold_it(&pool(threads), || sum(0, 1024));
    }
}

#[test]
fn a_lock_can_be_held_across_scopes() {
    let inside = || {
        let total = Mutex::new(0);
        let add = |from, to| *total.lock().unwrap() += sum(from, to);
        scope(|s| {
            s.spawn(|_| add(0, 500));
            s.spawn(|_| in_place_scope(|s| s.spawn(|_| add(500, 1024))));
        });
        total.into_inner().unwrap()
    };
    for threads in [2, 4] {
        all_hold_it(&pool(threads), inside);
    }
}

#[test]
fn a_lock_can_be_held_across_a_call_into_another_pool() {
    let other = pool(2);
    all_hold_it(&pool(3), || other.install(|| sum(0, 1024)));
}
