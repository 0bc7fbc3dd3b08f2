//! The kinds of pool, and where they differ.
//!
//! A kind of pool is one type, of which the pool has a value. What a pool with threads of its own
//! does stands where it is done; there, at the few places at which another kind does something
//! else, the kind is called first. All these places are slow ones. The builder's option for a kind
//! alone names its type, so a program has the code of those kinds that it asks for.

use std::ops::Range;
use std::sync::Arc;

use crate::machine::os;
use crate::replay::Schedule;
use crate::stack::Showing;
use crate::workers::inject::JobKind;
use crate::workers::job::Job;
use crate::workers::priority::Priority;
use crate::workers::registry::Registry;
use crate::workers::seats::Desk;

/// A kind of pool. What is not said otherwise is the way of a pool with threads of its own. Where
/// no pool is named, it is that of the worker that the calling thread is.
pub(crate) trait PoolKind: Send + Sync {
    /// Which workers get a thread when the pool starts.
    fn threads(&self, workers: usize) -> Range<usize> {
        0..workers
    }

    /// With how few of its workers it can start, where so few were asked for.
    fn workers_least(&self, wished: usize, _workers: usize) -> usize {
        wished
    }

    /// How many compensation threads it can have.
    fn spares(&self, wished: usize) -> usize {
        wished
    }

    /// [`os::forks`] in the processes in which the pool can be used.
    fn forks(&self) -> usize {
        os::forks()
    }

    /// Whether a pool that can be used in any process cannot be used in this one, a forked child:
    /// threads of the parent were at it.
    fn is_lost(&self, _pool: &Registry) -> bool {
        false
    }

    /// The place at that seat to which threads come that are not the pool's.
    fn desk(&self, _seat: usize) -> Option<Box<dyn Desk>> {
        None
    }

    /// There was no memory for the pool.
    fn unmade(&self) {}

    /// The pool has been made, and no thread has been started.
    ///
    /// # Errors
    /// It cannot start, because the calling thread cannot become its worker.
    fn begin(&self, _pool: &Arc<Registry>) -> Result<(), Unfit> {
        Ok(())
    }

    /// Makes the calling thread a worker of the pool for this call, if threads can become that.
    /// Returns whether it has been called.
    fn enter(&self, _pool: &Arc<Registry>, _call: &mut dyn FnMut()) -> bool {
        false
    }

    /// Calls the closure on a worker of the pool, if the calling thread can become one at once.
    /// Returns whether it has been called.
    fn call(&self, pool: &Arc<Registry>, call: &mut dyn FnMut()) -> bool {
        self.enter(pool, call)
    }

    /// The calling thread spawns a detached task there.
    ///
    /// # Panics
    /// If the pool [has no threads](Registry::check_has_threads).
    fn spawn(&self, pool: &Arc<Registry>, class: Priority, job: Job) {
        pool.check_has_threads();
        pool.inject_in(class, JobKind::Detached, job);
        self.job_was_added(pool);
    }

    /// The calling thread has added a job.
    fn job_was_added(&self, _pool: &Arc<Registry>) {}

    /// Nothing comes from outside any more. Returns whether that has been said to whom it concerns.
    fn close(&self, _pool: &Registry) -> bool {
        false
    }

    /// Ends the pool, whose last handle is dropped. True if it has ended, and false if it will;
    /// `None` if that is left to the caller.
    fn end(&self, _pool: &Arc<Registry>) -> Option<bool> {
        None
    }

    /// Whether a worker that has to end with the others has mail.
    fn has_mail(&self, pool: &Registry) -> bool {
        pool.has_mail_from(0)
    }

    /// Calls `run` on each worker of the pool, if the calling thread can be each of them. Returns
    /// whether it has been called.
    fn broadcast(&self, _pool: &Arc<Registry>, _run: &mut dyn FnMut()) -> bool {
        false
    }

    /// The calling thread brings something for each worker of the pool, and waits for nobody. Calls
    /// `queue` instead, if there is one worker, which another thread may be. Returns whether it has
    /// been called.
    fn broadcast_later(&self, _pool: &Arc<Registry>, _queue: &mut dyn FnMut()) -> bool {
        false
    }

    /// Something is in the queue of a root, or of a scope. `leave` leaves a ticket for it in the
    /// pool's queue, by which a worker finds it that does not wait there.
    fn queued(&self, leave: &mut dyn FnMut()) {
        leave();
    }

    /// A worker of the pool awaits the handle of a detached task, which `run` runs if nobody has
    /// begun it: here another worker does.
    fn handle_awaited(&self, _run: &mut dyn FnMut()) {}

    /// How the stacks of the pool's workers show their tasks.
    fn showing(&self, showing: Showing) -> Showing {
        showing
    }

    /// How many items a loop does before it looks around again, if time does not tell.
    fn block(&self) -> Option<usize> {
        None
    }

    /// A thread is about to be started for that seat.
    fn expect_thread(&self, _seat: usize) {}

    /// The thread for that seat could not be started.
    fn expect_no_thread(&self, _seat: usize) {}

    /// Calls `work` on the pool's thread at that seat: all that it does.
    fn attend(&self, _seat: usize, work: &mut dyn FnMut()) {
        work();
    }

    /// Calls `f`, by which the calling thread brings something into the pool.
    fn visit(&self, f: &mut dyn FnMut()) {
        f();
    }

    /// Calls `f` with the pool's schedule, if it is deterministic.
    fn with_schedule(&self, _f: &mut dyn FnMut(&Schedule)) {}
}

/// Why a thread cannot become a worker of a pool that adopts it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Unfit {
    IsWorker,
    /// It drops its thread-local values, and with them has dropped what would make it leave.
    IsEnding,
}

/// A pool with threads of its own, which it starts and joins.
pub(crate) struct Crewed;

impl PoolKind for Crewed {}

/// A pool whose threads are the user's, who also joins them.
pub(crate) struct Given;

impl PoolKind for Given {
    /// They join what the pool itself has started: see `WorkerThread::run`.
    fn end(&self, pool: &Arc<Registry>) -> Option<bool> {
        pool.close();
        Some(false)
    }
}
