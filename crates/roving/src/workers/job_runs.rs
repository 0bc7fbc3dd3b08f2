//! How a worker runs jobs, the work that does not stand in a task stack: detached tasks, calls from
//! outside, broadcasts.

use crate::stats::Activity;
use crate::workers::Worker;
use crate::workers::inject::Classed;
use crate::workers::job::Job;
use crate::workers::priority::Priority;

/// The jobs that a worker may run: its own, those of its mailbox, those from outside.
#[derive(Clone, Copy)]
pub(crate) struct Jobs<'w>(pub(crate) &'w Worker);

impl Jobs<'_> {
    /// Runs all jobs of the injector and the mailbox.
    pub(crate) fn run_jobs(self) {
        while let Some(job) = self.next_job(true) {
            self.run_job(job);
        }
    }

    pub(crate) fn run_job(self, (job, class): Classed) {
        self.0.clock().enter(Activity::Busy);
        self.run_classed((job, class));
        self.0.clock().enter(Activity::Steal);
    }

    /// Runs a job; until it has ended, the worker takes none below its class on top of a wait.
    #[inline]
    pub(crate) fn run_classed(self, (job, class): Classed) {
        let before = self.0.class.replace(class.unwrap_or_default());
        self.0.framed_outside(|| job.run());
        self.0.class.set(before);
    }

    /// [`Worker::framed_outside`], on top of whatever runs here: nothing that `f` makes is the
    /// child of a task that is polled here.
    pub(crate) fn on_top<R>(self, f: impl FnOnce() -> R) -> R {
        self.0.seat().tasks.apart(|| self.0.framed_outside(f))
    }

    /// [`Self::run_classed`], on top of whatever runs here.
    pub(crate) fn run_on_top(self, job: Classed) {
        self.0.seat().tasks.apart(|| self.run_classed(job));
    }

    /// The newest detached task of this worker, or else a job from its mailbox, or else, if their
    /// turn has come, one from the injector or what another worker has spawned.
    #[inline(always)]
    pub(crate) fn next_job(self, any: bool) -> Option<Classed> {
        let seat = self.0.seat();
        let own = seat.spawned.pop_newest().or_else(|| seat.mailbox.pop());
        match own.is_some() || !any {
            true => own.map(of_no_class),
            false => {
                let injected = self.0.registry().injector.pop();
                self.injected_or_spawned(injected)
            }
        }
    }

    /// A job that is addressed to nobody, the newest of this worker's own first. Of those from
    /// outside, none that is below that class.
    pub(crate) fn any_job(self, least: Priority) -> Option<Classed> {
        let own = self.0.seat().spawned.pop_newest().map(of_no_class);
        own.or_else(|| {
            let injector = &self.0.registry().injector;
            let injected = match least {
                Priority::Low => injector.pop(),
                least => injector.pop_not_below(least),
            };
            self.injected_or_spawned(injected)
        })
    }

    fn injected_or_spawned(self, injected: Option<Classed>) -> Option<Classed> {
        let seats = &self.0.registry().seats;
        if injected.is_some() && !self.0.registry().injector.is_hint_empty() {
            self.0.calls().wake_another();
        }
        injected.or_else(|| {
            let seats_in_use = self.0.registry().in_use.count();
            let mut victims = self.0.victims.others(self.0.index(), seats_in_use, &[]);
            let job = victims.find_map(|victim| seats[victim].spawned.pop());
            job.map(of_no_class)
        })
    }

    /// Whether this worker has tasks that nobody has begun.
    #[inline]
    pub(crate) fn has_pending(self) -> bool {
        self.0.owner().has_pending() || !self.0.seat().spawned.is_hint_empty()
    }

    /// Broadcasts are addressed to this very worker, so they run wherever it stands.
    pub(crate) fn serve_mailbox(self) -> bool {
        match self.0.seat().mailbox.pop() {
            Some(job) => {
                let doing = self.0.clock().enter(Activity::Busy);
                self.on_top(|| job.run());
                self.0.clock().enter(doing);
                true
            }
            None => false,
        }
    }
}

/// Gives a job from the worker's own queue, which has no class, the normal one.
fn of_no_class(job: Job) -> Classed {
    (job, Some(Priority::Normal))
}
