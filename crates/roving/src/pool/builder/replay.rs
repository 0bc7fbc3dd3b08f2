//! The builder's methods for a seeded schedule, and the pool's for its log.

use crate::pool::{Pool, PoolBuilder};
use crate::workers::replayed;

/// # Tests under a given schedule
///
/// For one run again, and for the log of its decisions; [`crate::testing`] goes through many.
impl PoolBuilder {
    /// Makes the pool deterministic: its workers, 4 unless [`Self::workers`] says how many, have
    /// threads of their own, but one of them goes on at a time, and which one is a function of
    /// `seed`. It is decided anew wherever workers can meet: after a push, before tasks are
    /// published, taken back or stolen, at each look around, before a worker sleeps or is woken. So
    /// each schedule is one that the same pool can have without a seed, and rare ones come often: a
    /// few hundred seeds find errors that depend on the order; see [`crate::testing`] for how to go
    /// through them.
    ///
    /// A call into the pool from outside begins when no worker has anything to do, and returns when
    /// that is so again; so detached tasks have ended then, unless they wait for something. Tasks
    /// should wait for each other by means of the runtime alone. A task that blocks on a lock,
    /// which another holds across a [`join`](crate::join), say, loses its turn after a moment, and
    /// the order of what follows may depend on the system. The same holds for what comes from other
    /// threads, from timers, and from one deterministic pool that is used inside of another.
    /// [`Self::follow_quota`] has no effect: nothing depends on the machine.
    ///
    /// When a closure that was brought into the pool panics, a line on standard error prints the
    /// seed. `ROVING_SEED=N` in the environment takes the place of `seed`. Overrides
    /// [`Self::adopt_current_thread`] and [`Self::caller_runs`].
    ///
    /// ```
    /// let order = |seed| {
    ///     let pool = roving::Pool::builder().deterministic(seed).build().unwrap();
    ///     let order = std::sync::Mutex::new(Vec::new());
    ///     pool.install(|| {
    ///         roving::scope(|s| {
    ///             for n in 0..5 {
    ///                 let order = &order;
    ///                 s.spawn(move |_| order.lock().unwrap().push(n));
    ///             }
    ///         });
    ///     });
    ///     order.into_inner().unwrap()
    /// };
    /// assert_eq!(order(1), order(1));
    /// # if std::env::var_os("ROVING_SEED").is_none() {
    /// assert!((0..10).any(|seed| order(seed) != order(1)));
    /// # }
    /// ```
    #[inline]
    pub fn deterministic(mut self, seed: u64) -> PoolBuilder {
        self.schedule.ask(seed);
        self.replayed = Some(replayed::kind);
        self
    }

    /// Prints no seed when a task panics. For programs that mean to panic, by the thousand.
    #[doc(hidden)]
    pub fn keep_seed_quiet(mut self) -> PoolBuilder {
        self.schedule.is_quiet = true;
        self
    }

    /// Keeps a line for each decision of a [`Self::deterministic`] pool, for
    /// [`Pool::schedule_log`]. Off by default: the log grows for as long as the pool lives.
    ///
    /// ```
    /// let pool = roving::Pool::builder().workers(2).deterministic(7).log_schedule(true).build()?;
    /// pool.install(|| roving::join(|| 1, || 2));
    /// assert!(!pool.schedule_log().is_empty());
    /// # Ok::<(), roving::BuildError>(())
    /// ```
    pub fn log_schedule(mut self, logs: bool) -> PoolBuilder {
        self.schedule.logs = logs;
        self
    }
}

/// # Tests under a given schedule
///
/// For one run again, and for the log of its decisions; [`crate::testing`] goes through many.
impl Pool {
    /// Returns the decisions that the schedule of a deterministic pool has made so far, one per
    /// line, so that two runs can be compared. Empty unless [`PoolBuilder::log_schedule`] asked for
    /// a log.
    ///
    /// ```
    /// let log = |seed| {
    ///     let builder = roving::Pool::builder().deterministic(seed).log_schedule(true);
    ///     let pool = builder.build().unwrap();
    ///     pool.install(|| roving::par_for(0..100, |_| ()));
    ///     pool.schedule_log()
    /// };
    /// assert_eq!(log(1), log(1));
    /// # if std::env::var_os("ROVING_SEED").is_none() {
    /// assert_ne!(log(1), log(2));
    /// # }
    /// ```
    #[inline]
    pub fn schedule_log(&self) -> String {
        let mut log = String::new();
        let kind = &self.registry().kind;
        kind.with_schedule(&mut |schedule| log = schedule.log());
        log
    }
}
