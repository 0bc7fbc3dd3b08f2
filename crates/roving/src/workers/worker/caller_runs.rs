//! Pools without threads: who enters one is its worker meanwhile.

use std::mem;
use std::ops::Range;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;

use super::Worker;
use crate::machine::meeting_points::unpark;
use crate::machine::os::ThreadMark;
use crate::machine::per_process::{PerProcess, PerProcessGuard};
use crate::machine::prim::mutant;
use crate::machine::prim::thread::{self, Thread};
use crate::stats::Activity;
use crate::workers::job_runs::Jobs;
use crate::workers::pool_kind::PoolKind;
use crate::workers::priority::Priority;
use crate::workers::registry::{ANY, Registry};
use crate::workers::wait::wait_here;

/// A pool that calling threads enter, one at a time, as its only worker.
pub(crate) struct InPlace {
    place: CallerPlace,
}

/// An in-place pool, for its builder.
pub(crate) fn kind() -> Box<dyn PoolKind> {
    let place = CallerPlace::new();
    Box::new(InPlace { place })
}

/// The place of a thread in a pool that has none.
pub(super) struct CallerPlace {
    state: PerProcess<PlaceState>,
}

struct PlaceState {
    /// The thread that is the pool's worker.
    taken_by: Option<ThreadMark>,
    /// The threads that want to be. All are woken when the place is free: the first of them may be
    /// at something else just then, which it runs on top of its wait.
    waiting: Vec<Thread>,
    /// Whether a thread of the parent has locked the pool's queue at the fork, when that is known.
    is_queue_lost: Option<bool>,
}

impl PlaceState {
    fn taken(by: Option<ThreadMark>) -> PlaceState {
        PlaceState {
            taken_by: by,
            waiting: Vec::new(),
            is_queue_lost: None,
        }
    }
}

impl Default for PlaceState {
    /// In a forked child, if a thread of the parent was coming or going: it may have the place.
    fn default() -> PlaceState {
        PlaceState::taken(Some(ThreadMark::nowhere()))
    }
}

/// The calling thread has the place, until this is dropped.
struct AtPlace<'p>(&'p CallerPlace);

impl Drop for AtPlace<'_> {
    fn drop(&mut self) {
        let waiting = {
            let state = &mut *self.0.state();
            state.taken_by = None;
            mem::take(&mut state.waiting)
        };
        if !mutant("leave_place") {
            waiting.iter().for_each(unpark);
        }
    }
}

impl CallerPlace {
    fn new() -> CallerPlace {
        let state = PerProcess::new();
        *state.lock() = PlaceState::taken(None);
        CallerPlace { state }
    }

    fn state(&self) -> PerProcessGuard<'_, PlaceState> {
        let inherit = |parents: &PlaceState| PlaceState::taken(parents.taken_by);
        self.state.lock_inherited(inherit)
    }

    /// Makes the calling thread the worker of the pool that `entrance` says, and runs what the pool
    /// holds. If it is in the pool already, further out, it becomes so once more. An error is what
    /// the call has panicked with, and whether this was the outermost one.
    pub(super) fn enter(
        &self,
        pool: &Arc<Registry>,
        entrance: &dyn Fn() -> usize,
        call: &mut dyn FnMut(),
    ) -> Result<(), (bool, Box<dyn std::any::Any + Send>)> {
        let outermost = !Worker::is_or_was(pool);
        let taken = outermost.then(|| self.take());
        let result = held(pool, outermost, entrance, call);
        drop(taken);
        if outermost {
            self.run_left(pool, entrance);
        }
        result.map_err(|payload| (outermost, payload))
    }

    /// Waits until the place is free, and takes it. A worker of another pool gives its core away
    /// meanwhile: who has the place may wait for what that pool is to run.
    ///
    /// Not within the wait: before that is over, the thread may have to wait for its index, and to
    /// run what wants the place as well.
    fn take(&self) -> AtPlace<'_> {
        loop {
            if let Some(taken) = self.try_take() {
                return taken;
            }
            wait_here(|| self.is_free_or_queue());
        }
    }

    /// Whether the place is free. If not, who has it wakes this thread when it lets go.
    fn is_free_or_queue(&self) -> bool {
        let state = &mut *self.state();
        let is_free = state.taken_by.is_none();
        if !is_free {
            let this = thread::current();
            if state.waiting.iter().all(|thread| thread.id() != this.id()) {
                state.waiting.push(this);
            }
        }
        is_free
    }

    fn try_take(&self) -> Option<AtPlace<'_>> {
        let state = &mut *self.state();
        if state.taken_by.is_some() {
            return None;
        }
        state.taken_by = Some(ThreadMark::here());
        Some(AtPlace(self))
    }

    /// Whether a thread of another process has the place or the queue, and never leaves them in
    /// this one.
    fn is_taken_elsewhere(&self, pool: &Registry) -> bool {
        let mut state = self.state();
        // Asked before the first use of the pool in this process: nobody here can have it locked.
        let is_lost = || !pool.injector.is_unlocked();
        *state.is_queue_lost.get_or_insert_with(is_lost)
            || state.taken_by.is_some_and(|thread| !thread.is_here())
    }

    /// Runs the jobs that the pool holds. Where another thread has the pool, that will: who lets go
    /// of it looks here, and the queue's own lock sees to it that one of the two finds the job:
    /// either that look comes after the push, or this one, which follows the push, after the pool
    /// was let go.
    pub(super) fn run_left(&self, pool: &Arc<Registry>, entrance: &dyn Fn() -> usize) {
        // A child that has left the pool since may find the queue locked for ever.
        while !pool.is_left_behind() && pool.injector.has_not_below(Priority::Low) {
            let Some(taken) = self.try_take() else {
                return;
            };
            let result = held(pool, true, entrance, &mut || ());
            drop(taken);
            result.unwrap_or_else(|payload| panic::resume_unwind(payload));
        }
    }

    /// A job was added to the pool. A frame further out runs it when it ends. Another thread that
    /// has the pool is not waited for: it may wait for this one.
    pub(super) fn job_was_added(&self, pool: &Arc<Registry>, entrance: &dyn Fn() -> usize) {
        if !Worker::is_or_was(pool) {
            self.run_left(pool, entrance);
        }
    }
}

