//! The worker's side of the waiting loops: [`Waiter`], and the steps before and after.

use std::cell::Cell;
use std::process;
use std::ptr;
use std::sync::Arc;

use super::followed::Followed;
use super::wait_loop::{self, Chain, Found, Taken, Waiter, turn_away};
use crate::machine::meeting_points::{self, At, meet, park};
use crate::machine::os;
use crate::stack::owner::Owner;
use crate::stack::slot::Offer;
use crate::stack::task_word::TaskWord;
use crate::stats::{Activity, bump};
use crate::workers::Worker;
use crate::workers::frames::Level;
use crate::workers::inject::JobKind;
use crate::workers::job::Job;
use crate::workers::job_runs::Jobs;
use crate::workers::lent_thread::with_core_given;
use crate::workers::priority::Priority;
use crate::workers::sleep::sleep_loop::Sleeper;
use crate::workers::steal::Thief;
use crate::workers::steal::restraint::Theft;
use crate::workers::watched_parks::ParkReason;
use crate::workers::worker::claimed::Claimed;

/// How many tasks may stand on each other that were stolen back, or are a host's. Where each task
/// of a chain spawns the next and ends, two workers steal it back from each other for as long as it
/// is, and each steal adds a few frames to a native stack.
const STOLEN_BACK_MAX: u32 = 256;

impl Waiter<'static> for Worker {
    fn owner(&self) -> &Owner<'static> {
        self.owner()
    }

    fn is_deep(&self) -> bool {
        self.stolen_back.get() >= STOLEN_BACK_MAX
    }

    fn steals_back(&self) -> bool {
        !self.restraint.holds()
    }

    /// The claim is won; whether it was a claim on a descendant shows only now. If it was not,
    /// the task goes to a worker that waits for nothing.
    fn run_found(&self, chain: &Chain<'_>, found: Found) {
        let Found {
            holder: victim,
            index,
            remind,
            looked,
        } = found;
        meet(At::Claim);
        if chain.holds() {
            bump(&self.tally().leapfrogs, 1);
            self.clock().enter(Activity::Busy);
            let claimed = index..index + 1;
            self.stolen_back.set(self.stolen_back.get() + 1);
            let began = Claimed(self).run_claimed(victim, claimed, remind, Level::Above);
            self.stolen_back.set(self.stolen_back.get() - 1);
            let _ = self.restraint.judge(Theft::of_one(looked, began));
            self.clock().enter(Activity::Steal);
        } else {
            let stack = &self.registry().seats[victim].stack;
            let offered = stack.slot(index).offer();
            remind.pay(|| stack.raise_alarm());
            let job = move || {
                let offer = Offer::new(victim, index, offered);
                Worker::with_current(|worker| {
                    Claimed(worker.expect("jobs are run by workers")).run_offered(offer);
                });
            };
            self.registry().inject(JobKind::Awaited, Job::new(job));
        }
    }

    /// Not the first rounds if the available tasks are barely worth a steal: then it is better to
    /// park.
    fn round_after(&self, round: usize) -> usize {
        round * usize::from(self.restraint.is_on())
    }

    fn serve_parked(&self) -> bool {
        Wait(self).serve_mailbox() || Wait(self).serve_further_out()
    }

    fn run_job(&self, least: Priority) -> bool {
        Wait(self).run_job_on_top(least)
    }

    fn class(&self) -> Priority {
        self.class.get()
    }

    fn pause(&self, round: usize) {
        Thief(self).pause(round);
    }

    fn is_tired(&self, round: usize) -> bool {
        Thief(self).is_tired(round) && !self.restraint.holds()
    }

    fn park_until(&self, done: impl Fn() -> bool) {
        Wait(self).park_until(done);
    }

    fn wake_for(&self, seat: usize) {
        self.calls().wake_for(seat);
    }

    fn wake_for_left(&self, seat: usize, left: usize) {
        self.calls().wake_for_left(seat, left);
    }

    fn count_take_back(&self) {
        bump(&self.tally().take_backs, 1);
    }

    fn followed(&self) -> &Cell<Followed> {
        &self.followed
    }
}

