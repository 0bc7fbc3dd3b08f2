//! The public figures.

use std::time::Duration;

/// The activity of a pool's workers since it started, or since `Pool::reset_profile`.
///
/// ```
/// let pool = roving::Pool::builder().workers(2).profile(true).build().unwrap();
/// pool.install(|| roving::join(|| (), || ()));
/// let profile = pool.profile();
/// assert!(profile.workers.len() >= 2);
/// assert_eq!(profile.total().counters.tasks, 1);
/// ```
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Profile {
    /// Time since the pool started or the profile was reset.
    pub wall: Duration,
    /// The part of it in which no worker had anything to do: all of them were idle, and none was in
    /// the middle of a task. Zero unless the pool was built with `profile(true)`.
    pub quiet: Duration,
    /// One entry per worker, in the order of their indices; after them the compensation threads
    /// that have been started, whose times begin when they first are.
    pub workers: Vec<WorkerProfile>,
}

impl Profile {
    /// Returns the sum over all entries.
    ///
    /// ```
    /// let pool = roving::Pool::builder().workers(2).profile(true).build()?;
    /// pool.install(|| roving::par_for(0..1000, |_| ()));
    /// let profile = pool.profile();
    /// let busy = profile.workers.iter().map(|worker| worker.busy).sum();
    /// assert_eq!(profile.total().busy, busy);
    /// # Ok::<(), roving::BuildError>(())
    /// ```
    pub fn total(&self) -> WorkerProfile {
        let mut total = WorkerProfile::default();
        for worker in &self.workers {
            total.busy += worker.busy;
            total.steal += worker.steal;
            total.idle += worker.idle;
            total.waiting += worker.waiting;
            total.switch += worker.switch;
            total.frame += worker.frame;
            total.counters.add(&worker.counters);
        }
        total
    }
}

/// The activity of one worker. A worker is in exactly one of five states at a time, so the five
/// times add up to the wall time; they are all zero unless the pool was built with `profile(true)`.
///
/// ```
/// assert_eq!(roving::WorkerProfile::default().busy, std::time::Duration::ZERO);
/// ```
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct WorkerProfile {
    /// Time running tasks, pushing and popping them.
    pub busy: Duration,
    /// Time looking for work, in other stacks and in the injector.
    pub steal: Duration,
    /// Time parked, for want of work or in the middle of a task.
    pub idle: Duration,
    /// The part of `idle` that was in the middle of a task: until a stolen task has ended, or in a
    /// region that blocks. A compensation thread may have had the core meanwhile.
    pub waiting: Duration,
    /// Time handing over: waking other workers, and giving the core to a compensation thread.
    pub switch: Duration,
    /// Time setting up and taking down the worker itself, and taking frames of async tasks from the
    /// allocator and giving them back.
    pub frame: Duration,
    /// Counts of the worker's events.
    pub counters: Counters,
}

impl WorkerProfile {
    /// The five times by their names.
    pub(crate) fn times(&self) -> [(&'static str, Duration); 5] {
        [
            ("busy", self.busy),
            ("steal", self.steal),
            ("idle", self.idle),
            ("switch", self.switch),
            ("frame", self.frame),
        ]
    }

    /// Their sum: nothing for a worker that has not been started.
    #[inline(never)]
    pub(crate) fn time(&self) -> Duration {
        self.times().iter().map(|(_, time)| time).sum()
    }
}

/// Counts of events. All but `tasks` and `max_depth` are counted in every pool, because they occur
/// on slow paths only.
///
/// ```
/// assert_eq!(roving::Counters::default().steals_won, 0);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counters {
    /// Tasks pushed on the stack, by `join` and `spawn`. Counted with `profile(true)` only.
    pub tasks: u64,
    /// Looks into the stack of another worker.
    pub steals_tried: u64,
    /// Looks that found nothing public.
    pub steals_empty: u64,
    /// Claims that failed because another thief, or the owner, was faster.
    pub steals_busy: u64,
    /// Claims won.
    pub steals_won: u64,
    /// Tasks taken by those claims.
    pub tasks_stolen: u64,
    /// Times that the split line was moved to make tasks public.
    pub publications: u64,
    /// Public tasks that their owner took back.
    pub take_backs: u64,
    /// Tasks run while waiting, for the thief that holds the awaited task.
    pub leapfrogs: u64,
    /// Times that the worker parked.
    pub parks: u64,
    /// Workers that this one woke.
    pub wakes: u64,
    /// Greatest number of tasks on the stack at once. Kept with `profile(true)` only.
    pub max_depth: u64,
    /// Async tasks that were taken from another worker's stack: continuations of forks, mostly.
    /// They count among `tasks_stolen`, too.
    pub continuations_stolen: u64,
    /// Polls of async tasks after which the task waited to be woken.
    pub suspensions: u64,
    /// Frames of async tasks that were taken from the allocator, having none for reuse.
    pub frames_allocated: u64,
    /// Frames that a worker gave back to the allocator. What other threads give back (with the last
    /// waker, or a handle that left its root) is not counted.
    pub frames_freed: u64,
    /// Frames that lie ready for reuse now. The allocated frames, less the freed ones, less these,
    /// are in use, summed over all workers.
    pub frames_kept: u64,
    /// Tasks and jobs that were dropped instead of begun, because the pool or
    /// [`Cancel`](crate::Cancel) that they belong to was cancelled.
    pub tasks_dropped: u64,
}

impl Counters {
    fn add(&mut self, other: &Counters) {
        self.tasks += other.tasks;
        self.steals_tried += other.steals_tried;
        self.steals_empty += other.steals_empty;
        self.steals_busy += other.steals_busy;
        self.steals_won += other.steals_won;
        self.tasks_stolen += other.tasks_stolen;
        self.publications += other.publications;
        self.take_backs += other.take_backs;
        self.leapfrogs += other.leapfrogs;
        self.parks += other.parks;
        self.wakes += other.wakes;
        self.max_depth = self.max_depth.max(other.max_depth);
        self.continuations_stolen += other.continuations_stolen;
        self.suspensions += other.suspensions;
        self.frames_allocated += other.frames_allocated;
        self.frames_freed += other.frames_freed;
        self.frames_kept += other.frames_kept;
        self.tasks_dropped += other.tasks_dropped;
    }
}
