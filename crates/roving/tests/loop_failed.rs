//! Loops of which a part has failed, and holds its failure in its state until it is closed, as a
//! `try_fold` before a `try_reduce` does: nobody else hears of it before that.

mod common;

use std::cell::Cell;
use std::ops::Range;
use std::panic::{self, AssertUnwindSafe};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};

use common::{Census, Counted, pool_that_steals, size, tries, watched};
use roving::Pool;
use roving::policy::Amount;
use roving::raw::loops::{Piece, Sink, feed_pieces};

/// A loop like this one does not come to its end by itself.
const ENDLESS: usize = usize::MAX;

struct Units(Range<usize>);

impl Piece for Units {
    fn units(&self) -> usize {
        self.0.len()
    }
    fn cut(self, at: usize) -> (Self, Self) {
        let middle = self.0.start + at;
        (Units(self.0.start..middle), Units(middle..self.0.end))
    }
}

thread_local! {
    /// The part that this thread has fed last has failed, and is not closed.
    static HAS_FAILED: Cell<bool> = const { Cell::new(false) };
}

/// Fails at one of the units. What a part came to is closed by `end`, which may panic, and tells
/// the other parts of a failure.
struct Fails<'c> {
    at: usize,
    has_ended: AtomicBool,
    /// Units that were fed to a worker which had a failed part to close.
    on_top: AtomicUsize,
    is_loud: bool,
    census: &'c Census,
}

impl<'c> Fails<'c> {
    fn at(at: usize, census: &'c Census) -> Fails<'c> {
        Fails {
            at,
            has_ended: AtomicBool::new(false),
            on_top: AtomicUsize::new(0),
            is_loud: false,
            census,
        }
    }
}

struct Part<'c> {
    has_failed: bool,
    _counted: Counted<'c>,
}

impl<'c> Sink<Units> for Fails<'c> {
    type State = Part<'c>;
    type Outcome = Part<'c>;
    fn begin(&self) -> Part<'c> {
        Part {
            has_failed: false,
            _counted: self.census.one(),
        }
    }
    fn feed(&self, part: Part<'c>, block: Units) -> Part<'c> {
        if HAS_FAILED.get() {
            self.on_top.fetch_add(block.0.len(), Relaxed);
        }
        let has_failed = part.has_failed || block.0.contains(&self.at);
        HAS_FAILED.set(has_failed);
        Part { has_failed, ..part }
    }
    fn end(&self, part: Part<'c>) -> Part<'c> {
        if part.has_failed {
            HAS_FAILED.set(false);
            self.has_ended.store(true, Relaxed);
            if self.is_loud {
                panic::resume_unwind(Box::new("closed"));
            }
        }
        part
    }
    fn resume(&self, part: Part<'c>) -> Part<'c> {
        part
    }
    fn join(&self, lower: Part<'c>, upper: Part<'c>) -> Part<'c> {
        Part {
            has_failed: lower.has_failed || upper.has_failed,
            ..lower
        }
    }
    fn is_done(&self, part: &Part<'c>, _: &Units) -> bool {
        part.has_failed || self.has_ended.load(Relaxed)
    }
}

/// Runs such a loop, and returns whether it has failed.
fn fail_in(pool: &Pool, sink: &Fails<'_>, units: usize) -> bool {
    pool.install(|| {
        let part = feed_pieces(Units(0..units), sink, Sink::<Units>::begin(sink));
        // If nobody has taken some of it, it was not closed.
        HAS_FAILED.set(false);
        part.has_failed
    })
}

/// Where another half was taken, a failed part runs those of its own in place that a thief of
/// several has claimed, and not begun. Such a half had no end before the failure was known.
#[test]
fn a_failed_part_ends_a_loop_without_end() {
    watched(|| {
        let census = Census::new();
        for &workers in size([3, 8].as_slice(), &[3]) {
            for amount in [Amount::Half, Amount::Fixed(2), Amount::Fixed(8)] {
                let pool = pool_that_steals(workers, amount);
                for round in 0..tries(1_000) {
                    let sink = Fails::at(2_000 + round * 7_919 % 100_000, &census);
                    assert!(fail_in(&pool, &sink, ENDLESS));
                }
            }
        }
        census.check();
    });
}

/// Calls `f` in pools whose schedules are drawn, with a unit at which a part is to fail.
fn in_drawn_pools(f: impl Fn(&Pool, usize)) {
    watched(|| {
        for amount in [Amount::Half, Amount::Fixed(2), Amount::Fixed(4)] {
            for seed in 0..size(8, 1) {
                let builder = Pool::builder().deterministic(seed).workers(3);
                let pool = builder.steal(amount).build().unwrap();
                (0..size(25, 1)).for_each(|round| f(&pool, round * 79 % UNITS));
            }
        }
    });
}

/// Of a loop in such a pool.
const UNITS: usize = size(300, 30);

/// Under schedules that are drawn no unit runs on top of a failed part.
#[test]
fn a_failed_part_is_closed_before_others_run_on_its_worker() {
    let census = Census::new();
    in_drawn_pools(|pool, at| {
        let sink = Fails::at(at, &census);
        assert!(fail_in(pool, &sink, UNITS));
        assert_eq!(sink.on_top.into_inner(), 0);
    });
    census.check();
}

/// A panic there reaches the caller after all parts have ended, and what these came to is dropped.
#[test]
fn a_failed_part_may_panic_when_it_is_closed() {
    let (census, panicked) = (Census::new(), AtomicUsize::new(0));
    in_drawn_pools(|pool, at| {
        let sink = Fails {
            is_loud: true,
            ..Fails::at(at, &census)
        };
        match panic::catch_unwind(AssertUnwindSafe(|| fail_in(pool, &sink, UNITS))) {
            Ok(has_failed) => assert!(has_failed, "nobody took some of that part"),
            Err(payload) => {
                assert_eq!(payload.downcast_ref(), Some(&"closed"));
                panicked.fetch_add(1, Relaxed);
            }
        }
        assert_eq!(sink.on_top.into_inner(), 0);
    });
    assert!(panicked.into_inner() > 0 || cfg!(miri));
    census.check();
}
