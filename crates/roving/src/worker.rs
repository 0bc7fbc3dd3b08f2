//! A worker: own tasks, then other workers' tasks, then sleep.

use std::cell::Cell;
use std::ops::Range;
use std::panic::{self, AssertUnwindSafe};
use std::ptr;
use std::sync::{Arc, PoisonError};
use std::thread;

use crate::inject::Job;
use crate::os;
use crate::pool::registry::Registry;
use crate::pool::seats::Seat;
use crate::stack::owner::{Owner, Popped};
use crate::stack::slot::{Further, Offer, Slot};
use crate::stats::{Activity, Clock, Tally, bump};
use crate::steal::Search;
use crate::steal::amount::AMOUNT_MAX;
use crate::steal::victim::Victims;
use crate::task::{self, Frame, Level};

/// The calling thread's view of itself as a worker. Lives on the thread's native stack.
pub(crate) struct Worker {
    registry: Arc<Registry>,
    index: usize,
    owner: Owner<'static>,
    victims: Victims,
    /// How many calls of `install` from other pools wait for what this worker does.
    nesting: Cell<usize>,
    /// What the thread was before: only an in-place pool can be entered by a worker.
    outer: *const Worker,
}

thread_local! {
    static CURRENT: Cell<*const Worker> = const { Cell::new(ptr::null()) };
}

/// What became of a task that its owner wants back.
#[derive(Clone, Copy, PartialEq, Eq)]
#[must_use]
pub(crate) enum Taken {
    /// It is the owner's to run.
    Here,
    /// A thief has run it: what it came to is in the payload.
    Ended,
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
    /// No other thread is that worker at the same time. (The same thread may be, further out.)
    unsafe fn be<R>(registry: Arc<Registry>, index: usize, f: impl FnOnce(&Worker) -> R) -> R {
        let stack = ptr::from_ref(&registry.seats[index].stack);
        // SAFETY: the registry outlives the worker, which holds it; and there is one owner, by
        // this function's contract.
        let owner = unsafe { Owner::new(&*stack) };
        let outer = CURRENT.get();
        // SAFETY: workers further out are further down this thread's native stack.
        let nesting = unsafe { outer.as_ref() }.map_or(0, |outer| outer.nesting.get());
        let worker = Worker {
            registry,
            index,
            owner,
            victims: Victims::new(index),
            nesting: Cell::new(nesting),
            outer,
        };
        CURRENT.set(&worker);
        task::set_current_local(&worker.seat().tasks);
        worker.owner.enter();
        let back = Back(&worker);
        let result = f(&worker);
        drop(back);
        result
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
        // SAFETY: the lock, taken here or further out, makes this thread the only one.
        let result = unsafe {
            Worker::be(Arc::clone(registry), 0, |worker| {
                let before = worker.clock().enter(Activity::Busy);
                let result = worker.framed(|| panic::catch_unwind(AssertUnwindSafe(f)));
                if outermost {
                    worker.run_jobs();
                }
                worker
                    .clock()
                    .enter(if outermost { Activity::Idle } else { before });
                result
            })
        };
        drop(guard);
        result.unwrap_or_else(|payload| panic::resume_unwind(payload))
    }

