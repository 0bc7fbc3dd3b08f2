//! Partitioning whenever workers have been idle for long enough.

use std::time::Duration;

use super::Placement;
use super::policy::{Change, Policy};
use super::snapshot::{NetworkFigures, Shape};
use roving_partition::{Distances, KWay, Load, MigrationCost, Partitioner, Problem, Rebalance};

/// Most that the threshold is raised to, as a multiple.
const PATIENCE_MAX: u32 = 64;

/// A network whose idle time partitioning does not change by as much, in percent, has no more
/// parallelism to find.
const HELP_PERCENT: u128 = 10;

/// Looking and partitioning take no more than one in so many nanoseconds, and those of a few
/// partitions to begin with: workers may have no other processor meanwhile.
const SHARE: u64 = 20;
const PREPAID_NS: u64 = 20_000_000;

/// Devine et al., with three additions against the instability that Nornir saw: the threshold
/// doubles each time that partitioning did not make the workers less idle; what was spent before
/// the last time still counts, by half; and partitioning takes a twentieth of the time at the most.
#[derive(Debug)]
pub(super) struct Partitioned {
    shape: Shape,
    /// Whose idle time is counted.
    workers: usize,
    /// One for each worker, unless these are in other parts.
    pub(super) parts: usize,
    /// Processes that stay where they are; all may move if this is empty.
    fixed: Vec<bool>,
    distances: Distances,
    threshold_ns: u64,
    pub(super) alpha: u64,
    pub(super) migration_cost: MigrationCost,
    pub(super) imbalance: f64,
    now: Vec<u32>,
    base: NetworkFigures,
    weights: Vec<u64>,
    /// The load for which the last partition was made.
    pub(super) load: Load,
    patience: u32,
    /// Idle and worker time between the last two times.
    earlier: Option<(u64, u64)>,
}

impl Partitioned {
    /// `None` if that is not what the placement is.
    pub(super) fn new(placement: &Placement, shape: &Shape, workers: usize) -> Option<Partitioned> {
        let Placement::Partitioned {
            idle_threshold,
            alpha,
            migration_cost,
            imbalance,
            topology,
        } = *placement
        else {
            return None;
        };
        Some(Partitioned {
            shape: shape.clone(),
            workers,
            parts: workers,
            fixed: Vec::new(),
            distances: match topology {
                true => Distances::of_machine(workers),
                false => Distances::uniform(workers),
            },
            threshold_ns: idle_threshold.as_nanos().min(u64::MAX.into()) as u64,
            alpha,
            migration_cost,
            imbalance,
            now: Vec::new(),
            base: NetworkFigures::default(),
            weights: vec![0; shape.processes],
            load: Load::default(),
            patience: 1,
            earlier: None,
        })
    }

    /// For others than the workers of one pool: the processes are in these parts now, some are not
    /// to move, and so many workers are there in all parts.
    pub(super) fn stand(&mut self, now: &[u32], fixed: Vec<bool>, workers: usize) {
        now.clone_into(&mut self.now);
        (self.fixed, self.workers) = (fixed, workers.max(1));
    }

    fn rebalanced(&mut self, seen: &NetworkFigures) -> Option<Vec<u32>> {
        let mut load = seen.load_since(&self.base, &self.shape, 0);
        for (process, weight) in self.weights.iter_mut().enumerate() {
            load.processes[process] = match seen.processes[process].has_ended {
                true => 0,
                false => load.processes[process].saturating_add(*weight / 2),
            };
            *weight = load.processes[process];
        }
        expect_more(&mut load, seen);
        let blocked_ns = seen.blocked_ns();
        let rebalance = Rebalance {
            load: &load,
            now: &self.now,
            blocked_ns: &blocked_ns,
            parts: self.parts,
            alpha: self.alpha,
            migration_cost: self.migration_cost,
        };
        // Sums beyond 63 bits, which take centuries, leave everything where it is.
        let stays = |process: usize| self.fixed.get(process).is_some_and(|&fixed| fixed);
        let graph = rebalance.graph_where(stays).ok()?;
        let problem = Problem::new(&graph, self.parts).ok()?;
        let problem = problem.imbalance(self.imbalance).ok()?;
        let problem = problem.distances(self.distances.clone()).ok()?;
        let problem = problem.start(rebalance.start()).ok()?;
        let mut parts = partitioner(self.shape.processes, 4)
            .partition(&problem)
            .into_parts();
        parts.truncate(self.shape.processes);
        self.load = load;
        Some(parts)
    }

