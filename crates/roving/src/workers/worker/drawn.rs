//! A thread that plays all workers of a pool whose schedule is drawn ([`crate::replay`]).
//!
//! A worker is played by being it, on top of whoever is on the thread's native stack. What it runs
//! has ended when the play is over, so nobody ever waits for long, and the state words of tasks go
//! the way that they go between threads.

use std::ops::Range;
use std::panic;
use std::ptr;
use std::sync::Arc;

use super::Worker;
use super::caller_runs::{self, Place};
use crate::replay::{Habit, Schedule};
use crate::stats::Activity;
use crate::workers::frames::root::Root;
use crate::workers::frames::{Frame, Frames, Level};
use crate::workers::kind::{Half, PoolKind};
use crate::workers::played::DEPTH_MAX;
use crate::workers::registry::{ANY, Registry};
use crate::workers::wait::Taken;
use crate::workers::worker::claimed::Claimed;

/// The longest block of a loop is below two to the power of this many items.
const BLOCK_BITS: usize = 12;

/// A pool that one thread enters at a time, and plays all workers of.
struct Drawn {
    place: Place,
    schedule: Schedule,
}

/// A deterministic pool, for its builder. Compiled where it is called: what is reached from here
/// alone is in no other program.
#[inline]
pub(crate) fn kind(schedule: Schedule) -> Box<dyn PoolKind> {
    let place = Place::default();
    Box::new(Drawn { place, schedule })
}

impl PoolKind for Drawn {
    #[inline]
    fn threads(&self, _workers: usize) -> Range<usize> {
        0..0
    }

    #[inline]
    fn makes_do(&self) -> bool {
        false
    }

    #[inline]
    fn spares(&self, _wished: usize) -> usize {
        0
    }

    #[inline]
    fn forks(&self) -> usize {
        ANY
    }

    #[inline]
    fn enter(&self, pool: &Arc<Registry>, call: &mut dyn FnMut()) -> bool {
        let entered = self.place.enter(pool, &|| self.draw_entrance(pool), call);
        entered.unwrap_or_else(|(is_outermost, payload)| {
            if is_outermost {
                self.schedule.say_seed();
            }
            panic::resume_unwind(payload)
        });
        true
    }

    #[inline]
    fn job_was_added(&self, pool: &Arc<Registry>) {
        let entrance = || self.draw_entrance(pool);
        self.place.job_was_added(pool, &entrance);
    }

    #[inline]
    fn close(&self, _pool: &Registry) -> bool {
        true
    }

    #[inline]
    fn end(&self, pool: &Arc<Registry>) -> Option<bool> {
        Some(caller_runs::end(pool))
    }

    #[inline]
    fn caller_runs(&self) -> bool {
        true
    }

    #[inline]
    fn play_all(&self, run: &mut dyn FnMut(usize)) {
        Play::with(|play| {
            for index in play.draw_broadcast() {
                let theirs = || play.play(index, |_| run(index));
                play.worker.played.while_waiting(true, theirs);
            }
        });
    }

    #[inline]
    fn shows_tasks(&self) -> bool {
        false
    }

    #[inline]
    fn joins(&self) -> Option<fn(Half<'_>, Half<'_>)> {
        Some(|a, b| Play::with(|play| play.join_drawn(a, b)))
    }

    #[inline]
    fn splits(&self) -> bool {
        Play::with(|play| play.splits())
    }

    #[inline]
    fn divides(&self) -> bool {
        true
    }

    #[inline]
    fn block(&self) -> Option<usize> {
        Some(1 << self.schedule.pick(BLOCK_BITS))
    }

    #[inline]
    fn spawned(&self, keep: &mut dyn FnMut() -> bool, run: &mut dyn FnMut()) -> bool {
        Play::with(|play| play.spawn_drawn(keep, run))
    }

    #[inline]
    fn take_back(&self) -> Option<Taken> {
        Some(Play::with(|play| play.take_kept()))
    }

    #[inline]
    fn run_own(&self) -> Option<bool> {
        Some(Play::with(|play| play.run_kept()))
    }

    #[inline]
    fn run_jobs(&self) -> bool {
        Play::with(|play| play.worker.played.while_waiting(true, || play.run_jobs()));
        true
    }

