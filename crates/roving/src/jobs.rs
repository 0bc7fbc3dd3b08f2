//! What a worker does with work that does not stand in a task stack: detached tasks, calls from outside,
//! broadcasts.

use crate::inject::Job;
use crate::stats::Activity;
use crate::worker::Worker;

impl Worker {
    /// Runs all jobs of the injector and the mailbox.
    pub(crate) fn run_jobs(&self) {
        if let Some(schedule) = self.schedule() {
            return self.waiting(|| self.run_jobs_drawn(schedule));
        }
        while let Some(job) = self.next_job(true) {
            self.run_job(job);
        }
    }

    pub(crate) fn run_job(&self, job: Job) {
        self.clock().enter(Activity::Busy);
        self.framed_outside(job);
        self.clock().enter(Activity::Steal);
    }

    /// The newest detached task of this worker, or else a job from its mailbox, or else, if their
    /// turn has come, one from the injector or what another worker has spawned.
    pub(crate) fn next_job(&self, any: bool) -> Option<Job> {
        let seat = self.seat();
        let own = seat.spawned.pop_newest().or_else(|| seat.mailbox.pop());
        match own.is_some() || !any {
            true => own,
            false => self.injected_or_spawned(),
        }
    }

    /// A job that is addressed to nobody, the newest of this worker's own first.
    pub(crate) fn any_job(&self) -> Option<Job> {
        let own = self.seat().spawned.pop_newest();
        own.or_else(|| self.injected_or_spawned())
    }

    fn injected_or_spawned(&self) -> Option<Job> {
        let seats = &self.registry().seats;
        let job = self.registry().injector.pop();
        if job.is_some() && !self.registry().injector.is_hint_empty() {
            self.wake_another();
        }
        job.or_else(|| {
            self.victims()
                .find_map(|victim| seats[victim].spawned.pop())
        })
    }

    /// Whether this worker has tasks that nobody has begun.
    pub(crate) fn has_pending(&self) -> bool {
        self.owner().has_pending() || !self.seat().spawned.is_hint_empty()
    }

    /// Runs one task on top of the caller's frame, whatever it is: one of this worker's own, or,
    /// unless `own_only`, anybody's. False if there is none.
    pub(crate) fn run_one(&self, own_only: bool) -> bool {
        let doing = self.clock().enter(Activity::Steal);
        // When the pool has ended, in `on_exit`, other threads may be gone, with nothing left.
        let looks_further = !own_only && !self.registry().has_ended();
        let ran = self.run_own() || self.serve_mailbox() || looks_further && self.run_others();
        self.clock().enter(doing);
        ran
    }

    fn run_own(&self) -> bool {
        if let Some(job) = self.seat().spawned.pop_newest() {
            self.framed_outside(job);
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

    fn run_others(&self) -> bool {
        if let Some(job) = self.any_job() {
            self.framed_outside(job);
            return true;
        }
        self.steal(0).is_got()
    }
}
