//! The loop of a worker's thread: own tasks, then other workers' tasks, then sleep.

use std::mem;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use crate::machine::meeting_points::park;
use crate::machine::os;
use crate::machine::stack_overflow::Watched;
use crate::stats::{Activity, bump};
use crate::workers::Worker;
use crate::workers::frames::Frames;
use crate::workers::job_runs::Jobs;
use crate::workers::registry::Registry;
use crate::workers::settings::IndexHandler;
use crate::workers::sleep::Parts;
use crate::workers::sleep::lookers::Looking;
use crate::workers::sleep::roster;
use crate::workers::sleep::sleep_loop::{
    Sleeper, Woken, bench, has_found, rest_unless_needed, sleep,
};
use crate::workers::steal::{ROUNDS_BEFORE_WANT, Search, Thief};
use crate::workers::wait::Wait;

/// One look in so many goes to the injector first, so that stealing without end starves no job.
const JOB_EVERY: usize = 61;

/// How often a compensation thread of a closed pool looks whether there is an index for it.
const CLOSING_LOOK_EVERY: Duration = Duration::from_millis(1);

/// A worker's thread at its seat, when nothing is left of what it was told to do.
#[derive(Clone, Copy)]
pub(crate) struct Turn<'w>(pub(crate) &'w Worker);

impl Turn<'_> {
    /// A compensation thread that is not needed leaves. So does a worker that is benched.
    fn stay_or_rest(self) {
        let registry = self.0.registry();
        if self.0.is_spare() {
            rest_unless_needed(self.0);
        } else if roster::is_benched(registry.as_ref(), self.0.index())
            && !registry.crew.is_closing()
        {
            self.bench();
        }
    }

    /// Sleeps until this worker is to work again, or the pool closes.
    pub(crate) fn bench(self) {
        self.0.seat().tasks.away(|| bench(self.0));
    }

    /// Runs a job if there is one that the worker may run now, and says whether it has. On a
    /// compensation thread the job has the index of a worker that waits.
    fn run_job(self, any: bool) -> bool {
        let (shown, lending) = (&self.0.shown_index, &self.0.registry().lending);
        if !shown.borrow(lending) && !self.0.registry().has_lost_its_workers() {
            // Nobody lends an index: who does so unparks this thread, and so does who closes the
            // pool. From then on workers may run the job and go quiet, and nobody says so.
            match self.0.registry().crew.is_closing() {
                false => park(),
                true => thread::park_timeout(CLOSING_LOOK_EVERY),
            }
            return false;
        }
        let job = Jobs(self.0).next_job(any);
        let is_one = job.is_some();
        if let Some(job) = job {
            has_found(self.0);
            Jobs(self.0).run_job(job);
        }
        shown.give_back(lending);
        is_one
    }

    /// The loop of a worker's thread, until the pool ends. Of a thread that only stays for a while,
    /// until `leaves` says so between two tasks, of what it is told: whether the thread has run
    /// something here, and whether its last look around found nothing; or until there is nothing to
    /// do.
    pub(crate) fn work(self, leaves: Option<&dyn Fn(bool, bool) -> bool>) {
        let registry = self.0.registry();
        let mut round = 0;
        let mut looks = 0;
        let mut woken = leaves.is_some();
        loop {
            match leaves {
                Some(leaves) if leaves(looks > round, round > 0) => return,
                Some(_) => {}
                None => self.stay_or_rest(),
            }
            looks += 1;
            // Whoever woke it may have done so for a job.
            let any = mem::take(&mut woken) || self.0.is_spare() || round > 0;
            let any = any || looks % JOB_EVERY == 0 || registry.injector.is_hint_pressing();
            if self.run_job(any) {
                round = 0;
                continue;
            }
            if Frames(self.0).run_placed() {
                round = 0;
                continue;
            }
            let is_reserve = registry.settings.is_reserve(self.0.index());
            let found = match is_reserve || self.0.restraint.holds() {
                true => Search::Empty,
                false => Thief(self.0).steal(round),
            };
            match found {
                Search::Got => round = 0,
                // Goes on to tire, and to sleep.
                Search::GotLittle => {}
                Search::Busy => Thief(self.0).pause(0),
                Search::Empty if !Thief(self.0).is_tired(round) => {
                    if round >= ROUNDS_BEFORE_WANT && !is_reserve {
                        self.0.looking.begin(registry.lookers());
                    }
                    Thief(self.0).pause(round);
                    round += 1;
                }
                Search::Empty => {
                    if leaves.is_some() || sleep(self.0) == Woken::ToEnd {
                        return;
                    }
                    self.0.restraint.lift();
                    woken = true;
                    round = 0;
                }
            }
        }
    }

    /// Outside of all contexts: the thread may have come to its seat in that of a call.
    pub(crate) fn handle(self, callback: &Option<IndexHandler>) {
        if let Some(callback) = callback {
            self.0.in_handler.set(true);
            let call = || panic::catch_unwind(AssertUnwindSafe(|| callback(self.0.index())));
            let called = self.0.framed_outside(call);
            called.unwrap_or_else(|payload| self.0.registry().settings.handle_panic(payload));
            self.0.in_handler.set(false);
        }
    }
}

impl Sleeper for Worker {
    type Pool = Registry;

    fn pool(&self) -> &Arc<Registry> {
        self.registry()
    }

    fn index(&self) -> usize {
        Worker::index(self)
    }

    fn victims(&self) -> impl Iterator<Item = usize> {
        let seats = self.registry().in_use.count();
        self.victims.others(Worker::index(self), seats, &[])
    }

    fn takes_of(&self, public: usize) -> bool {
        self.registry().settings.amount.of(public) > 0
    }

    fn wake_another(&self) {
        self.calls().wake_another();
    }

    fn looking(&self) -> &Looking {
        &self.looking
    }

    fn serve_mailbox(&self) -> bool {
        Wait(self).serve_mailbox()
    }

    fn count_park(&self) {
        bump(&self.tally().parks, 1);
    }

    fn turn_to(&self, activity: Activity) {
        self.clock().enter(activity);
    }
}

/// A thread of a pool, from start to end.
pub(crate) fn run_thread(registry: Arc<Registry>, index: usize) {
    let _watched = Watched::new();
    let _goes = Goes(&registry);
    registry
        .kind
        .attend(index, &mut || attend(&registry, index));
}

/// The calling thread leaves the pool when this is dropped.
struct Goes<'r>(&'r Registry);

impl Drop for Goes<'_> {
    fn drop(&mut self) {
        self.0.crew.go();
    }
}

fn attend(registry: &Arc<Registry>, index: usize) {
    let seat = &registry.seats[index];
    registry.enlist(index);
    if let Some(processor) = registry.settings.processor(index) {
        let _ = os::pin_to(processor);
    }
    // Workers that went to sleep before this thread was there want work of it as well.
    let _ = seat.stack.want();
    // SAFETY: each index has one thread.
    unsafe {
        Worker::be(Arc::clone(registry), index, |worker| {
            worker.owner().attach();
            Turn(worker).handle(&registry.settings.on_start);
            worker.clock().enter(Activity::Steal);
            Turn(worker).work(None);
            worker.seat().tasks.stay_away();
            worker.clock().enter(Activity::Frame);
            Turn(worker).handle(&registry.settings.on_exit);
            // What that spawned; nobody else may be left.
            Jobs(worker).run_jobs();
        });
    }
}
