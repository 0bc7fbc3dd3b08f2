//! A worker: the view that a thread has of itself as one, and the parts of its state. What it does
//! stands with what it is done to: each of those has a type that borrows the worker.

pub(crate) mod adopted;
pub(crate) mod caller_runs;
pub(crate) mod claimed;

use std::cell::Cell;
use std::ptr;
use std::sync::Arc;

use crate::machine::duty::Due;
use crate::machine::meeting_points::{At, meet};
use crate::stack::owner::{Owner, Wake};
use crate::stats::{Clock, Tally};
use crate::workers::frames;
use crate::workers::priority::Priority;
use crate::workers::registry::Registry;
use crate::workers::seats::Seat;
use crate::workers::sleep::lending::ShownIndex;
use crate::workers::sleep::lookers::Looking;
use crate::workers::steal::patience::Patience;
use crate::workers::steal::restraint::Restraint;
use crate::workers::steal::victim::Victims;
use crate::workers::wait::followed::Followed;
use crate::workers::wait::host_calls::HostCalls;
use crate::workers::wake_calls::Calls;

/// Ends the time of a worker whose thread was adopted, if it is to end.
type Leave = fn(&Worker) -> bool;

/// The calling thread's view of itself as a worker. Lives on the thread's native stack.
pub(crate) struct Worker {
    registry: Arc<Registry>,
    index: usize,
    seat: *const Seat,
    owner: Owner<'static>,
    pub(crate) victims: Victims,
    pub(crate) restraint: Restraint,
    pub(crate) patience: Patience,
    pub(crate) looking: Looking,
    /// How many tasks stand on its native stack that it stole back while it waited.
    pub(crate) stolen_back: Cell<u32>,
    pub(crate) shown_index: ShownIndex,
    /// Those from which it may steal while it is parked in a wait.
    pub(crate) followed: Cell<Followed>,
    /// The pool's `on_start` or `on_exit` runs.
    pub(crate) in_handler: Cell<bool>,
    /// It is in [`crate::blocking`] or the like, so it does not count as at work.
    pub(crate) is_blocked: Cell<bool>,
    /// How many calls of `install` from other pools, each of which keeps a thread, wait for what
    /// this worker does.
    pub(crate) nesting: Cell<usize>,
    /// The class of the job that it runs.
    pub(crate) class: Cell<Priority>,
    /// Of the runtime that hosts it.
    pub(crate) host_calls: Cell<Option<HostCalls>>,
    /// On a thread that was adopted.
    leaves: Cell<Option<Leave>>,
    /// The worker that this thread already was when it entered the pool: only a caller-runs pool
    /// can be entered by a worker.
    outer: *const Worker,
}

thread_local! {
    static CURRENT: Cell<*const Worker> = const { Cell::new(ptr::null()) };
}

impl Worker {
    /// Calls `f` with the worker that the calling thread is.
    #[inline]
    pub(crate) fn with_current<R>(f: impl FnOnce(Option<&Worker>) -> R) -> R {
        // SAFETY: set by `Worker::be` for as long as the worker lives, on this thread.
        f(unsafe { CURRENT.get().as_ref() })
    }

    /// Whether the calling thread, which has been this worker, is it still.
    pub(crate) fn is_current(&self) -> bool {
        ptr::eq(CURRENT.get(), self)
    }

    /// Calls `f` with the current worker if it can be replaced by a compensation thread while it
    /// waits for another pool. That is impossible in a forked child for a worker of the parent's
    /// pool, which waits as any thread does.
    pub(crate) fn with_waiting<R>(f: impl FnOnce(Option<&Worker>) -> R) -> R {
        Worker::with_current(|worker| f(worker.filter(|worker| !worker.registry.is_left_behind())))
    }

    /// Makes the calling thread worker `index` of the pool for the duration of `f`.
    ///
    /// # Safety
    /// No other thread is that worker at the same time. (The same thread may be, further out.)
    pub(crate) unsafe fn be<R>(
        registry: Arc<Registry>,
        index: usize,
        f: impl FnOnce(&Worker) -> R,
    ) -> R {
        let stack = ptr::from_ref(&registry.seats[index].stack);
        // SAFETY: the registry outlives the worker, which holds it; and there is one owner, by
        // this function's contract.
        let owner = unsafe { Owner::new(&*stack) };
        let worker = Worker::new(registry, index, owner);
        worker.owner.line().set_pool(worker.pool());
        CURRENT.set(&worker);
        let tasks = &worker.seat().tasks;
        // No task has its place at a compensation thread.
        let places = (!worker.is_spare()).then(|| worker.pool());
        tasks.set_pool(places.unwrap_or(ptr::null()));
        frames::set_current_local(tasks);
        worker.owner.enter();
        // SAFETY: it is further down this thread's native stack.
        let outer = unsafe { worker.outer.as_ref() };
        let is_above = outer.is_some_and(|outer| outer.seat().tasks.is_within_a_poll());
        let back = Back(&worker, tasks.set_above_a_poll(is_above));
        let result = f(&worker);
        drop(back);
        result
    }