/// Returns when `done`, whatever the calling thread is: whoever makes it true unparks the thread. A
/// worker takes part in broadcasts meanwhile, and is on call for nothing else: who drops a pool may
/// hold a lock, and does not expect more than that.
pub(crate) fn wait_here(done: impl Fn() -> bool) {
    if done() {
        return;
    }
    Worker::with_waiting(|worker| match worker {
        Some(worker) => Wait(worker).blocking_for(ParkReason::Event, &mut || {
            while !done() {
                if !worker.serve_parked() {
                    Sleeper::count_park(worker);
                    park();
                }
            }
        }),
        None => {
            while !done() {
                park();
            }
        }
    });
}

/// The worker of a pool with others which the thread of that worker is further out, if it is at
/// work there.
pub(crate) fn at_work_beneath(worker: &Worker) -> Option<&Worker> {
    let is_at_work = |worker: &&Worker| {
        let registry = worker.registry();
        let has_others = registry.seats.most() > 1 && !registry.is_left_behind();
        has_others && !worker.is_blocked.get()
    };
    worker.outwards().skip(1).find(is_at_work)
}

/// The waits of a worker, for a task that a thief has or for something else.
#[derive(Clone, Copy)]
pub(crate) struct Wait<'w>(pub(crate) &'w Worker);

