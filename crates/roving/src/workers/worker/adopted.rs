//! Threads that become workers without a loop of their own, and leave when their pool has been
//! dropped.

use std::cell::Cell;
use std::ops::Range;
use std::ptr;
use std::sync::Arc;

use super::{CURRENT, Worker};
use crate::machine::latch::SendPtr;
use crate::machine::per_process::PerProcess;
use crate::machine::prim::process_wide;
use crate::stack::line::{ALARM, set_current_line};
use crate::stack::owner::Owner;
use crate::stats::Activity;
use crate::workers::frames;
use crate::workers::job_runs::Jobs;
use crate::workers::pool_kind::{PoolKind, Unfit};
use crate::workers::registry::Registry;
use crate::workers::sleep::Parts;
use crate::workers::sleep::roster;

thread_local! {
    /// Set on a thread that was adopted, until it leaves.
    static LEAVING: Cell<Option<Leaving>> = const { Cell::new(None) };
}

process_wide! {
    /// The state that an adopted thread leaves behind, kept where a leak checker finds it.
    static FOR_LIFE: PerProcess<Vec<SendPtr<AdoptedFor>>> = PerProcess::new();
}
type AdoptedFor = (*const Arc<Registry>, *const Worker);

/// Ends a thread's time as an adopted worker: when the pool has been dropped, or when the thread
/// ends. Thieves must not reach into its thread-local memory any more, and nobody may wait for it.
struct Leaving(&'static Arc<Registry>);

impl Drop for Leaving {
    #[inline]
    fn drop(&mut self) {
        let registry = self.0;
        // In a forked child the pool's locks are not to be trusted.
        let is_here = !registry.is_left_behind();
        if is_here && registry.workers() == 1 {
            // What the pool has been given runs here, as long as the thread is a worker; what it is
            // given from now on, by a thread that it starts itself.
            Worker::with_current(|worker| _ = worker.inspect(|worker| Jobs(worker).run_jobs()));
        }
        CURRENT.set(ptr::null());
        frames::set_current_local(ptr::null());
        set_current_line(&raw const ALARM);
        if is_here {
            registry.seats[0].stack.cut_wire();
            roster::let_go(registry);
        }
    }
}

/// A pool whose worker 0 is the thread that builds it.
struct Adopting {
    /// The threads of the others are the user's, who also joins them.
    given: bool,
}

/// A pool that adopts the calling thread, for its builder; its other threads are the user's if they
/// are `given`.
#[inline]
pub(crate) fn kind(given: bool) -> Box<dyn PoolKind> {
    Box::new(Adopting { given })
}

impl PoolKind for Adopting {
    #[inline]
    fn threads(&self, workers: usize) -> Range<usize> {
        1..workers
    }

    #[inline]
    fn workers_least(&self, _wished: usize, workers: usize) -> usize {
        workers
    }

    #[inline]
    fn begin(&self, pool: &Arc<Registry>) -> Result<(), Unfit> {
        adopt(pool)
    }

    /// If the pool is closed, a thread is called for what the adopted one has added; where none can
    /// be had, nobody else runs it.
    #[inline]
    fn job_was_added(&self, pool: &Arc<Registry>) {
        with_mine(pool, |mine| mine.run_what_is_left());
    }

    /// The adopted thread drops its pool, outside of what it does for it.
    #[inline]
    fn end(&self, pool: &Arc<Registry>) -> Option<bool> {
        pool.close();
        with_mine(pool, |mine| _ = mine.leaves());
        self.given.then_some(false)
    }

    /// Not that of an adopted thread, which goes its own way; but that thread may have added a job
    /// while the others, which alone are counted, went quiet.
    #[inline]
    fn has_mail(&self, pool: &Registry) -> bool {
        let adopted = usize::from(!pool.seats[0].has_heir());
        pool.has_mail_from(adopted) || pool.has_jobs()
    }
}

/// Calls `f` with the worker of that pool that the calling thread is, if it is one.
#[inline]
fn with_mine(pool: &Arc<Registry>, f: impl FnOnce(Adopted<'_>)) {
    Worker::with_current(|worker| {
        let mine = worker.filter(|worker| Arc::ptr_eq(worker.registry(), pool));
        if let Some(mine) = mine {
            f(Adopted(mine));
        }
    });
}

/// A worker whose thread may have been adopted.
#[derive(Clone, Copy)]
pub(crate) struct Adopted<'w>(pub(crate) &'w Worker);

impl Adopted<'_> {
    /// Whether this worker, if it is an adopted thread, is one no longer: its pool has been
    /// dropped, and it is outside of all that it does as a worker, so it leaves.
    #[inline]
    pub(crate) fn leaves(self) -> bool {
        let leaves = self.0.leaves.get();
        leaves.is_some_and(|leaves| leaves(self.0))
    }

    #[cold]
    #[inline]
    fn leaves_now(self) -> bool {
        let registry = self.0.registry();
        if !self.is_adopted() || !registry.crew.is_closing() || !self.is_outside() {
            return false;
        }
        // When the thread's values are being dropped, it is leaving already.
        let Ok(leaving) = LEAVING.try_with(Cell::take) else {
            return false;
        };
        self.0.clock().enter(Activity::Idle);
        drop(leaving);
        true
    }

    /// An adopted thread has added a job to its pool.
    #[cold]
    #[inline]
    fn run_what_is_left(self) {
        let registry = self.0.registry();
        let is_mine = self.is_adopted() && registry.crew.is_closing();
        if is_mine && !registry.call_for_the_rest() {
            let doing = self.0.clock().enter(Activity::Busy);
            self.0.seat().tasks.apart(|| Jobs(self.0).run_jobs());
            self.0.clock().enter(doing);
        }
    }

    /// Whether the thread has been adopted, and is not another pool's worker on top of that.
    #[inline]
    fn is_adopted(self) -> bool {
        let registry = self.0.registry();
        self.0.index() == 0 && !registry.seats[0].has_heir()
    }

    /// Whether nothing further out on this thread uses the worker.
    #[inline]
    fn is_outside(self) -> bool {
        let has_tasks = self.0.owner().top() > 0 || !self.0.owner().stack().is_frameless();
        self.0.outer.is_null() && !self.0.is_blocked.get() && !has_tasks
    }
}

