//! The native stack of one level of recursion.

mod common;

use std::cell::Cell;
use std::hint::black_box;

use common::watched;
use roving::{Pool, Scope};

/// More than a task stack has slots.
const BEYOND: usize = 9_000;

thread_local! {
    static LOWEST: Cell<usize> = const { Cell::new(usize::MAX) };
}

#[inline(never)]
fn bottom() {
    let local = 0_u8;
    LOWEST.set((&raw const *black_box(&local)).addr());
}

fn joins(levels: usize) -> usize {
    match levels.checked_sub(1) {
        None => {
            bottom();
            0
        }
        Some(below) => roving::join(|| joins(below) + 1, || black_box(())).0,
    }
}

/// Tasks that each spawn the next: on a full task stack, that one runs on top.
fn spawns<'s>(scope: &Scope<'s>, levels: usize) {
    match levels.checked_sub(1) {
        None => bottom(),
        Some(below) => scope.spawn(move |scope| spawns(scope, below)),
    }
}

const LEVELS: usize = 500;

/// Bytes of a level below the first so many.
fn bytes_below(first: usize, nest: impl Fn(usize)) -> usize {
    let lowest = |levels| {
        nest(levels);
        LOWEST.get()
    };
    (lowest(first) - lowest(first + LEVELS)) / LEVELS
}

fn pool() -> Pool {
    let builder = Pool::builder().workers(1).stack_size(256 << 20);
    builder.build().unwrap()
}

/// The rare case in a join, a pool with a seeded schedule, takes no room in the frame that each
/// level has once the task stack is full.
#[test]
#[cfg_attr(
    any(miri, roving_asan, roving_tsan),
    ignore = "frames are larger there, or not on the native stack"
)]
fn a_level_of_joins_takes_little_more_where_the_task_stack_is_full() {
    let nest = |levels| assert_eq!(joins(levels), levels);
    watched(|| {
        let (with_room, full) =
            pool().install(|| (bytes_below(100, nest), bytes_below(BEYOND, nest)));
        assert!(
            full <= with_room + 400,
            "{full} bytes a level, and {with_room} where there is room"
        );
    });
}

/// A task that runs on top of its spawner has a frame as small as that.
#[test]
#[cfg_attr(
    any(miri, roving_asan, roving_tsan),
    ignore = "frames are larger there, or not on the native stack"
)]
fn a_level_of_spawns_takes_little_where_the_task_stack_is_full() {
    watched(|| {
        let bytes = pool().install(|| {
            roving::scope(|s| {
                for _ in 0..BEYOND {
                    s.spawn(|_| ());
                }
                bytes_below(100, |levels| spawns(s, levels))
            })
        });
        // Measured: 64, and 1008 where each call and temporary still has its place.
        let most = if cfg!(debug_assertions) { 1200 } else { 250 };
        assert!(bytes <= most, "{bytes} bytes a level");
    });
}
