//! What a level of recursion takes of the native stack.

mod common;

use std::cell::Cell;
use std::hint::black_box;

use common::watched;
use roving::Pool;

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

/// Bytes of a level of joins below the first so many.
fn bytes_below(first: usize) -> usize {
    const LEVELS: usize = 500;
    let lowest = |levels| {
        assert_eq!(joins(levels), levels);
        LOWEST.get()
    };
    (lowest(first) - lowest(first + LEVELS)) / LEVELS
}

/// What is rare in a join, that its pool has a drawn schedule or none, has no place in the frame that each
/// level has once the task stack is full.
#[test]
#[cfg_attr(
    any(miri, roving_asan, roving_tsan),
    ignore = "frames are larger there, or not on the native stack"
)]
fn a_level_takes_little_more_where_the_task_stack_is_full() {
    watched(|| {
        let pool = Pool::builder().workers(1).stack_size(256 << 20);
        let pool = pool.build().unwrap();
        let (with_room, full) = pool.install(|| (bytes_below(100), bytes_below(BEYOND)));
        assert!(
            full <= with_room + 400,
            "{full} bytes a level, and {with_room} where there is room"
        );
    });
}
