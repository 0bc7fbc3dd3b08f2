//! Loops over ranges and slices that split themselves, when and only when somebody asks.
//!
//! A loop works through its range from the lower end. Between blocks it looks whether the other
//! workers would take more than this worker is showing them; only then does it split off the upper
//! half of what is left as a task (lazy binary splitting; Tzannes, Caragea, Barua and Vishkin
//! 2010). Blocks grow and shrink by the clock so that it looks every few microseconds: there is no
//! grain to tune. When one part panics, the others stop at their next look.

use std::mem;
use std::ops::Range;
use std::time::{Duration, Instant};

use crate::join::join;
use crate::pool::home::Roving;
use crate::pool::{global, install};
use crate::prim::{AtomicBool, Ordering};
use crate::worker::Worker;

/// A loop looks around about this often.
const BLOCK_TIME: Duration = Duration::from_micros(4);

/// Calls `f` for each index of the range, perhaps at the same time, in no particular order. Splits
/// the range by demand; a part that no worker asks for runs as a plain loop.
///
/// # Panics
/// With what `f` panics with; the loop is then given up, and other indices may or may not have been
/// visited.
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
    let fold = Fold {
        block: |(), block: Range<usize>| block.for_each(&f),
        reduce: |(), ()| (),
        identity: || (),
        given_up: GivenUp::new(),
    };
    on_worker(|| fold.run(range, ()));
}

/// Calls `f` for each chunk of `chunk_len` elements (the last may be shorter) with the number of
/// the chunk, perhaps at the same time, in no particular order.
///
/// # Panics
/// If `chunk_len` is 0, and with what `f` panics with.
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
    let chunks = Chunks {
        f,
        length: chunk_len,
        given_up: GivenUp::new(),
    };
    on_worker(|| chunks.run(slice, 0));
}

/// Maps each index of the range and combines the results in the order of the indices; `identity`
/// is what an empty range gives, and must change nothing when combined. `reduce` has to be
/// associative: where the range is split depends on the run.
///
/// # Panics
/// With what `map` or `reduce` panics with.
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
    let fold = Fold {
        block: |total: T, block: Range<usize>| {
            block.fold(total, |total, index| reduce(total, map(index)))
        },
        reduce: &reduce,
        identity: || identity.clone(),
        given_up: GivenUp::new(),
    };
    let result = on_worker(|| fold.run(range, (fold.identity)()));
    // While the result is a variable still: should one of these panic in its drop, it is dropped,
    // and not leaked as what is being returned would be.
    drop((map, reduce, identity));
    result
}

fn on_worker<R: Send>(f: impl FnOnce() -> R + Send) -> R {
    match Worker::with_current(|worker| worker.is_some()) {
        true => f(),
        false => install(global::of::<Roving>().registry(), f),
    }
}

/// Whether other workers would take more than this one shows them.
fn is_asked() -> bool {
    Worker::with_current(|worker| worker.is_some_and(Worker::is_asked))
}

/// How many items until the next look around.
struct Pace {
    block: usize,
    before: Instant,
    /// Not by the clock, but as the pool's schedule draws it.
    drawn: bool,
}

impl Pace {
    fn new() -> Pace {
        Pace {
            block: 1,
            before: Instant::now(),
            drawn: Worker::with_current(|worker| {
                worker.is_some_and(|worker| worker.schedule().is_some())
            }),
        }
    }

    /// After a block.
    fn adjust(&mut self) {
        if self.drawn {
            self.block = Worker::with_current(|worker| worker.map_or(1, Worker::draw_block));
            return;
        }
        let now = Instant::now();
        let took = now.duration_since(self.before);
        self.before = now;
        if took < BLOCK_TIME / 2 {
            self.block = self.block.saturating_mul(2);
        } else if took > BLOCK_TIME {
            self.block = (self.block / 2).max(1);
        }
    }
}

/// Ends a loop early in all its parts, when one of them panics: what is left would run for nobody.
struct GivenUp(AtomicBool);

impl GivenUp {
    fn new() -> GivenUp {
        GivenUp(AtomicBool::new(false))
    }

    fn is(&self) -> bool {
        // Ordering: Relaxed; a request, not a signal that something has happened.
        self.0.load(Ordering::Relaxed)
    }

    /// Calls `f`; if it unwinds, the loop is given up.
    fn unless<R>(&self, f: impl FnOnce() -> R) -> R {
        struct Unwinds<'g>(&'g GivenUp);
        impl Drop for Unwinds<'_> {
            fn drop(&mut self) {
                // Ordering: Relaxed, as in `is`.
                self.0.0.store(true, Ordering::Relaxed);
            }
        }
        let unwinds = Unwinds(self);
        let result = f();
        mem::forget(unwinds);
        result
    }
}

/// A fold over a range of indices, as all its parts see it.
struct Fold<B, R, I> {
    block: B,
    reduce: R,
    identity: I,
    given_up: GivenUp,
}

impl<B, R, I> Fold<B, R, I> {
    fn run<T>(&self, mut range: Range<usize>, mut total: T) -> T
    where
        T: Send,
        B: Fn(T, Range<usize>) -> T + Sync,
        R: Fn(T, T) -> T + Sync,
        I: Fn() -> T + Sync,
    {
        let mut pace = Pace::new();
        while !range.is_empty() && !self.given_up.is() {
            if range.len() > 1 && is_asked() {
                let middle = range.start + range.len() / 2;
                let (lower, upper) = (range.start..middle, middle..range.end);
                let (total, rest) = join(
                    || self.run(lower, total),
                    || self.run(upper, (self.identity)()),
                );
                return self.given_up.unless(|| (self.reduce)(total, rest));
            }
            let end = range.start + pace.block.min(range.len());
            total = self
                .given_up
                .unless(|| (self.block)(total, range.start..end));
            range.start = end;
            pace.adjust();
        }
        total
    }
}

/// A loop over the chunks of a slice, as all its parts see it.
struct Chunks<F> {
    f: F,
    length: usize,
    given_up: GivenUp,
}

impl<F> Chunks<F> {
    fn run<T>(&self, mut slice: &mut [T], mut number: usize)
    where
        T: Send,
        F: Fn(usize, &mut [T]) + Sync,
    {
        let mut pace = Pace::new();
        while !slice.is_empty() && !self.given_up.is() {
            let chunks = slice.len().div_ceil(self.length);
            if chunks > 1 && is_asked() {
                let (lower, upper) = slice.split_at_mut(chunks / 2 * self.length);
                join(
                    || self.run(lower, number),
                    || self.run(upper, number + chunks / 2),
                );
                return;
            }
            let count = pace.block.min(chunks);
            let (block, rest) = slice.split_at_mut((count * self.length).min(slice.len()));
            self.given_up.unless(|| {
                for (offset, chunk) in block.chunks_mut(self.length).enumerate() {
                    (self.f)(number + offset, chunk);
                }
            });
            number += count;
            slice = rest;
            pace.adjust();
        }
    }
}