    #[inline]
    unsafe fn fork(&self, parent: Frame, child: Frame) -> Option<Option<Frame>> {
        let frames = |play: Play<'_>| {
            // SAFETY: the caller's promise.
            unsafe { Frames(play.worker).fork_drawn(play.schedule, parent, child) }
        };
        Some(Play::with(frames))
    }

    #[inline]
    unsafe fn leaves(&self, child: Frame) -> bool {
        let frames = |play: Play<'_>| {
            // SAFETY: the caller's promise.
            unsafe { Frames(play.worker).is_left_by_schedule(play.schedule, child) }
        };
        Play::with(frames)
    }

    #[inline]
    fn run_root(&self, root: &Root) {
        let run = |play: Play<'_>| {
            let root = || root.run_drawn(play);
            play.worker.played.while_waiting(true, root);
        };
        Play::with(run);
    }

    #[inline]
    fn issues_tickets(&self) -> bool {
        false
    }

    #[inline]
    fn schedule(&self) -> Option<&Schedule> {
        Some(&self.schedule)
    }
}

impl Drawn {
    /// The worker that a thread becomes which enters the pool.
    #[inline]
    fn draw_entrance(&self, pool: &Arc<Registry>) -> usize {
        let workers = pool.workers();
        let free = Worker::with_current(|worker| match worker {
            Some(worker) => free_workers_above(worker, Arc::as_ptr(pool).cast(), workers),
            None => (0..workers).collect(),
        });
        let index = match free.is_empty() {
            true => 0,
            false => free[self.schedule.pick(free.len())],
        };
        self.schedule.note(index, || "install".to_owned());
        index
    }
}

/// The schedule's decision about a task that a scope has spawned.
enum Spawned {
    /// It is kept for the end of the scope.
    Kept,
    /// It runs at once, here.
    Here,
    /// It runs at once, on that worker.
    On(usize),
}

/// A worker of a deterministic pool, and the schedule that decides what it does.
#[derive(Clone, Copy)]
pub(crate) struct Play<'w> {
    pub(crate) worker: &'w Worker,
    pub(crate) schedule: &'w Schedule,
}

impl Worker {
    /// Whether other workers would take more than this one shows them.
    #[inline]
    pub(crate) fn is_asked(&self) -> bool {
        // Where nothing can be shown they always would.
        self.owner.is_asked() && self.registry.kind.splits()
    }
}

