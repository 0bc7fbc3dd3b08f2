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
use crate::workers::frames::Frame;
use crate::workers::frames::root::Root;
use crate::workers::inject::Kind;
use crate::workers::job::Job;
use crate::workers::priority::Priority;
use crate::workers::registry::Registry;
use crate::workers::seats::Desk;
use crate::workers::wait::Taken;

/// A closure of a join, which is told whether it was stolen.
pub(crate) type Half<'h> = &'h mut dyn FnMut(bool);

/// A kind of pool. What is not said otherwise is the way of a pool with threads of its own. Where
/// no pool is named, it is that of the worker that the calling thread is.
pub(crate) trait PoolKind: Send + Sync {
    /// Which workers get a thread when the pool starts.
    fn threads(&self, workers: usize) -> Range<usize> {
        0..workers
    }

    /// Whether it can start with fewer workers than were asked for.
    fn makes_do(&self) -> bool {
        true
    }

    /// How many compensation threads it can have.
    fn spares(&self, wished: usize) -> usize {
        wished
    }

    /// [`os::forks`] in the processes in which the pool can be used.
    fn forks(&self) -> usize {
        os::forks()
    }

    /// The place at that seat to which threads come that are not the pool's.
    fn desk(&self, _seat: usize) -> Option<Box<dyn Desk>> {
        None
    }

    /// There was no memory for the pool.
    fn unmade(&self) {}

    /// The pool has been made, and no thread has been started. False if it cannot start, because
    /// the calling thread is a worker already.
    fn begin(&self, _pool: &Arc<Registry>) -> bool {
        true
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
        pool.inject_in(class, Kind::Detached, job);
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

    /// Whether the threads that enter the pool are all that it has.
    fn caller_runs(&self) -> bool {
        false
    }

    /// Runs the closure for each worker of a pool that has no threads, on the calling thread, which
    /// has entered it.
    fn play_all(&self, run: &mut dyn FnMut(usize)) {
        run(0);
    }

    /// Whether tasks are shown to others as they are pushed.
    fn shows_tasks(&self) -> bool {
        true
    }

    /// How the two closures of a join run that has not been pushed, neither of which unwinds. One
    /// after the other, if nothing is said.
    fn joins(&self) -> Option<fn(Half<'_>, Half<'_>)> {
        None
    }

    /// Whether a loop that is asked for work gives some away.
    fn splits(&self) -> bool {
        true
    }

    /// Whether a loop that gives work away leaves it to a join who runs what.
    fn divides(&self) -> bool {
        false
    }

    /// How many items a loop does before it looks around again, if time does not tell.
    fn block(&self) -> Option<usize> {
        None
    }

    /// Keeps a task of a scope that has not been pushed by `keep`, which is false if there is no
    /// room, or has it run by `run`. Returns whether one of the two was done.
    fn spawned(&self, _keep: &mut dyn FnMut() -> bool, _run: &mut dyn FnMut()) -> bool {
        false
    }

    /// Takes back a task of the innermost open frame.
    fn take_back(&self) -> Option<Taken> {
        None
    }

    /// Runs one task of the worker's own on top of what it does: whether there was one.
    fn run_own(&self) -> Option<bool> {
        None
    }

    /// Runs all detached tasks. Returns whether it has.
    fn run_jobs(&self) -> bool {
        false
    }

    /// Decides about a fork that has not been pushed: which of the two is run next, if one is.
    ///
    /// # Safety
    /// Both are the worker's, and the parent counts as scheduled if it is shared.
    unsafe fn fork(&self, _parent: Frame, _child: Frame) -> Option<Option<Frame>> {
        None
    }

    /// Leaves a spawned child for later. False if it is to run at once.
    ///
    /// # Safety
    /// The child is new, and its root is that of the task that is being polled here.
    unsafe fn leaves(&self, _child: Frame) -> bool {
        false
    }

    /// Runs all that comes of the root, for which the calling thread waits, if nobody else does.
    fn run_root(&self, _root: &Root) {}

    /// Whether a job sees to it that frames which are ready are run.
    fn issues_tickets(&self) -> bool {
        true
    }

    /// The schedule of a deterministic pool.
    fn schedule(&self) -> Option<&Schedule> {
        None
    }
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
