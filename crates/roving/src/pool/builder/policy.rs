//! The builder's settings for how workers take tasks from each other.

use super::{PoolBuilder, SLOTS};
use crate::workers::frames::order::SpawnOrder;
use crate::workers::steal::amount::Amount;

/// # How tasks are spread
///
/// For programs that compare policies; the defaults do for all others. The values are those of
/// [`crate::policy`].
impl PoolBuilder {
    /// Sets how many tasks one steal takes; [`Amount::One`] by default.
    ///
    /// ```
    /// let pool = roving::Pool::builder().steal(roving::policy::Amount::Half).build().unwrap();
    /// assert_eq!(pool.install(|| roving::join(|| 1, || 2)), (1, 2));
    /// ```
    pub fn steal(mut self, amount: Amount) -> PoolBuilder {
        self.amount = amount;
        self
    }

    /// Sets how [`crate::task::branch`] goes on; [`SpawnOrder::Adaptive`] by default.
    ///
    /// ```
    /// use roving::policy::SpawnOrder;
    /// use roving::task::branch;
    ///
    /// let pool = roving::Pool::builder().spawn_order(SpawnOrder::HelpFirst).build().unwrap();
    /// assert_eq!(pool.run(|_| async { branch(async { 40 }).await.await + 2 }), 42);
    /// ```
    pub fn spawn_order(mut self, order: SpawnOrder) -> PoolBuilder {
        self.spawn_order = order;
        self
    }

    /// Hands the parent to another worker at each fork of an async task. For tests: it makes rare
    /// orders of events frequent, and everything slow.
    #[doc(hidden)]
    pub fn migrate_at_each_fork(mut self) -> PoolBuilder {
        self.migrate = true;
        self
    }

    /// Sets the number of slots of each task stack, at least 1 and at most the default. For tests:
    /// a task that finds no slot runs in place.
    #[doc(hidden)]
    #[inline]
    pub fn task_slots(mut self, slots: usize) -> PoolBuilder {
        self.slots = slots.clamp(1, SLOTS);
        self
    }
}
