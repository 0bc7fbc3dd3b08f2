//! How deadlocks across ranks are found: a rank that has become quiet tells rank 0, which asks all
//! who waits for whom. `snapshot.rs` judges the answers.

use std::sync::atomic::Ordering;

use roving_flow::raw::{Side, Verdict};

use super::detective::{Asking, Detective};
use super::error::{Blocked, Ended};
use super::message::Control;
use super::part::NetworkPart;
use super::report::Growth;
use super::snapshot::{self, ProcessWait, Snapshot};
use crate::unwind::lock;

impl NetworkPart {
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
    pub(super) fn snapshot(&self) -> Snapshot {
        let waits = self.inside.waits().into_iter().map(|wait| ProcessWait {
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
    pub(super) fn answer(&self, from: usize, number: u64, snapshot: Snapshot) {
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
                // To this rank as well: the caller has a lock, and a waker may run anything.
                if let Some(rank) = producer.map(|producer| self.rank_of(producer)) {
                    let grow = Control::Grow { channel, from, to };
                    self.post.send_control(rank, &grow);
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
    pub(super) fn grow(&self, channel: u32, from: u64, to: u64) {
        match self.outgoing(channel) {
            None => {
                let place = self.shape.channels()[channel as usize].halves.0;
                self.inside.grow(place as usize, from as usize, to as usize);
            }
            Some(outgoing) => {
                // Held meanwhile: who goes on because of it may end the network, and then reads
                // this.
                let mut growths = lock(&self.growths);
                let due = outgoing.grow(from, to);
                if due.is_some() {
                    growths.push(Growth {
                        channel: channel as usize,
                        from: from as usize,
                        to: to as usize,
                    });
                }
                drop(growths);
                drop(due);
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
