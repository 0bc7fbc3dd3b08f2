//! Threads that become workers without a loop of their own, and leave when their pool has been
//! dropped.

use std::cell::Cell;
use std::ptr;
use std::sync::{Arc, Mutex, PoisonError};

use super::{CURRENT, Worker};
use crate::machine::latch::SendPtr;
use crate::stack::line::{ALARM, set_current_line};
use crate::stack::owner::Owner;
use crate::stats::Activity;
use crate::workers::frames;
use crate::workers::registry::Registry;

thread_local! {
    /// Set on a thread that was adopted, until it leaves.
    static LEAVING: Cell<Option<Leaving>> = const { Cell::new(None) };
}

/// The state that an adopted thread leaves behind, kept where a leak checker finds it.
static FOR_LIFE: Mutex<Vec<SendPtr<AdoptedFor>>> = Mutex::new(Vec::new());
type AdoptedFor = (*const Arc<Registry>, *const Worker);

/// Ends a thread's time as an adopted worker: when the pool has been dropped, or when the thread
/// ends. Thieves must not reach into its thread-local memory any more, and nobody may wait for it.
struct Leaving(&'static Arc<Registry>);

impl Drop for Leaving {
    fn drop(&mut self) {
        let registry = self.0;
        // In a forked child the pool's locks are not to be trusted.
        let is_here = !registry.is_left_behind();
        if is_here && registry.workers() == 1 {
            // What the pool has been given runs here, as long as the thread is a worker; what it is
            // given from now on, by a thread that it starts itself.
            Worker::with_current(|worker| _ = worker.inspect(|worker| worker.run_jobs()));
        }
        CURRENT.set(ptr::null());
        frames::set_current_local(ptr::null());
        set_current_line(&raw const ALARM);
        if is_here {
            registry.seats[0].stack.cut_wire();
            registry.let_go();
        }
    }
}

impl Worker {
    /// Makes the calling thread worker 0 of the pool, until the pool is dropped or the thread ends.
    /// The worker, and with it the registry, is never freed. False if the thread is a worker
    /// already.
    pub(crate) fn adopt(registry: &Arc<Registry>) -> bool {
        let is_free = Worker::with_current(|worker| worker.is_none_or(Worker::leaves));
        if !is_free {
            return false;
        }
        let registry: &'static Arc<Registry> = Box::leak(Box::new(Arc::clone(registry)));
        // SAFETY: the registry is never freed, and seat 0 of such a pool has no other thread.
        let owner = unsafe { Owner::new(&registry.seats[0].stack) };
        registry.adopt();
        owner.attach_for_life();
        let worker = Box::leak(Box::new(Worker::new(Arc::clone(registry), 0, owner)));
        let kept = (ptr::from_ref(registry), ptr::from_ref(&*worker));
        let mut for_life = FOR_LIFE.lock().unwrap_or_else(PoisonError::into_inner);
        for_life.push(SendPtr(kept));
        drop(for_life);
        worker.clock().enter(Activity::Busy);
        worker.stay_away();
        CURRENT.set(worker);
        frames::set_current_local(&worker.seat().tasks);
        LEAVING.set(Some(Leaving(registry)));
        true
    }

    /// Whether this worker, if it is an adopted thread, is one no longer: its pool has been
    /// dropped, and it is outside of all that it does as a worker, so it leaves.
    #[inline]
    pub(crate) fn leaves(&self) -> bool {
        self.registry.settings.adopts && self.leaves_now()
    }

    #[cold]
    fn leaves_now(&self) -> bool {
        let registry = &self.registry;
        if !self.is_adopted() || !registry.is_closing() || !self.is_outside() {
            return false;
        }
        // When the thread's values are being dropped, it is leaving already.
        let Ok(leaving) = LEAVING.try_with(Cell::take) else {
            return false;
        };
        self.clock().enter(Activity::Idle);
        drop(leaving);
        true
    }

    /// An adopted thread has added a job to its pool. If that is closed, a thread is called for it;
    /// where none can be had, nobody else runs it.
    #[inline]
    pub(crate) fn run_what_is_left(&self) {
        if self.registry.settings.adopts {
            self.run_what_an_adopted_thread_left();
        }
    }

    #[cold]
    #[inline]
    fn run_what_an_adopted_thread_left(&self) {
        let registry = &self.registry;
        let is_mine = self.is_adopted() && registry.is_closing();
        if is_mine && !registry.call_for_the_rest() {
            let doing = self.clock().enter(Activity::Busy);
            self.run_jobs();
            self.clock().enter(doing);
        }
    }

    /// Whether the thread has been adopted, and is not another pool's worker on top of that.
    fn is_adopted(&self) -> bool {
        let registry = &self.registry;
        registry.settings.adopts && self.index == 0 && !registry.seats[0].has_heir()
    }

    /// Whether nothing further out on this thread uses the worker.
    fn is_outside(&self) -> bool {
        let has_tasks = self.owner.top() > 0 || !self.owner.stack().is_frameless();
        self.outer.is_null() && !self.is_blocked.get() && !has_tasks
    }
}
