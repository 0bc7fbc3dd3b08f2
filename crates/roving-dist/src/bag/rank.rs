//! One rank's run of a bag: run what there is, record cuts, ask others for more, and end.
//!
//! One worker of the pool, the one that was called, leads: it begins the segments, and when all
//! have ended, it alone has all that the rank has. So a cut is recorded and the end is noticed
//! while no task runs.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::engagement::Left;
use super::lifeline::{ATTEMPTS, BASE, Victims, lifelines};
use super::local::Local;
use super::message::Message;
use super::state::{BagState, SharedBag};
use super::tasks::Tasks;
use crate::error::Error;
use crate::world::link::Link;
use crate::world::long_waits::Patience;

/// The tasks and the result of a rank while no worker runs a task.
pub(super) struct RankHoldings<T, R> {
    pub(super) tasks: Tasks<T>,
    /// None while a worker reduces it.
    pub(super) result: Option<R>,
}

/// A rank's run.
pub(super) struct Rank<'run, T, R, F> {
    pub(super) shared: Arc<SharedBag>,
    pub(super) ranks: usize,
    pub(super) workers: usize,
    pub(super) work: &'run F,
    pub(super) reduce: &'run (dyn Fn(R, R) -> R + Sync),
    pub(super) held: Mutex<RankHoldings<T, R>>,
}

impl BagState {
    /// Takes the tasks that have come, but for those that were sent after a cut that this rank has
    /// not recorded yet.
    pub(super) fn take_tasks(&mut self) -> Vec<Vec<u8>> {
        let recorded = self.cuts.recorded();
        let mut taken = Vec::new();
        self.tasks.retain_mut(|(cuts, bytes)| {
            let is_ours = *cuts <= recorded;
            if is_ours {
                taken.push(std::mem::take(bytes));
            }
            !is_ours
        });
        taken
    }

    /// Describes the wait of a rank without tasks.
    fn told(&self, link: &Link) -> String {
        let mut text = format!(
            "rank {} of {} has no task of a bag: ",
            link.rank(),
            link.ranks()
        );
        text += &match self.asked {
            Some(rank) => format!("it waits for rank {rank}'s answer"),
            None => format!("ranks {:?} know that it wants some", self.standing),
        };
        let deficit = self.engagement.deficit();
        if deficit > 0 {
            text += &format!(
                "; it waits for others to end what it has sent them, {deficit} messages with tasks"
            );
        }
        text + self.cuts.told()
    }

    /// A rank that wants tasks, and whether it waits for an answer.
    pub(super) fn next_thief(&mut self) -> Option<(usize, bool)> {
        if let Some(rank) = self.asking.pop_front() {
            return Some((rank, true));
        }
        self.lifelines.pop_front().map(|rank| (rank, false))
    }
}

/// The next step of an idle rank.
enum Idle {
    /// There is something again.
    Again,
    Ended,
    /// The last rank without tasks was rank 0: tells the others.
    End,
    Acknowledge(usize),
    Ask(usize),
    AskLifelines(Vec<usize>),
    Wait,
}

