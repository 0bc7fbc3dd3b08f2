//! One of two values.

/// One of two values, by which [`partition_map`](super::ParallelIterator::partition_map) is told
/// where an item goes.
///
/// ```
/// use roving_iter::iter::Either;
/// use roving_iter::prelude::*;
///
/// let (even, odd): (Vec<_>, Vec<_>) = (0..5).into_par_iter().partition_map(|n| match n % 2 {
///     0 => Either::Left(n),
///     _ => Either::Right(-n),
/// });
/// assert_eq!((even, odd), (vec![0, 2, 4], vec![-1, -3]));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Either<L, R> {
    /// A value of the first type.
    Left(L),
    /// A value of the second type.
    Right(R),
}
