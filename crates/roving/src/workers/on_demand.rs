//! One task, run because somebody on this worker asks for one.

use crate::stats::Activity;
use crate::workers::Worker;
use crate::workers::job_runs::Jobs;
use crate::workers::steal::Thief;
use crate::workers::wait::Wait;

/// A worker that runs one task on top of what it does.
#[derive(Clone, Copy)]
pub(crate) struct OnDemand<'w>(pub(crate) &'w Worker);

impl OnDemand<'_> {
    /// Runs one task on top of the caller's frame, whatever it is: one of this worker's own, or,
    /// unless `own_only`, anybody's. False if there is none.
    #[inline]
    pub(crate) fn run(self, own_only: bool) -> bool {
        let doing = self.0.clock().enter(Activity::Steal);
        // When the pool has ended, in `on_exit`, other threads may be gone, with nothing left.
        // In a forked child they are not there, and may have the queue locked. Of a pool without
        // threads that is asked before this thread locks it, which another one would see.
        let registry = self.0.registry();
        let looks_further = !own_only && !registry.crew.has_ended() && !registry.is_left_behind();
        let ran =
            self.run_own() || Wait(self.0).serve_mailbox() || looks_further && self.run_others();
        self.0.clock().enter(doing);
        ran
    }

    #[inline]
    fn run_own(self) -> bool {
        if let Some(job) = self.0.seat().spawned.pop_newest() {
            Jobs(self.0).on_top(|| job.run());
            return true;
        }
        let wake = self.0.owner().show_all();
        self.0.wake_if(wake);
        // As a thief of its own stack: the task's join finds it begun and ended. It may be one that
        // lies below a task which is polled here.
        let steal = || Thief(self.0).steal_from(self.0.index(), 0).is_got();
        self.0.seat().tasks.apart(steal)
    }

    #[inline]
    fn run_others(self) -> bool {
        self.0.seat().tasks.apart(|| {
            if let Some(job) = Jobs(self.0).any_job(self.0.class.get()) {
                Jobs(self.0).run_classed(job);
                return true;
            }
            Thief(self.0).steal(0).is_got()
        })
    }
}