impl Wait<'_> {
    /// Returns when the task at the top of this worker's stack, which a thief has claimed, has
    /// ended or can be had back; either way its slot is free then.
    pub(crate) fn wait_for_thief(self, index: usize) -> Taken {
        let doing = self.0.clock().enter(Activity::Steal);
        let tasks = &self.0.seat().tasks;
        let taken = tasks.in_wait(|| wait_loop::wait_for_thief(self.0, index));
        self.0.clock().enter(doing);
        taken
    }

    /// Returns when what `word` stands for has ended. Those who are at work on it say so in `runs`.
    pub(crate) fn wait_for_runs(self, word: &TaskWord, runs: &[TaskWord]) {
        let doing = self.0.clock().enter(Activity::Steal);
        let tasks = &self.0.seat().tasks;
        let _: Taken = tasks.in_wait(|| wait_loop::wait_for(self.0, word, runs));
        self.0.clock().enter(doing);
    }

    /// Parks until `done`, with the core given away, and everything shown that others could do
    /// meanwhile. Whoever makes `done` true unparks the thread.
    pub(crate) fn park_until(self, done: impl Fn() -> bool) {
        self.park_for(ParkReason::Task, done);
    }

    /// Parks until `done`, as in a wait for a task, but for the reason that is given.
    pub(crate) fn park_for(self, why: ParkReason, done: impl Fn() -> bool) {
        self.park_long(why, &done);
    }

    /// A park is rare and long, so its code is there once, and not once for each condition.
    fn park_long(self, why: ParkReason, done: &dyn Fn() -> bool) {
        let registry = self.0.registry();
        if registry.is_left_behind() {
            // Frames further out are lent to threads that are not here: there is no way to unwind.
            os::say(&registry.left_behind());
            process::abort();
        }
        self.blocking_for(why, &mut || wait_loop::park_while_away(self.0, done));
        registry.spares.off_call(registry, self.0.index());
    }

    /// Where there is no compensation thread: nobody else may be there to run it.
    fn run_job_on_top(self, least: Priority) -> bool {
        let (lending, shown) = (&self.0.registry().lending, &self.0.shown_index);
        shown.on_top(lending, || {
            let job = Jobs(self.0).any_job(least);
            let is_one = job.is_some();
            if let Some(job) = job {
                turn_away(self.0);
                let doing = self.0.clock().enter(Activity::Busy);
                Jobs(self.0).run_on_top(job);
                self.0.clock().enter(doing);
            }
            is_one
        })
    }

    /// Calls `f`, which blocks the thread, while a spare thread has the core.
    pub(crate) fn blocking<R>(self, f: impl FnOnce() -> R) -> R {
        let (mut f, mut result) = (Some(f), None);
        self.blocking_for(ParkReason::Blocks, &mut || {
            meeting_points::away(&mut || {
                let f = f.take().expect("it is called once");
                result = Some(f());
            });
        });
        result.expect("it was called")
    }

    /// Calls `f`, while the core is given away, also that of a worker beneath: if a pool of this
    /// thread alone was entered by a worker of one with others, what is waited for may be theirs to
    /// run.
    fn blocking_for(self, why: ParkReason, f: &mut dyn FnMut()) {
        self.0
            .seat()
            .tasks
            .in_wait(|| match at_work_beneath(self.0) {
                None => self.give_core(why, f),
                Some(beneath) => Wait(beneath).give_core(ParkReason::Event, &mut || {
                    // It may have made its own stack the thread's, to show what is there.
                    self.0.owner().enter();
                    self.give_core(why, f);
                }),
            });
    }

    fn give_core(self, why: ParkReason, f: &mut dyn FnMut()) {
        let watch = self.0.registry().watch.as_ref();
        let _parked = watch.map(|watch| watch.begin(self.0.index(), why));
        let (lending, shown) = (&self.0.registry().lending, &self.0.shown_index);
        let meanwhile = || {
            turn_away(self.0);
            // Beneath another worker, it is not what the thread is to what it runs.
            let served = match self.0.is_current() {
                true => wait_loop::serve(self.0),
                false => self.serve_from_within(self.0),
            };
            if !served {
                park();
            }
        };
        shown.while_away(lending, meanwhile, |back| {
            let doing = self.0.clock().enter(Activity::Switch);
            wait_loop::give_core(self.0, &self.0.is_blocked, || {
                self.0.seat().tasks.away(|| {
                    with_core_given(f);
                    if self.0.is_spare() {
                        // It may have to wait for its index, and serves nobody then.
                        turn_away(self.0);
                    }
                    // What has its index may be waiting for a task with its place here.
                    back();
                });
            });
            self.0.clock().enter(doing);
        });
    }

    /// [`Jobs::serve_mailbox`] for a worker that may wait or block, and have lent its index.
    pub(crate) fn serve_mailbox(self) -> bool {
        // No second look without the index: somebody may have it who runs. Who posts something
        // unparks this thread, which comes here again.
        if self.0.seat().mailbox.is_hint_empty() {
            return self.serve_host();
        }
        let (lending, shown) = (&self.0.registry().lending, &self.0.shown_index);
        shown.on_top(lending, || {
            turn_away(self.0);
            Jobs(self.0).serve_mailbox()
        })
    }

    /// Runs one thing of the runtime that hosts the worker. False if there is none, or no more is
    /// to stand on its native stack.
    fn serve_host(self) -> bool {
        let host = self.0.host_calls.get().filter(|_| !self.0.is_deep());
        let Some(host) = host.filter(|host| (host.has_some)()) else {
            return false;
        };
        turn_away(self.0);
        let doing = self.0.clock().enter(Activity::Busy);
        self.0.stolen_back.set(self.0.stolen_back.get() + 1);
        Jobs(self.0).on_top(host.run);
        self.0.stolen_back.set(self.0.stolen_back.get() - 1);
        self.0.clock().enter(doing);
        true
    }

    /// Runs one job that is addressed to a seat which the calling thread has further out, beneath
    /// what it waits in. False if there is none.
    fn serve_further_out(self) -> bool {
        self.0.outwards().skip(1).any(|worker| {
            let mut further_in = self.0.outwards().take_while(|&one| !ptr::eq(one, worker));
            // Of several workers at one seat, the innermost knows who has its index.
            let is_innermost = !further_in.any(|one| ptr::eq(one.seat(), worker.seat()));
            let is_here = !worker.registry().is_left_behind();
            is_innermost && is_here && Wait(worker).serve_from_within(self.0)
        })
    }

    /// Runs one job that is addressed to this worker, as one more worker at its seat, on top of
    /// `parked`, which the thread is. False if there is none, or somebody runs with the index.
    fn serve_from_within(self, parked: &Worker) -> bool {
        let (seat, registry) = (self.0.seat(), self.0.registry());
        if seat.mailbox.is_hint_empty() {
            return false;
        }
        self.0.shown_index.on_top(&registry.lending, || {
            turn_away(parked);
            let run = |worker: &Worker| {
                // Its core is given away already.
                worker.is_blocked.set(self.0.is_blocked.get());
                // Also where the thread has left the context that it was in at this seat, for none.
                worker.segment(|| Jobs(worker).serve_mailbox())
            };
            // SAFETY: the calling thread is that worker further out.
            unsafe { Worker::be(Arc::clone(registry), self.0.index(), run) }
        })
    }
}
