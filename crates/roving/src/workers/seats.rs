//! The places of a pool's workers and compensation threads, as all threads see them.

use std::any::Any;
use std::ops::Index;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use crate::inherit::segments::Segments;
use crate::machine::apart::Apart;
use crate::machine::faults::with_answered_memory;
use crate::machine::meeting_points::unpark;
use crate::machine::prim::thread::{self, Thread, ThreadId};
use crate::machine::prim::{AtomicBool, AtomicUsize, Condvar, Mutex, Ordering, wait_while};
use crate::stack::{Showing, TaskStack};
use crate::stats::lane::Lane;
use crate::stats::{Activity, Clock, Keep, Profile, Quiet, WorkerProfile};
use crate::workers::frames::Local;
use crate::workers::frames::order::SpawnOrder;
use crate::workers::inject::JobQueue;
use crate::workers::sleep::idle::IdleSet;

/// A worker slot: the state of one worker, or of a compensation thread, that other threads may see.
pub(crate) struct Seat {
    pub(crate) stack: TaskStack,
    /// In which contexts the tasks on the stack were made.
    pub(crate) segments: Segments,
    pub(crate) mailbox: JobQueue,
    /// Detached tasks that the worker has spawned for itself: it takes the newest, thieves the
    /// oldest.
    pub(crate) spawned: JobQueue,
    /// Detached tasks that are to run in the order of their spawning. For each there is a job in
    /// `spawned` that runs the oldest of these.
    pub(crate) in_order: JobQueue,
    pub(crate) clock: Clock,
    /// The worker's state for async tasks.
    pub(crate) tasks: Local,
    /// Workers that are parked, and wait for a task which this one has or has led to.
    pub(crate) followers: IdleSet,
    /// Whose task it runs, if that was stolen; or [`NOBODY`].
    works_for: AtomicUsize,
    /// Set when the thread has started; to `None` if it never will.
    thread: Arrival,
    /// The thread that has come after one that was adopted and has ended.
    heir: OnceLock<Thread>,
    /// No thread is here any more, nor ever will be.
    vacant: AtomicBool,
    /// In the place of a thread of its own.
    pub(crate) desk: Option<Box<dyn Desk>>,
}

/// The place at a seat to which threads come that are not the pool's.
pub(crate) trait Desk: Send + Sync {
    /// Has a thread look around at the seat: the one that is there, or another.
    fn call(&self);
    /// Whether no thread is there, as far as can be told by looking.
    fn is_left(&self) -> bool;
    /// Whether the thread that is there may be wanted elsewhere, as far as can be told by looking.
    fn is_pressed(&self) -> bool;
    /// Itself, for whose threads come here.
    fn as_any(&self) -> &dyn Any;
}

impl Seat {
    #[inline(never)]
    fn new(
        stack: TaskStack,
        clock: Clock,
        (tasks, index): (TaskSettings, usize),
        most: usize,
        desk: Option<Box<dyn Desk>>,
    ) -> Apart<Seat> {
        Apart::new(Seat {
            stack,
            segments: Segments::new(),
            mailbox: JobQueue::new(),
            spawned: JobQueue::new(),
            in_order: JobQueue::new(),
            clock,
            tasks: tasks.local(index),
            followers: IdleSet::new(most),
            works_for: AtomicUsize::new(NOBODY),
            thread: Arrival::default(),
            heir: OnceLock::new(),
            vacant: AtomicBool::new(false),
            desk,
        })
    }

    /// The seat whose task this one's worker runs, as far as can be told by looking.
    pub(crate) fn works_for(&self) -> Option<usize> {
        // Ordering: Relaxed; a hint.
        let seat = self.works_for.load(Ordering::Relaxed);
        (seat != NOBODY).then_some(seat)
    }

    /// Owner: it now runs a task of that seat. Returns what was before.
    pub(crate) fn set_works_for(&self, seat: Option<usize>) -> Option<usize> {
        let before = self.works_for();
        // Ordering: Relaxed; a hint.
        self.works_for
            .store(seat.unwrap_or(NOBODY), Ordering::Relaxed);
        before
    }

    /// Wakes the seat's thread, if it has started; a thread looks around before it first sleeps.
    /// Where a seat has none of its own, calls one.
    pub(crate) fn unpark(&self) {
        if let Some(desk) = &self.desk {
            desk.call();
        } else if let Some(thread) = self.thread() {
            unpark(thread);
        }
    }

    /// The thread that is here, if one has started.
    pub(super) fn thread(&self) -> Option<&Thread> {
        let thread = self.heir.get().or(self.thread.get()?.as_ref());
        thread.filter(|_| !self.is_vacant())
    }

    /// The calling thread is here from now on.
    pub(super) fn sit_down(&self) {
        if !self.thread.set(Some(thread::current())) {
            let _ = self.heir.set(thread::current());
        }
    }

    /// Whether a thread has come after the one that was adopted.
    pub(crate) fn has_heir(&self) -> bool {
        self.heir.get().is_some()
    }

    /// Returns when a thread is here, or never will be.
    #[inline]
    pub(super) fn wait_for_thread(&self) {
        self.thread.wait();
    }

