//! A thread that plays all workers of a pool whose schedule is drawn ([`crate::replay`]).
//!
//! A worker is played by being it, on top of whoever is on the thread's native stack. What it runs
//! has ended when the play is over, so nobody ever waits for long, and the state words of tasks go
//! the way that they go between threads.

use std::fmt;
use std::sync::Arc;

use super::Worker;
use crate::replay::{Habit, Schedule};
use crate::stack::slot::Run;
use crate::stats::Activity;
use crate::workers::frames::Level;
use crate::workers::frames::frame::Frame;
use crate::workers::registry::Registry;
use crate::workers::wait::Taken;

/// Most workers that are played on top of each other, and tasks that run on top of their spawners.
/// With threads a chain of tasks, each spawned by the one before, takes no native stack; nor should
/// it here.
const DEPTH_MAX: usize = 32;

/// The longest block of a loop is below two to the power of this many items.
const BLOCK_BITS: usize = 12;

/// A closure of a join, which is told whether it was stolen.
type Half<'h> = &'h mut dyn FnMut(bool);

/// How a drawn schedule is followed, where slow paths that all pools share come upon one. The
/// builder's option alone names these functions: a program without a deterministic pool has none
/// of their code.
pub(crate) struct Ways {
    /// Runs both closures of a join, neither of which unwinds.
    join: fn(&Worker, &Schedule, Half<'_>, Half<'_>),
    /// Takes back a task of the innermost open frame.
    pub(crate) take_kept: fn(&Worker, &Schedule) -> Taken,
    /// Runs all detached tasks.
    pub(crate) run_jobs: fn(&Worker, &Schedule),
    /// Decides about a fork. Unsafe as [`Worker::fork_drawn`].
    pub(crate) fork: unsafe fn(&Worker, &Schedule, Frame, Frame) -> Option<Frame>,
    /// The worker that a thread becomes which enters the pool.
    enter: fn(&Arc<Registry>, &Schedule) -> usize,
    /// Says how to have a panic again.
    say_seed: fn(&Schedule),
}

impl fmt::Debug for Ways {
    #[inline]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Ways")
    }
}

