//! One rank's knowledge of the wants of other ranks and of its own end: one lock, which workers
//! take only when there is something for them.
//!
//! Handlers of messages change it on whatever thread polls. Between tasks each worker looks at one
//! flag, [`SharedBag::calls`]; when it is set, something in [`BagState`] is for workers: tasks that
//! have come, ranks that want some, or a cut that is to be made.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use super::cut::{Cuts, Part};
use super::engagement::{Engagement, children};
use super::message::Message;
use crate::checkpoint::{Files, Writers};
use crate::world::link::Link;

/// The state that the threads of one rank share during a bag's run; it does not depend on the type
/// of tasks.
pub(super) struct SharedBag {
    pub(super) link: Arc<Link>,
    pub(super) tag: u32,
    /// Something is there for workers.
    calls: AtomicBool,
    start: Instant,
    /// At rank 0: microseconds from the start to the next cut.
    next_cut_us: AtomicU64,
    state: Mutex<BagState>,
}

/// See the head of this file.
pub(super) struct BagState {
    pub(super) engagement: Engagement,
    pub(super) cuts: Cuts,
    /// Tasks that have come, as bytes, and after how many cuts they were sent.
    pub(super) tasks: VecDeque<(u32, Vec<u8>)>,
    /// Ranks that wait for an answer.
    pub(super) asking: VecDeque<usize>,
    /// Ranks that want half of what this one will have.
    pub(super) lifelines: VecDeque<usize>,
    /// The rank whose answer this one waits for.
    pub(super) asked: Option<usize>,
    /// The lifelines that know that this rank wants tasks.
    pub(super) standing: Vec<usize>,
    /// This rank has tasks, and workers to look after those who ask.
    pub(super) is_busy: bool,
    /// Workers that run tasks.
    pub(super) running: usize,
    /// Halves that were offered to the pool, and that no worker has begun: when none runs any more,
    /// those that the pool has dropped.
    pub(super) offered: usize,
    /// A task has panicked: the others are dropped.
    pub(super) is_given_up: bool,
    pub(super) is_ended: bool,
}

impl BagState {
    /// Whether workers are to look.
    fn calls(&self) -> bool {
        self.is_given_up
            || self.cuts.is_due()
            || !self.asking.is_empty()
            || !self.lifelines.is_empty()
            || !self.tasks.is_empty()
    }
}

impl SharedBag {
    pub(super) fn new(link: &Arc<Link>, tag: u32, cuts: Cuts) -> SharedBag {
        SharedBag {
            link: Arc::clone(link),
            tag,
            calls: AtomicBool::new(false),
            start: Instant::now(),
            next_cut_us: AtomicU64::new(u64::MAX),
            state: Mutex::new(BagState {
                engagement: Engagement::new(link.rank(), link.ranks()),
                cuts,
                tasks: VecDeque::new(),
                asking: VecDeque::new(),
                lifelines: VecDeque::new(),
                asked: None,
                standing: Vec::new(),
                is_busy: false,
                running: 0,
                offered: 0,
                is_given_up: false,
                is_ended: false,
            }),
        }
    }

    fn lock(&self) -> MutexGuard<'_, BagState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Looks at the state, or changes it.
    pub(super) fn with<R>(&self, f: impl FnOnce(&mut BagState) -> R) -> R {
        let mut state = self.lock();
        let result = f(&mut state);
        // Ordering: Relaxed; a hint to take the lock, and looked at again after the next tasks.
        self.calls.store(state.calls(), Ordering::Relaxed);
        let next_us = state.cuts.next().map_or(u64::MAX, |next| {
            let us = next.saturating_duration_since(self.start).as_micros();
            u64::try_from(us).unwrap_or(u64::MAX)
        });
        // Ordering: Relaxed, as `calls`.
        self.next_cut_us.store(next_us, Ordering::Relaxed);
        result
    }

    /// Whether there is something for workers now: two loads.
    pub(super) fn calls(&self, now: Instant) -> bool {
        // Ordering: Relaxed; what it is about is read under the lock.
        if self.calls.load(Ordering::Relaxed) {
            return true;
        }
        // Ordering: Relaxed, as above.
        let next_us = self.next_cut_us.load(Ordering::Relaxed);
        next_us != u64::MAX && now.duration_since(self.start).as_micros() as u64 >= next_us
    }

