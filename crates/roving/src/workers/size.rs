//! The number of a pool's active workers, which can be changed while it runs.

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::registry::Registry;
use crate::machine::os;
use crate::machine::prim::{AtomicU64, Ordering};
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

/// Resizes the pool to what the process may use now.
pub(crate) fn refresh(registry: &Arc<Registry>) -> usize {
    // A pinned worker's own mask says nothing of the process.
    let pinned = registry.settings.is_pinned() && Worker::with_current(|worker| worker.is_some());
    if pinned {
        return registry.working();
    }
    let allowed = os::processors();
    roster::resize(registry, allowed.clamp(1, registry.workers()));
    registry.working()
}
