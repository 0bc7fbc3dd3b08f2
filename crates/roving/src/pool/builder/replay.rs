//! The builder's methods for a seeded schedule, and the pool's for its log.

use crate::pool::{Pool, PoolBuilder};
use crate::replay::Schedule;
use crate::workers::worker::drawn;

/// # Tests under a given schedule
///
/// For one run again, and for the log of its decisions; [`crate::testing`] goes through many.
impl PoolBuilder {
    /// Makes the pool deterministic, without threads and chance: the thread that calls
    /// [`Pool::install`] plays all workers of the pool, 4 unless [`Self::workers`] says how many,
    /// and which worker does what, when, is a pure function of `seed`. Tasks are stolen far more
    /// often than they are between threads, so a few hundred seeds find errors that depend on the
    /// order; see [`crate::testing`] for how to go through them.
    ///
    /// The seed decides which closure of a [`join`](crate::join) comes first, and on which worker
    /// ([`join_context`](crate::join_context) and [`current_worker`](crate::current_worker) tell);
    /// when, where and in which order tasks of a [`scope`](crate::scope) run; where loops are
    /// split; which async task is polled next, and by which worker; the order of detached tasks,
    /// among the oldest, and of broadcasts. A pool with threads could have made each of these
    /// decisions.
    ///
    /// A task, once it runs, runs to its end or its next `.await`. A task that waits by other means
    /// for another task of the same pool (a lock, a channel, a loop on an atomic) waits for ever;
    /// one that waits for another thread depends on that thread's time. A detached task runs when
    /// no call into the pool is left on the thread, or when a root of async tasks has no task that
    /// is ready. [`blocking`](crate::blocking) just calls its closure.
    ///
    /// When a closure that was brought into the pool panics, a line on standard error prints the
    /// seed. `ROVING_SEED=N` in the environment takes the place of `seed`. Overrides
    /// [`Self::adopt_current_thread`]; [`Self::on_start`] and [`Self::on_exit`] are not called.
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
        self.drawn = Some(drawn::kind);
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
        let schedule = self.registry().kind.schedule();
        schedule.map(Schedule::log).unwrap_or_default()
    }
}
