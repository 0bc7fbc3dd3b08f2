//! A worker: own tasks, then other workers' tasks, then sleep.

pub(crate) mod adopted;
mod claimed;
pub(crate) mod drawn;
mod rest;

use std::cell::Cell;
use std::mem;
use std::panic::{self, AssertUnwindSafe};
use std::ptr;
use std::sync::{Arc, PoisonError, TryLockError};
use std::thread;
use std::time::Instant;

use crate::machine::duty::Due;
use crate::machine::os;
use crate::machine::overflow::Watched;
use crate::stack::owner::{Owner, Popped, Wake};
use crate::stack::slot::Slot;
use crate::stats::{Activity, Clock, Tally, bump};
use crate::workers::frames::{self, Level};
use crate::workers::priority::Priority;
use crate::workers::registry::Registry;
use crate::workers::seats::Seat;
use crate::workers::settings::IndexHandler;
use crate::workers::sleep::Parts;
use crate::workers::sleep::rest::{Woken, sleep};
use crate::workers::sleep::spares::StandIn;
use crate::workers::steal::Search;
use crate::workers::steal::restraint::Restraint;
use crate::workers::steal::victim::Victims;
use crate::workers::wait::Taken;

/// The calling thread's view of itself as a worker. Lives on the thread's native stack.
pub(crate) struct Worker {
    registry: Arc<Registry>,
    index: usize,
    seat: *const Seat,
    owner: Owner<'static>,
    victims: Victims,
    restraint: Restraint,
    /// A compensation thread's index for its user, see [`crate::workers::sleep::lending`].
    borrowed: Cell<Option<usize>>,
    /// The pool's `on_start` or `on_exit` runs.
    in_handler: Cell<bool>,
    /// It is in [`Worker::blocking`], so it does not count as at work.
    is_blocked: Cell<bool>,
    /// How many calls of `install` from other pools wait for what this worker does.
    nesting: Cell<usize>,
    class: Cell<Priority>,
    /// It waits for what another worker does that this thread plays: see [`drawn`].
    waits: Cell<bool>,
    /// How many tasks it runs on top of their spawners, see [`drawn`].
    at_once: Cell<usize>,
    /// When it last began to look around in vain.
    looks_since: Cell<Instant>,
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
        frames::set_current_local(&worker.seat().tasks);
        worker.owner.enter();
        let back = Back(&worker);
        let result = f(&worker);
        drop(back);
        result
    }

    /// On top of whatever worker the calling thread is.
    fn new(registry: Arc<Registry>, index: usize, owner: Owner<'static>) -> Worker {
        let outer = CURRENT.get();
        // SAFETY: workers further out are further down this thread's native stack.
        let (nesting, at_once) = unsafe { outer.as_ref() }
            .map_or((0, 0), |outer| (outer.nesting.get(), outer.at_once.get()));
        Worker {
            seat: &raw const registry.seats[index],
            registry,
            index,
            owner,
            victims: Victims::new(index),
            restraint: Restraint::default(),
            borrowed: Cell::new(None),
            in_handler: Cell::new(false),
            is_blocked: Cell::new(false),
            nesting: Cell::new(nesting),
            class: Cell::new(Priority::Low),
            waits: Cell::new(false),
            at_once: Cell::new(at_once),
            looks_since: Cell::new(Instant::now()),
            outer,
        }
    }

    /// Makes the calling thread the worker of an in-place pool, and runs what the pool holds. If
    /// it is that already, further out, it becomes so once more.
    pub(crate) fn be_in_place<R>(registry: &Arc<Registry>, f: impl FnOnce() -> R) -> R {
        let outermost = !Worker::is_or_was(registry);
        let lock = || {
            registry
                .in_place
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
        };
        let guard = outermost.then(lock);
        let result = Worker::in_place_held(registry, outermost, f);
        drop(guard);
        if outermost {
            Worker::run_left_in_place(registry);
        }
        if outermost && result.is_err() {
            drawn::say_seed(registry);
        }
        result.unwrap_or_else(|payload| panic::resume_unwind(payload))
    }

    /// Runs the jobs that an in-place pool holds. Where another thread has the pool, that will: who
    /// lets go of it looks here, and the queue's own lock sees to it that one of the two finds the
    /// job: either that look comes after the push, or this one, which follows the push, after the
    /// pool was let go.
    pub(crate) fn run_left_in_place(registry: &Arc<Registry>) {
        while registry.injector.has_not_below(Priority::Low) {
            let guard = match registry.in_place.try_lock() {
                Ok(guard) => guard,
                Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
                Err(TryLockError::WouldBlock) => return,
            };
            let result = Worker::in_place_held(registry, true, || ());
            drop(guard);
            result.unwrap_or_else(|payload| panic::resume_unwind(payload));
        }
    }

    /// The calling thread has the lock of the in-place pool: just taken (`outermost`), or further
    /// out.
    fn in_place_held<R>(
        registry: &Arc<Registry>,
        outermost: bool,
        f: impl FnOnce() -> R,
    ) -> thread::Result<R> {
        let index = drawn::draw_entrance(registry);
        // SAFETY: the lock, which the caller has, makes this thread the only one.
        unsafe {
            Worker::be(Arc::clone(registry), index, |worker| {
                let before = worker.clock().enter(Activity::Busy);
                // The context that the thread is in goes with it.
                let run = || panic::catch_unwind(AssertUnwindSafe(f));
                let result = worker.segment(|| worker.framed(run));
                if outermost {
                    worker.run_jobs();
                }
                worker
                    .clock()
                    .enter(if outermost { Activity::Idle } else { before });
                result
            })
        }
    }

    /// Whether the calling thread is a worker of that pool, or was one before it became another
    /// pool's for a while.
    pub(crate) fn is_or_was(registry: &Arc<Registry>) -> bool {
        Worker::with_current(|worker| {
            let mut workers = worker.into_iter().flat_map(Worker::outwards);
            workers.any(|worker| Arc::ptr_eq(&worker.registry, registry))
        })
    }

    /// Whether the calling thread is the worker at that seat.
    pub(crate) fn is_at(seat: &Seat) -> bool {
        Worker::with_current(|worker| worker.is_some_and(|worker| ptr::eq(worker.seat(), seat)))
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

    /// The worker that this thread already was when it entered the pool.
    fn outer(&self) -> Option<&Worker> {
        // SAFETY: it is further down this thread's native stack.
        unsafe { self.outer.as_ref() }
    }

    /// This worker, and those that the thread is further out.
    pub(crate) fn outwards(&self) -> impl Iterator<Item = &Worker> {
        std::iter::successors(Some(self), |worker| worker.outer())
    }

    /// The class of the job that it runs.
    pub(crate) fn class(&self) -> &Cell<Priority> {
        &self.class
    }

    pub(crate) fn is_blocked(&self) -> &Cell<bool> {
        &self.is_blocked
    }

    pub(crate) fn nesting(&self) -> &Cell<usize> {
        &self.nesting
    }

    pub(crate) fn restraint(&self) -> &Restraint {
        &self.restraint
    }

    pub(crate) fn victim_choice(&self) -> &Victims {
        &self.victims
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

    /// Wakes one sleeping worker, if there is one.
    pub(crate) fn wake_another(&self) {
        self.wake(|registry| registry.wake_one().into());
    }

    /// Wakes one worker for what stands in the stack of `seat`, if there is one.
    pub(crate) fn wake_for(&self, seat: usize) {
        self.wake(|registry| registry.wake_for(seat).into());
    }

    /// Wakes workers for the tasks that a claim has left in the stack of `seat`.
    pub(crate) fn wake_for_left(&self, seat: usize, left: usize) {
        if left > 0 {
            self.wake(|registry| registry.wake_for_left(seat, left));
        }
    }

    fn wake(&self, wakes: impl FnOnce(&Registry) -> usize) {
        let doing = self.clock().enter(Activity::Switch);
        bump(&self.tally().wakes, wakes(&self.registry) as u64);
        self.clock().enter(doing);
    }

    /// After a push or pop that may have published.
    #[inline]
    pub(crate) fn wake_if(&self, wake: Due<Wake>) {
        wake.pay(|| self.wake_for(self.index));
    }

    /// Calls `f`, which does not unwind, and then joins what it left unjoined on this worker's
    /// stack: before that, nobody may hear that `f` has ended.
    pub(crate) fn framed<R>(&self, f: impl FnOnce() -> R) -> R {
        let (base, outer_floor) = self.owner.open_frame();
        // Nor may a frame that `f` wakes be among what is joined here: it would run on top of the
        // poll that calls this.
        let level = self.seat().tasks.hide_level();
        let result = f();
        self.drain(base);
        self.seat().tasks.show_level(level);
        self.owner.close_frame(outer_floor);
        result
    }

    /// Runs or waits for everything above `base` on this worker's stack. What is there was left
    /// unjoined by code that has returned.
    pub(crate) fn drain(&self, base: *const Slot) {
        let line = self.owner.line();
        if line.top.get() > base.wrapping_add(1) {
            let wake = self.owner.show_spawned();
            self.wake_if(wake);
        }
        while line.top.get() > base {
            let slot = match self.owner.pop_unjoined() {
                Some(slot) => slot,
                None => match self.take_newest() {
                    Some(slot) => slot,
                    None => continue,
                },
            };
            // SAFETY: a slot of this worker's stack, whose task was taken off it, and is run once.
            if let Some(further) = unsafe { (*slot).run() } {
                self.run_further(Some(further), Level::Above);
            }
        }
    }

    /// Takes the newest task off the stack, or waits until it has ended where a thief has it.
    #[cold]
    #[inline(never)]
    fn take_newest(&self) -> Option<*const Slot> {
        self.owner.answer_alarm();
        let index = self.owner.top() - 1;
        let is_here = self.take(index) == Taken::Here;
        is_here.then(|| self.owner.stack().at(index))
    }

    /// A task has been run in place because the stack was full. With it run those that thieves do
    /// not come for, being fewer than they take at once; else the stack would stay full for ever.
    pub(crate) fn run_stranded(&self) {
        if self.registry.settings.amount.least() > 1 {
            self.run_all_stranded();
        }
    }

    #[cold]
    fn run_all_stranded(&self) {
        while let Some((index, wake)) = self.owner.pop_stranded() {
            self.wake_if(wake);
            // SAFETY: taken off the stack, and run once.
            let further = unsafe { self.owner.stack().slot(index).run() };
            self.run_further(further, Level::Above);
        }
    }

    /// Takes the task in `slot`, the newest that was not left unjoined, off the stack.
    pub(crate) fn take_joined(&self, slot: *const Slot) -> Taken {
        self.owner.answer_alarm();
        let index = self.owner.stack().index(slot);
        self.drain(slot.wrapping_add(1));
        self.take(index)
    }

    /// Takes the task at the top, which is `index`, off the stack; waits for it if a thief has it.
    pub(crate) fn take(&self, index: usize) -> Taken {
        let (popped, wake) = self.owner.pop(index);
        self.wake_if(wake);
        match popped {
            Popped::Here => Taken::Here,
            Popped::Away => self.wait_for_thief(index),
        }
    }

    /// The loop of a worker's thread, until the pool ends; of an arena's, until it leaves the seat.
    pub(crate) fn work(&self) {
        let registry = &self.registry;
        let mut round = 0;
        let mut looks = 0;
        let began = registry.share.is_some().then(Instant::now);
        let mut woken = began.is_some();
        loop {
            match began {
                Some(began) if self.stands_down(began, looks > round, round > 0) => return,
                Some(_) => {}
                None => self.stay_or_rest(),
            }
            looks += 1;
            // Whoever woke it may have done so for a job.
            let any = mem::take(&mut woken) || self.is_spare() || round > 0;
            let any = any || looks % JOB_EVERY == 0 || registry.injector.is_hint_pressing();
            if let Some(job) = self.next_job(any) {
                self.run_job(job);
                self.give_index_back();
                round = 0;
                continue;
            }
            if self.run_placed() {
                round = 0;
                continue;
            }
            let found = if self.is_reserve() || self.restraint.holds() {
                Search::Empty
            } else {
                self.steal(round)
            };
            match found {
                Search::Got => round = 0,
                // Goes on to tire, and to sleep.
                Search::GotLittle => {}
                Search::Busy => self.pause(0),
                Search::Empty if !self.is_tired(round) => {
                    self.pause(round);
                    round += 1;
                }
                Search::Empty => {
                    if began.is_some() || sleep(self) == Woken::ToEnd {
                        return;
                    }
                    self.restraint.lift();
                    woken = true;
                    round = 0;
                }
            }
        }
    }

    /// Has the injector, the mailboxes and the detached tasks for itself: half of the compensation
    /// threads, or all of them. A job may be what all the others wait for, each with a task below
    /// it that only led to more jobs.
    pub(crate) fn is_reserve(&self) -> bool {
        let (spares, workers) = (self.registry.settings.spares, self.registry.workers());
        let first = match self.registry.spares.stand_in {
            StandIn::ForAll => workers + spares.div_ceil(2),
            StandIn::ForJobs | StandIn::Nobody => workers,
        };
        self.index >= first
    }

    /// The index that the calling thread shows to the user of a pool in which a compensation thread
    /// takes that of a worker that waits, as long as there is one.
    pub(crate) fn lent_index(&self) -> usize {
        if !self.is_spare() {
            return self.index;
        }
        if self.borrowed.get().is_none() {
            self.borrowed.set(self.registry.lending.borrow());
        }
        self.borrowed.get().unwrap_or(self.index)
    }

    /// Whether compensation threads can borrow this worker's index.
    pub(crate) fn lends(&self) -> bool {
        self.registry.spares.stand_in == StandIn::ForJobs && !self.is_spare()
    }

    /// The worker is about to wait: another thread can have its index meanwhile.
    pub(crate) fn leave_index(&self) {
        if self.lends() {
            self.registry.lending.leave(self.index);
        } else if let Some(index) = self.borrowed.get() {
            self.registry.lending.suspend(index);
        }
    }

    /// The wait is over.
    pub(crate) fn index_back(&self) {
        if self.lends() {
            self.registry.lending.back(self.index);
        } else if let Some(index) = self.borrowed.get() {
            self.registry.lending.resume(index);
        }
    }

    /// Outside of all contexts: the thread may have come to its seat in that of a call.
    pub(crate) fn handle(&self, callback: &Option<IndexHandler>) {
        if let Some(callback) = callback {
            self.in_handler.set(true);
            let call = || panic::catch_unwind(AssertUnwindSafe(|| callback(self.index)));
            let called = self.framed_outside(call);
            called.unwrap_or_else(|payload| self.registry.handle_panic(payload));
            self.in_handler.set(false);
        }
    }

    pub(crate) fn is_in_handler(&self) -> bool {
        self.in_handler.get()
    }

    fn give_index_back(&self) {
        if let Some(index) = self.borrowed.take() {
            self.registry.lending.give_back(index);
        }
    }

    pub(crate) fn is_spare(&self) -> bool {
        self.index >= self.registry.workers()
    }

    /// Whether a worker that has paused in each round up to this one had better park. The clock
    /// decides and not the number of rounds, because a pause that gives the core away can take
    /// milliseconds.
    pub(crate) fn is_tired(&self, round: usize) -> bool {
        let registry = &self.registry;
        // Who drops a pool that has nothing to do need not wait for its workers' patience.
        let is_over = || self.looks_since.get().elapsed() >= registry.settings.patience;
        round > 0 && (registry.is_closing() || is_over())
    }

    /// Between two looks around: almost nothing at first, then longer and longer, and now and
    /// then the core goes to another thread that may be waiting for it.
    pub(crate) fn pause(&self, round: usize) {
        if round == 0 {
            self.looks_since.set(Instant::now());
        }
        let quick = self.registry.settings.quick_rounds;
        if round >= quick && round % YIELD_EVERY == 0 {
            thread::yield_now();
        } else {
            for _ in 0..1 << (round / ROUNDS_PER_DOUBLING).min(PAUSE_BITS_MAX) {
                std::hint::spin_loop();
            }
        }
    }
}

/// One look in so many goes to the injector first, so that stealing without end starves no job.
const JOB_EVERY: usize = 61;
/// One pause in so many gives the core to another thread, if one is waiting for it.
const YIELD_EVERY: usize = 2;
/// Pauses get twice as long after each so many rounds.
const ROUNDS_PER_DOUBLING: usize = 32;
/// The longest pause is two to the power of this many hints to the processor.
const PAUSE_BITS_MAX: usize = 5;

/// Ends the thread's time as a worker, also by unwinding.
struct Back<'w>(&'w Worker);

impl Drop for Back<'_> {
    fn drop(&mut self) {
        CURRENT.set(self.0.outer);
        match self.0.outer() {
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

/// A thread of a pool, from start to end.
pub(crate) fn run_thread(registry: Arc<Registry>, index: usize) {
    let _watched = Watched::new();
    let seat = &registry.seats[index];
    registry.enlist(index);
    if let Some(processor) = registry.settings.processor(index) {
        let _ = os::pin_to(processor);
    }
    // Workers that went to sleep before this thread was there want work of it as well.
    let _ = seat.stack.want();
    // SAFETY: each index has one thread.
    unsafe {
        Worker::be(Arc::clone(&registry), index, |worker| {
            worker.owner.attach();
            worker.handle(&registry.settings.on_start);
            worker.clock().enter(Activity::Steal);
            worker.work();
            worker.stay_away();
            worker.clock().enter(Activity::Frame);
            worker.handle(&registry.settings.on_exit);
            // What that spawned; nobody else may be left.
            worker.run_jobs();
        });
    }
}