    /// Whether partitioning helped is seen the next time: by the share of idle time since.
    fn learn(&mut self, idle_ns: u64, worker_ns: u64) {
        if let Some((earlier_idle, earlier_all)) = self.earlier {
            let now = u128::from(idle_ns) * u128::from(earlier_all) * 100;
            let before = u128::from(earlier_idle) * u128::from(worker_ns) * (100 - HELP_PERCENT);
            self.patience = match now > before {
                true => (self.patience * 2).min(PATIENCE_MAX),
                false => (self.patience / 2).max(1),
            };
        }
        self.earlier = Some((idle_ns, worker_ns));
    }
}

impl Policy for Partitioned {
    fn first(&mut self) -> Vec<u32> {
        let load = Load::unit(self.shape.processes, self.shape.channels.iter().copied());
        self.now = first_parts(&load, &self.distances, self.imbalance, 8);
        self.now.clone()
    }

    fn wait(&self) -> Duration {
        let soonest = self.threshold_ns * u64::from(self.patience) / self.workers as u64 / 2;
        Duration::from_nanos(soonest).clamp(Duration::from_millis(1), Duration::from_millis(100))
    }

    fn look(&mut self, seen: &NetworkFigures) -> Option<Change> {
        let worker_ns = (seen.at_ns - self.base.at_ns) * self.workers as u64;
        let idle_ns = worker_ns.saturating_sub(seen.busy_ns - self.base.busy_ns);
        let has_enough = idle_ns >= self.threshold_ns.saturating_mul(u64::from(self.patience));
        if !has_enough || seen.looks_ns > PREPAID_NS + seen.at_ns / SHARE {
            return None;
        }
        self.learn(idle_ns, worker_ns);
        let parts = self.rebalanced(seen);
        self.base = seen.clone();
        self.now = parts?;
        Some(Change {
            name: "parts",
            places: self.now.clone(),
        })
    }
}

/// So many messages tell as much about a process as that it is one of this network.
const TELLING: u64 = 8;

/// Moves the weight of each process towards the mean, the more the fewer messages it has had: the
/// little that a process has done so far tells little about what it will do. Otherwise all
/// processes that have not run yet would be left on one worker.
pub(super) fn expect_more(load: &mut Load, seen: &NetworkFigures) {
    let alive = seen.processes.iter().filter(|of| !of.has_ended).count();
    let total: u128 = load.processes.iter().map(|&of| u128::from(of)).sum();
    let mean = total / alive.max(1) as u128 + 1;
    let mut messages = vec![0_u64; load.processes.len()];
    for channel in &load.channels {
        for end in [channel.from, channel.to] {
            messages[end] = messages[end].saturating_add(channel.messages);
        }
    }
    for ((weight, of), messages) in load.processes.iter_mut().zip(&seen.processes).zip(messages) {
        if !of.has_ended {
            let telling = u128::from(TELLING);
            let expected = mean * telling / (telling + u128::from(messages));
            *weight = weight.saturating_add(expected as u64).max(1);
        }
    }
}

/// Fewer starts for large networks.
pub(super) fn partitioner(processes: usize, starts: usize) -> KWay {
    KWay::new(processes as u64).starts((100_000 / processes.max(1)).clamp(1, starts))
}

