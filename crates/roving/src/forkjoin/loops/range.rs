//! Loops over ranges and slices that split themselves when, and only when, another worker asks.
//!
//! A loop works through its range from the lower end. Between blocks it looks whether the other
//! workers would take more than this worker is showing them; only then does it split off the upper
//! half of what is left as a task (lazy binary splitting; Tzannes, Caragea, Barua and Vishkin
//! 2010). Blocks grow and shrink by the clock, which is read every few microseconds: there is no
//! grain to tune. When one part panics, or the loop is cancelled, all stop at their next look.
//!
//! Items may become a thousand times slower from one to the next, and a block whose size was found
//! on quick ones then takes long. So a block is a small part of what is done between two readings
//! of the clock.

use std::ops::Range;
use std::time::{Duration, Instant};

use super::early::Early;
use crate::forkjoin::join::join;
use crate::pool::home::Roving;
use crate::pool::{global, install};
use crate::workers::Worker;

/// A loop reads the clock about this often.
const CLOCK_TIME: Duration = Duration::from_micros(4);

/// Looks around for each reading of the clock, which takes ten times as long as a look.
const LOOKS_PER_CLOCK: usize = 16;

/// Blocks of so many items are not made smaller, or loops over few quick items would take longer.
const BLOCK_LEAST: usize = 64;

/// After each of its first items a loop looks around without reading the clock, which would take
/// longer than all of a short loop.
const UNCLOCKED: u8 = 16;

/// Calls `f` for each index of the range, perhaps at the same time, in no particular order. Splits
/// the range by demand; a part that no worker asks for runs as a plain loop.
///
/// # Panics
/// With what `f` panics with; the loop is then given up, and other indices may or may not have been
/// visited. Unwinds with [`CancelledError`](crate::CancelledError), up to
/// [`Cancel::run`](crate::Cancel::run), if a request to stop made it leave out indices.
///
/// ```
/// use std::sync::atomic::{AtomicUsize, Ordering};
///
/// let hits = AtomicUsize::new(0);
/// roving::par_for(0..1000, |i| {
///     hits.fetch_add(i % 2, Ordering::Relaxed);
/// });
/// assert_eq!(hits.into_inner(), 500);
/// ```
pub fn par_for<F>(range: Range<usize>, f: F)
where
    F: Fn(usize) + Sync,
{
    let early = Early::new();
    let fold = Fold {
        block: |(), block: Range<usize>| block.for_each(&f),
        reduce: |(), ()| (),
        identity: || (),
        early: &early,
    };
    on_worker(|worker| fold.run(worker, range, ()));
    early.result_of(());
}

/// Calls `f` for each chunk of `chunk_len` elements (the last may be shorter) with the number of
/// the chunk, perhaps at the same time, in no particular order.
///
/// # Panics
/// If `chunk_len` is 0, and with what `f` panics with. Ends as [`par_for`] when it is cancelled.
///
/// ```
/// let mut squares = vec![0; 100];
/// roving::par_chunks_mut(&mut squares, 10, |chunk_number, chunk| {
///     for (offset, square) in chunk.iter_mut().enumerate() {
///         *square = (chunk_number * 10 + offset).pow(2);
///     }
/// });
/// assert_eq!(squares[99], 99 * 99);
/// ```
pub fn par_chunks_mut<T, F>(slice: &mut [T], chunk_len: usize, f: F)
where
    T: Send,
    F: Fn(usize, &mut [T]) + Sync,
{
    assert!(chunk_len > 0, "chunk_len is 0: say 1 or more");
    let early = Early::new();
    let chunks = Chunks {
        f,
        length: chunk_len,
        early: &early,
    };
    on_worker(|worker| chunks.run(worker, slice, 0));
    early.result_of(());
}

/// Maps each index of the range and combines the results in the order of the indices; `identity`
/// is what an empty range gives, and must change nothing when combined. `reduce` has to be
/// associative: where the range is split depends on the run.
///
/// # Panics
/// With what `map` or `reduce` panics with. Ends as [`par_for`] when it is cancelled.
///
/// ```
/// let longest = roving::map_reduce(1..10_000, 0, |n| n.trailing_zeros(), |a, b| a.max(b));
/// assert_eq!(longest, 13);
/// ```
pub fn map_reduce<T, M, R>(range: Range<usize>, identity: T, map: M, reduce: R) -> T
where
    T: Clone + Send + Sync,
    M: Fn(usize) -> T + Sync,
    R: Fn(T, T) -> T + Sync,
{
    let early = Early::new();
    let fold = Fold {
        block: |total: T, block: Range<usize>| {
            block.fold(total, |total, index| reduce(total, map(index)))
        },
        reduce: &reduce,
        identity: || identity.clone(),
        early: &early,
    };
    let result = early.result_of(on_worker(|worker| {
        fold.run(worker, range, (fold.identity)())
    }));
    // While the result is a variable still: should one of these panic in its drop, it is dropped,
    // and not leaked as what is being returned would be.
    drop((map, reduce, identity));
    result
}

