//! A thread that plays all workers of a pool whose schedule is drawn ([`crate::replay`]).
//!
//! A worker is played by being it, on top of whoever is on the thread's native stack. What it runs
//! has ended when the play is over, so nobody ever waits for long, and the state words of tasks go
//! the way that they go between threads.

use std::ptr;
use std::sync::Arc;

use super::Worker;
use crate::replay::{Habit, Schedule};
use crate::stack::slot::Run;
use crate::stats::Activity;
use crate::workers::frames::{Frame, Frames, Level};
use crate::workers::played::DEPTH_MAX;
use crate::workers::registry::Registry;
use crate::workers::wait::Taken;
use crate::workers::ways::{Half, Ways};
use crate::workers::worker::claimed::Claimed;

/// The longest block of a loop is below two to the power of this many items.
const BLOCK_BITS: usize = 12;

/// A function, which is compiled where it is called: a static would be part of this crate.
#[inline]
pub(crate) fn ways() -> &'static Ways {
    &Ways {
        join: |a, b| Play::here(|play| play.join_drawn(a, b)),
        take_kept: || Play::here(|play| play.take_kept()),
        run_jobs: || Play::here(|play| play.run_jobs()),
        fork: fork_here,
        enter: draw_entrance_of,
        say_seed: Schedule::say_seed,
    }
}

/// # Safety
/// As [`Frames::fork_drawn`].
#[inline]
unsafe fn fork_here(parent: Frame, child: Frame) -> Option<Frame> {
    // SAFETY: the caller's promise.
    Play::here(|play| unsafe { Frames(play.worker).fork_drawn(play.schedule, parent, child) })
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
        self.owner.is_asked()
            && self
                .schedule()
                .is_none_or(|schedule| splits(self, schedule))
    }
}

#[cold]
#[inline(never)]
fn splits(worker: &Worker, schedule: &Schedule) -> bool {
    let splits = schedule.follows(Habit::Split);
    schedule.note(worker.index, || {
        format!("a loop is {}", if splits { "split" } else { "not split" })
    });
    splits
}

impl<'w> Play<'w> {
    /// Calls `f` with the worker that the calling thread is, of a deterministic pool.
    #[inline]
    fn here<R>(f: impl FnOnce(Play<'_>) -> R) -> R {
        Worker::with_current(|worker| {
            let play = worker.and_then(Play::of);
            f(play.expect("the pool is deterministic"))
        })
    }

    /// None if the worker's pool is not deterministic.
    #[inline]
    pub(crate) fn of(worker: &'w Worker) -> Option<Play<'w>> {
        let schedule = worker.schedule()?;
        Some(Play { worker, schedule })
    }

    /// How many items a loop does before it looks around again.
    pub(crate) fn draw_block(self) -> usize {
        1 << self.schedule.pick(BLOCK_BITS)
    }

    /// Calls `f` with the worker of that index, which the calling thread is meanwhile. It is free,
    /// or it is this one.
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
    pub(crate) fn play_task(self, index: usize, task: impl FnOnce()) {
        self.play(index, |worker| worker.framed(task));
    }

    /// The workers that could do something now.
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
    fn is_deep(self) -> bool {
        self.worker.outwards().count() >= DEPTH_MAX
    }

    /// The worker that takes something away from this one, if one does.
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

    /// Keeps a task that this worker has spawned into a scope, or has it run. Gives it back if
    /// there is no room. Has a frame of its own, because tasks that spawn more on a full stack nest
    /// with the caller's.
    #[cold]
    #[inline(never)]
    pub(crate) fn spawn_drawn<T>(self, kept: Run, task: T, run: impl FnOnce(T)) -> Option<T> {
        match self.draw_spawned() {
            Spawned::Kept => return self.worker.owner().keep(kept, task).err(),
            Spawned::Here => self.worker.played.run_at_once(|| run(task)),
            Spawned::On(thief) => self.play_task(thief, || run(task)),
        }
        None
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

/// The two closures of a join in a pool whose schedule is drawn, as that has it. Neither unwinds.
#[cold]
#[inline(never)]
pub(crate) fn run_both(a: Half<'_>, b: Half<'_>) {
    Worker::with_current(|worker| {
        let drawn = worker.and_then(|worker| worker.registry().settings.drawn());
        let (_, ways) = drawn.expect("the push was refused for the schedule's sake");
        (ways.join)(a, b);
    });
}

/// The worker that a thread becomes which enters an in-place pool.
pub(super) fn draw_entrance(registry: &Arc<Registry>) -> usize {
    match registry.settings.drawn() {
        None => 0,
        Some((schedule, ways)) => {
            (ways.enter)(Arc::as_ptr(registry).cast(), registry.workers(), schedule)
        }
    }
}

#[inline]
fn draw_entrance_of(pool: *const (), workers: usize, schedule: &Schedule) -> usize {
    let free = Worker::with_current(|worker| match worker {
        Some(worker) => free_workers_above(worker, pool, workers),
        None => (0..workers).collect(),
    });
    let index = match free.is_empty() {
        true => 0,
        false => free[schedule.pick(free.len())],
    };
    schedule.note(index, || "install".to_owned());
    index
}

/// The workers of that pool which are not on this thread's native stack, or last stand there
/// waiting.
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

/// A closure that was brought into the pool has panicked: says how to have that again.
pub(super) fn say_seed(registry: &Registry) {
    if let Some((schedule, ways)) = registry.settings.drawn() {
        (ways.say_seed)(schedule);
    }
}
