//! Loops over pieces whose code is the user's: it may panic, spawn and drop the pool wherever a
//! loop calls it.

mod common;

use std::panic::{self, AssertUnwindSafe};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};

use common::{forever, pool, size, tries, wait_until, watched};
use roving::raw::loops::{Piece, Sink, feed_pieces};
use roving::{Pool, current_worker, scope};

/// A range that tells somebody of each call: with the number of units, and where it is cut.
struct Told<'t> {
    left: usize,
    units: &'t (dyn Fn() + Sync),
    cut: &'t (dyn Fn(usize, usize) + Sync),
}

impl Piece for Told<'_> {
    fn units(&self) -> usize {
        (self.units)();
        self.left
    }
    fn cut(self, at: usize) -> (Self, Self) {
        assert!(at > 0 && at < self.left, "{at} of {}", self.left);
        (self.cut)(self.left, at);
        let part = |left| Told { left, ..self };
        (part(at), part(self.left - at))
    }
}

/// Counts units, and calls `end` where a part is closed.
struct Count<'c> {
    block: &'c (dyn Fn() + Sync),
    end: &'c (dyn Fn() + Sync),
}

impl<'t> Sink<Told<'t>> for Count<'_> {
    type State = usize;
    type Outcome = usize;
    fn begin(&self) -> usize {
        0
    }
    fn feed(&self, count: usize, piece: Told<'t>) -> usize {
        (self.block)();
        count + piece.left
    }
    fn end(&self, count: usize) -> usize {
        (self.end)();
        count
    }
    fn resume(&self, count: usize) -> usize {
        count
    }
    fn join(&self, lower: usize, upper: usize) -> usize {
        lower + upper
    }
}

const QUIET: Count<'_> = Count {
    block: &|| (),
    end: &|| (),
};

/// Whichever of the calls it is, its panic reaches the caller, and not as the end of the process.
#[test]
fn a_piece_may_panic_when_it_is_asked_for_its_length() {
    watched(|| {
        let pool = pool(2);
        for fatal in 0..size(60, 12) {
            let calls = AtomicUsize::new(0);
            let units = || {
                if calls.fetch_add(1, SeqCst) == fatal {
                    panic::resume_unwind(Box::new(fatal));
                }
            };
            let whole = Told {
                left: size(1000, 30),
                units: &units,
                cut: &|_, _| (),
            };
            let outcome = panic::catch_unwind(AssertUnwindSafe(|| {
                pool.install(|| feed_pieces(whole, &QUIET, 0))
            }));
            match outcome {
                Ok(count) => assert_eq!(count, size(1000, 30)),
                Err(payload) => assert_eq!(*payload.downcast::<usize>().unwrap(), fatal),
            }
        }
    });
}

/// Panics when it is dropped, unless it is told not to.
struct Loud(bool);

impl Drop for Loud {
    fn drop(&mut self) {
        if self.0 {
            panic::resume_unwind(Box::new("loud"));
        }
    }
}

/// A piece whose rest is loud, as is what a sink makes of it. Tells of each cut and block.
struct Owns<'c> {
    left: usize,
    owned: Loud,
    call: &'c (dyn Fn() + Sync),
}

impl Piece for Owns<'_> {
    fn units(&self) -> usize {
        self.left
    }
    fn cut(mut self, at: usize) -> (Self, Self) {
        self.owned.0 = false;
        (self.call)();
        let part = |left| Owns {
            left,
            owned: Loud(true),
            call: self.call,
        };
        (part(at), part(self.left - at))
    }
}

struct Adds;

impl<'c> Sink<Owns<'c>> for Adds {
    type State = (usize, Loud);
    type Outcome = (usize, Loud);
    fn begin(&self) -> (usize, Loud) {
        (0, Loud(true))
    }
    fn feed(&self, mut count: (usize, Loud), mut piece: Owns<'c>) -> (usize, Loud) {
        (piece.owned.0, count.1.0) = (false, false);
        (piece.call)();
        (count.0 + piece.left, Loud(true))
    }
    fn end(&self, count: (usize, Loud)) -> (usize, Loud) {
        count
    }
    fn resume(&self, count: (usize, Loud)) -> (usize, Loud) {
        count
    }
    fn join(&self, mut lower: (usize, Loud), upper: (usize, Loud)) -> (usize, Loud) {
        lower.1.0 = false;
        (lower.0 + upper.0, upper.1)
    }
}

/// The rest of a piece, or what was made of it so far, panics in its drop when a cut or a block has
/// panicked.
#[test]
fn a_piece_may_panic_when_it_is_dropped_beside_a_panic() {
    watched(|| {
        for workers in 1..=2 {
            let pool = pool(workers);
            for fatal in 0..size(60, 12) {
                let calls = AtomicUsize::new(0);
                let whole = Owns {
                    left: size(1000, 30),
                    owned: Loud(true),
                    call: &|| {
                        if calls.fetch_add(1, SeqCst) == fatal {
                            panic::resume_unwind(Box::new(fatal));
                        }
                    },
                };
                let outcome = panic::catch_unwind(AssertUnwindSafe(|| {
                    pool.install(|| {
                        let mut count = feed_pieces(whole, &Adds, (0, Loud(true)));
                        count.1.0 = false;
                        count.0
                    })
                }));
                match outcome {
                    Ok(count) => assert_eq!(count, size(1000, 30)),
                    Err(payload) => assert_eq!(payload.downcast_ref(), Some(&fatal)),
                }
            }
        }
    });
}

