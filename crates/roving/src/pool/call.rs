//! Calls into pools: a closure is brought to a worker, and its result back.

use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;

use super::home::Home;
use super::{Pool, global};
use crate::inherit::node;
use crate::machine::latch::{Latch, SendPtr};
use crate::machine::unwind::with_frame_lent;
use crate::workers::Worker;
use crate::workers::arena::Stay;
use crate::workers::inject::Kind;
use crate::workers::job::Job;
use crate::workers::parked::Why;
use crate::workers::registry::Registry;
use crate::workers::settings::SPARES_MAX;
use crate::workers::sleep::roster;
use crate::workers::sleep::spares::StandIn;
use crate::workers::wait::Wait;
use crate::workers::worker::adopted::Adopted;
use crate::workers::worker::caller_runs::be_in_place;

impl Pool {
    /// Runs `f` on a worker of this pool and returns its result. [`crate::join`], [`crate::scope`]
    /// and the like use this pool inside. Called by a worker of this pool, it just calls `f`;
    /// otherwise the calling thread blocks, and if it is a worker of another pool, a compensation
    /// thread takes its core there. Costs a wake-up of some microseconds.
    ///
    /// Pools may be installed into each other, 256 calls deep: each keeps a thread. An in-place
    /// pool ([`PoolBuilder::use_current_thread`](crate::PoolBuilder::use_current_thread)) has one
    /// seat: a call into it from another pool's worker, on which its own worker waits, waits for
    /// ever.
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
        _ if registry.settings.in_place => be_in_place(registry, f),
        _ => Worker::with_waiting(|worker| match worker {
            Some(worker) if registry.share.is_some() => {
                registry.check_has_threads();
                match Stay(worker).seat_to_visit(registry) {
                    Some(index) => Stay(worker).visit(registry, index, f),
                    None => install_from_outside(registry, Some(worker), f),
                }
            }
            worker => install_from_outside(registry, worker, f),
        }),
    })
}

fn install_from_outside<F, R>(registry: &Arc<Registry>, worker: Option<&Worker>, f: F) -> R
where
    F: FnOnce() -> R + Send,
    R: Send,
{
    registry.check_has_threads();
    let nesting = worker.map_or(0, |worker| worker.nesting.get() + 1);
    assert!(
        nesting <= SPARES_MAX,
        "pools are nested too deep: {nesting} calls of install wait for each other, each on a thread \
         of its own, and at most {SPARES_MAX} can; install less often from inside",
    );
    // All in this frame, and out of it by pointer: what the job itself holds is protected until it
    // returns, which is after it has let this frame go.
    let latch = Latch::new(1);
    let mut f = Some(f);
    let mut outcome = None;
    let context = node::place();
    let there = SendPtr((&raw mut f, &raw mut outcome, &raw const latch, context));
    let job = move || {
        let SendPtr((f, outcome, latch, context)) = { there };
        // SAFETY: the waiting frame keeps all three alive until the latch is down, and does not
        // touch the first two before.
        let f = unsafe { (*f).take() }.expect("a job runs once");
        let result = Worker::with_current(|worker| {
            let worker = worker.expect("jobs are run by workers");
            let before = worker.nesting.replace(nesting);
            // What `f` leaves unjoined belongs to a scope that waits for this call.
            let run = || panic::catch_unwind(AssertUnwindSafe(f));
            // SAFETY: the waiting frame is in that context.
            let result = unsafe { worker.framed_in(context, run) };
            worker.nesting.set(before);
            result
        });
        // SAFETY: the waiting frame keeps outcome and latch alive until the latch is down, and
        // reads the outcome only then.
        unsafe {
            *outcome = Some(result);
            Latch::count_down(latch);
        }
    };
    with_frame_lent(|| {
        // SAFETY: this frame does not return before the job has run, and a job that was injected
        // always runs: a pool that is being dropped runs what it holds.
        let job = unsafe { Job::borrowing(job) };
        let woken = match worker.is_some() && registry.share.is_some() {
            true => registry.inject_urgent(job),
            false => registry.inject(Kind::Awaited, job),
        };
        let spares_run_all = registry.spares.stand_in == StandIn::ForAll;
        if worker.is_some() && !woken && spares_run_all {
            // All may be busy, some with waiting for what this call is part of (a lock that a
            // frame further out holds, say). So it gets a thread of its own. (Elsewhere it gets one
            // when a worker waits, whose index that thread can show.)
            registry.spares.bring_in_one(registry);
        }
        if let (Some(_), Some(share)) = (worker, &registry.share) {
            // And that one a thread.
            share.urge(Arc::as_ptr(registry).cast());
        }
        match worker {
            Some(worker) => Wait(worker).park_for(Why::Event, || latch.is_over()),
            None => latch.wait(),
        }
    });
    match outcome.expect("the latch is counted down after the outcome") {
        Ok(result) => result,
        Err(payload) => panic::resume_unwind(payload),
    }
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
