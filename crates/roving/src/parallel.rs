//! Loops over ranges and slices that split themselves, when and only when somebody asks.
//!
//! A loop works through its range from the lower end. Between blocks it looks whether the other
//! workers would take more than this worker is showing them; only then does it split off the upper
//! half of what is left as a task (lazy binary splitting; Tzannes, Caragea, Barua and Vishkin
//! 2010). Blocks grow and shrink by the clock so that it looks every few microseconds: there is no
//! grain to tune.

use std::ops::Range;
use std::time::{Duration, Instant};

use crate::join::join;
use crate::pool::{global, install};
use crate::worker::Worker;

/// A loop looks around about this often.
const BLOCK_TIME: Duration = Duration::from_micros(4);

/// Calls `f` for each index of the range, perhaps at the same time, in no particular order.
/// Splits by demand; what nobody asks for runs as a plain loop.
///
/// # Panics
/// With what `f` panics with; other indices may or may not have been visited.
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
    on_worker(|| {
        fold_lazily(
            range,
            (),
            &|(), block: Range<usize>| block.for_each(&f),
            &|(), ()| (),
            &|| (),
        );
    });
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
    on_worker(|| chunks_lazily(slice, 0, chunk_len, &f));
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
    on_worker(|| {
        let block = |total: T, block: Range<usize>| {
            block.fold(total, |total, index| reduce(total, map(index)))
        };
        fold_lazily(range, identity.clone(), &block, &reduce, &|| {
            identity.clone()
        })
    })
}

fn on_worker<R: Send>(f: impl FnOnce() -> R + Send) -> R {
    match Worker::with_current(|worker| worker.is_some()) {
        true => f(),
        false => install(global::get().registry(), f),
    }
}

/// Whether other workers would take more than this one shows them.
fn is_asked() -> bool {
    Worker::with_current(|worker| worker.is_some_and(|worker| worker.owner().is_asked()))
}

/// How many items until the next look around.
struct Pace {
    block: usize,
    before: Instant,
}

impl Pace {
    fn new() -> Pace {
        Pace {
            block: 1,
            before: Instant::now(),
        }
    }

    /// After a block.
    fn adjust(&mut self) {
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

fn fold_lazily<T, B, R, I>(
    mut range: Range<usize>,
    mut total: T,
    block: &B,
    reduce: &R,
    identity: &I,
) -> T
where
    T: Send,
    B: Fn(T, Range<usize>) -> T + Sync,
    R: Fn(T, T) -> T + Sync,
    I: Fn() -> T + Sync,
{
    let mut pace = Pace::new();
    while !range.is_empty() {
        if range.len() > 1 && is_asked() {
            let middle = range.start + range.len() / 2;
            let (lower, upper) = (range.start..middle, middle..range.end);
            let (total, rest) = join(
                || fold_lazily(lower, total, block, reduce, identity),
                || fold_lazily(upper, identity(), block, reduce, identity),
            );
            return reduce(total, rest);
        }
        let end = range.start + pace.block.min(range.len());
        total = block(total, range.start..end);
        range.start = end;
        pace.adjust();
    }
    total
}

fn chunks_lazily<T, F>(mut slice: &mut [T], mut number: usize, chunk_len: usize, f: &F)
where
    T: Send,
    F: Fn(usize, &mut [T]) + Sync,
{
    let mut pace = Pace::new();
    while !slice.is_empty() {
        let chunks = slice.len().div_ceil(chunk_len);
        if chunks > 1 && is_asked() {
            let (lower, upper) = slice.split_at_mut(chunks / 2 * chunk_len);
            join(
                || chunks_lazily(lower, number, chunk_len, f),
                || chunks_lazily(upper, number + chunks / 2, chunk_len, f),
            );
            return;
        }
        let count = pace.block.min(chunks);
        let (block, rest) = slice.split_at_mut((count * chunk_len).min(slice.len()));
        for (offset, chunk) in block.chunks_mut(chunk_len).enumerate() {
            f(number + offset, chunk);
        }
        number += count;
        slice = rest;
        pace.adjust();
    }
}