/// Calls `f` with the worker that the calling thread is, or else with one of the global pool.
#[inline]
pub(super) fn on_worker<R: Send>(f: impl FnOnce(&Worker) -> R + Send) -> R {
    Worker::with_current(|worker| match worker {
        Some(worker) => f(worker),
        None => install(global::of::<Roving>().registry(), || with_worker(f)),
    })
}

/// Calls `f` with the worker that the calling thread is. It is one: parts of loops
/// run on workers.
fn with_worker<R>(f: impl FnOnce(&Worker) -> R) -> R {
    Worker::with_current(|worker| f(worker.expect("parts of loops run on workers")))
}

/// How many items until the next look around.
pub(super) struct Pace {
    block: usize,
    /// How many looks are still without the clock.
    unclocked: u8,
    /// How many looks there are for each reading of the clock.
    looks: u8,
    /// The last look with the clock.
    before: Option<Instant>,
    /// Not by the clock, but as the pool's schedule draws it.
    drawn: bool,
}

impl Pace {
    #[inline]
    pub(super) fn new(worker: &Worker) -> Pace {
        let drawn = worker.schedule().is_some();
        Pace {
            block: 1,
            unclocked: if drawn { 0 } else { UNCLOCKED },
            looks: 1,
            before: None,
            drawn,
        }
    }

    /// Returns the number of items of the next block.
    #[inline]
    pub(super) fn block(&self) -> usize {
        self.block
    }

    /// After a block.
    #[inline]
    pub(super) fn adjust(&mut self, worker: &Worker) {
        match self.unclocked.checked_sub(1) {
            Some(left) => self.unclocked = left,
            None => self.adjust_by_clock(worker),
        }
    }

    #[inline(never)]
    fn adjust_by_clock(&mut self, worker: &Worker) {
        if self.drawn {
            self.block = worker.draw_block();
            return;
        }
        let now = Instant::now();
        let Some(before) = self.before.replace(now) else {
            return;
        };
        let took = now.duration_since(before);
        let mut clocked = self.block.saturating_mul(self.looks.into());
        if took < CLOCK_TIME / 8 {
            clocked = clocked.saturating_mul(4);
        } else if took < CLOCK_TIME / 2 {
            clocked = clocked.saturating_mul(2);
        } else if took > CLOCK_TIME {
            clocked = (clocked / 2).max(1);
        }
        self.looks = (clocked / BLOCK_LEAST).clamp(1, LOOKS_PER_CLOCK) as u8;
        self.block = clocked / usize::from(self.looks);
        self.unclocked = self.looks - 1;
    }
}

/// A fold over a range of indices, as all its parts see it.
pub(super) struct Fold<'e, B, R, I> {
    pub(super) block: B,
    pub(super) reduce: R,
    pub(super) identity: I,
    pub(super) early: &'e Early,
}

impl<B, R, I> Fold<'_, B, R, I> {
    pub(super) fn run<T>(&self, worker: &Worker, mut range: Range<usize>, mut total: T) -> T
    where
        T: Send,
        B: Fn(T, Range<usize>) -> T + Sync,
        R: Fn(T, T) -> T + Sync,
        I: Fn() -> T + Sync,
    {
        let mut pace = Pace::new(worker);
        while range.start < range.end && !self.early.is_due() {
            // Not `range.len()`, which asks once more whether the range is empty.
            let left = range.end - range.start;
            if left > 1 && worker.is_asked() {
                let middle = range.start + left / 2;
                let (lower, upper) = (range.start..middle, middle..range.end);
                let (total, rest) = join(
                    || with_worker(|worker| self.run(worker, lower, total)),
                    || with_worker(|worker| self.run(worker, upper, (self.identity)())),
                );
                return self.early.unless(|| (self.reduce)(total, rest));
            }
            let end = range.start + pace.block().min(left);
            total = self.early.unless(|| (self.block)(total, range.start..end));
            range.start = end;
            pace.adjust(worker);
        }
        total
    }
}

/// A loop over the chunks of a slice, as all its parts see it.
struct Chunks<'e, F> {
    f: F,
    length: usize,
    early: &'e Early,
}

impl<F> Chunks<'_, F> {
    fn run<T>(&self, worker: &Worker, mut slice: &mut [T], mut number: usize)
    where
        T: Send,
        F: Fn(usize, &mut [T]) + Sync,
    {
        let mut pace = Pace::new(worker);
        while !slice.is_empty() && !self.early.is_due() {
            let chunks = slice.len().div_ceil(self.length);
            if chunks > 1 && worker.is_asked() {
                let (lower, upper) = slice.split_at_mut(chunks / 2 * self.length);
                join(
                    || with_worker(|worker| self.run(worker, lower, number)),
                    || with_worker(|worker| self.run(worker, upper, number + chunks / 2)),
                );
                return;
            }
            let count = pace.block().min(chunks);
            let (block, rest) = slice.split_at_mut((count * self.length).min(slice.len()));
            self.early.unless(|| {
                for (offset, chunk) in block.chunks_mut(self.length).enumerate() {
                    (self.f)(number + offset, chunk);
                }
            });
            number += count;
            slice = rest;
            pace.adjust(worker);
        }
    }
}