    /// Whether no thread is here any more, nor ever will be.
    pub(crate) fn is_vacant(&self) -> bool {
        // Ordering: Relaxed; who posts something looks after the mailbox's lock, see
        // `sleep::roster`.
        self.vacant.load(Ordering::Relaxed)
    }

    /// No thread is here from now on. The caller drops the mail.
    pub(super) fn vacate(&self) {
        // Ordering: Relaxed, as in `is_vacant`.
        self.vacant.store(true, Ordering::Relaxed);
        self.clock.enter(Activity::Idle);
        self.thread.set(None);
    }
}

/// The thread of a worker slot, as far as it has started. The standard library's cell can be waited
/// for only since Rust 1.86.
#[derive(Default)]
struct Arrival {
    thread: OnceLock<Option<Thread>>,
    lock: Mutex<()>,
    is_set: Condvar,
}

impl Arrival {
    fn get(&self) -> Option<&Option<Thread>> {
        self.thread.get()
    }

    /// Sets what has not been set, and wakes those that wait for it.
    fn set(&self, thread: Option<Thread>) -> bool {
        let is_first = self.thread.set(thread).is_ok();
        // A thread that waits has looked under the lock, before the cell was set, and has given the
        // lock back by waiting.
        drop(self.lock.lock());
        self.is_set.notify_all();
        is_first
    }

    #[inline]
    fn wait(&self) {
        let guard = self.lock.lock();
        let is_unset = |(): &mut ()| self.thread.get().is_none();
        drop(wait_while(&self.is_set, guard, is_unset));
    }
}

/// How async tasks are run; the same for every worker of a pool.
#[derive(Clone, Copy)]
pub(super) struct TaskSettings {
    pub(super) order: SpawnOrder,
    pub(super) migrate: bool,
}

impl TaskSettings {
    fn local(self, index: usize) -> Local {
        Local::new(index, self.order, self.migrate)
    }
}

const NOBODY: usize = usize::MAX;

/// The seats of the workers, then those of the compensation threads, which are made when they are
/// first taken.
pub(crate) struct Seats {
    showing: Showing,
    keep: Keep,
    tasks: TaskSettings,
    workers: Box<[Apart<Seat>]>,
    spares: Box<[OnceLock<Box<Apart<Seat>>>]>,
    /// Since when is counted. Locked while the figures are read or reset, and while a spare seat's
    /// clock begins and gets its place.
    started: Mutex<Instant>,
    /// How long all of them were idle, where that is recorded.
    quiet: Arc<Quiet>,
}

impl Seats {
    /// `None` when there is no memory.
    pub(super) fn new(
        showing: Showing,
        keep: Keep,
        tasks: TaskSettings,
        desk: &dyn Fn(usize) -> Option<Box<dyn Desk>>,
        (workers, spares): (usize, usize),
    ) -> Option<Seats> {
        let most = workers + spares;
        let (started, quiet) = (Instant::now(), Arc::new(Quiet::new()));
        let clock = || Clock::new(keep, &quiet, started);
        let seat = |stack, index| Seat::new(stack, clock(), (tasks, index), most, desk(index));
        let mut seats = Vec::new();
        with_answered_memory(|| seats.try_reserve_exact(workers)).ok()?;
        for index in 0..workers {
            seats.push(seat(TaskStack::try_new(showing)?, index));
        }
        Some(Seats {
            showing,
            keep,
            tasks,
            workers: seats.into(),
            spares: (0..spares).map(|_| OnceLock::new()).collect(),
            started: Mutex::new(started),
            quiet,
        })
    }

    /// The times of all that have been made until one moment, so each worker's add up to the wall
    /// time: while all hands are held no time can end later.
    pub(crate) fn profile(&self) -> Profile {
        let started = self.started.lock();
        let mut held = Vec::new();
        for seat in self.iter() {
            held.push((seat, seat.clock.hold()));
        }
        let now = Instant::now();
        let mut workers = Vec::new();
        for (seat, hand) in &mut held {
            let mut worker = WorkerProfile::default();
            if let Some(hand) = hand {
                hand.read(now, &mut worker);
            }
            worker.counters = seat.stack.tally().read();
            worker.counters.frames_kept = seat.tasks.frames_kept();
            workers.push(worker);
        }
        Profile {
            wall: now.duration_since(*started),
            quiet: match self.keep {
                Keep::Nothing => Duration::ZERO,
                Keep::Times | Keep::Trace => self.quiet.time(now),
            },
            workers,
        }
    }

    /// The trace of each seat, in pools that keep one.
    pub(crate) fn lanes(&self) -> Vec<Lane> {
        let mut lanes = Vec::new();
        for seat in self.iter() {
            lanes.extend(seat.clock.lane());
        }
        lanes
    }