impl<'w> Play<'w> {
    /// Calls `f` with the worker that the calling thread is, of a deterministic pool.
    #[inline]
    fn with<R>(f: impl FnOnce(Play<'_>) -> R) -> R {
        Worker::with_current(|worker| {
            let worker = worker.expect("a worker of the pool asks");
            let schedule = worker.registry.kind.schedule();
            let schedule = schedule.expect("the pool is deterministic");
            f(Play { worker, schedule })
        })
    }

    /// Whether a loop that is asked for work gives some away.
    #[cold]
    #[inline]
    fn splits(self) -> bool {
        let splits = self.schedule.follows(Habit::Split);
        self.schedule.note(self.worker.index, || {
            format!("a loop is {}", if splits { "split" } else { "not split" })
        });
        splits
    }

    /// Calls `f` with the worker of that index, which the calling thread is meanwhile. It is free,
    /// or it is this one.
    #[inline]
    pub(crate) fn play<R>(self, index: usize, f: impl FnOnce(&Worker) -> R) -> R {
        if index == self.worker.index() {
            return self.worker.played.while_waiting(false, || f(self.worker));
        }
        let play = |worker: &Worker| {
            let before = worker.clock().enter(Activity::Busy);
            // The context that the thread is in goes with it.
            let result = worker.segment(|| f(worker));
            worker.clock().enter(before);
            result
        };
        // SAFETY: the calling thread holds the lock of the in-place pool, so no other thread is any
        // of its workers.
        unsafe { Worker::be(Arc::clone(self.worker.registry()), index, play) }
    }

    /// Plays a task on another worker, with all that it leaves unjoined.
    #[inline]
    pub(crate) fn play_task(self, index: usize, task: impl FnOnce()) {
        self.play(index, |worker| worker.framed(task));
    }

    /// The workers that could do something now.
    #[inline]
    fn free_workers(self) -> Vec<usize> {
        match self.is_deep() {
            true => Vec::new(),
            false => free_workers_above(
                self.worker,
                self.worker.pool(),
                self.worker.registry().workers(),
            ),
        }
    }

    /// One of them; this one if there is none.
    #[inline]
    pub(crate) fn draw_free(self) -> usize {
        let free = self.free_workers();
        match free.is_empty() {
            true => self.worker.index(),
            false => free[self.schedule.pick(free.len())],
        }
    }

    /// Whether it is that one, or that one could do something now.
    #[inline]
    pub(crate) fn can_play(self, index: usize) -> bool {
        index == self.worker.index() || self.free_workers().contains(&index)
    }

    /// Whether no more workers are to be played on top of this one.
    #[inline]
    fn is_deep(self) -> bool {
        self.worker.outwards().count() >= DEPTH_MAX
    }

    /// The worker that takes something away from this one, if one does.
    #[inline]
    fn draw_thief(self) -> Option<usize> {
        let mut thieves = self.free_workers();
        thieves.retain(|&index| index != self.worker.index());
        let steals = !thieves.is_empty() && self.schedule.follows(Habit::Theft);
        steals.then(|| thieves[self.schedule.pick(thieves.len())])
    }

    #[inline]
    fn join_drawn(self, a: Half<'_>, b: Half<'_>) {
        let base = self.worker.owner().top();
        match self.draw_thief() {
            None => {
                self.schedule
                    .note(self.worker.index(), || "join: both here".to_owned());
                a(false);
                self.drain_perhaps(base);
                b(false);
            }
            Some(thief) if self.schedule.follows(Habit::Late) => {
                self.schedule.note(self.worker.index(), || {
                    format!("join: then the second on {thief}")
                });
                a(false);
                self.drain_perhaps(base);
                let theirs = || self.play_task(thief, || b(true));
                self.worker.played.while_waiting(true, theirs);
            }
            Some(thief) => {
                self.schedule.note(self.worker.index(), || {
                    format!("join: first the second on {thief}")
                });
                self.play_task(thief, || b(true));
                a(false);
            }
        }
        self.drain_perhaps(base);
    }

    /// Runs what the two closures of a join have spawned into a scope further out, or leaves it
    /// there.
    #[inline]
    fn drain_perhaps(self, base: usize) {
        if self.worker.owner().top() > base && self.schedule.follows(Habit::Drain) {
            while self.worker.owner().top() > base {
                if self.take_drawn(base) == Taken::Here {
                    self.run_let_go();
                }
            }
        }
    }

    /// Runs the task that has just been taken off the stack.
    #[inline]
    fn run_let_go(self) {
        // SAFETY: taken off the stack, and run once.
        let further = unsafe {
            self.worker
                .owner()
                .stack()
                .slot(self.worker.owner().top())
                .run()
        };
        self.worker.run_further(further, Level::Above);
    }

    /// Keeps a task that this worker has spawned into a scope, or has it run. False if there is no
    /// room. Has a frame of its own, because tasks that spawn more on a full stack nest with the
    /// caller's.
    #[cold]
    #[inline]
    fn spawn_drawn(self, keep: &mut dyn FnMut() -> bool, run: &mut dyn FnMut()) -> bool {
        match self.draw_spawned() {
            Spawned::Kept => return keep(),
            Spawned::Here => self.worker.played.run_at_once(run),
            Spawned::On(thief) => self.play_task(thief, run),
        }
        true
    }

    /// Decides about a task that this worker has spawned into a scope.
    #[inline]
    fn draw_spawned(self) -> Spawned {
        let spawned = match self.worker.played.draw_at_once(self.schedule) {
            false => Spawned::Kept,
            true => match self.draw_thief() {
                None => Spawned::Here,
                Some(thief) => Spawned::On(thief),
            },
        };
        self.schedule.note(self.worker.index(), || match spawned {
            Spawned::Kept => "spawn: kept".to_owned(),
            Spawned::Here => "spawn: at once".to_owned(),
            Spawned::On(thief) => format!("spawn: at once, on {thief}"),
        });
        spawned
    }

    /// Takes one of the tasks that are kept from `base` on off the stack: for this worker to run,
    /// or run by another one when this returns.
    #[inline]
    fn take_drawn(self, base: usize) -> Taken {
        let count = self.worker.owner().top() - base;
        let chosen = self.schedule.pick(count);
        self.worker.owner().bring_to_top(base + chosen);
        let thief = self.draw_thief();
        self.schedule.note(self.worker.index(), || {
            let on = thief.map_or_else(String::new, |thief| format!(", on {thief}"));
            format!("task {chosen} of {count}{on}")
        });
        let Some(thief) = thief else {
            self.worker.owner().let_go();
            return Taken::Here;
        };
        let slot = self
            .worker
            .owner()
            .stack()
            .slot(self.worker.owner().top() - 1);
        self.worker.played.while_waiting(true, || {
            self.play(thief, |worker| {
                slot.begin(thief, worker.owner().top());
                Claimed(worker).run_begun(self.worker.index(), slot, Level::Above);
            });
        });
        self.worker.owner().let_go_ended();
        Taken::Ended
    }

    /// Takes back a task of the innermost open frame: in a deterministic pool this replaces the
    /// wait for a thief.
    #[inline]
    pub(crate) fn take_kept(self) -> Taken {
        self.take_drawn(self.worker.owner().floor())
    }

    /// Runs one kept task of the innermost open frame on top of the caller's. False if there is
    /// none.
    #[inline]
    pub(crate) fn run_kept(self) -> bool {
        let is_one = self.worker.owner().top() > self.worker.owner().floor();
        if is_one && self.take_kept() == Taken::Here {
            self.run_let_go();
        }
        is_one
    }

    /// Runs all detached tasks. Any of the oldest may come first, as many as there are workers that
    /// may have drawn one and not yet begun it.
    #[inline]
    pub(crate) fn run_jobs(self) {
        while self.run_job() {}
    }

    /// Runs one detached task on a free worker. False if there is none.
    #[inline]
    pub(crate) fn run_job(self) -> bool {
        let registry = self.worker.registry();
        let spawned = |seat: usize| &registry.seats[seat].spawned;
        let queues: Vec<(Option<usize>, usize)> = std::iter::once(registry.injector.length())
            .map(|length| (None, length))
            .chain((0..registry.workers()).map(|seat| (Some(seat), spawned(seat).length())))
            .filter(|&(_, length)| length > 0)
            .collect();
        if queues.is_empty() {
            return false;
        }
        let (seat, length) = queues[self.schedule.pick(queues.len())];
        let chosen = self.schedule.pick(length.min(registry.workers()));
        let worker = self.draw_free();
        self.schedule.note(self.worker.index(), || {
            format!("detached {chosen}, on {worker}")
        });
        let job = match seat {
            None => registry.injector.pop_at(chosen),
            Some(seat) => spawned(seat).pop_at(chosen),
        };
        if let Some(job) = job {
            self.play(worker, |worker| worker.framed_outside(|| job.run()));
        }
        true
    }

    /// The workers of the pool, in the order in which each of them runs its part of a broadcast.
    #[inline]
    pub(crate) fn draw_broadcast(self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.worker.registry().workers()).collect();
        for left in (2..=order.len()).rev() {
            order.swap(self.schedule.pick(left), left - 1);
        }
        self.schedule
            .note(self.worker.index(), || format!("broadcast: {order:?}"));
        order
    }
}

/// The workers of that pool which are not on this thread's native stack, or last stand there
/// waiting.
#[inline]
fn free_workers_above(newest: &Worker, pool: *const (), workers: usize) -> Vec<usize> {
    let mut is_busy = vec![None; workers];
    let of_pool = |worker: &&Worker| ptr::eq(worker.pool(), pool);
    for worker in newest.outwards().filter(of_pool) {
        is_busy[worker.index].get_or_insert(!worker.played.waits());
    }
    let busy = is_busy.iter().enumerate();
    busy.filter(|(_, is_busy)| **is_busy != Some(true))
        .map(|(index, _)| index)
        .collect()
}
