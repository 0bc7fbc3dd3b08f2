//! The run of a bag: one event after the other.

use roving_dist::raw::rules::{LOOK, Left, children, lifelines};

use super::messages::MessageCosts;
use super::outcome::RanksOutcome;
use super::rank::Rank;
use super::wire::{Happens, Message, Wire};

/// The settings of a run; see [`Ranks`](super::Ranks).
#[derive(Clone, Debug)]
pub(super) struct Rules {
    pub(super) ranks: usize,
    pub(super) costs: MessageCosts,
    pub(super) attempts: usize,
    pub(super) base: usize,
}

/// All ranks, and what is known of the run so far.
struct Engine<'a, T, F> {
    rules: &'a Rules,
    ranks: Vec<Rank<T>>,
    wire: Wire<T>,
    work: F,
    begun: usize,
    outcome: RanksOutcome,
}

pub(super) fn run<T, F>(rules: &Rules, roots: Vec<T>, work: F) -> RanksOutcome
where
    F: FnMut(T, &mut Vec<T>) -> f64,
{
    let count = rules.ranks;
    let ranks = (0..count).map(|rank| Rank::new(rank, count, rules.attempts));
    let mut engine = Engine {
        rules,
        ranks: ranks.collect(),
        wire: Wire::new(rules.costs, count),
        work,
        begun: 0,
        outcome: RanksOutcome {
            ranks: count,
            tasks: 0,
            work_ns: 0.0,
            half_began_ns: None,
            worked_ns: 0.0,
            detected_ns: 0.0,
            time_ns: 0.0,
            messages: Default::default(),
            sent: 0,
        },
    };
    engine.ranks[0].tasks = roots;
    for rank in 0..count {
        engine.wire.looks(rank, 0.0);
    }
    while let Some((time, who, happens)) = engine.wire.next() {
        engine.happens(time, who, happens);
    }
    debug_assert!(
        engine
            .ranks
            .iter()
            .all(|rank| rank.is_ended && rank.tasks.is_empty())
    );
    let Engine {
        mut outcome, wire, ..
    } = engine;
    outcome.messages = wire.counts;
    outcome.sent = wire.sent;
    outcome
}

impl<T, F> Engine<'_, T, F>
where
    F: FnMut(T, &mut Vec<T>) -> f64,
{
    fn happens(&mut self, time: f64, who: usize, happens: Happens<T>) {
        let rank = &mut self.ranks[who];
        let mut now = time.max(rank.free);
        match happens {
            Happens::Comes { from, message } if rank.is_busy => {
                rank.inbox.push_back((from, message));
                return;
            }
            Happens::Comes { from, message } => now = self.handle(now, who, from, message),
            Happens::Looks => {
                while let Some((from, message)) = self.ranks[who].inbox.pop_front() {
                    now = self.handle(now, who, from, message);
                }
                if self.ranks[who].is_busy {
                    now = self.answer(now, who);
                }
            }
        }
        now = if self.ranks[who].tasks.is_empty() {
            self.idle(now, who)
        } else {
            self.run_some(now, who)
        };
        self.ranks[who].free = now;
    }

    fn send(&mut self, now: f64, from: usize, to: usize, message: Message<T>) -> f64 {
        self.wire.send(from, to, message, now)
    }

    /// A message is read.
    fn handle(&mut self, now: f64, who: usize, from: usize, message: Message<T>) -> f64 {
        let now = now + self.wire.receiving(&message);
        let rank = &mut self.ranks[who];
        match message {
            Message::Ask if rank.is_busy => rank.asking.push_back(from),
            Message::Ask => return self.send(now, who, from, Message::Nothing),
            Message::Lifeline => rank.lifelines.push_back(from),
            Message::Nothing => rank.has_asked = false,
            Message::Tasks { answers_ask, tasks } => {
                match answers_ask {
                    true => rank.has_asked = false,
                    false => rank.standing.retain(|lifeline| *lifeline != from),
                }
                rank.come.push(tasks);
                if rank.engagement.receives(from) {
                    return self.send(now, who, from, Message::Acknowledgement);
                }
            }
            Message::Acknowledgement => rank.engagement.is_acknowledged(),
            Message::End => return self.end(now, who),
        }
        now
    }

    /// There is no task anywhere: ends this rank, and tells those that hear of it from this one.
    fn end(&mut self, mut now: f64, who: usize) -> f64 {
        self.ranks[who].is_ended = true;
        for child in children(who, self.rules.ranks) {
            now = self.send(now, who, child, Message::End);
        }
        self.outcome.time_ns = self.outcome.time_ns.max(now);
        now
    }

    /// Between two tasks: takes what has come, and gives to those that ask.
    fn answer(&mut self, mut now: f64, who: usize) -> f64 {
        let rank = &mut self.ranks[who];
        rank.tasks.extend(rank.come.drain(..).flatten());
        while self.ranks[who].tasks.len() > 1 {
            let rank = &mut self.ranks[who];
            let Some((thief, answers_ask)) = rank.next_thief() else {
                return now;
            };
            rank.engagement.sends();
            let tasks = rank.half();
            now = self.send(now, who, thief, Message::Tasks { answers_ask, tasks });
        }
        self.refuse(now, who)
    }

    fn refuse(&mut self, mut now: f64, who: usize) -> f64 {
        for thief in std::mem::take(&mut self.ranks[who].asking) {
            now = self.send(now, who, thief, Message::Nothing);
        }
        now
    }

    /// Runs tasks until it is time to look around.
    fn run_some(&mut self, now: f64, who: usize) -> f64 {
        let rank = &mut self.ranks[who];
        rank.is_busy = true;
        if !std::mem::replace(&mut rank.has_begun, true) {
            self.begun += 1;
            if self.begun == self.rules.ranks.div_ceil(2) {
                self.outcome.half_began_ns = Some(now);
            }
        }
        let mut took = 0.0;
        while took < LOOK.as_nanos() as f64
            && let Some(task) = rank.tasks.pop()
        {
            took += (self.work)(task, &mut rank.tasks);
            self.outcome.tasks += 1;
        }
        self.outcome.work_ns += took;
        self.outcome.worked_ns = self.outcome.worked_ns.max(now + took);
        self.wire.looks(who, now + took);
        now + took
    }

    /// A rank that has run its last task, or has none: as `Rank::lead`.
    fn idle(&mut self, mut now: f64, who: usize) -> f64 {
        let ranks = self.rules.ranks;
        if std::mem::take(&mut self.ranks[who].is_busy) {
            now = self.refuse(now, who);
            self.ranks[who].victims.restart();
        }
        loop {
            let rank = &mut self.ranks[who];
            if rank.is_ended {
                return now;
            }
            rank.tasks.extend(rank.come.drain(..).flatten());
            if !rank.tasks.is_empty() {
                return self.run_some(now, who);
            }
            match rank.engagement.leave() {
                Left::No => {}
                Left::Acknowledge(parent) => {
                    now = self.send(now, who, parent, Message::Acknowledgement);
                    continue;
                }
                Left::Ended => {
                    self.outcome.detected_ns = now;
                    return self.end(now, who);
                }
            }
            if rank.has_asked {
                return now;
            }
            if let Some(victim) = rank.victims.next() {
                rank.has_asked = true;
                now = self.send(now, who, victim, Message::Ask);
                continue;
            }
            let mut wanted = lifelines(who, ranks, self.rules.base);
            wanted.retain(|lifeline| !rank.standing.contains(lifeline));
            rank.standing.extend(&wanted);
            for lifeline in wanted {
                now = self.send(now, who, lifeline, Message::Lifeline);
            }
            return now;
        }
    }
}
