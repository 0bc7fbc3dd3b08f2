//! How a worker runs jobs, the work that does not stand in a task stack: detached tasks, calls from
//! outside, broadcasts.

use crate::stats::Activity;
use crate::workers::Worker;
use crate::workers::inject::Classed;
use crate::workers::job::Job;
use crate::workers::priority::Priority;

impl Worker {
    /// Runs all jobs of the injector and the mailbox.
    pub(crate) fn run_jobs(&self) {
        if let Some((schedule, ways)) = self.drawn() {
            return self.waiting(|| (ways.run_jobs)(self, schedule));
        }
        while let Some(job) = self.next_job(true) {
            self.run_job(job);
        }
    }

    pub(crate) fn run_job(&self, (job, class): Classed) {
        self.clock().enter(Activity::Busy);
        self.run_classed((job, class));
        self.clock().enter(Activity::Steal);
    }

    /// Runs a job; until it has ended, the worker takes none below its class on top of a wait.
    #[inline]
    pub(crate) fn run_classed(&self, (job, class): Classed) {
        let before = self.class().replace(class.unwrap_or_default());
        self.framed_outside(|| job.run());
        self.class().set(before);
    }

    /// The newest detached task of this worker, or else a job from its mailbox, or else, if their
    /// turn has come, one from the injector or what another worker has spawned.
    pub(crate) fn next_job(&self, any: bool) -> Option<Classed> {
        let seat = self.seat();
        let own = seat.spawned.pop_newest().or_else(|| seat.mailbox.pop());
        match own.is_some() || !any {
            true => own.map(of_no_class),
            false => {
                let injected = self.registry().injector.pop();
                self.injected_or_spawned(injected)
            }
        }
    }

    /// A job that is addressed to nobody, the newest of this worker's own first. Of those from
    /// outside, none that is below the class of what this worker runs.
    pub(crate) fn any_job(&self) -> Option<Classed> {
        let own = self.seat().spawned.pop_newest().map(of_no_class);
        own.or_else(|| {
            let injector = &self.registry().injector;
            let injected = match self.class().get() {
                Priority::Low => injector.pop(),
                class => injector.pop_not_below(class),
            };
            self.injected_or_spawned(injected)
        })
    }

    fn injected_or_spawned(&self, injected: Option<Classed>) -> Option<Classed> {
        let seats = &self.registry().seats;
        if injected.is_some() && !self.registry().injector.is_hint_empty() {
            self.wake_another();
        }
        injected.or_else(|| {
            let mut victims = self.victims();
            let job = victims.find_map(|victim| seats[victim].spawned.pop());
            job.map(of_no_class)
        })
    }

    /// Whether this worker has tasks that nobody has begun.
    #[inline]
    pub(crate) fn has_pending(&self) -> bool {
        self.owner().has_pending() || !self.seat().spawned.is_hint_empty()
    }

    /// Runs one task on top of the caller's frame, whatever it is: one of this worker's own, or,
    /// unless `own_only`, anybody's. False if there is none.
    #[inline]
    pub(crate) fn run_one(&self, own_only: bool) -> bool {
        let doing = self.clock().enter(Activity::Steal);
        // When the pool has ended, in `on_exit`, other threads may be gone, with nothing left.
        let looks_further = !own_only && !self.registry().has_ended();
        let ran = self.run_own() || self.serve_mailbox() || looks_further && self.run_others();
        self.clock().enter(doing);
        ran
    }

    #[inline]
    fn run_own(&self) -> bool {
        if let Some(job) = self.seat().spawned.pop_newest() {
            self.framed_outside(|| job.run());
            return true;
        }
        if let Some(schedule) = self.schedule() {
            return self.run_kept(schedule);
        }
        let wake = self.owner().show_all();
        self.wake_if(wake);
        // As a thief of its own stack: the task's join finds it begun and ended.
        self.steal_from(self.index(), 0).is_got()
    }

    #[inline]
    fn run_others(&self) -> bool {
        if let Some(job) = self.any_job() {
            self.run_classed(job);
            return true;
        }
        self.steal(0).is_got()
    }
}

/// Gives a job from the worker's own queue, which has no class, the normal one.
fn of_no_class(job: Job) -> Classed {
    (job, Some(Priority::Normal))
}
