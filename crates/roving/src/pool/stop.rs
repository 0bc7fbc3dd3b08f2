//! Stopping a pool at once: what nobody waits for is dropped instead of run.

use std::mem;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;

use super::Pool;
use crate::machine::prim::thread::{self, JoinHandle};
use crate::observe::diagnostics;
use crate::workers::Worker;
use crate::workers::blocking::blocking;
use crate::workers::job::Job;
use crate::workers::registry::Registry;
use crate::workers::wait::wait_here;

/// The number of tasks that [`Pool::shutdown_now`] dropped, and whether the count is final.
///
/// ```
/// let pool = roving::Pool::new(1).unwrap();
/// let dropped: roving::Dropped = pool.shutdown_now();
/// assert_eq!(dropped.tasks(), 0);
/// assert!(dropped.is_final());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "it says how much was not done"]
pub struct Dropped {
    tasks: usize,
    is_final: bool,
}

impl Dropped {
    /// There was no pool.
    #[inline]
    pub(super) fn nothing(is_final: bool) -> Dropped {
        let tasks = 0;
        Dropped { tasks, is_final }
    }

    #[inline]
    pub(super) fn of(registry: &Registry, is_final: bool) -> Dropped {
        let tasks = registry.stopping.dropped();
        Dropped { tasks, is_final }
    }

    /// Returns how many detached tasks were dropped instead of run: one for each [`crate::spawn`]
    /// and [`Pool::spawn`] that had not begun. Tasks that were spawned by the drops of others are
    /// included, and in adapters each worker's share of a detached broadcast. A task that a caller
    /// waits for is never dropped.
    ///
    /// ```
    /// assert_eq!(roving::Pool::new(2).unwrap().shutdown_now().tasks(), 0);
    /// ```
    pub fn tasks(&self) -> usize {
        self.tasks
    }

    /// Returns whether the pool has ended and its threads have been joined, so that the count is
    /// final. False when one of the pool's own tasks has stopped it, when the threads are the
    /// user's ([`PoolBuilder::build_with`](crate::PoolBuilder::build_with)), when another thread
    /// than the one that [the pool has adopted](crate::PoolBuilder::adopt_current_thread) has
    /// stopped it, and in a forked child.
    ///
    /// ```
    /// assert!(roving::Pool::new(2).unwrap().shutdown_now().is_final());
    /// ```
    #[inline]
    pub fn is_final(&self) -> bool {
        self.is_final
    }
}

impl Pool {
    /// Ends the pool without running tasks that no caller waits for: detached tasks
    /// ([`Pool::spawn`], [`crate::spawn`]) that have not begun are dropped, each once, on the
    /// calling thread or on a worker. Tasks that run, and those that a caller waits for (calls of
    /// [`Pool::install`], roots of async tasks with all their frames, tasks of a scope), run to
    /// their end: they are asked to end soon, as [`crate::is_cancelled`] says from now on, and
    /// tasks suspended in [`crate::context::cancelled`] are woken. Returns when they have ended and
    /// the threads have been joined: it blocks for as long as the longest of these tasks, and costs
    /// a lock and a drop for each task that is dropped.
    ///
    /// A closure that panics when it is dropped is counted as well, and its panic goes to the
    /// pool's panic handler. What a drop spawns into this pool is dropped too ([`crate::spawn`] in
    /// a drop on the calling thread goes to the pool of that thread).
    ///
    /// Called by one of the pool's own tasks it does not wait: the pool ends by itself after that
    /// task, and [`Dropped::is_final`] is false. A task that one of the pool's own tasks waits for,
    /// on a worker of another pool, must not call it: it would wait for its own end. In a forked
    /// child, a pool of the parent is left alone, and nothing is dropped.
    ///
    /// ```
    /// use std::sync::mpsc;
    ///
    /// let pool = roving::Pool::new(1)?;
    /// let (begun, has_begun) = mpsc::channel();
    /// let (go_on, may_go_on) = mpsc::channel::<()>();
    /// pool.spawn(move || {
    ///     begun.send(()).unwrap();
    ///     // Until the sender is dropped, with the task that holds it.
    ///     let _ = may_go_on.recv();
    /// });
    /// has_begun.recv().unwrap();
    /// pool.spawn(move || drop(go_on));
    /// pool.spawn(|| unreachable!("dropped"));
    /// assert_eq!(pool.shutdown_now().tasks(), 2);
    /// # Ok::<(), roving::BuildError>(())
    /// ```
    #[inline]
    pub fn shutdown_now(self) -> Dropped {
        let registry = Arc::clone(&self.registry);
        if !registry.is_left_behind() {
            registry.kind.visit(&mut || stop(&registry));
        }
        let is_final = self.end();
        Dropped::of(&registry, is_final)
    }

    /// Nothing will come from outside any more. The pool ends by itself; [`Self::end`] waits for
    /// that.
    pub(super) fn begin_to_end(&self) {
        let registry = &self.registry;
        if !registry.is_left_behind() {
            registry.kind.visit(&mut || registry.close());
        }
    }

    /// Ends the pool when its last handle is dropped. True if the pool has ended, with all its
    /// threads.
    pub(super) fn end(&self) -> bool {
        let registry = &self.registry;
        if registry.is_left_behind() {
            // Its threads cannot be joined, and its locks not be trusted.
            mem::forget(Arc::clone(registry));
            return false;
        }
        if let Some(has_ended) = registry.kind.end(registry) {
            return has_ended;
        }
        registry.kind.visit(&mut || registry.close());
        if Worker::is_or_was(registry) || registry.seats.have_thread(thread::current().id()) {
            // A task drops its own pool, which ends by itself when the task has. So do its threads.
            registry.crew.detach();
            return false;
        }
        if registry.crew.has_adopted() {
            // That thread is not waited for: it may wait for this one. The others end when it has
            // left.
            registry.do_without_adopted();
            wait_here(|| registry.is_quiet());
            registry.crew.detach();
            return false;
        }
        wait_here(|| registry.crew.is_gone());
        join_threads(registry);
        diagnostics::leave(registry);
        true
    }
}

/// From now on detached tasks are dropped, and those that are waiting are so at once: on this
/// thread, because what runs may wait for what one of them holds.
#[inline]
pub(super) fn stop(registry: &Registry) {
    registry.stopping.begin();
    registry.cancel.cancel();
    let queues = |seat: &crate::workers::seats::Seat| {
        let jobs = seat.in_order.take_detached().into_iter();
        let jobs = jobs.chain(seat.spawned.take_detached());
        jobs.chain(seat.mailbox.take_detached()).collect::<Vec<_>>()
    };
    // Those that come later are dropped by workers.
    let mut jobs = registry.injector.take_detached();
    jobs.extend(registry.seats.iter().flat_map(queues));
    jobs.into_iter().for_each(|job| drop_job(registry, job));
}

#[inline]
fn drop_job(registry: &Registry, job: Job) {
    let dropped = panic::catch_unwind(AssertUnwindSafe(|| job.discard()));
    let was_dropped = dropped.unwrap_or_else(|payload| {
        registry.settings.handle_panic(payload);
        true
    });
    if was_dropped {
        registry.stopping.count();
    }
}

/// Returns when the threads that the pool has started are gone, but for those that another
/// caller has taken to join.
pub(super) fn join_threads(registry: &Registry) {
    loop {
        let threads = registry.crew.take_threads();
        if threads.is_empty() {
            return;
        }
        // A worker's thread has no panic of its own to report.
        let join = |thread: JoinHandle<()>| _ = thread.join();
        blocking(|| threads.into_iter().for_each(join));
    }
}
