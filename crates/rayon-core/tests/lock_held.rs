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

/// More tasks than a thread's stack has room for.
const MANY: usize = 20_000;

#[test]
fn a_lock_can_be_held_while_many_tasks_are_spawned_that_want_it() {
    for threads in [1, 2] {
        watched(|| {
            let total = Mutex::new(0);
            let pool = pool(threads);
            pool.scope(|s| {
                let held = total.lock().unwrap();
                for _ in 0..MANY {
                    s.spawn(|_| *total.lock().unwrap() += 1);
                }
                drop(held);
            });
            pool.scope_fifo(|s| {
                let held = total.lock().unwrap();
                for _ in 0..MANY {
                    s.spawn_fifo(|_| *total.lock().unwrap() += 1);
                }
                drop(held);
            });
            assert_eq!(total.into_inner().unwrap(), 2 * MANY);
        });
    }
}

/// Each task spawns the next one where there is no room: none runs on top of another.
#[test]
fn a_chain_of_tasks_takes_no_native_stack_where_there_is_no_room() {
    fn step<'scope>(s: &rayon_core::Scope<'scope>, left: usize) {
        if left > 0 {
            s.spawn(move |s| step(s, left - 1));
        }
    }
    watched(|| {
        pool(1).scope(|s| {
            (0..MANY).for_each(|_| s.spawn(|_| ()));
            step(s, 100_000);
        });
    });
}