/// More than fit on a task stack.
const SPAWNED: usize = size(20_000, 100);

/// Where a half is cut off, the stack has room for it; and no more once the cut has spawned.
#[test]
fn a_cut_may_fill_the_task_stack() {
    watched(|| {
        for _ in 0..tries(20) {
            let ran = AtomicUsize::new(0);
            let count = pool(2).install(|| {
                scope(|s| {
                    let cut = |left, at| {
                        // Not that of a block, but that of a half.
                        if left / 2 == at && at > 400 {
                            let ran = &ran;
                            (0..SPAWNED).for_each(|_| {
                                s.spawn(move |_| {
                                    ran.fetch_add(1, SeqCst);
                                });
                            });
                        }
                    };
                    let whole = Told {
                        left: 1000,
                        units: &|| (),
                        cut: &cut,
                    };
                    feed_pieces(whole, &QUIET, 0)
                })
            });
            assert_eq!(count, 1000);
            assert_eq!(ran.into_inner() % SPAWNED, 0);
        }
    });
}

/// A thread that was adopted by a pool is a worker of it until its loop has ended, also if it drops
/// the pool where its own part is over and others are not.
#[test]
fn an_adopted_thread_may_drop_its_pool_at_the_end_of_its_part() {
    watched(|| {
        let builder = Pool::builder().workers(2).adopt_current_thread();
        let owned = forever(Mutex::new(Some(builder.build().unwrap())));
        let (begun, ends) = (AtomicBool::new(false), AtomicBool::new(false));
        let block = || {
            if current_worker() == Some(0) {
                wait_until(|| begun.load(SeqCst));
            } else {
                begun.store(true, SeqCst);
                wait_until(|| ends.load(SeqCst));
            }
        };
        let end = || {
            if current_worker() == Some(0) {
                ends.store(true, SeqCst);
                drop(owned.lock().unwrap().take());
                assert_eq!(current_worker(), Some(0));
            }
        };
        let whole = Told {
            left: 2,
            units: &|| (),
            cut: &|_, _| (),
        };
        let count = feed_pieces(
            whole,
            &Count {
                block: &block,
                end: &end,
            },
            0,
        );
        assert_eq!(count, 2);
        assert!(owned.lock().unwrap().is_none());
    });
}

/// Most units of a part, for a piece that says so.
const MOST: usize = 7;

/// A piece with [`MOST`], which tells of each call for its units.
struct AtMost<'c> {
    left: usize,
    call: &'c (dyn Fn() + Sync),
}

impl Piece for AtMost<'_> {
    fn units(&self) -> usize {
        (self.call)();
        self.left
    }
    fn cut(self, at: usize) -> (Self, Self) {
        let part = |left| AtMost { left, ..self };
        (part(at), part(self.left - at))
    }
    fn most(&self) -> usize {
        MOST
    }
}

/// Notes how many units each part has, and tells of each call but of those that close a part.
struct Lengths<'c> {
    all: Mutex<Vec<usize>>,
    call: &'c (dyn Fn() + Sync),
}

impl<'c> Sink<AtMost<'c>> for Lengths<'c> {
    type State = usize;
    type Outcome = ();
    fn begin(&self) -> usize {
        (self.call)();
        0
    }
    fn feed(&self, count: usize, piece: AtMost<'c>) -> usize {
        (self.call)();
        count + piece.left
    }
    fn end(&self, count: usize) {
        self.all.lock().unwrap().push(count);
    }
    fn resume(&self, (): ()) -> usize {
        (self.call)();
        0
    }
    fn join(&self, (): (), (): ()) {}
}

/// Whichever of the calls drops the pool that has adopted the thread, which may leave it then.
#[test]
fn an_adopted_thread_may_drop_its_pool_in_a_loop_whose_parts_have_a_most() {
    const UNITS: usize = 50;
    let drop_at = |workers, fatal| {
        let builder = Pool::builder().workers(workers).adopt_current_thread();
        let owned = Mutex::new(Some(builder.build().unwrap()));
        let calls = AtomicUsize::new(0);
        let call = || {
            if current_worker() == Some(0) && calls.fetch_add(1, SeqCst) == fatal {
                drop(owned.lock().unwrap().take());
            }
        };
        let all = Mutex::default();
        let sink = Lengths { all, call: &call };
        let piece = AtMost {
            left: UNITS,
            call: &call,
        };
        let last = feed_pieces(piece, &sink, 0);
        let mut lengths = sink.all.into_inner().unwrap();
        lengths.push(last);
        assert_eq!(lengths.iter().sum::<usize>(), UNITS, "{lengths:?}");
        assert!(lengths.iter().all(|&n| n <= MOST), "{fatal} {lengths:?}");
    };
    watched(|| (0..size(60, 6)).for_each(|fatal| (1..3).for_each(|n| drop_at(n, fatal))));
}
