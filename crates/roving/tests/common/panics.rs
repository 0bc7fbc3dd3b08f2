//! Panics on purpose, and what becomes of them.
#![allow(dead_code, reason = "each test program uses its own part of it")]

use std::any::Any;
use std::panic::{self, AssertUnwindSafe};

use roving::{Pool, join};

use crate::common::{pool, size, watched};

/// The payload of the tests' panics: no message is printed for it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Because(pub(crate) &'static str);

pub(crate) fn fail(why: &'static str) -> ! {
    panic::resume_unwind(Box::new(Because(why)))
}

pub(crate) fn reason(payload: &(dyn Any + Send)) -> &'static str {
    payload
        .downcast_ref::<Because>()
        .map_or("another payload", |because| because.0)
}

/// The reason of the call's panic; fails if it returns.
#[track_caller]
pub(crate) fn caught<R>(call: impl FnOnce() -> R) -> &'static str {
    match panic::catch_unwind(AssertUnwindSafe(call)) {
        Ok(_) => panic!("the call returned, but should have panicked"),
        Err(payload) => reason(&*payload),
    }
}

/// Every worker still does its work.
#[track_caller]
pub(crate) fn works(pool: &Pool) {
    fn sum(from: u64, to: u64) -> u64 {
        if to - from == 1 {
            return from;
        }
        let middle = (from + to) / 2;
        let (a, b) = join(|| sum(from, middle), || sum(middle, to));
        a + b
    }
    assert_eq!(pool.install(|| sum(0, size(1000, 20))), size(499_500, 190));
    let indices: Vec<usize> = (0..pool.workers()).collect();
    assert_eq!(pool.broadcast(|index| index), indices);
}

/// On pools of several sizes, but for Miri.
pub(crate) fn on_pools(test: impl Fn(&Pool)) {
    watched(|| {
        for &workers in size(&[1, 2, 4][..], &[2]) {
            let pool = pool(workers);
            test(&pool);
            works(&pool);
        }
    });
}
