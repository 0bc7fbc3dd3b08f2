//! Calls into a pool by an interface of one's own, which may have a global pool of its own: the
//! seam of the drop-in for Rayon.
//!
//! ```
//! use roving::raw::calls::{Home, Order, StandIn, Target, join_at, scope_at, stand_in};
//!
//! /// The global pool of another runtime.
//! struct Other;
//!
//! impl Home for Other {
//!     fn build() -> roving::Pool {
//!         let builder = roving::Pool::builder().workers(2).name("other");
//!         stand_in(builder, StandIn::ForJobs).build().expect("threads")
//!     }
//! }
//!
//! assert_eq!(join_at::<Other, _, _, _, _>(|_stolen| 1, |_stolen| 2), (1, 2));
//! assert_eq!(Target::with_current::<Other, _>(|pool| pool.workers()), 2);
//! let mut ran = false;
//! scope_at::<Other, _, _>(|scope| scope.spawn(|_| ran = true));
//! assert!(ran);
//!
//! let pool = roving::Pool::new(2)?;
//! let target = Target::of(&pool);
//! assert_eq!((target.workers(), target.is_current()), (2, false));
//! target.wait_for_threads();
//! assert!(target.install(|| target.is_current()));
//! assert_eq!(target.broadcast(|index| index), [0, 1]);
//!
//! let (done, ends) = std::sync::mpsc::channel();
//! let told = done.clone();
//! target.spawn_broadcast(move |_| told.send(()).unwrap());
//! target.spawn(Order::OldestFirst, move || done.send(()).unwrap());
//! assert_eq!(ends.iter().count(), 3, "two workers, and one task");
//!
//! let mut sum = 0;
//! target.in_place_scope(|scope| scope.spawn(|_| sum = 3));
//! assert_eq!(sum, 3);
//! # Ok::<(), roving::BuildError>(())
//! ```

use std::sync::Arc;

pub use crate::forkjoin::join::join_at;
pub use crate::forkjoin::scope::scope_at;
pub use crate::pool::global::Lease;
pub use crate::pool::home::Home;
pub use crate::workers::settings::WORKERS_LIMIT;
pub use crate::workers::sleep::spares::StandIn;

use crate::forkjoin::broadcast::{broadcast_to, spawn_broadcast_to};
use crate::forkjoin::detached::detached;
use crate::forkjoin::scope::{Scope, in_place_scope_in};
use crate::pool::{Pool, PoolBuilder, global, install, with_registry_at};
use crate::workers::Worker;
use crate::workers::inject::JobKind;
use crate::workers::job::Job;
use crate::workers::registry::Registry;
use crate::workers::sleep::Parts;

/// Makes the pool that `build` returns the global one. Other threads that use the global pool wait
/// until `build` has returned. What `build` itself does may use it as well; that starts it.
///
/// # Errors
/// There is one already (then `build` is not called), or there is one when `build` has returned; or
/// what `build` returns.
///
/// ```
/// use roving::Pool;
/// use roving::raw::calls::{Lease, WORKERS_LIMIT, set_global};
///
/// let pool: Lease = set_global(|| Pool::new(2), || unreachable!("none yet"))?;
/// assert!(pool.workers() <= WORKERS_LIMIT);
/// assert!(set_global(|| unreachable!("there is one"), || "too late").is_err());
/// # Ok::<(), roving::BuildError>(())
/// ```
pub fn set_global<E>(
    build: impl FnOnce() -> Result<Pool, E>,
    exists: impl FnOnce() -> E,
) -> Result<Lease, E> {
    global::set_built(build, exists)
}

/// Chooses how the pool replaces a worker that is parked in a wait.
pub fn stand_in(builder: PoolBuilder, stand_in: StandIn) -> PoolBuilder {
    builder.with_stand_in(stand_in)
}

/// The order in which a worker runs the detached tasks that it has spawned itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// The newest first.
    NewestFirst,
    /// Among those spawned so: the oldest first. Each holds the place of one in the other order.
    OldestFirst,
}

