//! One rank's part of a network while it runs: what it does with the messages of the others.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, TryLockError, Weak};

use roving_flow::Live;
use roving_flow::raw::{Inside, Side, Verdict};

use super::cut::Cuts;
use super::error::{Blocked, Ended};
use super::incoming::Incoming;
use super::loads::Balancer;
use super::message::{Control, Head};
use super::moves::Moves;
use super::outgoing::Outgoing;
use super::post::Post;
use super::report::Growth;
use super::shape::Shape;
use super::slot::Slot;
use super::snapshot::{self, Snapshot, Wait};
use crate::unwind::lock;

/// Channels that leave this rank, and those that come here, by number.
pub(super) struct Crossings {
    pub(super) outgoing: Vec<Option<Arc<dyn Outgoing>>>,
    pub(super) incoming: Vec<Option<Arc<dyn Incoming>>>,
}

/// The part of the network that runs here, for those who are made before it.
#[derive(Clone, Default)]
pub(super) struct Running(Arc<OnceLock<Weak<Part>>>);

impl Running {
    pub(super) fn begin(&self, part: &Arc<Part>) {
        let _first = self.0.set(Arc::downgrade(part));
    }

    /// None before the network runs, when it has ended, and where there is one rank only, without
    /// checkpoints.
    pub(super) fn part(&self) -> Option<Arc<Part>> {
        let part = self.0.get()?.upgrade()?;
        (!part.inside.is_over()).then_some(part)
    }
}

/// One rank's part of a network that runs.
pub(super) struct Part {
    pub(super) post: Arc<Post>,
    pub(super) inside: Inside,
    pub(super) live: Live,
    pub(super) shape: Arc<Shape>,
    pub(super) crossings: Crossings,
    pub(super) moves: Mutex<Moves>,
    /// Where the network has checkpoints.
    pub(super) cuts: Option<Cuts>,
    /// Held by who handles what this rank has sent to itself.
    pub(super) own_turn: Mutex<()>,
    /// Of the processes that can move, ordered by their numbers.
    pub(super) slots: Vec<(u32, Arc<Slot>)>,
    /// The numbers of the processes that are here.
    pub(super) locals: Vec<u32>,
    /// Where the network is rebalanced.
    pub(super) balancer: Option<Balancer>,
    pub(super) channel_limit: Option<usize>,
    /// At rank 0.
    pub(super) detective: Mutex<Detective>,
    pub(super) growths: Mutex<Vec<Growth>>,
    /// Nothing has gone on here but by what came from others since the last time that this was
    /// told.
    pub(super) is_at_rest: AtomicBool,
    /// Nothing has gone on here since a message has come, except by messages from others: so the
    /// pump may spin, for it keeps no process from running.
    pub(super) may_spin: AtomicBool,
}

/// Rank 0's questions to all, by which it finds deadlocks.
#[derive(Default)]
pub(super) struct Detective {
    number: u64,
    asking: Option<Asking>,
    /// Somebody has become quiet since the last question was put.
    again: bool,
}

impl Detective {
    /// The ranks whose answers are awaited, if any are.
    pub(super) fn missing(&self) -> Option<Vec<usize>> {
        let answers = self.asking.as_ref()?.answers.iter().enumerate();
        Some(
            answers
                .filter(|(_, answer)| answer.is_none())
                .map(|(rank, _)| rank)
                .collect(),
        )
    }

    /// Answers are awaited: nothing is to move until they are there.
    pub(super) fn is_asking(&self) -> bool {
        self.asking.is_some()
    }
}

struct Asking {
    /// The first answers; `None` in the first look.
    first: Option<Vec<Snapshot>>,
    answers: Vec<Option<Snapshot>>,
}

impl Part {
    pub(super) fn rank(&self) -> usize {
        self.post.rank()
    }

    pub(super) fn ranks(&self) -> usize {
        self.post.link().ranks()
    }

    pub(super) fn outgoing(&self, channel: u32) -> Option<&Arc<dyn Outgoing>> {
        self.crossings.outgoing.get(channel as usize)?.as_ref()
    }

    pub(super) fn incoming(&self, channel: u32) -> Option<&Arc<dyn Incoming>> {
        self.crossings.incoming.get(channel as usize)?.as_ref()
    }

