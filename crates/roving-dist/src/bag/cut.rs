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

use super::message::Message;
use super::state::Shared;
use crate::checkpoint::{Files, Plan, Writers};

/// One rank's part of a cut.
pub(super) struct Part {
    /// Which cut of this run.
    number: u32,
    /// The tasks, in several encoded lists.
    tasks: Vec<Vec<u8>>,
    /// The result so far, encoded.
    result: Vec<u8>,
}

/// A part as it stands in its file.
pub(super) type Saved = (Vec<Vec<u8>>, Vec<u8>);

/// One rank's side of the cuts of a run.
pub(super) struct Cuts {
    /// None where no cuts are made.
    plan: Option<Plan>,
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
    pub(super) fn new(ranks: usize, plan: Option<Plan>) -> Cuts {
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

    /// At rank 0: a part of the cut is on the disk. The number of the cut, if that was the last
    /// one.
    #[must_use]
    pub(super) fn saved(&mut self, number: u32) -> Option<u32> {
        self.saved += 1;
        (self.saved == self.came.len()).then_some(number)
    }
}

impl Shared {
    /// Has the part of a cut written, by a thread of its own, and rank 0 told.
    pub(super) fn save(self: &Arc<Shared>, part: Part) {
        let shared = Arc::clone(self);
        self.write("save", move |files| {
            files.save(part.number, &(&part.tasks, &part.result))?;
            shared.send(0, Message::Saved(part.number));
            Ok(())
        });
    }

    /// At rank 0: every part of the cut is on the disk, so this is the one to resume from.
    pub(super) fn commit(self: &Arc<Shared>, number: u32) {
        let shared = Arc::clone(self);
        self.write("commit", move |files| {
            files.commit(number)?;
            shared.with(|state| {
                if let Some(plan) = &mut state.cuts.plan {
                    plan.wait_for_next();
                }
            });
            Ok(())
        });
    }

    fn write(
        self: &Arc<Shared>,
        what: &str,
        f: impl FnOnce(&Files) -> Result<(), String> + Send + 'static,
    ) {
        if let Some((files, writers)) = self.plan() {
            writers.write(&self.link, what, move || f(&files));
        }
    }

    fn plan(&self) -> Option<(Arc<Files>, Writers)> {
        self.with(|state| {
            let plan = state.cuts.plan.as_ref()?;
            Some((Arc::clone(&plan.files), plan.writers.clone()))
        })
    }

    /// Waits for all that is being written.
    pub(super) fn wait_for_writers(&self) {
        if let Some((_, writers)) = self.plan() {
            writers.wait();
        }
    }

    /// Where cuts are written.
    pub(super) fn files(&self) -> Option<Arc<Files>> {
        self.plan().map(|(files, _)| files)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::checkpoint::identity;
    use crate::world::World;

    #[test]
    fn a_panic_of_who_writes_ends_the_run() {
        let directory = std::env::temp_dir().join(format!("roving-writer-{}", std::process::id()));
        World::threads(1, |world| {
            let files = Files::new(&directory, &identity("a"), 0, 1).unwrap();
            let plan = Plan {
                files: Arc::new(files),
                every: Duration::MAX,
                next: None,
                writers: Writers::default(),
            };
            let cuts = Cuts::new(1, Some(plan));
            let shared = Arc::new(Shared::new(world.link(), world.link().tags(1), cuts));
            shared.write("test", |_| panic!("no ink"));
            shared.wait_for_writers();
            let error = world.link().fault().unwrap().to_string();
            assert_eq!(error, "rank 0 of 1: writing a checkpoint panicked: no ink");
        });
        std::fs::remove_dir_all(&directory).unwrap();
    }
}
