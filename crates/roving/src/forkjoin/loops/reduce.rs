//! Reductions whose result does not depend on the schedule, nor on the number of workers.
//!
//! Floating-point addition is not associative: where a loop is split shows in the last bits of its
//! sum. So here the tree of a reduction is a function of its length and its grain, and of nothing
//! else. A range is cut into *leaves* of `grain` items, the last of which may be shorter. `n`
//! leaves are combined as those of the left half with those of the right one, where the left half
//! is as many leaves as the largest power of two below `n`. So the tree of a longer range contains
//! that of a shorter one as far as that has whole powers of two, and a serial program can compute
//! the same value.

use std::ops::Range;

use super::early_end::Early;
use crate::forkjoin::join::join;
use crate::machine::unwind::beside;

/// Maps each index of the range and combines the results in the order of the indices, always in the
/// same tree: bitwise the same value on any number of workers, under any schedule, in any pool.
///
/// The range is cut into leaves of `grain` indices, counted from its start; the last may be
/// shorter. A leaf is `combine(… combine(combine(map(i), map(i + 1)), map(i + 2)) …)`. Leaves are
/// combined pairwise: of `n`, those of the largest power of two below `n` first, with the rest. So
/// the value depends on the range and the grain only; `combine` need not be commutative, nor
/// associative. `identity` is called for an empty range only.
///
/// Runs as joins, one fewer than leaves, each of which costs about a dozen instructions. Choose the
/// grain so that a leaf takes some microseconds, and not by the number of workers; as it is part of
/// the result, do not change it afterwards. 1024 is good for sums of numbers.
///
/// # Panics
/// If `grain` is 0; and with what `map` or `combine` panics with: then leaves that have not begun
/// are left out, and what has been computed is dropped. Unwinds with
/// [`CancelledError`](crate::CancelledError), up to [`Cancel::run`](crate::Cancel::run), if a
/// request to stop made it leave out leaves.
///
/// ```
/// // The terms of the Leibniz series for π/4, which are added differently with each other grain.
/// let term = |k: usize| f64::from(if k % 2 == 0 { 1.0 } else { -1.0_f32 }) / (2 * k + 1) as f64;
/// let sum = || roving::reduce(0..100_000, 1024, || 0.0, term, |a, b| a + b);
///
/// let alone = roving::Pool::new(1).unwrap().install(sum);
/// let three = roving::Pool::new(3).unwrap().install(sum);
/// assert_eq!(alone.to_bits(), three.to_bits());
/// assert!((alone * 4.0 - std::f64::consts::PI).abs() < 1e-4);
/// ```
#[track_caller]
pub fn reduce<T, I, M, C>(range: Range<usize>, grain: usize, identity: I, map: M, combine: C) -> T
where
    T: Send,
    I: FnOnce() -> T,
    M: Fn(usize) -> T + Sync,
    C: Fn(T, T) -> T + Sync,
{
    let start = range.start;
    let leaf = |leaf: Range<usize>| {
        let mut indices = leaf.map(|offset| start + offset);
        let first = indices.next().map(&map);
        let add = |total, index| {
            let (total, next) = beside(total, || map(index));
            combine(total, next)
        };
        first.map(|first| indices.fold(first, add))
    };
    run(range.len(), grain, leaf, &combine).unwrap_or_else(identity)
}

/// Reduces a slice element by element, in the same tree as [`reduce`].
///
/// # Panics
/// As [`reduce`].
///
/// ```
/// let words = ["to", "be", "or", "not"];
/// let text = roving::reduce_slice(
///     &words,
///     1,
///     String::new,
///     |word| word.to_string(),
///     |a, b| a + " " + &b,
/// );
/// assert_eq!(text, "to be or not");
/// ```
#[track_caller]
pub fn reduce_slice<E, T, I, M, C>(slice: &[E], grain: usize, identity: I, map: M, combine: C) -> T
where
    E: Sync,
    T: Send,
    I: FnOnce() -> T,
    M: Fn(&E) -> T + Sync,
    C: Fn(T, T) -> T + Sync,
{
    reduce_chunks(
        slice,
        grain,
        identity,
        |chunk| {
            let mut elements = chunk.iter();
            let first = map(elements.next().expect("no leaf is empty"));
            elements.fold(first, |total, element| {
                let (total, next) = beside(total, || map(element));
                combine(total, next)
            })
        },
        &combine,
    )
}

/// Reduces a slice leaf by leaf, in the same tree as [`reduce`]: `leaf` gets `grain` elements at a
/// time, or fewer at the end of the slice, never none. For leaves that are faster than one call for
/// each element, such as sums in several SIMD lanes.
///
/// # Panics
/// As [`reduce`].
///
/// ```
/// let numbers: Vec<f32> = (0..10_000).map(|n| 1.0 / (n + 1) as f32).collect();
/// let leaf = |chunk: &[f32]| {
///     let mut lanes = [0.0; 8];
///     for (at, number) in chunk.iter().enumerate() {
///         lanes[at % 8] += number;
///     }
///     lanes.iter().sum::<f32>()
/// };
/// let sum = roving::reduce_chunks(&numbers, 1024, || 0.0, leaf, |a, b| a + b);
/// assert!((sum - 9.787_606).abs() < 1e-4);
/// ```
#[track_caller]
pub fn reduce_chunks<E, T, I, L, C>(
    slice: &[E],
    grain: usize,
    identity: I,
    leaf: L,
    combine: C,
) -> T
where
    E: Sync,
    T: Send,
    I: FnOnce() -> T,
    L: Fn(&[E]) -> T + Sync,
    C: Fn(T, T) -> T + Sync,
{
    let leaf = |range: Range<usize>| Some(leaf(&slice[range]));
    run(slice.len(), grain, leaf, &combine).unwrap_or_else(identity)
}

/// `None` for no leaves.
#[track_caller]
fn run<T, L, C>(length: usize, grain: usize, leaf: L, combine: C) -> Option<T>
where
    T: Send,
    L: Fn(Range<usize>) -> Option<T> + Sync,
    C: Fn(T, T) -> T + Sync,
{
    assert!(grain > 0, "grain is 0: say 1 or more items a leaf");
    let early = Early::new();
    let tree = ReductionTree {
        length,
        grain,
        leaf,
        combine,
        early: &early,
    };
    early.result_of(tree.node(0..length.div_ceil(grain)))
}

/// A reduction of so many items, which depends on nothing but their number and the grain.
struct ReductionTree<'e, L, C> {
    length: usize,
    grain: usize,
    leaf: L,
    combine: C,
    early: &'e Early,
}

impl<L, C> ReductionTree<'_, L, C> {
    /// Reduces these leaves; `None` if there are none, or if the tree ends early.
    fn node<T>(&self, leaves: Range<usize>) -> Option<T>
    where
        T: Send,
        L: Fn(Range<usize>) -> Option<T> + Sync,
        C: Fn(T, T) -> T + Sync,
    {
        if leaves.is_empty() || self.early.is_due() {
            return None;
        }
        if leaves.len() == 1 {
            let start = leaves.start * self.grain;
            let end = self.length.min(start.saturating_add(self.grain));
            return self.early.unless(|| (self.leaf)(start..end));
        }
        let left = 1 << (leaves.len() - 1).ilog2();
        let middle = leaves.start + left;
        let (left, right) = join(
            || self.node(leaves.start..middle),
            || self.node(middle..leaves.end),
        );
        // Not both: one part ended early, so a panic is on its way, or nobody wants the result.
        let (left, right) = left.zip(right)?;
        self.early.unless(|| Some((self.combine)(left, right)))
    }
}