    /// A message has come. Runs on whatever thread polls.
    pub(super) fn message(&self, from: usize, bytes: &[u8]) {
        let Some((head, rest)) = Head::split(bytes) else {
            panic!("a message of a network from rank {from} is torn");
        };
        match head {
            Head::Token(channel) => {
                if let Some(incoming) = self.incoming(channel) {
                    incoming.token(rest);
                }
            }
            Head::End(channel) => {
                if let Some(incoming) = self.incoming(channel) {
                    self.closed(channel, incoming.end());
                }
            }
            Head::Taken(channel) => {
                let taken = rest.try_into().map(u64::from_le_bytes);
                if let (Some(outgoing), Ok(taken)) = (self.outgoing(channel), taken) {
                    outgoing.taken(taken);
                }
            }
            Head::Gone(channel) => {
                if let Some(outgoing) = self.outgoing(channel) {
                    outgoing.gone();
                }
            }
            Head::Control => match postcard::from_bytes(rest) {
                Ok(control) => self.control(from, control),
                Err(error) => panic!("a message of a network from rank {from} is torn: {error}"),
            },
        }
    }

    fn control(&self, from: usize, control: Control) {
        match control {
            Control::Quiet => self.somebody_is_quiet(),
            Control::Ask(number) => {
                let answer = Control::Answer(number, self.snapshot());
                self.post.send_control(from, &answer);
            }
            Control::Answer(number, snapshot) => self.answer(from, number, snapshot),
            Control::Grow { channel, from, to } => self.grow(channel, from, to),
            Control::Stop(ended) => self.post.end(ended),
            Control::Move(message) => self.moving(message),
            Control::Loads(loads) => self.loads(from, &loads),
            Control::Cut(message) => self.cutting(from, message),
        }
    }

    /// Tells the producers elsewhere what was taken here. Whether there was anything to tell.
    pub(super) fn tell_taken(&self) -> bool {
        let listed = self.post.take_listed();
        for &channel in &listed {
            if let Some(incoming) = self.incoming(channel) {
                incoming.tell();
            }
        }
        !listed.is_empty()
    }

    /// Handles what this rank has sent to itself, unless somebody else does. Whether there was
    /// anything. By the pump, and now and then by the thread that watches, because a process may
    /// keep the pump from running.
    pub(super) fn handle_own(&self) -> bool {
        if !self.post.has_own() {
            return false;
        }
        let _in_their_order = match self.own_turn.try_lock() {
            Ok(turn) => turn,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return false,
        };
        let own = self.post.take_own();
        for bytes in &own {
            self.message(self.rank(), bytes);
            self.inside.has_given();
        }
        !own.is_empty()
    }

    /// Nothing can go on here but by what comes from others. In the place of the process that was
    /// suspended last.
    pub(super) fn rests(&self) {
        // Ordering: Relaxed, both; hints to the pump, which is nudged after this.
        self.is_at_rest.store(true, Ordering::Relaxed);
        self.may_spin.store(true, Ordering::Relaxed);
        // No more is going to share the batch with what lies there.
        self.tell_taken();
        self.post.link().flush();
        self.post.nudge();
    }

    /// Nothing has happened here for a while. Rank 0 is told, if that can be because of a deadlock.
    pub(super) fn is_quiet(&self) {
        // Ordering: Relaxed; written by whoever suspends the last process, who then nudges the
        // pump, which calls this. A look that comes too early is followed by another.
        let is_at_rest = self.is_at_rest.swap(false, Ordering::Relaxed);
        if !is_at_rest && !self.inside.has_writers() {
            return;
        }
        self.inside.look();
        self.inside.has_given();
        if self.inside.is_over() {
            return;
        }
        match self.rank() {
            0 => self.somebody_is_quiet(),
            _ => self.post.send_control(0, &Control::Quiet),
        }
    }

    /// The waits of the processes here.
    fn snapshot(&self) -> Snapshot {
        let waits = self.inside.waits().into_iter().map(|wait| Wait {
            process: self.locals[wait.process],
            // Every channel of this rank's network is one of the whole.
            channel: self.shape.at(wait.channel).unwrap_or(u32::MAX),
            to_send: wait.side == Side::Producer,
            target: wait.target.map(|target| self.locals[target]),
            capacity: wait.capacity.map(|capacity| capacity as u64),
            sent: wait.sent,
            taken: wait.taken,
        });
        let (outgoing, incoming) = (&self.crossings.outgoing, &self.crossings.incoming);
        Snapshot {
            waits: waits.collect(),
            sent: outgoing
                .iter()
                .flatten()
                .filter_map(|one| one.sent())
                .collect(),
            taken: incoming
                .iter()
                .flatten()
                .filter_map(|one| one.taken())
                .collect(),
        }
    }

    /// Rank 0: asks all, unless it does so already, or a process moves: then later.
    pub(super) fn somebody_is_quiet(&self) {
        let mut detective = lock(&self.detective);
        detective.again = true;
        self.ask_again(&mut detective);
    }

