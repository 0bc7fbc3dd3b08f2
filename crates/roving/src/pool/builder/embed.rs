//! The builder's settings for a program whose threads are not the pool's to start.

use std::io;

use super::PoolBuilder;
use crate::pool::Pool;
use crate::pool::error::{BuildError, Reason};
use crate::pool::threads::{Building, WorkerThread};
use crate::workers::registry::Plan;
use crate::workers::sleep::spares::StandIn;
use crate::workers::worker::{adopted, caller_runs};

/// # Whose threads work
///
/// For a pool inside of a program that starts its threads itself; see [`crate::embed`].
impl PoolBuilder {
    /// Makes a caller-runs pool, of one worker and no thread: a thread that calls [`Pool::install`]
    /// is the worker for that long. Good for instruction counts, debuggers, and places where no
    /// thread can be started. Calls from several threads take turns. Overrides [`Self::workers`]
    /// and [`Self::adopt_current_thread`]. In a forked child it can be used as well, unless another
    /// thread of the parent was in it, or just coming or going: then it is as other pools of the
    /// parent are there.
    ///
    /// No other thread does what a wait leaves undone. A task of [`Pool::spawn`] runs within that
    /// call if no thread is in the pool; else it begins when the thread that is in the pool leaves
    /// it, or waits for the task's handle: whoever waits by other means for what such a task does,
    /// in the pool, waits for ever. A task that calls
    /// [`block_on`](crate::task::block_on) to wait for an async task of this pool, or of such a
    /// pool that its thread is in further out, may wait for ever: it ends for sure only if that
    /// task is the newest that it has spawned, and runs to its end at once. Await the task instead.
    ///
    /// ```
    /// let pool = roving::Pool::builder().caller_runs().build().unwrap();
    /// let here = std::thread::current().id();
    /// assert_eq!(pool.install(|| std::thread::current().id()), here);
    /// ```
    pub fn caller_runs(mut self) -> PoolBuilder {
        self.in_place = Some(caller_runs::kind);
        self
    }

    /// Makes the calling thread worker 0 of the pool, until the pool is dropped or the thread ends;
    /// the other workers get threads of their own. The calling thread has no worker's loop: it runs
    /// tasks when it waits in a `join` or `scope`. The callbacks are not called for it, and the
    /// pool's memory is never freed.
    ///
    /// When it has dropped the pool it is a thread like any other, and can be adopted again. If
    /// another thread drops the pool, or this one does inside of a `scope` or the like, it goes on
    /// with that, and is let go by the first [`crate::spawn`] or the like that comes after; the
    /// pool's other threads end then. If the thread ends first, the pool has a worker less; if that
    /// was the only one, a thread of the pool's own takes its place when there is something to run.
    ///
    /// [`Self::build`] fails on a thread that is a worker already, or one that is ending: in the
    /// destructor of a thread-local value, if what makes adopted threads leave has been dropped.
    ///
    /// ```
    /// std::thread::spawn(|| {
    ///     let pool = roving::Pool::builder().workers(2).adopt_current_thread().build().unwrap();
    ///     assert_eq!(roving::current_worker(), Some(0));
    ///     assert_eq!(pool.install(|| roving::join(|| 1, || 2)), (1, 2));
    /// })
    /// .join()
    /// .unwrap();
    /// ```
    #[inline]
    pub fn adopt_current_thread(mut self) -> PoolBuilder {
        self.adopts = Some(adopted::kind);
        self
    }

    /// Builds a pool on threads that the caller starts. `start` is called for each worker, and has
    /// some thread call [`WorkerThread::run`], which returns when the pool has ended. Dropping the
    /// pool does not wait for these threads: the caller joins them, and also chooses their names
    /// and stack sizes. Compensation threads belong to the pool: the first of the caller's threads
    /// to end joins them, so a caller that has joined all of its threads has outlived all threads
    /// of the pool.
    ///
    /// # Errors
    /// As [`Self::build`], and what `start` returns.
    ///
    /// ```
    /// let mut threads = Vec::new();
    /// let pool = roving::Pool::builder().workers(2).build_with(|worker| {
    ///     threads.push(std::thread::Builder::new().spawn(move || worker.run())?);
    ///     Ok(())
    /// })?;
    /// assert_eq!(pool.install(|| roving::join(|| 1, || 2)), (1, 2));
    /// drop(pool);
    /// threads.into_iter().for_each(|thread| thread.join().unwrap());
    /// # Ok::<(), roving::BuildError>(())
    /// ```
    pub fn build_with<S>(self, mut start: S) -> Result<Pool, BuildError>
    where
        S: FnMut(WorkerThread) -> io::Result<()>,
    {
        let building = Building::begin();
        let pool = Pool::start_with(self.plan_given("build_with")?, None, |registry, index| {
            start(WorkerThread::promised(registry, index, &building))
        })?;
        building.end(&pool.registry);
        Ok(pool)
    }

    /// Of a pool whose threads are the user's, by the method with that name.
    #[inline]
    fn plan_given(self, method: &'static str) -> Result<Plan, BuildError> {
        let (plan, arena) = self.plan(true)?;
        if arena.is_some() {
            plan.1.unmade();
            return Err(Reason::Share(method).into());
        }
        Ok(plan)
    }

    /// Builds a pool whose workers are whatever threads of the caller's come to their seats. It
    /// starts none, and expects none.
    #[inline]
    pub(crate) fn build_hosted(self) -> Result<Pool, BuildError> {
        Pool::start_with(self.plan_given("build_hosted")?, None, |_, _| Ok(()))
    }

    /// Chooses how the pool replaces a worker that is parked in a wait.
    pub(crate) fn with_stand_in(mut self, stand_in: StandIn) -> PoolBuilder {
        self.stand_in = stand_in;
        self
    }
}
