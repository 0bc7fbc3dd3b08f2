//! The decision which processes are to move, by the time and messages that all ranks have told
//! rank 0.

use std::collections::HashSet;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use roving_flow::raw::{Across, Figures};

use super::message::Loads;
use super::shape::Shape;
use crate::unwind::lock;

/// Rank 0's figures of the whole network, and its decisions.
pub(super) struct Balancer {
    /// Of the channels that have both ends, by number; the others are not partitioned by.
    channels: Vec<Option<usize>>,
    told: Mutex<Told>,
    /// Held while it partitions, by the thread that watches.
    policy: Mutex<BalancePolicy>,
}

/// The figures that rank 0 has been told.
struct Told {
    figures: Figures,
    /// How many workers each rank has; 0 if it has said nothing since the last look.
    heard: Vec<u32>,
}

/// The policy that decides across ranks, and what it has decided before.
struct BalancePolicy {
    across: Across,
    begun: Instant,
    looks: Duration,
    /// Processes that were sent elsewhere, and may not have gone yet.
    sent: HashSet<u32>,
}

impl Balancer {
    /// None if the network is not rebalanced, or nothing may move.
    pub(super) fn new(shape: &Shape, ranks: usize) -> Option<Balancer> {
        let placement = shape.rebalance()?.placement();
        let mut ends = Vec::new();
        let channels = (0..shape.channels().len() as u32).map(|channel| {
            let of = shape.ends(channel)?;
            ends.push((of.producer as usize, of.consumer as usize));
            Some(ends.len() - 1)
        });
        let channels = channels.collect();
        let processes = shape.processes().iter();
        let may_move = processes.map(|one| one.is_movable && one.pin.is_none());
        let may_move: Vec<bool> = may_move.collect();
        if !may_move.contains(&true) {
            return None;
        }
        let figures = Figures {
            processes: vec![(Duration::ZERO, false); may_move.len()],
            messages: vec![0; ends.len()],
            ..Figures::default()
        };
        let across = Across::new(&placement, ends, may_move, ranks)?;
        Some(Balancer {
            channels,
            told: Mutex::new(Told {
                figures,
                heard: vec![0; ranks],
            }),
            policy: Mutex::new(BalancePolicy {
                across,
                begun: Instant::now(),
                looks: Duration::ZERO,
                sent: HashSet::new(),
            }),
        })
    }

    /// Adds the work that a rank has reported.
    pub(super) fn add(&self, from: usize, loads: &Loads) {
        let told = &mut *lock(&self.told);
        for &(process, took) in &loads.processes {
            told.figures.processes[process as usize].0 += took;
        }
        for &process in &loads.ended {
            told.figures.processes[process as usize].1 = true;
        }
        for &(channel, sent) in &loads.channels {
            if let Some(at) = self.channels[channel as usize] {
                told.figures.messages[at] += sent;
            }
        }
        told.heard[from] = loads.workers;
    }

    /// The sum of all, if every rank has told since the last time.
    fn figures(&self, ended: &[u32]) -> Option<Figures> {
        let told = &mut *lock(&self.told);
        if told.heard.contains(&0) {
            return None;
        }
        for &process in ended {
            told.figures.processes[process as usize].1 = true;
        }
        told.figures.workers = told.heard.iter().map(|&workers| workers as usize).sum();
        told.heard.fill(0);
        Some(told.figures.clone())
    }

    /// The processes that are to be elsewhere, and where, if all ranks have told what they do and
    /// something is to be done. It may take a while, and is not for threads that handle messages.
    pub(super) fn decide(&self, now: &[u32], ended: &[u32]) -> Vec<(u32, u32)> {
        let Some(mut figures) = self.figures(ended) else {
            return Vec::new();
        };
        let policy = &mut *lock(&self.policy);
        figures.at = policy.begun.elapsed();
        figures.looks = policy.looks;
        let then = policy.across.look(now, &figures);
        policy.looks += policy.begun.elapsed().saturating_sub(figures.at);
        let Some(then) = then else {
            return Vec::new();
        };
        let places = (0..).zip(now.iter().zip(then));
        let moves = places.filter_map(|(process, (&now, then))| {
            // A process that was sent elsewhere and has not gone is to stay, after all.
            let is_sent = policy.sent.remove(&process);
            (now != then || is_sent).then_some((process, then))
        });
        let moves: Vec<_> = moves.collect();
        policy
            .sent
            .extend(moves.iter().map(|&(process, _)| process));
        moves
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::shape::{Channel, Process};

    /// Four movable processes on rank 0 of two, the first of which is pinned.
    fn balancer() -> Balancer {
        let process = |at: usize| Process {
            name: format!("p{at}"),
            weight: 1,
            pin: (at == 0).then_some(0),
            is_movable: true,
        };
        let mut shape = Shape::new((0..4).map(process).collect(), Vec::new());
        shape.add_channel(Channel {
            name: "c".into(),
            token: "u8",
            capacity: None,
            producer: Some(2),
            consumer: Some(3),
            weight: 1,
            halves: (0, 0),
        });
        shape.set_rebalance(crate::Rebalance::default());
        Balancer::new(&shape, 2).unwrap()
    }

    /// One rank with a worker, on which each of these has taken a minute more.
    fn minutes(processes: &[u32]) -> Loads {
        Loads {
            workers: 1,
            processes: processes
                .iter()
                .map(|&process| (process, Duration::from_secs(60)))
                .collect(),
            ..Loads::default()
        }
    }

    /// Ten minutes have gone by.
    fn wait(balancer: &Balancer) {
        let mut policy = lock(&balancer.policy);
        policy.begun = policy.begun.checked_sub(Duration::from_secs(600)).unwrap();
    }

    #[test]
    fn nothing_is_decided_before_all_ranks_have_told() {
        let balancer = balancer();
        wait(&balancer);
        balancer.add(0, &minutes(&[0, 1, 2, 3]));
        assert_eq!(balancer.decide(&[0; 4], &[]), []);
        balancer.add(1, &minutes(&[]));
        let moves = balancer.decide(&[0; 4], &[]);
        assert_eq!(moves.len(), 2);
        assert!(moves.iter().all(|&(process, to)| process > 0 && to == 1));
        wait(&balancer);
        assert_eq!(balancer.decide(&[0; 4], &[]), [], "they have told once");
    }

    #[test]
    fn who_has_ended_is_not_sent() {
        let balancer = balancer();
        wait(&balancer);
        for (rank, busy) in [(0, &[0, 1][..]), (1, &[])] {
            balancer.add(rank, &minutes(busy));
        }
        let moves = balancer.decide(&[0; 4], &[2, 3]);
        assert_eq!(moves, [(1, 1)]);
    }

    #[test]
    fn a_network_in_which_nothing_may_move_is_not_watched() {
        let process = Process {
            name: "p".into(),
            weight: 1,
            pin: None,
            is_movable: false,
        };
        let mut shape = Shape::new(vec![process], Vec::new());
        shape.set_rebalance(crate::Rebalance::default());
        assert!(Balancer::new(&shape, 2).is_none());
    }
}
