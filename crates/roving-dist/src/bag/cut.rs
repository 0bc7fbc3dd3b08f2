//! Consistent cuts: what all ranks together had at some moment, without stopping all of them.
//!
//! The algorithm of Chandy and Lamport (1985). A rank records its tasks and its result while none
//! of its workers runs a task, and sends every other rank a `Cut`. Tasks that come from a rank
//! after this one has recorded, but were sent before that rank had, were under way: they belong to
//! the cut as well. Channels keep the order, so they come before that rank's `Cut`, and when all
//! `Cut`s are in, this rank's part of the cut is complete. Tasks that were sent after a cut must
//! not be in it: they carry the number of cuts that their sender had recorded, and wait until this
//! rank has recorded as many.
//!
//! So in a cut each task that was not done is there once: with the rank that had it, or else with
//! the rank that it was under way to. Each that was done is in the result of the rank that did it.

use std::sync::Arc;
use std::time::Instant;

use crate::checkpoint::{CutPlan, Files, Writers};

/// One rank's part of a cut.
pub(super) struct Part {
    /// Which cut of this run.
    pub(super) number: u32,
    /// The tasks, in several encoded lists.
    pub(super) tasks: Vec<Vec<u8>>,
    /// The result so far, encoded.
    pub(super) result: Vec<u8>,
}

/// A part as it stands in its file.
pub(super) type Saved = (Vec<Vec<u8>>, Vec<u8>);

/// One rank's side of the cuts of a run.
pub(super) struct Cuts {
    /// None where no cuts are made.
    plan: Option<CutPlan>,
    /// How many this rank has recorded.
    recorded: u32,
    /// The number of the last `Cut` that came from each rank.
    came: Vec<u32>,
    /// A cut is to be recorded as soon as no worker runs a task.
    is_due: bool,
    /// Recorded, and waiting for tasks that were under way.
    open: Option<Part>,
    /// At rank 0: how many parts of the last cut are on the disk.
    saved: usize,
}

impl Cuts {
    pub(super) fn new(ranks: usize, plan: Option<CutPlan>) -> Cuts {
        Cuts {
            plan,
            recorded: 0,
            came: vec![0; ranks],
            is_due: false,
            open: None,
            saved: 0,
        }
    }

    pub(super) fn is_due(&self) -> bool {
        self.is_due
    }

    /// Whether a cut waits for other ranks, in words.
    pub(super) fn told(&self) -> &'static str {
        match self.open {
            Some(_) => "; its part of a checkpoint waits for ranks that have not recorded theirs",
            None => "",
        }
    }

    pub(super) fn recorded(&self) -> u32 {
        self.recorded
    }

    /// At rank 0: when a cut is to be begun.
    pub(super) fn next(&self) -> Option<Instant> {
        self.plan.as_ref()?.next
    }

    /// At rank 0: begins a cut, if it is time.
    pub(super) fn begin(&mut self, now: Instant) {
        if let Some(plan) = &mut self.plan {
            self.is_due |= plan.take_due(now);
        }
    }

    /// Records: `tasks` and `result` are all that this rank has, and no worker runs a task. The
    /// part of the cut is given back when nothing is under way to it.
    #[must_use]
    pub(super) fn record(
        &mut self,
        rank: usize,
        tasks: Vec<Vec<u8>>,
        result: Vec<u8>,
    ) -> Option<Part> {
        self.is_due = false;
        self.recorded += 1;
        self.came[rank] = self.recorded;
        self.saved = 0;
        self.open = Some(Part {
            number: self.recorded,
            tasks,
            result,
        });
        self.close()
    }

    /// The part of the cut, if nothing is under way to it any more.
    fn close(&mut self) -> Option<Part> {
        let number = self.open.as_ref()?.number;
        let is_closed = self.came.iter().all(|came| *came >= number);
        if is_closed { self.open.take() } else { None }
    }

    /// Tasks have come from a rank that had recorded so many cuts.
    pub(super) fn tasks_came(&mut self, from: usize, cuts: u32, tasks: &[u8]) {
        let Some(open) = &mut self.open else {
            return;
        };
        if cuts < open.number && self.came[from] < open.number {
            open.tasks.push(tasks.to_vec());
        }
    }

    /// That rank has recorded. This rank's part of the cut, if it is now complete.
    #[must_use]
    pub(super) fn cut_came(&mut self, from: usize, number: u32) -> Option<Part> {
        self.came[from] = number;
        self.is_due |= number > self.recorded;
        self.close()
    }

    /// At rank 0: the cut is committed, and the next one is due some time later.
    pub(super) fn is_committed(&mut self) {
        if let Some(plan) = &mut self.plan {
            plan.wait_for_next();
        }
    }

    /// Where cuts are written, and who writes.
    pub(super) fn writers(&self) -> Option<(Arc<Files>, Writers)> {
        let plan = self.plan.as_ref()?;
        Some((Arc::clone(&plan.files), plan.writers.clone()))
    }

    /// At rank 0: a part of the cut is on the disk. The number of the cut, if that was the last
    /// one.
    #[must_use]
    pub(super) fn saved(&mut self, number: u32) -> Option<u32> {
        self.saved += 1;
        (self.saved == self.came.len()).then_some(number)
    }
}
