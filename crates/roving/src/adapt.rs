//! What an adapter from another runtime's interface to this one needs beyond the public interface:
//! our drop-in for Rayon is one. Nothing here is covered by semantic versioning.

use std::sync::Arc;

pub use crate::context::waiting::OnCancel;
pub use crate::join::join_at;
pub use crate::pool::global::Lease;
pub use crate::pool::home::Home;
pub use crate::scope::scope_at;
pub use crate::sleep::spares::StandIn;
pub use crate::task::kept::spawn_kept;
pub use crate::task::placed::{Place, spawn_placed};
pub use crate::task::yielded::yield_to_woken;

use crate::broadcast::{broadcast_to, spawn_broadcast_to};
use crate::inject::Kind;
use crate::pool::registry::Registry;
use crate::pool::{Pool, detached, global, install, run_if_alone, with_registry_at};
use crate::scope::{Scope, in_place_scope_in};
use crate::sleep::Parts;
use crate::worker::Worker;

/// Makes the pool that `build` returns the global one.
///
/// # Errors
/// There is one already (then `build` is not called), or what `build` returns.
pub fn set_global<E>(
    build: impl FnOnce() -> Result<Pool, E>,
    exists: impl FnOnce() -> E,
) -> Result<Lease, E> {
    global::set_built(build, exists)
}

/// Most workers that a pool can have.
pub const WORKERS_LIMIT: usize = crate::pool::builder::WORKERS_LIMIT;

/// The order in which a worker gets to the detached tasks that it has itself spawned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// The newest first.
    NewestFirst,
    /// Among those spawned so: the oldest first. Each holds the place of one in the other order.
    OldestFirst,
}

/// A pool that work is meant for.
#[derive(Clone, Copy)]
pub struct Target<'p>(&'p Arc<Registry>);

impl<'p> Target<'p> {
    /// That pool.
    pub fn of(pool: &'p Pool) -> Target<'p> {
        Target(pool.registry())
    }

    /// Calls `f` with the pool that the calling thread works for, or the one at `H`.
    pub fn with_current<H: Home, R>(f: impl FnOnce(Target<'_>) -> R) -> R {
        with_registry_at::<H, R>(|registry| f(Target(registry)))
    }

    /// Number of workers.
    pub fn workers(self) -> usize {
        self.0.workers()
    }

    /// See [`Pool::install`].
    pub fn install<F, R>(self, f: F) -> R
    where
        F: FnOnce() -> R + Send,
        R: Send,
    {
        install(self.0, f)
    }

    /// See [`crate::in_place_scope`].
    pub fn in_place_scope<'scope, F, R>(self, f: F) -> R
    where
        F: FnOnce(&Scope<'scope>) -> R,
    {
        in_place_scope_in(self.0, f)
    }

    /// See [`crate::broadcast`].
    pub fn broadcast<F, R>(self, f: F) -> Vec<R>
    where
        F: Fn(usize) -> R + Sync,
        R: Send,
    {
        broadcast_to(self.0, f)
    }

    /// Has each worker call `f` with its index, some time, and does not wait for it. Panics go to
    /// the pool's handler.
    pub fn spawn_broadcast<F>(self, f: F)
    where
        F: Fn(usize) + Send + Sync + 'static,
    {
        spawn_broadcast_to(self.0, f);
    }

    /// Runs `f` some time, as [`crate::spawn`] does; what a worker spawns in its own pool is queued
    /// with that worker, in that order, and others may take the oldest.
    pub fn spawn<F>(self, order: Order, f: F)
    where
        F: FnOnce() + Send + 'static,
    {
        let registry = self.0;
        let job = detached(registry, f);
        Worker::with_current(|worker| match worker {
            Some(worker) if Arc::ptr_eq(worker.registry(), registry) => {
                match order {
                    Order::NewestFirst => worker.seat().spawned.push(Kind::Detached, job),
                    Order::OldestFirst => {
                        worker.seat().in_order.push(Kind::Detached, job);
                        let (registry, index) = (Arc::clone(registry), worker.index());
                        // One for each job in `in_order`, unless those have been dropped.
                        let ticket = move || {
                            if let Some(job) = registry.seats[index].in_order.pop() {
                                job();
                            }
                        };
                        worker.seat().spawned.push(Kind::Awaited, Box::new(ticket));
                    }
                }
                registry.job_was_added();
                worker.run_what_is_left();
            }
            _ => {
                registry.inject(Kind::Detached, job);
                run_if_alone(registry);
            }
        });
    }

    /// Returns when each worker has its thread.
    pub fn wait_for_threads(self) {
        self.0.wait_for_threads();
    }

    /// Whether the calling thread is a worker of this pool.
    pub fn is_current(self) -> bool {
        let is_it = |worker: &Worker| Arc::ptr_eq(worker.registry(), self.0);
        Worker::with_current(|worker| worker.is_some_and(is_it))
    }
}

impl std::fmt::Debug for Target<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Target").finish_non_exhaustive()
    }
}

/// The index of the worker that the calling thread is, or stands in for. Below the number of
/// workers, unless more spare threads ask than workers wait; no two threads get the same at a time.
pub fn lent_index() -> Option<usize> {
    Worker::with_current(|worker| worker.map(Worker::lent_index))
}

/// Whether the calling worker has tasks that nobody has begun; `None` if it is no worker.
pub fn has_pending() -> Option<bool> {
    Worker::with_current(|worker| worker.map(Worker::has_pending))
}

/// Runs one pending task on top of the caller's frame, whatever it is: of the calling worker's own,
/// or unless `own_only` anybody's. Whether there was one; `None` if the caller is no worker.
pub fn run_one(own_only: bool) -> Option<bool> {
    Worker::with_current(|worker| worker.map(|worker| worker.run_one(own_only)))
}
