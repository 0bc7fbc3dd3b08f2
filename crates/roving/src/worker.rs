//! A worker: own tasks, then other workers' tasks, then sleep.

use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe};
use std::ptr;
use std::sync::Arc;
use std::thread;

use crate::os;
use crate::pool::registry::{Registry, Seat};
use crate::stack::owner::{Owner, Popped};
use crate::stack::slot::Slot;
use crate::stack::state::State;
use crate::stats::{Activity, Clock, Tally, bump};
use crate::steal::Search;
use crate::steal::victim::Victims;

/// The calling thread's view of itself as a worker. Lives on the thread's native stack.
pub(crate) struct Worker {
    registry: Arc<Registry>,
    index: usize,
    owner: Owner<'static>,
    victims: Victims,
    /// What the thread was before: only an in-place pool can be entered by a worker.
    outer: *const Worker,
}

thread_local! {
    static CURRENT: Cell<*const Worker> = const { Cell::new(ptr::null()) };
}

/// A claimed task: where it stands, and the word its slot had.
#[derive(Clone, Copy)]
pub(crate) struct Stolen {
    pub(crate) victim: usize,
    pub(crate) index: usize,
    pub(crate) ready: State,
}

impl Worker {
    /// Calls `f` with the worker that the calling thread is.
    pub(crate) fn with_current<R>(f: impl FnOnce(Option<&Worker>) -> R) -> R {
        // SAFETY: set by `Worker::be` for as long as the worker lives, on this thread.
        f(unsafe { CURRENT.get().as_ref() })
    }

    /// Makes the calling thread worker `index` of the pool for the duration of `f`.
    ///
    /// # Safety
    /// No other thread is that worker at the same time.
    unsafe fn be<R>(registry: Arc<Registry>, index: usize, f: impl FnOnce(&Worker) -> R) -> R {
        let stack = ptr::from_ref(&registry.seats[index].stack);
        // SAFETY: the registry outlives the worker, which holds it; and there is one owner, by
        // this function's contract.
        let owner = unsafe { Owner::new(&*stack) };
        let outer = CURRENT.get();
        let worker = Worker {
            registry,
            index,
            owner,
            victims: Victims::new(index),
            outer,
        };
        CURRENT.set(&worker);
        worker.owner.enter();
        let back = Back(&worker);
        let result = f(&worker);
        drop(back);
        result
    }

    /// Makes the calling thread the worker of an in-place pool, and runs what the pool holds.
    pub(crate) fn be_in_place<R>(registry: &Arc<Registry>, f: impl FnOnce() -> R) -> R {
        let guard = registry
            .in_place
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        // SAFETY: the lock makes this thread the only one.
        let result = unsafe {
            Worker::be(Arc::clone(registry), 0, |worker| {
                worker.clock().enter(Activity::Busy);
                let result = f();
                worker.drain(0);
                worker.run_jobs();
                worker.clock().enter(Activity::Idle);
                result
            })
        };
        drop(guard);
        result
    }

    pub(crate) fn registry(&self) -> &Arc<Registry> {
        &self.registry
    }

    pub(crate) fn index(&self) -> usize {
        self.index
    }