    /// Whether the calling thread is a worker of that pool, or was one before it became another
    /// pool's for a while.
    pub(crate) fn is_or_was(registry: &Arc<Registry>) -> bool {
        let mut at = CURRENT.get();
        // SAFETY: workers further out are further down this thread's native stack.
        while let Some(worker) = unsafe { at.as_ref() } {
            if Arc::ptr_eq(&worker.registry, registry) {
                return true;
            }
            at = worker.outer;
        }
        false
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

    pub(crate) fn nesting(&self) -> &Cell<usize> {
        &self.nesting
    }

    pub(crate) fn victim_choice(&self) -> &Victims {
        &self.victims
    }

    pub(crate) fn seat(&self) -> &Seat {
        &self.registry.seats[self.index]
    }

    pub(crate) fn tally(&self) -> &Tally {
        self.seat().stack.tally()
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

    /// Begins and runs the first of `count` tasks that this worker has claimed, and offers the
    /// others on. Its subtasks have ended too when this returns. `short`: the claim says that the
    /// owner is to be reminded. Async tasks' frames all move to this worker's stack instead.
    pub(crate) fn run_claimed(
        &self,
        victim: usize,
        claimed: Range<usize>,
        short: bool,
        level: Level,
    ) {
        let owner = &self.registry.seats[victim];
        let slot = owner.stack.slot(claimed.start);
        // At once, because the owner may be waiting to hear of it. Offers are not its subtasks.
        slot.begin(self.index, self.owner.top() + claimed.len() - 1);
        if short {
            owner.stack.raise_alarm();
        }
        if task::holds_frame(slot) {
            return self.run_claimed_frames(victim, claimed, level);
        }
        for index in claimed.skip(1) {
            self.offer_claimed(victim, index);
        }
        self.run_begun(owner, slot, level);
    }

    /// A task that this worker has claimed is left to who comes first.
    fn offer_claimed(&self, victim: usize, index: usize) {
        let offered = self.registry.seats[victim].stack.slot(index).offer();
        self.offer_on(Offer {
            victim,
            index,
            offered,
        });
    }

    /// Takes the frames out of the claimed slots, the first of which has been begun, and runs them.
    /// Other tasks among them are offered on.
    fn run_claimed_frames(&self, victim: usize, claimed: Range<usize>, level: Level) {
        let owner = &self.registry.seats[victim];
        let mut frames = [Frame::dangling(); AMOUNT_MAX];
        let mut count = 0;
        for index in claimed.clone() {
            let slot = owner.stack.slot(index);
            if index > claimed.start {
                if !task::holds_frame(slot) {
                    self.offer_claimed(victim, index);
                    continue;
                }
                slot.begin(self.index, self.owner.top());
            }
            // SAFETY: this thread has begun the task.
            if let Some(Further::Frame(frame)) = unsafe { slot.run() } {
                frames[count] = frame.cast();
                count += 1;
            }
            self.finish(owner, slot);
        }
        bump(&self.tally().continuations_stolen, count as u64);
        // SAFETY: out of their slots, they are this worker's, and their roots were opened for it.
        unsafe { self.run_frames(&frames[..count], level) };
    }

    /// Runs an offered task, unless somebody else was faster.
    pub(crate) fn run_offered(&self, offer: Offer) {
        let owner = &self.registry.seats[offer.victim];
        let slot = owner.stack.slot(offer.index);
        if slot.begin_offered(offer.offered, self.index, self.owner.top()) {
            self.run_begun(owner, slot, Level::Above);
        }
    }

    fn run_begun(&self, owner: &Seat, slot: &Slot, level: Level) {
        // SAFETY: this thread has begun the task.
        let further = self.framed(|| unsafe { slot.run() });
        self.finish(owner, slot);
        self.run_further(further, level);
    }

    /// A task that this worker has begun has ended.
    fn finish(&self, owner: &Seat, slot: &Slot) {
        if slot.finish() {
            let doing = self.clock().enter(Activity::Switch);
            owner.unpark();
            self.clock().enter(doing);
        }
    }

    /// What stood in a slot was an offer of what stands in another, or a frame.
    fn run_further(&self, further: Option<Further>, level: Level) {
        match further {
            None => {}
            Some(Further::Offer(offer)) => self.run_offered(offer),
            // SAFETY: out of its slot, it is this worker's, and its root was opened for it.
            Some(Further::Frame(frame)) => unsafe { self.run_frame(frame.cast(), level) },
        }
    }

    /// Calls `f`, which does not unwind, and then joins what it left unjoined on this worker's
    /// stack: before that, nobody may hear that `f` has ended.
    pub(crate) fn framed<R>(&self, f: impl FnOnce() -> R) -> R {
        let (base, outer_floor) = self.owner.open_frame();
        let result = f();
        self.drain(base);
        self.owner.close_frame(outer_floor);
        result
    }

    /// Puts an offer on this worker's own stack, for other thieves to take, or to be run when the
    /// stack is drained. The task itself stays where it is; who gets there first runs it.
    pub(crate) fn offer_on(&self, offer: Offer) {
        // With no room it is left to its owner, which takes back what nobody has begun.
        let (Ok(wake) | Err((_, wake))) = self.owner.push_unjoined(run_offer, offer);
        self.wake_if(wake);
    }

    /// Runs or waits for everything above `base` on this worker's stack. What is there was left
    /// unjoined by code that has returned.
    pub(crate) fn drain(&self, base: usize) {
        while self.owner.top() > base {
            self.owner.answer_alarm();
            let index = self.owner.top() - 1;
            if self.take(index) == Taken::Here {
                // SAFETY: taken off the stack, and run once.
                let further = unsafe { self.owner.stack().slot(index).run() };
                self.run_further(further, Level::Above);
            }
        }
    }

    /// Takes the task in `slot`, the newest that was not left unjoined, off the stack.
    pub(crate) fn take_joined(&self, slot: *const Slot) -> Taken {
        self.owner.answer_alarm();
        let index = self.owner.stack().index(slot);
        self.drain(index + 1);
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

    /// Runs all jobs of the injector and the mailbox.
    fn run_jobs(&self) {
        while let Some(job) = self.next_job(true) {
            self.run_job(job);
        }
    }

    fn run_job(&self, job: Job) {
        self.clock().enter(Activity::Busy);
        self.framed(job);
        self.clock().enter(Activity::Steal);
    }

    /// The loop of a worker's thread, until the pool ends.
    fn work(&self) {
        let mut round = 0;
        let mut looks = 0;
        loop {
            if self.is_spare() {
                self.rest_if_too_many();
            }
            looks += 1;
            let injector_too = self.is_spare() || round > 0 || looks % JOB_EVERY == 0;
            if let Some(job) = self.next_job(injector_too) {
                self.run_job(job);
                round = 0;
                continue;
            }
            let found = if self.is_reserve() {
                Search::Empty
            } else {
                self.steal(round)
            };
            match found {
                Search::Got => round = 0,
                Search::Busy => self.pause(0),
                Search::Empty if round < self.registry.settings.patience => {
                    self.pause(round);
                    round += 1;
                }
                Search::Empty => {
                    if self.sleep() == Woken::ToEnd {
                        return;
                    }
                    round = 0;
                }
            }
        }
    }

    /// A job from this worker's mailbox, or else from the injector, if that one's turn has come.
    fn next_job(&self, injector_too: bool) -> Option<Job> {
        let job = self.seat().mailbox.pop();
        if job.is_some() || !injector_too {
            return job;
        }
        let job = self.registry.injector.pop();
        if job.is_some() && !self.registry.injector.is_hint_empty() {
            self.wake_another();
        }
        job
    }

    /// Half of the spare threads run jobs only. A job may be what all the others wait for, each
    /// with a task below it that only led to more jobs.
    fn is_reserve(&self) -> bool {
        let (spares, workers) = (self.registry.settings.spares, self.registry.workers());
        self.index >= workers + spares.div_ceil(2)
    }

    pub(crate) fn is_spare(&self) -> bool {
        self.index >= self.registry.workers()
    }

    /// A spare thread that is not needed leaves, unless there is a job that may be waited for.
    fn rest_if_too_many(&self) {
        let registry = &self.registry;
        if registry.spares.is_one_too_many() && registry.injector.is_hint_empty() {
            self.clock().enter(Activity::Idle);
            registry.spares.rest(registry, self.index);
            self.clock().enter(Activity::Steal);
        }
    }

    /// Between two looks around: almost nothing at first, then longer and longer, and now and
    /// then the core goes to another thread that may be waiting for it.
    pub(crate) fn pause(&self, round: usize) {
        let quick = self.registry.settings.quick_rounds;
        if round >= quick && round.is_multiple_of(YIELD_EVERY) {
            thread::yield_now();
        } else {
            for _ in 0..1 << (round / ROUNDS_PER_DOUBLING).min(PAUSE_BITS_MAX) {
                std::hint::spin_loop();
            }
        }
    }

    /// Parks until somebody brings work, or the pool ends; see [`crate::sleep`] for S1 to S3.
    fn sleep(&self) -> Woken {
        let (registry, me) = (&self.registry, self.index);
        let seats = &registry.seats;
        registry.idle.announce(me);
        let amount = registry.settings.amount;
        if self
            .victims()
            .any(|victim| amount.of(seats[victim].stack.want()) > 0)
            || !registry.injector.is_surely_empty()
        {
            if !registry.idle.retract(me) {
                // Somebody meant to wake this worker for other work than what it has just seen.
                self.wake_another();
            }
            return Woken::ToWork;
        }
        self.clock().enter(Activity::Idle);
        let closing = registry.is_closing();
        if closing {
            registry.go_quiet();
        }
        while registry.idle.contains(me) && !registry.has_ended() {
            if registry.is_closing() != closing || !self.seat().mailbox.is_surely_empty() {
                registry.idle.retract(me);
                break;
            }
            bump(&self.tally().parks, 1);
            thread::park();
        }
        self.clock().enter(Activity::Steal);
        match closing && registry.has_ended_or_be_busy() {
            true => Woken::ToEnd,
            false => Woken::ToWork,
        }
    }
}

/// What a worker was woken for.
#[derive(PartialEq, Eq)]
enum Woken {
    ToWork,
    ToEnd,
}

/// One look in so many goes to the injector first, so that stealing without end starves no job.
const JOB_EVERY: u32 = 61;
/// One pause in so many gives the core to another thread, if one is waiting for it.
const YIELD_EVERY: usize = 16;
/// Pauses get twice as long after each so many rounds.
const ROUNDS_PER_DOUBLING: usize = 32;
/// The longest pause is two to the power of this many hints to the processor.
const PAUSE_BITS_MAX: usize = 5;

/// Ends the thread's time as a worker, also by unwinding.
struct Back<'w>(&'w Worker);

impl Drop for Back<'_> {
    fn drop(&mut self) {
        CURRENT.set(self.0.outer);
        // SAFETY: the outer worker is further down this thread's native stack.
        match unsafe { self.0.outer.as_ref() } {
            Some(outer) => {
                task::set_current_local(&outer.seat().tasks);
                outer.owner.enter();
            }
            None => {
                task::set_current_local(ptr::null());
                crate::stack::line::set_current_line(&raw const crate::stack::line::ALARM);
            }
        }
    }
}

/// What [`Worker::offer_on`] puts into a slot. That slot's owner waits for nothing but that the
/// offer has been read, so it is free again before the offered task runs.
///
/// # Safety
/// As [`crate::stack::slot::Run`]; the payload is an [`Offer`].
unsafe fn run_offer(slot: &Slot) -> Option<Further> {
    // SAFETY: the payload that `offer_on` wrote.
    Some(Further::Offer(unsafe { slot.take::<Offer>() }))
}

/// A thread of a pool, from start to end.
pub(crate) fn run_thread(registry: Arc<Registry>, index: usize) {
    let seat = &registry.seats[index];
    registry.enlist(index);
    if let Some(processor) = registry.settings.processor(index) {
        let _ = os::pin_to(processor);
    }
    let handle = |callback: &Option<super::pool::builder::IndexHandler>| {
        if let Some(callback) = callback {
            let called = panic::catch_unwind(AssertUnwindSafe(|| callback(index)));
            called.unwrap_or_else(|payload| registry.handle_panic(payload));
        }
    };
    // Workers that went to sleep before this thread was there want work of it as well.
    let _ = seat.stack.want();
    handle(&registry.settings.on_start);
    // SAFETY: each index has one thread.
    unsafe {
        Worker::be(Arc::clone(&registry), index, |worker| {
            worker.owner.attach();
            worker.clock().enter(Activity::Steal);
            worker.work();
            worker.clock().enter(Activity::Frame);
        });
    }
    handle(&registry.settings.on_exit);
}