impl<T, R, F> Rank<'_, T, R, F>
where
    T: Serialize + DeserializeOwned + Send + 'static,
    R: Default + Serialize + DeserializeOwned + Send + 'static,
    F: Fn(T, &mut Local<'_, T, R>) + Sync,
{
    pub(super) fn held(&self) -> MutexGuard<'_, RankHoldings<T, R>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Encodes; what cannot be encoded ends the run.
    pub(super) fn encode(&self, value: &impl Serialize) -> Option<Vec<u8>> {
        let failed = |error| {
            self.shared
                .link
                .fail(format_args!("encoding tasks: {error}"))
        };
        postcard::to_stdvec(value).map_err(failed).ok()
    }

    /// Decodes; what cannot be decoded ends the run.
    pub(super) fn decode<V: DeserializeOwned>(&self, bytes: &[u8]) -> Option<V> {
        let failed = |error| {
            self.shared
                .link
                .fail(format_args!("decoding tasks: {error}"))
        };
        postcard::from_bytes(bytes).map_err(failed).ok()
    }

    /// Takes the tasks and the result of a worker that stops.
    pub(super) fn hand_back(&self, local: Local<'_, T, R>) {
        self.add(local.tasks, local.result);
        self.shared.with(|state| state.running -= 1);
    }

    /// Adds tasks and a result to what the rank has. The results are reduced without the lock, as
    /// the program may use the pool for that.
    pub(super) fn add(&self, mut tasks: Tasks<T>, mut result: R) {
        loop {
            let mut held = self.held();
            let Some(before) = held.result.take() else {
                held.result = Some(result);
                held.tasks.append(&mut tasks);
                return;
            };
            drop(held);
            result = (self.reduce)(before, result);
        }
    }

    /// Leads the run to its end. Called by a worker of the pool.
    pub(super) fn lead(&self) -> Result<(), Error> {
        let link = &self.shared.link;
        let mut victims = Victims::new(link.rank(), self.ranks, ATTEMPTS);
        let mut backoff = link.backoff();
        let mut patience = Patience::new();
        loop {
            self.has_all()?;
            let has_run = self.run_all();
            // Before this rank says that it has no task, or records what it has.
            self.has_all()?;
            if has_run {
                victims.restart();
                backoff.reset();
                patience.renew();
            }
            match self.next_idle(&mut victims) {
                Idle::Ended => return Ok(()),
                Idle::End => {
                    self.shared.end();
                    return Ok(());
                }
                Idle::Acknowledge(parent) => self.shared.send(parent, Message::Acknowledgement),
                Idle::Ask(victim) => self.shared.send(victim, Message::Ask),
                Idle::AskLifelines(lifelines) => {
                    for lifeline in lifelines {
                        self.shared.send(lifeline, Message::Lifeline);
                    }
                }
                Idle::Again => backoff.reset(),
                Idle::Wait => {
                    patience.look(|| self.shared.with(|state| state.told(link)));
                    match link.poll() {
                        true => backoff.reset(),
                        false => backoff.pause(),
                    }
                }
            }
        }
    }

    /// An error unless this rank has all that came of its tasks: none was dropped, or ended before
    /// its time. No worker runs one.
    ///
    /// A pool drops what is offered to other workers, and loops in a task end early, only after the
    /// bag was cancelled; and cancelled it stays. So where it is not cancelled now, all tasks so
    /// far have run whole. Those that were dropped are counted all the same.
    fn has_all(&self) -> Result<(), Error> {
        let link = &self.shared.link;
        if let Some(error) = link.fault() {
            return Err(error);
        }
        if roving::is_cancelled() || self.shared.with(|state| state.offered) > 0 {
            let what = "the bag was cancelled; its last checkpoint, if it has one, stays";
            return Err(link.fail(what));
        }
        Ok(())
    }

    /// Records a cut if one is due, and runs all tasks that there are. Whether there was one.
    fn run_all(&self) -> bool {
        let (come, is_due) = self.shared.with(|state| {
            state.cuts.begin(Instant::now());
            (state.take_tasks(), state.cuts.is_due())
        });
        self.take(&come);
        // Of a run that has failed tasks may be missing, as those that nobody could decode.
        if is_due && !self.shared.link.is_faulty() {
            self.record();
        }
        let tasks = std::mem::take(&mut self.held().tasks);
        if tasks.is_empty() {
            return false;
        }
        self.shared.with(|state| state.is_busy = true);
        roving::scope(|scope| self.segment(scope, tasks));
        let refused = self.shared.with(|state| {
            state.is_busy = false;
            std::mem::take(&mut state.asking)
        });
        for rank in refused {
            self.shared.send(rank, Message::Nothing);
        }
        true
    }

    /// Adds tasks that have come.
    fn take(&self, come: &[Vec<u8>]) {
        for bytes in come {
            let tasks: Vec<T> = self.decode(bytes).unwrap_or_default();
            self.held().tasks.extend(tasks);
        }
    }

    /// Records this rank's part of a cut: no worker runs a task.
    fn record(&self) {
        let (tasks, result) = {
            let held = self.held();
            let result = held.result.as_ref();
            let result = result.and_then(|result| self.encode(result));
            (self.encode(&*held.tasks), result)
        };
        let (Some(tasks), Some(result)) = (tasks, result) else {
            return;
        };
        let link = &self.shared.link;
        let (come, number, part) = self.shared.with(|state| {
            let come = state.take_tasks();
            let tasks = std::iter::once(tasks).chain(come.iter().cloned());
            let part = state.cuts.record(link.rank(), tasks.collect(), result);
            (come, state.cuts.recorded(), part)
        });
        for other in (0..self.ranks).filter(|other| *other != link.rank()) {
            self.shared.send(other, Message::Cut(number));
        }
        self.take(&come);
        if let Some(part) = part {
            self.shared.save(part);
        }
    }

    /// Decides the next step of a rank without tasks.
    fn next_idle(&self, victims: &mut Victims) -> Idle {
        let rank = self.shared.link.rank();
        let has_tasks = !self.held().tasks.is_empty();
        self.shared.with(|state| {
            if state.is_ended {
                return Idle::Ended;
            }
            if has_tasks || !state.tasks.is_empty() || state.cuts.is_due() {
                return Idle::Again;
            }
            match state.engagement.leave() {
                Left::No => {}
                Left::Acknowledge(parent) => return Idle::Acknowledge(parent),
                Left::Ended => return Idle::End,
            }
            if state.asked.is_some() {
                return Idle::Wait;
            }
            if let Some(victim) = victims.next() {
                state.asked = Some(victim);
                return Idle::Ask(victim);
            }
            let mut lifelines = lifelines(rank, self.ranks, BASE);
            lifelines.retain(|lifeline| !state.standing.contains(lifeline));
            if lifelines.is_empty() {
                return Idle::Wait;
            }
            state.standing.extend(&lifelines);
            Idle::AskLifelines(lifelines)
        })
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::super::cut::Cuts;
    use super::*;
    use crate::world::World;

    #[test]
    fn a_rank_that_could_not_decode_its_tasks_records_no_cut() {
        for (tasks, recorded) in [(&[1, 7][..], 1), (&[9], 0)] {
            World::threads(1, |world| {
                let link = world.link();
                // Another rank has recorded a cut already.
                let shared = SharedBag::new(link, link.tags(1), Cuts::new(2, None));
                let rank = Rank {
                    shared: Arc::new(shared),
                    ranks: 1,
                    workers: 1,
                    work: &|_: u8, _: &mut Local<'_, u8, u8>| {},
                    reduce: &|one, _| one,
                    held: Mutex::new(RankHoldings {
                        tasks: Tasks::default(),
                        result: Some(0),
                    }),
                };
                rank.shared.with(|state| {
                    assert!(state.cuts.cut_came(1, 1).is_none());
                    state.tasks.push_back((0, tasks.to_vec()));
                });
                let pool = roving::Pool::new(1).unwrap();
                pool.install(|| rank.run_all());
                assert_eq!(rank.shared.with(|state| state.cuts.recorded()), recorded);
            });
        }
    }
}