/// A function, which is compiled where it is called: a static would be part of this crate.
#[inline]
pub(crate) fn ways() -> &'static Ways {
    &Ways {
        join: Worker::join_drawn,
        take_kept: Worker::take_kept,
        run_jobs: Worker::run_jobs_drawn,
        fork: Worker::fork_drawn,
        enter: draw_entrance_of,
        say_seed: Schedule::say_seed,
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

impl Worker {
    /// This pool's schedule, if the pool is deterministic.
    pub(crate) fn schedule(&self) -> Option<&Schedule> {
        self.registry.settings.schedule.as_ref()
    }

    /// That schedule, and how it is followed.
    pub(crate) fn drawn(&self) -> Option<(&Schedule, &'static Ways)> {
        self.registry.settings.drawn()
    }

    /// Whether other workers would take more than this one shows them.
    #[inline]
    pub(crate) fn is_asked(&self) -> bool {
        // Where nothing can be shown they always would.
        self.owner.is_asked()
            && self
                .schedule()
                .is_none_or(|schedule| self.draw_split(schedule))
    }

    #[cold]
    #[inline(never)]
    fn draw_split(&self, schedule: &Schedule) -> bool {
        let splits = schedule.follows(Habit::Split);
        schedule.note(self.index, || {
            format!("a loop is {}", if splits { "split" } else { "not split" })
        });
        splits
    }

    /// How many items a loop does before it looks around again, if the schedule says so.
    pub(crate) fn draw_block(&self) -> Option<usize> {
        let schedule = self.schedule()?;
        Some(1 << schedule.pick(BLOCK_BITS))
    }

    /// Calls `f` with the worker of that index, which the calling thread is meanwhile. It is free,
    /// or it is this one.
    pub(crate) fn play<R>(&self, index: usize, f: impl FnOnce(&Worker) -> R) -> R {
        if index == self.index {
            let before = self.waits.replace(false);
            let result = f(self);
            self.waits.set(before);
            return result;
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
        unsafe { Worker::be(Arc::clone(&self.registry), index, play) }
    }

    /// Plays a task on another worker, with all that it leaves unjoined.
    pub(crate) fn play_task(&self, index: usize, task: impl FnOnce()) {
        self.play(index, |worker| worker.framed(task));
    }

    /// Calls `f`, while this worker waits for what is played in it.
    pub(crate) fn waiting<R>(&self, f: impl FnOnce() -> R) -> R {
        let before = self.waits.replace(true);
        let result = f();
        self.waits.set(before);
        result
    }

    /// The workers that could do something now.
    fn free_workers(&self) -> Vec<usize> {
        match self.is_deep() {
            true => Vec::new(),
            false => free_workers_above(self, &self.registry),
        }
    }

    /// One of them; this one if there is none.
    pub(crate) fn draw_free(&self, schedule: &Schedule) -> usize {
        let free = self.free_workers();
        match free.is_empty() {
            true => self.index,
            false => free[schedule.pick(free.len())],
        }
    }

    /// Whether it is that one, or that one could do something now.
    pub(crate) fn can_play(&self, index: usize) -> bool {
        index == self.index || self.free_workers().contains(&index)
    }

    /// Whether no more workers are to be played on top of this one.
    fn is_deep(&self) -> bool {
        self.outwards().count() >= DEPTH_MAX
    }

    /// Whether what this worker has spawned is to run at once.
    pub(crate) fn draw_at_once(&self, schedule: &Schedule) -> bool {
        self.at_once.get() < DEPTH_MAX && schedule.follows(Habit::AtOnce)
    }

    /// Runs a task on top of its spawner.
    pub(crate) fn run_at_once<R>(&self, task: impl FnOnce() -> R) -> R {
        let before = self.at_once.get();
        self.at_once.set(before + 1);
        let result = task();
        self.at_once.set(before);
        result
    }

    /// The worker that takes something away from this one, if one does.
    fn draw_thief(&self, schedule: &Schedule) -> Option<usize> {
        let mut thieves = self.free_workers();
        thieves.retain(|&index| index != self.index);
        let steals = !thieves.is_empty() && schedule.follows(Habit::Theft);
        steals.then(|| thieves[schedule.pick(thieves.len())])
    }

    #[inline]
    fn join_drawn(&self, schedule: &Schedule, a: Half<'_>, b: Half<'_>) {
        let base = self.owner.top();
        match self.draw_thief(schedule) {
            None => {
                schedule.note(self.index, || "join: both here".to_owned());
                a(false);
                self.drain_perhaps(schedule, base);
                b(false);
            }
            Some(thief) if schedule.follows(Habit::Late) => {
                schedule.note(self.index, || format!("join: then the second on {thief}"));
                a(false);
                self.drain_perhaps(schedule, base);
                self.waiting(|| self.play_task(thief, || b(true)));
            }
            Some(thief) => {
                schedule.note(self.index, || format!("join: first the second on {thief}"));
                self.play_task(thief, || b(true));
                a(false);
            }
        }
        self.drain_perhaps(schedule, base);
    }

    /// Runs what the two closures of a join have spawned into a scope further out, or leaves it
    /// there.
    #[inline]
    fn drain_perhaps(&self, schedule: &Schedule, base: usize) {
        if self.owner.top() > base && schedule.follows(Habit::Drain) {
            while self.owner.top() > base {
                if self.take_drawn(schedule, base) == Taken::Here {
                    self.run_let_go();
                }
            }
        }
    }

    /// Runs the task that has just been taken off the stack.
    #[inline]
    fn run_let_go(&self) {
        // SAFETY: taken off the stack, and run once.
        let further = unsafe { self.owner.stack().slot(self.owner.top()).run() };
        self.run_further(further, Level::Above);
    }

    /// Keeps a task that this worker has spawned into a scope, or has it run. Gives it back if
    /// there is no room. Has a frame of its own, because tasks that spawn more on a full stack nest
    /// with the caller's.
    #[cold]
    #[inline(never)]
    pub(crate) fn spawn_drawn<T>(
        &self,
        schedule: &Schedule,
        kept: Run,
        task: T,
        run: impl FnOnce(T),
    ) -> Option<T> {
        match self.draw_spawned(schedule) {
            Spawned::Kept => return self.owner.keep(kept, task).err(),
            Spawned::Here => self.run_at_once(|| run(task)),
            Spawned::On(thief) => self.play_task(thief, || run(task)),
        }
        None
    }

    /// Decides about a task that this worker has spawned into a scope.
    fn draw_spawned(&self, schedule: &Schedule) -> Spawned {
        let spawned = match self.draw_at_once(schedule) {
            false => Spawned::Kept,
            true => match self.draw_thief(schedule) {
                None => Spawned::Here,
                Some(thief) => Spawned::On(thief),
            },
        };
        schedule.note(self.index, || match spawned {
            Spawned::Kept => "spawn: kept".to_owned(),
            Spawned::Here => "spawn: at once".to_owned(),
            Spawned::On(thief) => format!("spawn: at once, on {thief}"),
        });
        spawned
    }

    /// Takes one of the tasks that are kept from `base` on off the stack: for this worker to run,
    /// or run by another one when this returns.
    #[inline]
    fn take_drawn(&self, schedule: &Schedule, base: usize) -> Taken {
        let count = self.owner.top() - base;
        let chosen = schedule.pick(count);
        self.owner.bring_to_top(base + chosen);
        let thief = self.draw_thief(schedule);
        schedule.note(self.index, || {
            let on = thief.map_or_else(String::new, |thief| format!(", on {thief}"));
            format!("task {chosen} of {count}{on}")
        });
        let Some(thief) = thief else {
            self.owner.let_go();
            return Taken::Here;
        };
        let slot = self.owner.stack().slot(self.owner.top() - 1);
        self.waiting(|| {
            self.play(thief, |worker| {
                slot.begin(thief, worker.owner.top());
                worker.run_begun(self.index, slot, Level::Above);
            });
        });
        self.owner.let_go_ended();
        Taken::Ended
    }

    /// Takes back a task of the innermost open frame: in a deterministic pool this replaces the
    /// wait for a thief.
    #[inline]
    pub(crate) fn take_kept(&self, schedule: &Schedule) -> Taken {
        self.take_drawn(schedule, self.owner.floor())
    }

    /// Runs one kept task of the innermost open frame on top of the caller's. False if there is
    /// none.
    #[inline]
    pub(crate) fn run_kept(&self, schedule: &Schedule) -> bool {
        let is_one = self.owner.top() > self.owner.floor();
        if is_one && self.take_kept(schedule) == Taken::Here {
            self.run_let_go();
        }
        is_one
    }

    /// Runs all detached tasks. Any of the oldest may come first, as many as there are workers that
    /// may have drawn one and not yet begun it.
    #[inline]
    pub(crate) fn run_jobs_drawn(&self, schedule: &Schedule) {
        while self.run_job_drawn(schedule) {}
    }

    /// Runs one detached task on a free worker. False if there is none.
    #[inline]
    pub(crate) fn run_job_drawn(&self, schedule: &Schedule) -> bool {
        let registry = &self.registry;
        let spawned = |seat: usize| &registry.seats[seat].spawned;
        let queues: Vec<(Option<usize>, usize)> = std::iter::once(registry.injector.length())
            .map(|length| (None, length))
            .chain((0..registry.workers()).map(|seat| (Some(seat), spawned(seat).length())))
            .filter(|&(_, length)| length > 0)
            .collect();
        if queues.is_empty() {
            return false;
        }
        let (seat, length) = queues[schedule.pick(queues.len())];
        let chosen = schedule.pick(length.min(registry.workers()));
        let worker = self.draw_free(schedule);
        schedule.note(self.index, || format!("detached {chosen}, on {worker}"));
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
    pub(crate) fn draw_broadcast(&self, schedule: &Schedule) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.registry.workers()).collect();
        for left in (2..=order.len()).rev() {
            order.swap(schedule.pick(left), left - 1);
        }
        schedule.note(self.index, || format!("broadcast: {order:?}"));
        order
    }
}

/// The two closures of a join in a pool whose schedule is drawn, as that has it. Neither unwinds.
#[cold]
#[inline(never)]
pub(crate) fn run_both(a: Half<'_>, b: Half<'_>) {
    Worker::with_current(|worker| {
        let drawn = worker.and_then(|worker| Some((worker, worker.drawn()?)));
        let (worker, (schedule, ways)) =
            drawn.expect("the push was refused for the schedule's sake");
        (ways.join)(worker, schedule, a, b);
    });
}

/// The worker that a thread becomes which enters an in-place pool.
pub(super) fn draw_entrance(registry: &Arc<Registry>) -> usize {
    match registry.settings.drawn() {
        None => 0,
        Some((schedule, ways)) => (ways.enter)(registry, schedule),
    }
}

#[inline]
fn draw_entrance_of(registry: &Arc<Registry>, schedule: &Schedule) -> usize {
    let free = Worker::with_current(|worker| match worker {
        Some(worker) => free_workers_above(worker, registry),
        None => (0..registry.workers()).collect(),
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
fn free_workers_above(newest: &Worker, registry: &Arc<Registry>) -> Vec<usize> {
    let mut is_busy = vec![None; registry.workers()];
    let of_pool = |worker: &&Worker| Arc::ptr_eq(&worker.registry, registry);
    for worker in newest.outwards().filter(of_pool) {
        is_busy[worker.index].get_or_insert(!worker.waits.get());
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