    /// Each worker's present activity in a word; `?` where none is recorded.
    pub(crate) fn doing(&self) -> Vec<&'static str> {
        let mut doing = Vec::new();
        for seat in self.iter() {
            doing.push(seat.clock.now().map_or("?", Activity::word));
        }
        doing
    }

    #[inline]
    pub(crate) fn reset_profile(&self) {
        let mut started = self.started.lock();
        let mut held = Vec::new();
        for seat in self.iter() {
            held.extend(seat.clock.hold());
            seat.stack.tally().reset();
        }
        let now = Instant::now();
        held.iter_mut().for_each(|hand| hand.reset(now));
        self.quiet.reset(now);
        *started = now;
    }

    /// Whether that is the thread of one of them, even one that is not a worker yet, or no longer.
    pub(crate) fn have_thread(&self, thread: ThreadId) -> bool {
        let is_it = |seat: &Seat| seat.thread().is_some_and(|at| at.id() == thread);
        self.iter().any(is_it)
    }

    /// Returns when each worker has its thread, or never will; at once where none has one
    /// of its own.
    #[inline]
    pub(crate) fn wait_for_threads(&self) {
        for seat in &self.workers {
            if seat.desk.is_none() {
                seat.wait_for_thread();
            }
        }
    }

    /// How many there can be.
    pub(crate) fn most(&self) -> usize {
        self.workers.len() + self.spares.len()
    }

    /// Those that have been made.
    pub(crate) fn iter(&self) -> Made<'_> {
        Made {
            seats: self,
            next: 0,
        }
    }

    /// Makes the seat of a compensation thread, if it has not been made. False when there is no
    /// memory. The caller has the lock under which threads are started.
    pub(super) fn make(&self, index: usize, desk: &dyn Fn(usize) -> Option<Box<dyn Desk>>) -> bool {
        let Some(spare) = index.checked_sub(self.workers.len()) else {
            return true;
        };
        let place = &self.spares[spare];
        if place.get().is_some() {
            return true;
        }
        // The clock counts as one at work from its beginning, so it begins when nothing can fail.
        let Some(stack) = TaskStack::try_new(self.showing) else {
            return false;
        };
        let (tasks, desk) = ((self.tasks, index), desk(index));
        // A reset that does not find the seat is over when its clock begins.
        let _started = self.started.lock();
        let clock = Clock::new(self.keep, &self.quiet, Instant::now());
        let seat = Seat::new(stack, clock, tasks, self.most(), desk);
        place.set(Box::new(seat)).is_ok()
    }
}

/// The seats that have been made, in order. One type with a loop of its own: what `std` makes of
/// chained iterators is some hundred lines at each use.
pub(crate) struct Made<'s> {
    seats: &'s Seats,
    next: usize,
}

impl<'s> Iterator for Made<'s> {
    type Item = &'s Seat;

    fn next(&mut self) -> Option<&'s Seat> {
        let seats = self.seats;
        while self.next < seats.most() {
            let index = self.next;
            self.next += 1;
            let made = match index.checked_sub(seats.workers.len()) {
                None => Some(&*seats.workers[index]),
                Some(spare) => seats.spares[spare].get().map(|seat| &***seat),
            };
            if made.is_some() {
                return made;
            }
        }
        None
    }
}

impl Index<usize> for Seats {
    type Output = Seat;

    #[inline]
    fn index(&self, index: usize) -> &Seat {
        match self.workers.get(index) {
            Some(seat) => seat,
            None => self.spare(index),
        }
    }
}

impl Seats {
    /// The seat of a compensation thread. Not part of [`Index`], so that those who ask, of whom
    /// there are many, have one call.
    #[inline(never)]
    fn spare(&self, index: usize) -> &Seat {
        let spare = self.spares[index - self.workers.len()].get();
        spare.expect("a spare thread's seat is made before anybody hears of it")
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;
    use crate::Pool;

    /// Each worker's times add up to at most the wall time.
    fn check(seats: &Seats) {
        let profile = seats.profile();
        for worker in &profile.workers {
            let times = [worker.busy, worker.steal, worker.idle, worker.switch];
            let sum: Duration = times.into_iter().sum::<Duration>() + worker.frame;
            assert!(sum <= profile.wall, "{sum:?} of {:?}", profile.wall);
        }
    }

    fn pool() -> Pool {
        Pool::builder().workers(1).profile(true).build().unwrap()
    }

    /// Whatever goes before a seat's clock begins.
    #[test]
    fn a_reset_while_a_spare_seat_is_made_is_before_its_clock() {
        let pool = pool();
        let seats = &pool.registry().seats;
        assert!(seats.make(1, &|_| {
            let before = Instant::now();
            go_past(before);
            seats.reset_profile();
            None
        }));
        check(seats);
    }

    /// Until the clock has gone on.
    fn go_past(before: Instant) {
        while Instant::now() == before {
            std::hint::spin_loop();
        }
    }

    /// A reset comes before a seat is made, or finds it.
    #[test]
    #[cfg_attr(miri, ignore = "too long")]
    fn resets_while_spare_seats_are_made_leave_no_time_from_before() {
        for _ in 0..30 {
            let pool = pool();
            let seats = &pool.registry().seats;
            thread::scope(|s| {
                let maker = s.spawn(|| {
                    for index in 1..seats.most() {
                        assert!(seats.make(index, &|_| None));
                    }
                });
                while !maker.is_finished() {
                    seats.reset_profile();
                    check(seats);
                }
            });
            check(seats);
        }
    }
}
