//! The number of a pool's active workers, which can be changed while it runs.

use std::time::{Duration, Instant};

use crate::machine::prim::{AtomicU64, Ordering};
use crate::workers::sleep::roster::Roster;

/// The size of a pool, and when that was last compared with what the process may use.
pub(crate) struct Size {
    pub(crate) roster: Roster,
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

    /// Whether the calling thread is to compare it with the quota: nobody has in the last second.
    pub(super) fn is_due(&self) -> bool {
        let now = self.built.elapsed().as_millis() as u64;
        // Ordering: Relaxed; it says who looks, nothing is handed over.
        let looked = self.looked_ms.load(Ordering::Relaxed);
        let due = now.saturating_sub(looked) >= QUOTA_HOLDS.as_millis() as u64;
        let word = &self.looked_ms;
        // Ordering: Relaxed, as above.
        due && word
            .compare_exchange(looked, now, Ordering::Relaxed, Ordering::Relaxed)
            .is_ok()
    }
}
