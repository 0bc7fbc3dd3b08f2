//! How many of a pool's workers work, which can be changed while it runs.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::Pool;
use super::error::{BuildError, Reason};
use super::registry::Registry;
use crate::faults;
use crate::os;
use crate::prim::{AtomicU64, AtomicUsize, Ordering};
use crate::stats::{Activity, bump};
use crate::worker::Worker;

/// The workers below this index work. The others sleep outside of the idle set, *benched*: nobody
/// wakes them for work, but for what is addressed to them.
pub(crate) struct Size {
    workers: AtomicUsize,
    /// Held while it is changed.
    changing: Mutex<()>,
    built: Instant,
    /// When a worker last looked at the quota, in milliseconds since the pool was built.
    looked_ms: AtomicU64,
}

/// How long the quota is taken to stay as it is.
const QUOTA_HOLDS: Duration = Duration::from_secs(1);

impl Size {
    pub(super) fn new(workers: usize) -> Size {
        Size {
            workers: AtomicUsize::new(workers),
            changing: Mutex::new(()),
            built: Instant::now(),
            looked_ms: AtomicU64::new(0),
        }
    }
}

impl Registry {
    /// How many workers work.
    pub(crate) fn size(&self) -> usize {
        // Ordering: Relaxed; who is benched, or no longer, is unparked after the change, and looks again.
        self.size.workers.load(Ordering::Relaxed)
    }

    /// Whether the worker is one of those that do not work. Of a spare thread it is not.
    pub(crate) fn is_benched(&self, index: usize) -> bool {
        index >= self.size() && index < self.workers()
    }

    /// From now on that many workers work, at least one and at most all.
    ///
    /// A worker that is taken out of the idle set by somebody who has work for it, and finds itself
    /// benched, passes the call on ([`Worker::bench`]). A worker that enters the set while it is being benched
    /// does so when it is called.
    pub(crate) fn resize(self: &Arc<Registry>, workers: usize) {
        let changing = self.size.changing.lock();
        let _changing = changing.unwrap_or_else(PoisonError::into_inner);
        let before = self.size();
        // Ordering: Relaxed, as in `size`.
        self.size.workers.store(workers, Ordering::Relaxed);
        self.spares.resize(self, before, workers);
        for index in workers.min(before)..workers.max(before) {
            if workers < before {
                self.idle.retract(index);
            }
            self.seats[index].unpark();
        }
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
    /// Sleeps outside of the idle set until this worker is to work again, or the pool closes. What it
    /// may have been called for is left to another; what is addressed to it runs.
    pub(crate) fn bench(&self) {
        let registry = self.registry();
        self.wake_another();
        self.clock().enter(Activity::Idle);
        self.away(|| {
            while registry.is_benched(self.index()) && !registry.is_closing() {
                if !self.serve_mailbox() {
                    bump(&self.tally().parks, 1);
                    faults::park();
                }
            }
        });
        self.clock().enter(Activity::Steal);
    }
}

impl Pool {
    /// From now on `workers` workers work: at least 1, at most [`Pool::workers_max`]. Can be called from
    /// anywhere, also by a task of the pool, and returns at once.
    ///
    /// Workers that are too many go on until they are between two tasks, and then sleep; what they have left is
    /// taken by others. Nothing is lost, and what waits for them does so no longer than it would have. Their threads
    /// stay, so to work again costs a wake-up. A [`broadcast`](Pool::broadcast) and a task placed with
    /// one of them still reach it, or somebody else.
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
        self.registry().check_not_left_behind();
        self.registry().resize(workers);
        Ok(())
    }

    /// The most workers that [`Pool::resize`] can bring to work: what the pool was built for.
    ///
    /// ```
    /// assert_eq!(roving::Pool::new(2).unwrap().workers_max(), 2);
    /// ```
    pub fn workers_max(&self) -> usize {
        self.registry().workers()
    }

    /// Reads how many processors the process may use now (the affinity mask and the cgroup quota), and
    /// resizes the pool to that, within 1 and [`Pool::workers_max`]. Returns the new number of workers. Costs some
    /// system calls, a few tens of microseconds; nobody calls it by himself, unless the pool was built with
    /// [`follow_quota`](crate::PoolBuilder::follow_quota).
    ///
    /// ```
    /// let pool = roving::Pool::new(1).unwrap();
    /// assert_eq!(pool.refresh_quota(), 1);
    /// ```
    pub fn refresh_quota(&self) -> usize {
        self.registry().check_not_left_behind();
        refresh(self.registry())
    }
}

fn refresh(registry: &Arc<Registry>) -> usize {
    // A pinned worker's own mask says nothing of the process.
    let pinned = registry.settings.is_pinned() && Worker::with_current(|worker| worker.is_some());
    if pinned {
        return registry.size();
    }
    let allowed = os::processors();
    let workers = allowed.clamp(1, registry.workers());
    registry.resize(workers);
    workers
}
