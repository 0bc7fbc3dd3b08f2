//! The part of a worker that is played, in a pool whose schedule is drawn.

use std::cell::Cell;

use crate::replay::{Habit, Schedule};

/// Most workers that are played on top of each other, and tasks that run on top of their spawners.
/// With threads a chain of tasks, each spawned by the one before, takes no native stack; nor should
/// it here.
pub(crate) const DEPTH_MAX: usize = 32;

#[derive(Default)]
pub(crate) struct Played {
    /// It waits for what another worker does that this thread plays.
    waits: Cell<bool>,
    /// How many tasks it runs on top of their spawners.
    at_once: Cell<usize>,
}

impl Played {
    /// Of a worker on top of this one, on the same native stack.
    pub(crate) fn inherited(&self) -> Played {
        Played {
            waits: Cell::new(false),
            at_once: self.at_once.clone(),
        }
    }

    pub(crate) fn waits(&self) -> bool {
        self.waits.get()
    }

    /// Calls `f`, while the worker waits for what is played in it; or does not, in spite of a wait
    /// further out.
    pub(crate) fn while_waiting<R>(&self, waits: bool, f: impl FnOnce() -> R) -> R {
        let before = self.waits.replace(waits);
        let result = f();
        self.waits.set(before);
        result
    }

    /// Whether what the worker has spawned is to run at once.
    #[inline]
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
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_ends_with_what_is_waited_for() {
        let played = Played::default();
        played.while_waiting(true, || {
            played.while_waiting(false, || assert!(!played.waits()));
            assert!(played.waits(), "the wait further out goes on");
        });
        assert!(!played.waits());
    }
}
