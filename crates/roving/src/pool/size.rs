//! The number of a pool's active workers, as a program changes it.

use super::Pool;
use super::error::{BuildError, Reason};
use crate::workers::sleep::roster;

impl Pool {
    /// Changes the number of active workers: at least 1, at most [`Pool::workers_max`]. Can be
    /// called from anywhere, also by a task of the pool, and returns at once.
    ///
    /// Surplus workers go on until they are between two tasks, and then sleep; other workers take
    /// over their tasks. No task is lost, and none waits longer than it would have. Their threads
    /// stay, so activating them again costs a wake-up. A [`broadcast`](Pool::broadcast) still
    /// reaches them, and a task placed with one of them runs there or on another worker.
    ///
    /// # Errors
    /// A number out of that range.
    ///
    /// ```
    /// let pool = roving::Pool::builder().workers(1).workers_max(4).build()?;
    /// assert_eq!((pool.workers(), pool.workers_max()), (1, 4));
    /// pool.resize(3)?;
    /// assert_eq!(pool.workers(), 3);
    /// let error = pool.resize(5).unwrap_err();
    /// assert_eq!(error.to_string(), "5 workers are out of range: say 1 to 4, or build the pool with a higher workers_max");
    /// # Ok::<(), roving::BuildError>(())
    /// ```
    #[inline]
    pub fn resize(&self, workers: usize) -> Result<(), BuildError> {
        let most = self.workers_max();
        if workers == 0 || workers > most {
            return Err(Reason::Size { workers, most }.into());
        }
        self.registry().check_has_threads();
        let resize = || roster::resize(self.registry(), workers);
        self.registry().kind.visit(&mut { resize });
        Ok(())
    }

    /// Returns the most workers that [`Pool::resize`] can activate: as many as the pool was built
    /// for, without those that have no thread any more, or never had one
    /// ([`WorkerThread`](crate::embed::WorkerThread)s that were dropped).
    ///
    /// ```
    /// assert_eq!(roving::Pool::new(2).unwrap().workers_max(), 2);
    /// ```
    #[inline]
    pub fn workers_max(&self) -> usize {
        roster::manned(self.registry().as_ref()).count()
    }

    /// Reads how many processors the process may use now (the affinity mask and the cgroup quota),
    /// and resizes the pool to that, within 1 and [`Pool::workers_max`]. Returns the new number of
    /// workers. Costs some system calls, a few tens of microseconds. The pool does not call it by
    /// itself, unless it was built with [`follow_quota`](crate::PoolBuilder::follow_quota).
    ///
    /// ```
    /// let pool = roving::Pool::new(1).unwrap();
    /// assert_eq!(pool.refresh_quota(), 1);
    /// ```
    #[inline]
    pub fn refresh_quota(&self) -> usize {
        self.registry().check_has_threads();
        self.registry().refresh()
    }
}