/// A partition for a network that nobody moves in yet; all on the first worker where its graph
/// cannot be made.
pub(super) fn first_parts(
    load: &Load,
    distances: &Distances,
    imbalance: f64,
    starts: usize,
) -> Vec<u32> {
    let parts = || -> Option<Vec<u32>> {
        let graph = load.graph().ok()?;
        let problem = Problem::new(&graph, distances.parts()).ok()?;
        let problem = problem.imbalance(imbalance).ok()?;
        let problem = problem.distances(distances.clone()).ok()?;
        let partitioner = partitioner(graph.vertices(), starts);
        Some(partitioner.partition(&problem).into_parts())
    };
    parts().unwrap_or_else(|| vec![0; load.processes.len()])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::meter::Spent;

    fn policy(processes: usize, channels: &[(usize, usize)]) -> Partitioned {
        let shape = Shape {
            processes,
            channels: channels.to_vec(),
        };
        Partitioned::new(&Placement::partitioned(), &shape, 2).unwrap()
    }

    fn seen(at_ms: u64, busy_ms: u64, spent_ms: &[u64], messages: &[u64]) -> NetworkFigures {
        let spent = spent_ms.iter().map(|&ms| Spent {
            time_ns: ms * 1_000_000,
            ..Spent::default()
        });
        NetworkFigures {
            at_ns: at_ms * 1_000_000,
            busy_ns: busy_ms * 1_000_000,
            looks_ns: 0,
            processes: spent.collect(),
            messages: messages.to_vec(),
        }
    }

    #[test]
    fn the_first_partition_has_as_many_processes_on_each_worker() {
        let first = policy(4, &[(0, 1), (2, 3)]).first();
        assert_eq!((first[0], first[2]), (first[1], first[3]));
        assert_ne!(first[0], first[2]);
    }

    #[test]
    fn nothing_moves_while_the_workers_are_busy() {
        let mut policy = policy(4, &[(0, 1), (2, 3)]);
        policy.first();
        assert!(policy.look(&seen(100, 195, &[50; 4], &[10, 10])).is_none());
    }

    /// The unit weights put 0 and 1 on one worker, but these are all that does anything.
    #[test]
    fn a_network_out_of_balance_is_partitioned_once_the_idle_time_is_gathered() {
        let mut policy = policy(4, &[(0, 1), (2, 3)]);
        let first = policy.first();
        assert_eq!(first[0], first[1]);
        let change = policy
            .look(&seen(100, 100, &[50, 50, 0, 0], &[10, 10]))
            .unwrap();
        assert_ne!(change.places[0], change.places[1]);
        assert!(
            policy
                .look(&seen(101, 102, &[51, 51, 0, 0], &[10, 10]))
                .is_none()
        );
    }

    #[test]
    fn idle_time_that_partitioning_does_not_lessen_raises_the_threshold() {
        let mut policy = policy(2, &[(0, 1)]);
        policy.first();
        let mut looks = Vec::new();
        for ms in (25..3000).step_by(25) {
            if policy.look(&seen(ms, ms, &[ms / 2; 2], &[ms])).is_some() {
                looks.push(ms);
            }
        }
        assert!(looks.len() < 9, "{looks:?}");
        assert!(policy.patience > 16);
    }

    #[test]
    fn a_network_that_takes_long_to_partition_is_seldom_partitioned() {
        let mut policy = policy(2, &[(0, 1)]);
        policy.first();
        let mut times = 0;
        for ms in (25..2000).step_by(25) {
            let mut seen = seen(ms, ms, &[ms / 2; 2], &[ms]);
            seen.looks_ns = times * 50_000_000;
            policy.patience = 1;
            times += u64::from(policy.look(&seen).is_some());
        }
        assert_eq!(times, 3);
    }

    #[test]
    fn what_has_ended_weighs_nothing() {
        let mut policy = policy(4, &[]);
        policy.first();
        let mut seen = seen(100, 100, &[50, 50, 40, 40], &[]);
        seen.processes[0].has_ended = true;
        seen.processes[1].has_ended = true;
        let places = policy.look(&seen).unwrap().places;
        assert_ne!(places[2], places[3]);
    }
}
