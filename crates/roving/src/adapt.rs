//! The hidden, unversioned interface for crates that adapt another runtime's interface to this one,
//! such as the drop-in for Rayon and `roving-iter`. Semantic versioning covers nothing in it.

use std::sync::Arc;
use std::time::Duration;

pub use crate::context::waiting::OnCancel;
pub use crate::forkjoin::join::join_at;
pub use crate::forkjoin::loops::pieces::{Piece, Sink, feed_pieces, run_on_worker};
pub use crate::forkjoin::scope::scope_at;
pub use crate::pool::global::Lease;
pub use crate::pool::home::Home;
pub use crate::task::kept::spawn_kept;
pub use crate::task::placed::spawn_placed;
pub use crate::workers::frames::place::Place;
pub use crate::workers::frames::yielded::yield_to_woken;
pub use crate::workers::sleep::spares::StandIn;

use crate::forkjoin::broadcast::{broadcast_to, spawn_broadcast_to};
use crate::forkjoin::detached::detached;
use crate::forkjoin::scope::{Scope, in_place_scope_in};
use crate::observe::{diagnostics, watch};
use crate::pool::{Pool, global, install, with_registry_at};
use crate::workers::Worker;
use crate::workers::inject::Kind;
use crate::workers::job::Job;
use crate::workers::jobs::Jobs;
use crate::workers::on_demand::OnDemand;
use crate::workers::registry::Registry;
use crate::workers::sleep::Parts;

/// Tasks whose code is not Rust: the seam of `roving-c`.
pub mod foreign {
    pub use crate::forkjoin::foreign::{
        Code, LAYOUT, Layout, Left, Opaque, Words, depth, has_pushed_above, pop, push, run, wire,
    };
}

/// Workers whose loops are another runtime's: the seam of `roving-omp`.
pub mod hosted {
    pub use crate::forkjoin::hosted::{
        Frame, Hosted, add, drain, is_worker, leave, open, show, sleep_until, steal,
    };
}

/// Coroutines whose code is not Rust: the other seam of `roving-c`.
pub mod trees {
    pub use crate::forkjoin::trees::{
        Code, Head, RUN, Tree, Words, push, push_unjoined, take_above, take_newest, top,
    };
}

/// The decisions of the runtime that its simulator shares: functions of what is seen, and bounds.
pub mod rules {
    pub use crate::pool::builder::PATIENCE;
    pub use crate::stack::policy::{
        About, CREDIT_MAX, CREDIT_TIME, Shown, credit, split_taken_back,
    };
    pub use crate::workers::settings::{SPARES_MAX, WORKERS_LIMIT};
    pub use crate::workers::sleep::parts::WAKES_PER_CLAIM;
    pub use crate::workers::steal::amount::{AMOUNT_MAX, least_of, taken_of};
    pub use crate::workers::steal::restraint::{look_away, was_worth};
    pub use crate::workers::wait::{CHAIN_MAX, THEFT_COST};
}

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

/// The most workers that a pool can have.
pub const WORKERS_LIMIT: usize = crate::workers::settings::WORKERS_LIMIT;

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
    pub fn spawn_broadcast<F>(self, f: F)
    where
        F: Fn(usize) + Send + Sync + 'static,
    {
        spawn_broadcast_to(self.0, f);
    }

    /// Runs `f` at some later time, as [`crate::spawn`] does. A task that a worker spawns into its
    /// own pool is queued with that worker, in order of spawning, and other workers may take the
    /// oldest.
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
                                job.run();
                            }
                        };
                        worker.seat().spawned.push(Kind::Awaited, Job::new(ticket));
                    }
                }
                registry.job_was_added();
                registry.kind.job_was_added(registry);
            }
            _ => {
                registry.inject(Kind::Detached, job);
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

/// Returns the index of the worker that the calling thread is, or stands in for. It is below the
/// number of workers, unless more compensation threads ask than workers wait; no two threads get
/// the same index at a time.
#[inline]
pub fn lent_index() -> Option<usize> {
    Worker::with_current(|worker| {
        worker.map(|worker| {
            let lending = &worker.registry().lending;
            worker.shown_index.get(lending, worker.is_spare())
        })
    })
}

/// Returns whether the calling worker has tasks that have not begun; `None` if the thread is no
/// worker.
#[inline]
pub fn has_pending() -> Option<bool> {
    Worker::with_current(|worker| worker.map(|worker| Jobs(worker).has_pending()))
}

/// Runs one pending task on top of the caller's frame, whatever it is: one of the calling worker's
/// own or, unless `own_only`, of any worker. Returns whether there was one; `None` if the caller is
/// no worker.
#[inline]
pub fn run_one(own_only: bool) -> Option<bool> {
    Worker::with_current(|worker| worker.map(|worker| OnDemand(worker).run(own_only)))
}

/// Returns whether a pool of this process keeps a trace, so that spans are worth their names.
#[inline]
pub fn keeps_trace() -> bool {
    crate::observe::trace::is_on()
}

/// The patience that `ROVING_WATCH` asks for.
#[inline]
pub fn watch_patience() -> Option<Duration> {
    diagnostics::patience()
}

/// Gives a report of a standstill to [`watch::on_report`](crate::watch::on_report)'s function, or
/// to standard error.
#[inline]
pub fn tell_standstill(text: &str) {
    watch::tell(text);
}
