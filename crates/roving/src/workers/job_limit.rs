//! The bound on what waits from outside, and the error of what it refuses.

use std::error::Error;
use std::fmt;
use std::sync::Arc;

use crate::machine::prim::{AtomicUsize, Ordering};

/// The places of a pool for tasks that were tried to be spawned and have not begun.
pub(crate) struct Places {
    limit: usize,
    taken: AtomicUsize,
}

impl Places {
    pub(crate) fn new(limit: usize) -> Arc<Places> {
        Arc::new(Places {
            limit,
            taken: AtomicUsize::new(0),
        })
    }

    pub(crate) fn limit(&self) -> usize {
        self.limit
    }

    /// A place, if one is free.
    #[inline]
    pub(crate) fn take(self: &Arc<Places>) -> Option<TakenPlace> {
        // Ordering: Relaxed; a count, by which nothing is handed over. The read-modify-write alone
        // keeps it below the limit.
        let taken = self
            .taken
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |taken| {
                (taken < self.limit).then_some(taken + 1)
            });
        taken.is_ok().then(|| TakenPlace(Arc::clone(self)))
    }
}

/// A place that is taken, until this is dropped.
pub(crate) struct TakenPlace(Arc<Places>);

impl Drop for TakenPlace {
    fn drop(&mut self) {
        // Ordering: Relaxed, as in `take`.
        self.0.taken.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The error of [`Pool::try_spawn`](crate::Pool::try_spawn) in a pool whose queue is full; with the
/// closure.
///
/// ```
/// let pool = roving::Pool::builder().workers(1).queue_limit(0).build()?;
/// let refused: roving::QueueFullError<_> = pool.try_spawn(|| 6 * 7).unwrap_err();
/// assert_eq!(refused.to_string(), "the pool's queue is full: 0 tasks wait for a worker");
/// assert_eq!(refused.into_closure()(), 42, "done here instead");
/// # Ok::<(), roving::BuildError>(())
/// ```
pub struct QueueFullError<F> {
    closure: F,
    limit: usize,
}

impl<F> QueueFullError<F> {
    pub(crate) fn new(closure: F, limit: usize) -> QueueFullError<F> {
        QueueFullError { closure, limit }
    }

    /// Returns the closure that was refused.
    ///
    /// ```
    /// let pool = roving::Pool::builder().workers(1).queue_limit(0).build()?;
    /// let refused = pool.try_spawn(|| "later").unwrap_err();
    /// assert_eq!(pool.spawn(refused.into_closure()).join().unwrap(), "later");
    /// # Ok::<(), roving::BuildError>(())
    /// ```
    pub fn into_closure(self) -> F {
        self.closure
    }
}

impl<F> fmt::Display for QueueFullError<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let limit = self.limit;
        write!(
            f,
            "the pool's queue is full: {limit} tasks wait for a worker"
        )
    }
}

impl<F> fmt::Debug for QueueFullError<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("QueueFullError")
            .field("limit", &self.limit)
            .finish_non_exhaustive()
    }
}

impl<F> Error for QueueFullError<F> {}

#[cfg(all(test, loom))]
mod loom_tests {
    use loom::thread;

    use super::*;
    use crate::machine::prim::explore;

    /// Two threads want the one place that there is: one gets it. It is free again when that one is
    /// done with it, and not twice, also if another one asks at that very moment.
    #[test]
    fn loom_a_place_has_one_taker_and_comes_back() {
        explore(|| {
            let places = Places::new(1);
            let other = {
                let places = Arc::clone(&places);
                thread::spawn(move || places.take())
            };
            let mine = places.take();
            let theirs = other.join().unwrap();
            assert!(mine.is_some() != theirs.is_some(), "one of the two has it");
            let leaves = thread::spawn(move || drop((mine, theirs)));
            drop(places.take());
            leaves.join().unwrap();
            let last = places.take();
            assert!(last.is_some() && places.take().is_none());
        });
    }
}