/// Makes the calling thread worker 0 of the pool, until the pool is dropped or the thread ends.
/// The worker, and with it the registry, is never freed.
#[inline]
fn adopt(registry: &Arc<Registry>) -> Result<(), Unfit> {
    let is_free =
        Worker::with_current(|worker| worker.is_none_or(|worker| Adopted(worker).leaves()));
    if !is_free {
        return Err(Unfit::IsWorker);
    }
    // Before anything is set. What is there now is not dropped before this call has returned.
    if LEAVING.try_with(|_| ()).is_err() {
        return Err(Unfit::IsEnding);
    }
    let registry: &'static Arc<Registry> = Box::leak(Box::new(Arc::clone(registry)));
    // SAFETY: the registry is never freed, and seat 0 of such a pool has no other thread.
    let owner = unsafe { Owner::new(&registry.seats[0].stack) };
    registry.adopt();
    owner.attach_for_life();
    let worker = Box::leak(Box::new(Worker::new(Arc::clone(registry), 0, owner)));
    worker
        .leaves
        .set(Some(|worker| Adopted(worker).leaves_now()));
    let kept = (ptr::from_ref(registry), ptr::from_ref(&*worker));
    let mut for_life = FOR_LIFE.lock();
    for_life.push(SendPtr(kept));
    drop(for_life);
    worker.clock().enter(Activity::Busy);
    worker.seat().tasks.set_pool(worker.pool());
    worker.seat().tasks.stay_away();
    CURRENT.set(worker);
    frames::set_current_local(&worker.seat().tasks);
    LEAVING.set(Some(Leaving(registry)));
    Ok(())
}