    /// On top of whatever worker the calling thread is.
    fn new(registry: Arc<Registry>, index: usize, owner: Owner<'static>) -> Worker {
        let outer = CURRENT.get();
        // SAFETY: workers further out are further down this thread's native stack.
        let nesting = unsafe { outer.as_ref() }.map_or(0, |outer| outer.nesting.get());
        let index_use = registry.settings.index_use(index);
        Worker {
            seat: &raw const registry.seats[index],
            registry,
            index,
            owner,
            victims: Victims::new(index),
            restraint: Restraint::default(),
            patience: Patience::default(),
            looking: Looking::default(),
            stolen_back: Cell::new(0),
            shown_index: ShownIndex::new(index, index_use),
            followed: Cell::default(),
            in_handler: Cell::new(false),
            is_blocked: Cell::new(false),
            nesting: Cell::new(nesting),
            class: Cell::new(Priority::Low),
            host_calls: Cell::new(None),
            leaves: Cell::new(None),
            outer,
        }
    }

    /// Which worker of that pool the calling thread is, if it is one.
    pub(crate) fn index_in(registry: &Registry) -> Option<usize> {
        Worker::with_current(|worker| {
            let is_of = |worker: &&Worker| ptr::eq(&raw const *worker.registry, registry);
            worker.filter(is_of).map(Worker::index)
        })
    }

    /// Whether the calling thread is a worker of that pool, or was one before it became another
    /// pool's for a while.
    pub(crate) fn is_or_was(registry: &Arc<Registry>) -> bool {
        Worker::with_current(|worker| {
            let mut workers = worker.into_iter().flat_map(Worker::outwards);
            workers.any(|worker| Arc::ptr_eq(&worker.registry, registry))
        })
    }

    pub(crate) fn registry(&self) -> &Arc<Registry> {
        &self.registry
    }

    /// The address of the worker's pool.
    pub(crate) fn pool(&self) -> *const () {
        Arc::as_ptr(&self.registry).cast()
    }

    pub(crate) fn index(&self) -> usize {
        self.index
    }

    pub(crate) fn owner(&self) -> &Owner<'static> {
        &self.owner
    }

    /// This worker, and those that the thread is further out.
    pub(crate) fn outwards(&self) -> impl Iterator<Item = &Worker> {
        // SAFETY: workers further out are further down this thread's native stack.
        std::iter::successors(Some(self), |worker| unsafe { worker.outer.as_ref() })
    }

    #[inline]
    pub(crate) fn seat(&self) -> &Seat {
        // SAFETY: a seat stays where it is as long as its pool lives, which this worker holds.
        unsafe { &*self.seat }
    }

    pub(crate) fn tally(&self) -> &Tally {
        self.seat().stack.tally()
    }

    pub(crate) fn clock(&self) -> &Clock {
        &self.seat().clock
    }

    /// By which it calls others to work.
    pub(crate) fn calls(&self) -> Calls<'_> {
        Calls::new(&self.registry, self.seat())
    }

    /// After a push or pop that may have published.
    #[inline]
    pub(crate) fn wake_if(&self, wake: Due<Wake>) {
        wake.pay(|| {
            self.calls().wake_for_shown(self.index);
            meet(At::Told);
        });
    }

    /// Whether it is a compensation thread.
    pub(crate) fn is_spare(&self) -> bool {
        self.index >= self.registry.workers()
    }
}

/// Ends the thread's time as a worker, also by unwinding.
struct Back<'w>(&'w Worker, bool);

impl Drop for Back<'_> {
    fn drop(&mut self) {
        self.0.seat().tasks.set_above_a_poll(self.1);
        CURRENT.set(self.0.outer);
        // SAFETY: it is further down this thread's native stack.
        match unsafe { self.0.outer.as_ref() } {
            Some(outer) => {
                frames::set_current_local(&outer.seat().tasks);
                outer.owner.enter();
            }
            None => {
                frames::set_current_local(ptr::null());
                crate::stack::line::set_current_line(&raw const crate::stack::line::ALARM);
            }
        }
    }
}