/// The calling thread has the place in the pool: just taken (`outermost`), or further out.
fn held(
    pool: &Arc<Registry>,
    outermost: bool,
    entrance: &dyn Fn() -> usize,
    call: &mut dyn FnMut(),
) -> thread::Result<()> {
    let index = entrance();
    // SAFETY: the place, which the caller has, is that of one thread at a time.
    unsafe {
        Worker::be(Arc::clone(pool), index, |worker| {
            let before = worker.clock().enter(Activity::Busy);
            // The context that the thread is in goes with it.
            let run = || panic::catch_unwind(AssertUnwindSafe(call));
            let result = worker.segment(|| worker.framed(run));
            if outermost && !pool.is_left_behind() {
                let tasks = &worker.seat().tasks;
                tasks.apart(|| Jobs(worker).run_jobs());
            }
            worker
                .clock()
                .enter(if outermost { Activity::Idle } else { before });
            result
        })
    }
}

/// The last handle of a pool without threads is dropped: runs what was spawned and not yet run; a
/// frame further out does so when it ends. Returns whether the pool has ended.
pub(super) fn end(pool: &Arc<Registry>) -> bool {
    let is_outside = !Worker::is_or_was(pool);
    if is_outside {
        pool.kind.enter(pool, &mut || ());
    }
    (pool.hooks.leave)(pool);
    is_outside
}

/// The only worker.
fn first() -> usize {
    0
}

impl PoolKind for InPlace {
    fn threads(&self, _workers: usize) -> Range<usize> {
        0..0
    }

    /// Its only one.
    fn workers_least(&self, _wished: usize, workers: usize) -> usize {
        workers
    }

    fn spares(&self, _wished: usize) -> usize {
        0
    }

    /// It has no threads that are elsewhere.
    fn forks(&self) -> usize {
        ANY
    }

    /// But a thread of the parent may have been in it.
    fn is_lost(&self, pool: &Registry) -> bool {
        self.place.is_taken_elsewhere(pool)
    }

    fn enter(&self, pool: &Arc<Registry>, call: &mut dyn FnMut()) -> bool {
        pool.check_is_here();
        let entered = self.place.enter(pool, &first, call);
        entered.unwrap_or_else(|(_, payload)| panic::resume_unwind(payload));
        true
    }

    fn job_was_added(&self, pool: &Arc<Registry>) {
        self.place.job_was_added(pool, &first);
    }

    /// No thread waits for it.
    fn close(&self, _pool: &Registry) -> bool {
        true
    }

    fn end(&self, pool: &Arc<Registry>) -> Option<bool> {
        Some(end(pool))
    }

    /// There is one worker, which the calling thread is or becomes.
    fn broadcast(&self, pool: &Arc<Registry>, run: &mut dyn FnMut()) -> bool {
        match Worker::index_in(pool) {
            Some(_) => {
                run();
                true
            }
            None => self.enter(pool, run),
        }
    }

    fn broadcast_later(&self, pool: &Arc<Registry>, queue: &mut dyn FnMut()) -> bool {
        let is_outside = !Worker::is_or_was(pool);
        if is_outside {
            queue();
        }
        is_outside
    }

    /// The only worker is who waits there: a ticket would lie in the queue until that one leaves.
    fn queued(&self, _leave: &mut dyn FnMut()) {}

    /// Nobody else would, while this thread waits.
    fn handle_awaited(&self, run: &mut dyn FnMut()) {
        run();
    }
}

#[cfg(all(test, target_os = "linux", not(any(loom, miri))))]
#[path = "caller_runs_process_tests.rs"]
mod process_tests;

#[cfg(all(test, loom))]
mod loom_tests {
    use std::sync::Arc;

    use super::CallerPlace;
    use crate::machine::prim::{DataCell, explore, thread};

    /// Two threads want the place at once: each gets it, one after the other.
    #[test]
    fn loom_who_waits_for_a_callers_place_gets_it() {
        explore(|| {
            let place = Arc::new((CallerPlace::new(), DataCell::new(0)));
            let enter = |place: &(CallerPlace, DataCell<u32>)| {
                let _taken = place.0.take();
                // SAFETY: the place is that of one thread at a time.
                place.1.with_mut(|at| unsafe { *at += 1 });
            };
            let other = {
                let place = Arc::clone(&place);
                thread::spawn(move || enter(&place))
            };
            // To look whether it is free does not free it.
            drop(place.0.try_take());
            enter(&place);
            other.join().unwrap();
            assert!(place.0.try_take().is_some());
            // SAFETY: nobody else is here any more.
            assert_eq!(place.1.with(|at| unsafe { *at }), 2);
        });
    }
}