    /// Sends a message, at once.
    pub(super) fn send(&self, to: usize, message: Message<'_>) {
        message.send(&self.link, self.tag, to);
    }

    /// A message has come.
    pub(super) fn handle(self: &Arc<SharedBag>, from: usize, bytes: &[u8]) {
        let Some(message) = Message::read(bytes) else {
            self.link
                .fail(format_args!("rank {from} sent what is no message of a bag"));
            return;
        };
        match message {
            Message::Ask => {
                let is_busy = self.with(|state| {
                    if state.is_busy {
                        state.asking.push_back(from);
                    }
                    state.is_busy
                });
                if !is_busy {
                    self.send(from, Message::Nothing);
                }
            }
            Message::Lifeline => self.with(|state| state.lifelines.push_back(from)),
            Message::Nothing => self.with(|state| state.asked = None),
            Message::Tasks {
                answers_ask,
                cuts,
                bytes,
            } => {
                let acknowledge = self.with(|state| {
                    if answers_ask {
                        state.asked = None;
                    } else {
                        state.standing.retain(|lifeline| *lifeline != from);
                    }
                    state.cuts.tasks_came(from, cuts, bytes);
                    state.tasks.push_back((cuts, bytes.to_vec()));
                    state.engagement.receives(from)
                });
                if acknowledge {
                    self.send(from, Message::Acknowledgement);
                }
            }
            Message::Acknowledgement => self.with(|state| state.engagement.is_acknowledged()),
            Message::Cut(number) => {
                let part = self.with(|state| {
                    let part = state.cuts.cut_came(from, number);
                    part.filter(|_| !state.is_ended)
                });
                if let Some(part) = part {
                    self.save(part);
                }
            }
            Message::Saved(number) => {
                let whole = self.with(|state| {
                    let whole = state.cuts.saved(number);
                    whole.filter(|_| !state.is_ended)
                });
                if let Some(whole) = whole {
                    self.commit(whole);
                }
            }
            Message::End => self.end(),
        }
    }

    /// There is no task anywhere: ends this rank, and tells those that hear of it from this one.
    pub(super) fn end(&self) {
        self.with(|state| state.is_ended = true);
        for child in children(self.link.rank(), self.link.ranks()) {
            self.send(child, Message::End);
        }
    }

    /// Has the part of a cut written, by a thread of its own, and rank 0 told.
    pub(super) fn save(self: &Arc<SharedBag>, part: Part) {
        let shared = Arc::clone(self);
        self.write("save", move |files| {
            files.save(part.number, &(&part.tasks, &part.result))?;
            shared.send(0, Message::Saved(part.number));
            Ok(())
        });
    }

    /// At rank 0: every part of the cut is on the disk, so this is the one to resume from.
    pub(super) fn commit(self: &Arc<SharedBag>, number: u32) {
        let shared = Arc::clone(self);
        self.write("commit", move |files| {
            files.commit(number)?;
            shared.with(|state| state.cuts.is_committed());
            Ok(())
        });
    }

    fn write(
        self: &Arc<SharedBag>,
        what: &str,
        f: impl FnOnce(&Files) -> Result<(), String> + Send + 'static,
    ) {
        if let Some((files, writers)) = self.plan() {
            writers.write(&self.link, what, move || f(&files));
        }
    }

    fn plan(&self) -> Option<(Arc<Files>, Writers)> {
        self.with(|state| state.cuts.writers())
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
    use crate::checkpoint::{CutPlan, identity};
    use crate::world::World;

    #[test]
    fn a_panic_of_who_writes_ends_the_run() {
        let directory = std::env::temp_dir().join(format!("roving-writer-{}", std::process::id()));
        World::threads(1, |world| {
            let files = Files::new(&directory, &identity("a"), 0, 1).unwrap();
            let plan = CutPlan {
                files: Arc::new(files),
                every: Duration::MAX,
                next: None,
                writers: Writers::default(),
            };
            let cuts = Cuts::new(1, Some(plan));
            let shared = Arc::new(SharedBag::new(world.link(), world.link().tags(1), cuts));
            shared.write("test", |_| panic!("no ink"));
            shared.wait_for_writers();
            let error = world.link().fault().unwrap().to_string();
            assert_eq!(error, "rank 0 of 1: writing a checkpoint panicked: no ink");
        });
        std::fs::remove_dir_all(&directory).unwrap();
    }
}
