//! When a worker has nothing to do.

use crate::faults;
use crate::stats::{Activity, bump};
use crate::worker::Worker;

impl Worker {
    /// A spare thread that is not needed leaves, unless there is a job that may be waited for. So does a
    /// worker that is benched.
    pub(super) fn stay_or_rest(&self) {
        let registry = &self.registry;
        let closing = registry.is_closing();
        if !self.is_spare() {
            if registry.is_benched(self.index) && !closing {
                self.bench();
            }
            return;
        }
        if registry.spares.is_one_too_many() && !closing && registry.injector.is_hint_empty() {
            self.clock().enter(Activity::Idle);
            registry.spares.rest(registry, self.index);
            self.clock().enter(Activity::Steal);
        }
    }

    /// Parks until somebody brings work, or the pool ends; see [`crate::sleep`] for S1 to S3.
    pub(super) fn sleep(&self) -> Woken {
        let (registry, me) = (&self.registry, self.index);
        let seats = &registry.seats;
        registry.idle.announce(me);
        registry.see_seats();
        let amount = registry.settings.amount;
        if self
            .victims()
            .any(|victim| amount.of(seats[victim].stack.want()) > 0)
            || registry.has_jobs()
        {
            if !registry.idle.retract(me) {
                // Somebody meant to wake this worker for other work than what it has just seen.
                self.wake_another();
            }
            return Woken::ToWork;
        }
        self.clock().enter(Activity::Idle);
        let closing = registry.is_closing();
        if closing {
            registry.go_quiet();
        }
        while registry.idle.contains(me) && !registry.has_ended() {
            if registry.is_closing() != closing || !self.seat().mailbox.is_surely_empty() {
                registry.idle.retract(me);
                break;
            }
            bump(&self.tally().parks, 1);
            faults::park();
        }
        self.clock().enter(Activity::Steal);
        match closing && registry.has_ended_or_be_busy() {
            true => Woken::ToEnd,
            false => Woken::ToWork,
        }
    }
}

/// What a worker was woken for.
#[derive(PartialEq, Eq)]
pub(super) enum Woken {
    ToWork,
    ToEnd,
}
