//! Calls into pools: a closure is brought to a worker, and its result back.

use std::sync::Arc;

use super::home::Home;
use super::{Pool, global};
use crate::workers::Worker;
use crate::workers::inject::JobKind;
use crate::workers::outside_calls::call_from_outside;
use crate::workers::registry::Registry;
use crate::workers::sleep::roster;
use crate::workers::worker::adopted::Adopted;

impl Pool {
    /// Runs `f` on a worker of this pool and returns its result. [`crate::join`], [`crate::scope`]
    /// and the like use this pool inside. Called by a worker of this pool, it just calls `f`;
    /// otherwise the calling thread blocks, and if it is a worker of another pool, a compensation
    /// thread takes its core there. Costs a wake-up of some microseconds.
    ///
    /// Pools may be installed into each other, 256 calls deep: each keeps a thread. A caller-runs
    /// pool ([`PoolBuilder::caller_runs`](crate::PoolBuilder::caller_runs)) has one worker: a call
    /// into it from another pool's worker, on which its own worker waits, waits for ever.
    ///
    /// # Panics
    /// With what `f` panics with; and when more than 256 calls wait for each other.
    ///
    /// ```
    /// let pool = roving::Pool::new(2).unwrap();
    /// assert!(pool.install(roving::current_worker).is_some());
    /// ```
    pub fn install<F, R>(&self, f: F) -> R
    where
        F: FnOnce() -> R + Send,
        R: Send,
    {
        install(&self.registry, f)
    }
}

/// Calls `f` with the registry of the pool that the calling thread works for, or of the global one.
pub(crate) fn with_current_registry<R>(f: impl FnOnce(&Arc<Registry>) -> R) -> R {
    with_registry_at::<global::Roving, R>(f)
}

/// Calls `f` with the current worker's pool or, on a thread that is no worker, with the pool of
/// selector `H`.
pub(crate) fn with_registry_at<H: Home, R>(f: impl FnOnce(&Arc<Registry>) -> R) -> R {
    Worker::with_current(|worker| match worker {
        Some(worker) if !Adopted(worker).leaves() => f(worker.registry()),
        _ => f(global::of::<H>().registry()),
    })
}

/// See [`Pool::install`].
pub(crate) fn install<F, R>(registry: &Arc<Registry>, f: F) -> R
where
    F: FnOnce() -> R + Send,
    R: Send,
{
    Worker::with_current(|worker| match worker {
        Some(worker) if Arc::ptr_eq(worker.registry(), registry) => f(),
        _ => install_elsewhere(registry, f),
    })
}

#[cold]
#[inline(never)]
fn install_elsewhere<F, R>(registry: &Arc<Registry>, f: F) -> R
where
    F: FnOnce() -> R + Send,
    R: Send,
{
    let (mut f, mut result) = (Some(f), None);
    call(registry, &mut || result = f.take().map(|f| f()));
    result.expect("it was called")
}

/// Calls `f` on a worker of the pool, of which the calling thread is none. What `f` has, and what
/// it gives back, can be sent.
fn call(registry: &Arc<Registry>, f: &mut dyn FnMut()) {
    if registry.kind.call(registry, f) {
        return;
    }
    let mut call = || {
        Worker::with_waiting(|worker| {
            call_from_outside(registry, worker, f, |job| {
                let woken = registry.inject(JobKind::Awaited, job);
                if worker.is_some() {
                    registry.spares.call_waits(registry, woken);
                }
            });
        });
    };
    registry.kind.visit(&mut call);
}

/// Returns the index of the worker that the calling thread is, in its pool; `None` on other
/// threads. Compensation threads have the indices from [`Pool::workers`] on.
///
/// ```
/// assert_eq!(roving::current_worker(), None);
/// let pool = roving::Pool::new(1).unwrap();
/// assert_eq!(pool.install(roving::current_worker), Some(0));
/// ```
#[inline]
pub fn current_worker() -> Option<usize> {
    Worker::with_current(|worker| worker.map(Worker::index))
}

/// Returns the number of workers of the current pool: the one that the calling thread works for, or
/// the global one.
///
/// ```
/// let pool = roving::Pool::new(3).unwrap();
/// assert_eq!(pool.install(roving::current_workers), 3);
/// ```
#[inline]
pub fn current_workers() -> usize {
    with_current_registry(|registry| roster::working(registry.as_ref()))
}
