//! One task, run because somebody on this worker asks for one.

use crate::stack::slot::Slot;
use crate::stats::Activity;
use crate::workers::Worker;
use crate::workers::job_runs::Jobs;
use crate::workers::own_tasks::Own;
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
        self.run_newest() || self.run_oldest()
    }

    /// Runs the newest task on this worker's stack, if it stays until the innermost frame ends. Not
    /// a half of a join, whose owner relies on its place, and nothing within the poll of a task,
    /// which takes its own off itself.
    fn run_newest(self) -> bool {
        let owner = self.0.owner();
        if self.0.seat().tasks.is_within_a_poll() {
            return false;
        }
        loop {
            let top = owner.top();
            let is_of_the_frame = owner.stack().at(top) > self.floor() && top > 0;
            if !is_of_the_frame || owner.has_joined_above(top - 1) {
                return false;
            }
            self.0.clock().enter(Activity::Busy);
            let ran = Own(self.0).run_newest(owner.stack().at(top - 1));
            self.0.clock().enter(Activity::Steal);
            // If it had ended elsewhere, it is off the stack now, and the next one is the newest.
            if ran || owner.top() == top {
                return ran;
            }
        }
    }

    /// Where the innermost frame begins.
    fn floor(self) -> *const Slot {
        let (_, floor) = self.0.owner().open_frame();
        self.0.owner().close_frame(floor);
        floor
    }

    /// As a thief of its own stack: the task's join finds it begun and ended. It may be one that
    /// lies below a task which is polled here.
    fn run_oldest(self) -> bool {
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
