//! The work that is under way on a device, when the next task is chosen.

use std::collections::BTreeMap;
use std::time::Instant;

use super::choose::Standing;
use super::entry::Entry;
use super::{Device, State};
use crate::history::law::Took;

/// So many of the last tasks that a device has ended are remembered.
const ENDS: usize = 16;

/// How many tasks come to a device for each that it ends.
///
/// Tasks that are each followed by another are never there all at once, so the queue of a device
/// that works for a minute may be as short as that of one that is done in a moment.
#[derive(Default)]
pub(super) struct Replaced {
    /// Tasks that have come, less those that workers took.
    came: i64,
    /// How many had come at each of the last ends, the oldest of which is overwritten next.
    at_end: [i64; ENDS],
    ended: usize,
}

impl Replaced {
    /// A task came.
    pub(super) fn came(&mut self) {
        self.came += 1;
    }

    /// A worker took one, or nobody wants it any more.
    pub(super) fn left(&mut self) {
        self.came -= 1;
    }

    /// The device has ended one.
    pub(super) fn ended(&mut self) {
        self.at_end[self.ended % ENDS] = self.came;
        self.ended += 1;
    }

    /// Which part of the last tasks that ended, as many as are there, was replaced by others; none
    /// while fewer have ended. So those that all came at once replace nothing.
    fn share(&self, there: usize) -> f64 {
        let there = there.clamp(1, ENDS);
        if self.ended < there {
            return 0.0;
        }
        let before = self.at_end[(self.ended - there) % ENDS];
        ((self.came - before) as f64 / there as f64).clamp(0.0, 1.0)
    }
}

impl Device {
    /// How many tasks have ended here; and which are here now, in words, if any are.
    pub(crate) fn told(&self) -> (usize, Option<String>) {
        let state = self.lock();
        let mut counts = BTreeMap::<_, usize>::new();
        for kind in &state.kinds {
            *counts.entry(*kind).or_default() += 1;
        }
        let counts = counts
            .iter()
            .map(|(kind, count)| format!("{count} of `{kind}`"));
        let aboard = counts.collect::<Vec<_>>().join(", ");
        let waits = state.queue.loads().count;
        let told = format!("{aboard}; {waits} wait in its queue");
        (state.replaced.ended, (!aboard.is_empty()).then_some(told))
    }

    /// How long a worker that took the task would wait until tasks that have landed ahead have
    /// written what it reads; seconds.
    pub(super) fn wait_s(&self, state: &State, entry: &Entry) -> f64 {
        let read = entry.uses.iter().filter(|one| one.access.reads());
        let writers = read.filter_map(|one| state.table.get(one.content.id())?.writer());
        let done_at = writers.filter_map(|writer| writer.lock().done_at).max();
        done_at.map_or(0.0, |at| {
            at.saturating_duration_since(Instant::now()).as_secs_f64()
        })
    }

    /// Returns the rest of the work that the device has taken.
    pub(super) fn flying(&self, state: &State) -> Took {
        let since = state.flying_since.elapsed().as_secs_f64();
        let sum = &state.flying.sum;
        Took {
            mean: (sum.overlapped() - since).max(0.0),
            most: (sum.overlapped_most() - since).max(0.0),
        }
    }

    /// How many cores it takes away from workers that could use them, where so many other tasks
    /// wait.
    pub(super) fn cores(&self, others: usize) -> f64 {
        if !self.shares_cores {
            return 1.0;
        }
        let wanted = 1 + self.common.running() + others;
        wanted.min(self.common.workers()) as f64
    }

    pub(super) fn standing(&self, state: &State) -> Standing {
        let loads = state.queue.loads();
        // What follows comes by a worker that polls the tasks which have ended. The last one that
        // is free does not leave the device without.
        let is_refilled = self.common.engaged() + 1 < self.common.workers();
        let there_s = loads.sum.overlapped() + state.flying.sum.overlapped();
        let coming = match is_refilled {
            true => state.replaced.share(loads.count + state.flying.count) * there_s,
            false => 0.0,
        };
        Standing {
            flying: self.flying(state),
            queue: loads.sum,
            coming,
            workers: self.common.workers() as f64,
            shares_cores: self.shares_cores,
            cores: self.cores(loads.count.saturating_sub(1)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_that_follow_others_replace_them() {
        let mut replaced = Replaced::default();
        (0..8).for_each(|_| replaced.came());
        assert_eq!(replaced.share(8), 0.0);
        for _ in 0..8 {
            replaced.ended();
            replaced.came();
            assert_eq!(replaced.share(8) == 1.0, replaced.ended == 8);
        }
        // None follows any more.
        for there in (0..8).rev() {
            replaced.ended();
            assert!(replaced.share(there) <= 1.0);
        }
        assert_eq!(replaced.share(1), 0.0);
    }

    #[test]
    fn tasks_that_came_at_once_are_not_replaced() {
        let mut replaced = Replaced::default();
        (0..100).for_each(|_| replaced.came());
        for there in (0..100).rev() {
            replaced.ended();
            assert_eq!(replaced.share(there), 0.0);
        }
    }

    #[test]
    fn tasks_that_workers_take_replace_nothing() {
        let mut replaced = Replaced::default();
        replaced.ended();
        (0..5).for_each(|_| replaced.came());
        (0..5).for_each(|_| replaced.left());
        assert_eq!(replaced.share(1), 0.0);
    }
}