/// A pool to call into, whichever kind of thread calls.
#[derive(Clone, Copy)]
pub struct Target<'p>(&'p Arc<Registry>);

impl<'p> Target<'p> {
    /// Targets the given pool.
    pub fn of(pool: &'p Pool) -> Target<'p> {
        Target(pool.registry())
    }

    /// Calls `f` with the pool that the calling thread works for, or with the pool of selector `H`.
    pub fn with_current<H: Home, R>(f: impl FnOnce(Target<'_>) -> R) -> R {
        with_registry_at::<H, R>(|registry| f(Target(registry)))
    }

    /// Returns the number of workers.
    pub fn workers(self) -> usize {
        self.0.workers()
    }

    /// Runs `f` on a worker of this pool; see [`Pool::install`].
    pub fn install<F, R>(self, f: F) -> R
    where
        F: FnOnce() -> R + Send,
        R: Send,
    {
        install(self.0, f)
    }

    /// Opens a scope on the calling thread; see [`crate::in_place_scope`].
    pub fn in_place_scope<'scope, F, R>(self, f: F) -> R
    where
        F: FnOnce(&Scope<'scope>) -> R,
    {
        in_place_scope_in(self.0, f)
    }

    /// Runs `f` once on each worker; see [`crate::broadcast`].
    pub fn broadcast<F, R>(self, f: F) -> Vec<R>
    where
        F: Fn(usize) -> R + Sync,
        R: Send,
    {
        broadcast_to(self.0, f)
    }

    /// Has each worker call `f` with its index at some later time, without waiting for it. Panics
    /// go to the pool's handler.
    ///
    /// # Panics
    /// In a forked child, if the pool is one of the parent's.
    pub fn spawn_broadcast<F>(self, f: F)
    where
        F: Fn(usize) + Send + Sync + 'static,
    {
        self.0.check_is_here();
        spawn_broadcast_to(self.0, f);
    }

    /// Runs `f` at some later time, as [`crate::spawn`] does. A task that a worker spawns into its
    /// own pool is queued with that worker, in order of spawning, and other workers may take the
    /// oldest.
    ///
    /// # Panics
    /// In a forked child, outside of pools, if the pool is one of the parent's.
    pub fn spawn<F>(self, order: Order, f: F)
    where
        F: FnOnce() + Send + 'static,
    {
        let registry = self.0;
        let job = detached(registry, f);
        Worker::with_current(|worker| match worker {
            Some(worker) if Arc::ptr_eq(worker.registry(), registry) => {
                match order {
                    Order::NewestFirst => worker.seat().spawned.push(JobKind::Detached, job),
                    Order::OldestFirst => {
                        worker.seat().in_order.push(JobKind::Detached, job);
                        let (registry, index) = (Arc::clone(registry), worker.index());
                        // One for each job in `in_order`, unless those have been dropped.
                        let ticket = move || {
                            if let Some(job) = registry.seats[index].in_order.pop() {
                                job.run();
                            }
                        };
                        worker
                            .seat()
                            .spawned
                            .push(JobKind::Awaited, Job::new(ticket));
                    }
                }
                registry.job_was_added();
                registry.kind.job_was_added(registry);
            }
            _ => {
                registry.check_is_here();
                registry.inject(JobKind::Detached, job);
                registry.kind.job_was_added(registry);
            }
        });
    }

    /// Waits until each worker has its thread.
    #[inline]
    pub fn wait_for_threads(self) {
        self.0.seats.wait_for_threads();
    }

    /// Returns whether the calling thread is a worker of this pool.
    #[inline]
    pub fn is_current(self) -> bool {
        let is_it = |worker: &Worker| Arc::ptr_eq(worker.registry(), self.0);
        Worker::with_current(|worker| worker.is_some_and(is_it))
    }
}

impl std::fmt::Debug for Target<'_> {
    #[inline]
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Target").finish_non_exhaustive()
    }
}