    pub(crate) fn owner(&self) -> &Owner<'static> {
        &self.owner
    }

    pub(crate) fn victim_choice(&self) -> &Victims {
        &self.victims
    }

    pub(crate) fn seat(&self) -> &Seat {
        &self.registry.seats[self.index]
    }

    pub(crate) fn tally(&self) -> &Tally {
        &self.seat().stack.tally
    }

    pub(crate) fn clock(&self) -> &Clock {
        &self.seat().clock
    }

    /// Wakes one sleeping worker, if there is one.
    pub(crate) fn wake_another(&self) {
        let doing = self.clock().enter(Activity::Switch);
        if self.registry.wake_one() {
            bump(&self.tally().wakes, 1);
        }
        self.clock().enter(doing);
    }

    /// After a push or pop that may have published.
    #[inline]
    pub(crate) fn wake_if(&self, wake: bool) {
        if wake {
            self.wake_another();
        }
    }

    /// Runs a claimed task, unless its owner took it back. Its subtasks have ended too when this
    /// returns.
    pub(crate) fn run_claimed(&self, task: Stolen) -> bool {
        let owner = &self.registry.seats[task.victim];
        let slot = owner.stack.slot(task.index);
        let base = self.owner.top();
        if !slot.start(task.ready, self.index, base) {
            return false;
        }
        // SAFETY: this thread has started the task.
        unsafe { slot.run() };
        self.drain(base);
        if slot.finish() {
            let doing = self.clock().enter(Activity::Switch);
            owner.unpark();
            self.clock().enter(doing);
        }
        true
    }

    /// Puts a claimed task on this worker's own stack, for other thieves to take, or to be run
    /// when the stack is drained. The task itself stays where it is; who gets here first runs it.
    pub(crate) fn offer_on(&self, task: Stolen) {
        // With no room it is left to its owner, which takes back what nobody has started.
        let (Ok(wake) | Err((_, wake))) = self.owner.push_unjoined(run_offered, task);
        self.wake_if(wake);
    }

    /// Runs or waits for everything above `base` on this worker's stack. What is there was left
    /// unjoined by code that has returned.
    pub(crate) fn drain(&self, base: usize) {
        while self.owner.top() > base {
            let (slot, popped, wake) = self.owner.pop_unjoined();
            self.wake_if(wake);
            match popped {
                // SAFETY: popped, and run once.
                Popped::Here => unsafe { slot.run() },
                Popped::Stolen => {
                    self.wait_for_thief(slot);
                    self.owner.retire_unjoined(slot);
                }
            }
        }
    }

    /// Takes the task in `slot`, the newest that was not left unjoined, off the stack. If it was
    /// stolen, it has ended when this returns.
    pub(crate) fn pop_joined(&self, slot: *const Slot) -> Popped {
        self.owner.answer_alarm();
        let index = self.owner.stack().index(slot);
        self.drain(index + 1);
        let (popped, wake) = self.owner.pop(index);
        self.wake_if(wake);
        if popped == Popped::Stolen {
            self.wait_for_thief(self.owner.stack().slot(index));
            self.owner.retire(index);
        }
        popped
    }

    /// Runs all jobs of the injector and the mailbox.
    fn run_jobs(&self) -> bool {
        let mut any = false;
        while let Some(job) = self
            .seat()
            .mailbox
            .pop()
            .or_else(|| self.registry.injector.pop())
        {
            self.run_job(job);
            any = true;
        }
        any
    }

    fn run_job(&self, job: crate::inject::Job) {
        self.clock().enter(Activity::Busy);
        job();
        self.drain(0);
        self.clock().enter(Activity::Steal);
    }

    /// The loop of a worker's thread.
    fn work(&self) {
        let mut round = 0;
        let mut since_job = 0u32;
        loop {
            if self.is_spare() && self.registry.spares.is_one_too_many() {
                self.rest();
                round = 0;
            }
            since_job = since_job.wrapping_add(1);
            let job = match self.seat().mailbox.pop() {
                Some(job) => Some(job),
                // Now and then before stealing, so that a steal that never ends starves no job.
                None if since_job % JOB_EVERY == 0 || round > 0 => self.registry.injector.pop(),
                None => None,
            };
            if let Some(job) = job {
                if !self.registry.injector.is_hint_empty() {
                    self.wake_another();
                }
                self.run_job(job);
                round = 0;
                continue;
            }
            match self.steal(round) {
                Search::Got => round = 0,
                Search::Busy => self.pause(0),
                Search::Empty if round < self.registry.settings.patience => {
                    self.pause(round);
                    round += 1;
                }
                Search::Empty => {
                    if self.registry.is_closing() && self.registry.injector.is_surely_empty() {
                        return;
                    }
                    self.sleep();
                    round = 0;
                }
            }
        }
    }

    pub(crate) fn is_spare(&self) -> bool {
        self.index >= self.registry.workers()
    }

    fn rest(&self) {
        self.clock().enter(Activity::Idle);
        self.registry.spares.rest(&self.registry, self.index);
        self.clock().enter(Activity::Steal);
    }

    /// Between two looks around.
    pub(crate) fn pause(&self, round: usize) {
        if round % YIELD_EVERY == YIELD_EVERY - 1 {
            thread::yield_now();
        } else {
            for _ in 0..(1 << round.min(PAUSE_BITS_MAX)) {
                std::hint::spin_loop();
            }
        }
    }

    /// Parks until somebody brings work; see [`crate::sleep`] for S1 to S3.
    fn sleep(&self) {
        let (registry, me) = (&self.registry, self.index);
        registry.idle.announce(me);
        let work_left = self
            .victims()
            .any(|victim| registry.seats[victim].stack.want() > 0)
            || !registry.injector.is_surely_empty();
        if work_left {
            registry.idle.retract(me);
            return;
        }
        self.clock().enter(Activity::Idle);
        while registry.idle.contains(me) {
            if registry.is_closing() || !self.seat().mailbox.is_surely_empty() {
                registry.idle.retract(me);
                break;
            }
            bump(&self.tally().parks, 1);
            thread::park();
        }
        self.clock().enter(Activity::Steal);
    }
}

const JOB_EVERY: u32 = 61;
const YIELD_EVERY: usize = 16;
const PAUSE_BITS_MAX: usize = 5;

/// Ends the thread's time as a worker, also by unwinding.
struct Back<'w>(&'w Worker);

impl Drop for Back<'_> {
    fn drop(&mut self) {
        CURRENT.set(self.0.outer);
        // SAFETY: the outer worker is further down this thread's native stack.
        match unsafe { self.0.outer.as_ref() } {
            Some(outer) => outer.owner.enter(),
            None => crate::stack::line::set_current_line(&raw const crate::stack::line::ALARM),
        }
    }
}

/// What [`Worker::offer_on`] puts into a slot.
///
/// # Safety
/// As [`crate::stack::slot::Run`]; the payload is a [`Stolen`].
unsafe fn run_offered(slot: &Slot) {
    // SAFETY: the payload that `offer_on` wrote.
    let task = unsafe { slot.take::<Stolen>() };
    Worker::with_current(|worker| {
        let worker = worker.expect("slots are run by workers");
        let _ = worker.run_claimed(task);
    });
}

/// A thread of a pool, from start to end.
pub(crate) fn run_thread(registry: Arc<Registry>, index: usize) {
    let seat = &registry.seats[index];
    seat.thread.get_or_init(thread::current);
    if let Some(processor) = registry.settings.processor(index) {
        let _ = os::pin_to(processor);
    }
    let handle = |callback: &Option<super::pool::builder::IndexHandler>| {
        if let Some(callback) = callback {
            let called = panic::catch_unwind(AssertUnwindSafe(|| callback(index)));
            called.unwrap_or_else(|payload| registry.handle_panic(payload));
        }
    };
    handle(&registry.settings.on_start);
    // SAFETY: each index has one thread.
    unsafe {
        Worker::be(Arc::clone(&registry), index, |worker| {
            worker.owner.attach();
            worker.clock().enter(Activity::Steal);
            worker.work();
            worker.clock().enter(Activity::Frame);
            registry.wait_for_last_call();
        });
    }
    handle(&registry.settings.on_exit);
}