    /// Rank 0: asks if somebody has become quiet, and it is time.
    pub(super) fn ask_again(&self, detective: &mut Detective) {
        // Ends that are held make processes wait that do not wait for each other.
        if detective.again && !detective.is_asking() && !self.is_moving() {
            self.ask(detective, None);
        }
    }

    fn ask(&self, detective: &mut Detective, first: Option<Vec<Snapshot>>) {
        detective.number += 1;
        if first.is_none() {
            detective.again = false;
        }
        let mut answers = vec![None; self.ranks()];
        // A rank that is alone asks itself, so that there is an answer that comes last.
        let others = usize::from(self.ranks() > 1)..self.ranks();
        if others.start > 0 {
            answers[0] = Some(self.snapshot());
        }
        detective.asking = Some(Asking { first, answers });
        for to in others {
            self.post.send_control(to, &Control::Ask(detective.number));
        }
    }

    /// Rank 0: one rank's answer.
    fn answer(&self, from: usize, number: u64, snapshot: Snapshot) {
        let mut guard = lock(&self.detective);
        let detective = &mut *guard;
        let Some(asking) = &mut detective.asking else {
            return;
        };
        if number != detective.number {
            return;
        }
        asking.answers[from] = Some(snapshot);
        if asking.answers.iter().any(Option::is_none) {
            return;
        }
        let Some(Asking { first, answers }) = detective.asking.take() else {
            return;
        };
        let answers: Vec<Snapshot> = answers.into_iter().flatten().collect();
        let ends = |channel| self.shape.ends(channel);
        match first {
            None if snapshot::is_suspect(&answers, ends) => {
                return self.ask(detective, Some(answers));
            }
            None => {}
            Some(first) => {
                let verdicts = snapshot::judge(&first, &answers, self.channel_limit, ends);
                verdicts
                    .into_iter()
                    .for_each(|verdict| self.resolve(verdict));
            }
        }
        // Moves that have waited for the answers come first, and questions after that: neither
        // keeps the other waiting for ever.
        self.next_move(detective);
        self.ask_again(detective);
    }

    /// Rank 0: does what is to be done about processes that wait for each other.
    fn resolve(&self, verdict: Verdict) {
        match verdict {
            Verdict::Grow { channel, from, to } => {
                let (channel, from, to) = (channel as u32, from as u64, to as u64);
                let producer = self.shape.ends(channel).map(|ends| ends.producer);
                match producer.map(|producer| self.rank_of(producer)) {
                    None => {}
                    Some(rank) if rank == self.rank() => self.grow(channel, from, to),
                    Some(rank) => {
                        let grow = Control::Grow { channel, from, to };
                        self.post.send_control(rank, &grow);
                    }
                }
            }
            Verdict::Deadlock(cycle) => self
                .post
                .stop_all(Ended::Deadlock(self.blocked(&cycle, None))),
            Verdict::Full(cycle, limit) => {
                let blocked = self.blocked(&cycle, Some(limit));
                self.post.stop_all(Ended::Full(blocked, limit));
            }
        }
    }

    /// A channel whose producer is here holds more from now on.
    fn grow(&self, channel: u32, from: u64, to: u64) {
        match self.outgoing(channel) {
            None => {
                let place = self.shape.channels()[channel as usize].halves.0;
                self.inside.grow(place as usize, from as usize, to as usize);
            }
            Some(outgoing) => {
                // Held meanwhile: who goes on because of it may end the network, and then reads
                // this.
                let mut growths = lock(&self.growths);
                if outgoing.grow(from, to) {
                    growths.push(Growth {
                        channel: channel as usize,
                        from: from as usize,
                        to: to as usize,
                    });
                }
            }
        }
    }

    /// The cycle in the words of who built the network; full channels have that capacity.
    fn blocked(&self, cycle: &[(usize, usize, Side)], full: Option<usize>) -> Vec<Blocked> {
        let blocked = cycle.iter().map(|&(process, channel, side)| {
            let ends = self.shape.ends(channel as u32);
            let other = ends.map(|ends| match side {
                Side::Producer => ends.consumer,
                Side::Consumer => ends.producer,
            });
            Blocked {
                process: self.shape.process(process as u32).to_owned(),
                rank: self.rank_of(process as u32),
                operation: match side {
                    Side::Producer => roving_flow::Operation::Send,
                    Side::Consumer => roving_flow::Operation::Receive,
                },
                channel: self.shape.channel(channel as u32).to_owned(),
                waits_for: other
                    .map_or("", |other| self.shape.process(other))
                    .to_owned(),
                capacity: full,
            }
        });
        blocked.collect()
    }
}
