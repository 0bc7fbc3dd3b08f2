//! Loops and reductions over ranges and slices.

use std::ops::Range;

use super::early_end::Early;
use super::pieces::{Piece, Sink, run_loop};
use crate::machine::unwind::beside;

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
    if range.is_empty() {
        return;
    }
    let early = Early::new();
    let each = Each(|block: Range<usize>| block.for_each(&f));
    run_loop(range, &each, &early);
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
#[track_caller]
pub fn par_chunks_mut<T, F>(slice: &mut [T], chunk_len: usize, f: F)
where
    T: Send,
    F: Fn(usize, &mut [T]) + Sync,
{
    assert!(chunk_len > 0, "chunk_len is 0: say 1 or more");
    let early = Early::new();
    let each = Each(|block: Chunks<'_, T>| {
        for (offset, chunk) in block.slice.chunks_mut(chunk_len).enumerate() {
            f(block.first + offset, chunk);
        }
    });
    let chunks = Chunks {
        slice,
        length: chunk_len,
        first: 0,
    };
    run_loop(chunks, &each, &early);
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
    if range.is_empty() {
        drop((map, reduce));
        return identity;
    }
    let early = Early::new();
    let fold = Fold {
        identity: &identity,
        map: &map,
        reduce: &reduce,
    };
    let result = early.result_of(run_loop(range, &fold, &early));
    // While the result is a variable still: should one of these panic in its drop, it is dropped,
    // and not leaked as what is being returned would be.
    drop((map, reduce, identity));
    result
}

impl Piece for Range<usize> {
    #[inline]
    fn units(&self) -> usize {
        match self.start < self.end {
            true => self.end - self.start,
            false => 0,
        }
    }

    #[inline]
    fn cut(self, at: usize) -> (Self, Self) {
        let middle = self.start + at;
        (self.start..middle, middle..self.end)
    }
}

/// Chunks of a slice, each a unit.
struct Chunks<'s, T> {
    slice: &'s mut [T],
    length: usize,
    /// The number of the first.
    first: usize,
}

impl<T: Send> Piece for Chunks<'_, T> {
    #[inline]
    fn units(&self) -> usize {
        self.slice.len().div_ceil(self.length)
    }

    #[inline]
    fn cut(self, at: usize) -> (Self, Self) {
        let (lower, upper) = self.slice.split_at_mut(at * self.length);
        let part = |slice, first| Chunks {
            slice,
            length: self.length,
            first,
        };
        (part(lower, self.first), part(upper, self.first + at))
    }
}

/// Calls a closure with each block.
pub(super) struct Each<F>(pub(super) F);

impl<P, F: Fn(P) + Sync> Sink<P> for Each<F> {
    type State = ();
    type Outcome = ();

    #[inline]
    fn begin(&self) {}
    #[inline]
    fn feed(&self, (): (), block: P) {
        (self.0)(block);
    }
    #[inline]
    fn end(&self, (): ()) {}
    #[inline]
    fn resume(&self, (): ()) {}
    #[inline]
    fn join(&self, (): (), (): ()) {}
}

/// Combines what a closure makes of each index.
struct Fold<'f, T, M, R> {
    identity: &'f T,
    map: M,
    reduce: R,
}

impl<T, M, R> Sink<Range<usize>> for Fold<'_, T, M, R>
where
    T: Clone + Send + Sync,
    M: Fn(usize) -> T + Sync,
    R: Fn(T, T) -> T + Sync,
{
    type State = T;
    type Outcome = T;

    #[inline]
    fn begin(&self) -> T {
        self.identity.clone()
    }
    #[inline]
    fn feed(&self, total: T, block: Range<usize>) -> T {
        block.fold(total, |total, index| {
            let (total, next) = beside(total, || (self.map)(index));
            (self.reduce)(total, next)
        })
    }
    #[inline]
    fn end(&self, total: T) -> T {
        total
    }
    #[inline]
    fn resume(&self, total: T) -> T {
        total
    }
    #[inline]
    fn join(&self, lower: T, upper: T) -> T {
        (self.reduce)(lower, upper)
    }
}
