//! Pools: start, hand work in, stop.

pub(crate) mod arena;
pub(crate) mod builder;
mod call;
pub mod embed;
pub(crate) mod error;
mod fewer_workers;
pub(crate) mod global;
mod here;
pub(crate) mod home;
mod hooks;
mod making;
#[cfg(feature = "metrics")]
pub mod metrics;
pub mod policy;
mod size;
mod start;
pub(crate) mod stop;
pub mod testing;
pub(crate) mod threads;

use std::fmt;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::Arc;

pub use builder::PoolBuilder;
pub use call::{current_worker, current_workers};
pub(crate) use call::{install, with_current_registry, with_registry_at};
pub use error::BuildError;
pub use global::{StillUsedError, shutdown_global, shutdown_global_now};
pub use here::PoolRef;
pub use stop::Dropped;
pub use threads::WorkerThread;

use crate::stats::Profile;
use crate::workers::arena::Landlord;
use crate::workers::registry::Registry;
use crate::workers::sleep::roster;

/// A set of workers. Dropping it runs the tasks that it still holds and joins its threads;
/// [`Pool::shutdown_now`] drops tasks that no caller waits for instead. One of its own tasks may
/// drop it: the pool ends by itself after that task. But a thread that such a task waits for
/// (another thread, a worker of another pool) must not drop it: it would wait for its own end.
///
/// Threads do not survive `fork`: in a child process a pool that was built before panics with a
/// message that says so, rather than to hang; build one in the child. A pool without threads can be
/// used there, mostly: see [`PoolBuilder::caller_runs`].
///
/// ```
/// let pool = roving::Pool::new(2)?;
/// let (a, b) = pool.install(|| roving::join(|| 6 * 7, || "answer"));
/// assert_eq!((a, b), (42, "answer"));
/// # Ok::<(), roving::BuildError>(())
/// ```
pub struct Pool {
    registry: Arc<Registry>,
    /// Of what arena it is a share. Dropped last: then the arena's threads may end.
    _arena: Option<Box<dyn Landlord>>,
}

impl Pool {
    pub(crate) fn registry(&self) -> &Arc<Registry> {
        &self.registry
    }

    /// Returns the number of workers, as of the last [`Pool::resize`]. Compensation threads do not
    /// count.
    ///
    /// ```
    /// assert_eq!(roving::Pool::new(3).unwrap().workers(), 3);
    /// ```
    pub fn workers(&self) -> usize {
        roster::working(self.registry.as_ref())
    }

    /// Returns what the workers have done since the pool started, or since [`Self::reset_profile`].
    ///
    /// ```
    /// let pool = roving::Pool::new(2).unwrap();
    /// assert!(pool.profile().workers.len() >= 2);
    /// ```
    #[inline]
    pub fn profile(&self) -> Profile {
        self.registry.check_is_here();
        self.registry.seats.profile()
    }

    /// Resets all figures to zero.
    ///
    /// ```
    /// let pool = roving::Pool::new(2).unwrap();
    /// pool.reset_profile();
    /// assert_eq!(pool.profile().total().counters.leapfrogs, 0);
    /// ```
    #[inline]
    pub fn reset_profile(&self) {
        self.registry.check_is_here();
        self.registry.seats.reset_profile();
    }
}

// A panic leaves a pool as it was: it comes out of the call that waits, and the workers go on.
impl UnwindSafe for Pool {}
impl RefUnwindSafe for Pool {}

impl Drop for Pool {
    fn drop(&mut self) {
        self.end();
    }
}

impl fmt::Debug for Pool {
    #[inline]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pool")
            .field("workers", &self.workers())
            .field("steal", &self.registry.settings.amount)
            .field("name", &self.registry.settings.name)
            .finish_non_exhaustive()
    }
}
