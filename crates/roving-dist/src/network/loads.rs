//! The time and messages of each rank's processes, as told to rank 0, which has processes move.

use std::time::{Duration, Instant};

use super::message::{Control, Loads};
use super::part::NetworkPart;

/// One rank's view of itself. Used by the thread that watches.
pub(super) struct OwnLoads {
    every: Duration,
    due: Instant,
    workers: u32,
    /// The figures of each process and each channel of this rank's network that rank 0 has been
    /// told.
    processes: Vec<(Duration, bool)>,
    channels: Vec<u64>,
}

impl OwnLoads {
    /// None if the network is not rebalanced.
    pub(super) fn new(part: &NetworkPart, workers: usize) -> Option<OwnLoads> {
        let every = part.balancer.as_ref().and(part.shape.rebalance())?.every;
        Some(OwnLoads {
            every,
            due: Instant::now() + every,
            workers: workers as u32,
            processes: Vec::new(),
            channels: Vec::new(),
        })
    }

    pub(super) fn every(&self) -> Duration {
        self.every
    }

    /// Tells rank 0, if it is time. Rank 0 then decides, if it has heard from all.
    pub(super) fn look(&mut self, part: &NetworkPart) {
        if Instant::now() < self.due {
            return;
        }
        self.due = Instant::now() + self.every;
        let loads = self.since(part);
        match part.rank() {
            0 => {
                part.loads(0, &loads);
                part.balance();
            }
            _ => part.post.send_control(0, &Control::Loads(loads)),
        }
    }

    /// The work done since the last report.
    fn since(&mut self, part: &NetworkPart) -> Loads {
        let mut loads = Loads {
            workers: self.workers,
            ..Loads::default()
        };
        let spent = part.inside.spent();
        self.processes.resize(spent.len(), (Duration::ZERO, false));
        let processes = part.locals.iter().zip(&mut self.processes).zip(spent);
        for ((&process, before), now) in processes {
            let took = now.0.saturating_sub(before.0);
            if !took.is_zero() {
                loads.processes.push((process, took));
            }
            // The hosts of a movable process end when all know that it has ended.
            if now.1 && !before.1 {
                loads.ended.push(process);
            }
            *before = now;
        }
        let messages = part.inside.messages();
        self.channels.resize(messages.len(), 0);
        for (place, (before, now)) in self.channels.iter_mut().zip(messages).enumerate() {
            let sent = now.saturating_sub(*before);
            *before = now;
            let channel = part.shape.at(place).filter(|_| sent > 0);
            // A message is counted where it is sent, and not again where it is received.
            let channel =
                channel.filter(|&channel| part.shape.is_sent_at(channel, place, part.rank()));
            loads
                .channels
                .extend(channel.map(|channel| (channel, sent)));
        }
        loads
    }
}

impl NetworkPart {
    /// Rank 0: what that rank has done.
    pub(super) fn loads(&self, from: usize, loads: &Loads) {
        if let Some(balancer) = &self.balancer {
            balancer.add(from, loads);
        }
    }

    /// Rank 0: has processes move, if that is worth it.
    fn balance(&self) {
        if let Some(balancer) = &self.balancer {
            let (now, ended) = self.places_and_ended();
            for (process, to) in balancer.decide(&now, &ended) {
                self.want_there(process, to);
            }
        }
    }
}
