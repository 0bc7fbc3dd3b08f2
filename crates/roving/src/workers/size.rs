//! The number of a pool's active workers, which can be changed while it runs.

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::registry::Registry;
use crate::machine::os;
use crate::machine::prim::{AtomicU64, Ordering};
use crate::pool::Pool;
use crate::pool::error::{BuildError, Reason};
use crate::workers::Worker;
use crate::workers::sleep::Parts;
use crate::workers::sleep::roster::{self, Roster};

/// The size of a pool, and when that was last compared with what the process may use.
pub(crate) struct Size {
    pub(super) roster: Roster,
    built: Instant,
    /// When a worker last looked at the quota, in milliseconds since the pool was built.
    looked_ms: AtomicU64,
}

/// How long the quota is taken to stay as it is.
const QUOTA_HOLDS: Duration = Duration::from_secs(1);

impl Size {
    pub(super) fn new(workers: usize) -> Size {
        Size {
            roster: Roster::new(workers),
            built: Instant::now(),
            looked_ms: AtomicU64::new(0),
        }
    }
}

impl Registry {
    /// The workers below this index work, but for those that have no thread.
    pub(crate) fn size(&self) -> usize {
        self.size.roster.size()
    }

    /// How many workers work.
    pub(crate) fn working(&self) -> usize {
        roster::working(self)
    }

    /// Whether all workers are gone for good.
    pub(crate) fn is_deserted(&self) -> bool {
        roster::manned(self).next().is_none()
    }

    /// Whether the worker is one of those that do not work. Of a compensation thread it is not.
    pub(crate) fn is_benched(&self, index: usize) -> bool {
        roster::is_benched(self, index)
    }

    /// The adopted thread is a worker no longer. If it was the only one, and the pool is not
    /// closed, the worker gets a thread of the pool's own as soon as there is something to run.
    ///
    /// The thread says that it has gone and looks for jobs then; who adds one looks after it has
    /// added it. The lock of the queue orders the two, so one of them finds the job and starts the
    /// thread.
    pub(crate) fn let_go(self: &Arc<Registry>) {
        let is_the_last = !roster::vacate(self, 0, !self.is_closing());
        if is_the_last {
            // Under the lock, by which the worker's next thread sees what this one has left.
            let _wanted = self.size.roster.wanted();
            self.seats[0].set_orphaned(true);
        }
        self.release_crew();
        if is_the_last && (self.has_jobs() || !self.mailbox(0).is_surely_empty()) {
            // Else the next one who adds something tries again, and says so if it fails.
            let _ = self.replace_adopted();
        }
    }

    /// Starts a thread for the worker whose adopted thread has ended, unless that has been done or
    /// the pool has ended.
    #[cold]
    pub(super) fn replace_adopted(self: &Arc<Registry>) -> io::Result<()> {
        let _wanted = self.size.roster.wanted();
        if self.seats[0].is_orphaned() && self.start_thread(0)? {
            self.seats[0].set_orphaned(false);
        }
        Ok(())
    }
}

impl Registry {
    /// In a pool that follows the quota: looks at it, unless somebody has in the last second.
    pub(crate) fn follow_quota(self: &Arc<Registry>) {
        let now = self.size.built.elapsed().as_millis() as u64;
        // Ordering: Relaxed; it says who looks, nothing is handed over.
        let looked = self.size.looked_ms.load(Ordering::Relaxed);
        let due = now.saturating_sub(looked) >= QUOTA_HOLDS.as_millis() as u64;
        let word = &self.size.looked_ms;
        // Ordering: Relaxed, as above.
        let mine = due
            && word
                .compare_exchange(looked, now, Ordering::Relaxed, Ordering::Relaxed)
                .is_ok();
        if mine {
            refresh(self);
        }
    }
}

impl Worker {
    /// Sleeps until this worker is to work again, or the pool closes.
    pub(crate) fn bench(&self) {
        self.away(|| roster::bench(self));
    }
}

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
    pub fn resize(&self, workers: usize) -> Result<(), BuildError> {
        let most = self.workers_max();
        if workers == 0 || workers > most {
            return Err(Reason::Size { workers, most }.into());
        }
        self.registry().check_has_threads();
        roster::resize(self.registry(), workers);
        Ok(())
    }

    /// Returns the most workers that [`Pool::resize`] can activate: as many as the pool was built
    /// for, without those that have no thread any more, or never had one
    /// ([`WorkerThread`](crate::embed::WorkerThread)s that were dropped).
    ///
    /// ```
    /// assert_eq!(roving::Pool::new(2).unwrap().workers_max(), 2);
    /// ```
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
    pub fn refresh_quota(&self) -> usize {
        self.registry().check_has_threads();
        refresh(self.registry())
    }
}

fn refresh(registry: &Arc<Registry>) -> usize {
    // A pinned worker's own mask says nothing of the process.
    let pinned = registry.settings.is_pinned() && Worker::with_current(|worker| worker.is_some());
    if pinned {
        return registry.working();
    }
    let allowed = os::processors();
    roster::resize(registry, allowed.clamp(1, registry.workers()));
    registry.working()
}
