//! The policy of [`Partitioned`](super::Placement::Partitioned) for parts that are no workers: the
//! ranks of a network that is spread over several.

use std::time::Duration;

use super::Placement;
use super::partitioned::Partitioned;
use super::policy::Policy;
use super::snapshot::{NetworkFigures, Shape};
use crate::state::meter::Spent;

/// The work of a network since it began to run, and its workers, over all parts.
#[derive(Clone, Debug, Default)]
pub struct Figures {
    /// The time since it began.
    pub at: Duration,
    /// The number of workers in all parts.
    pub workers: usize,
    /// For each process, the time that it has taken, and whether it has ended.
    pub processes: Vec<(Duration, bool)>,
    /// The number of messages that have passed along each channel.
    pub messages: Vec<u64>,
    /// The time that looking at the network has taken so far.
    pub looks: Duration,
}

/// A policy that decides which processes move to another part. It knows no clock, no thread and no
/// rank.
#[derive(Debug)]
pub struct Across {
    policy: Partitioned,
    may_move: Vec<bool>,
    seen: NetworkFigures,
}

impl Across {
    /// Creates the policy for a network with these channels, producer and consumer, of which these
    /// processes may move. `None` if the placement is not [`Placement::Partitioned`].
    pub fn new(
        placement: &Placement,
        channels: Vec<(usize, usize)>,
        may_move: Vec<bool>,
        parts: usize,
    ) -> Option<Across> {
        let shape = Shape {
            processes: may_move.len(),
            channels,
        };
        Some(Across {
            policy: Partitioned::new(placement, &shape, parts)?,
            may_move,
            seen: NetworkFigures::default(),
        })
    }

    /// Decides the new parts of processes that are in these parts now; `None` if they stay. Nothing
    /// else is to be done before the workers have been idle for long enough.
    pub fn look(&mut self, now: &[u32], figures: &Figures) -> Option<Vec<u32>> {
        let nanos = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        let at_ns = nanos(figures.at).max(self.seen.at_ns);
        let spent = figures.processes.iter().map(|&(time, has_ended)| Spent {
            time_ns: nanos(time),
            stopped_ns: at_ns,
            has_ended,
        });
        let spent: Vec<Spent> = spent.collect();
        let busy: u64 = spent
            .iter()
            .fold(0, |sum, one| sum.saturating_add(one.time_ns));
        self.seen = NetworkFigures {
            at_ns,
            busy_ns: busy.max(self.seen.busy_ns),
            looks_ns: nanos(figures.looks),
            processes: spent,
            messages: figures.messages.clone(),
        };
        let fixed = self.may_move.iter().zip(&self.seen.processes);
        let fixed = fixed.map(|(&may_move, spent)| !may_move || spent.has_ended);
        self.policy.stand(now, fixed.collect(), figures.workers);
        let change = self.policy.look(&self.seen)?;
        let is_worth_it = self.policy.is_worth_it(now, &change.places);
        is_worth_it.then_some(change.places)
    }
}

impl Partitioned {
    /// Whether the heaviest part becomes lighter by as much as a part may be too heavy; or what
    /// passes between parts becomes less by more than the moves cost, and no part too heavy.
    /// Figures differ a little from look to look, and nothing is to move for that.
    fn is_worth_it(&self, now: &[u32], then: &[u32]) -> bool {
        let load = &self.load;
        let heaviest = |parts: &[u32]| {
            let mut weights = vec![0_u128; self.parts];
            for (&part, &weight) in parts.iter().zip(&load.processes) {
                weights[part as usize] += u128::from(weight);
            }
            weights.into_iter().max().unwrap_or(0) as f64
        };
        let cut = |parts: &[u32]| {
            let cut = load
                .channels
                .iter()
                .filter(|one| parts[one.from] != parts[one.to]);
            cut.map(|one| u128::from(one.messages)).sum::<u128>() * u128::from(self.alpha)
        };
        let total: u128 = load.processes.iter().map(|&one| u128::from(one)).sum();
        let mean = total as f64 / self.parts as f64;
        let tolerance = mean * self.imbalance;
        let (before, after) = (heaviest(now), heaviest(then));
        if before - after > tolerance {
            return true;
        }
        let moves = now.iter().zip(then).filter(|(now, then)| now != then);
        let cost = moves.count() as u128 * u128::from(self.migration_cost.of(0));
        after <= before.max(mean + tolerance) && cut(now) > cut(then) + cost
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two parts with a worker each, where 20 ms of idle time are enough.
    fn across(may_move: &[bool], channels: &[(usize, usize)]) -> Across {
        let placement = Placement::partitioned();
        Across::new(&placement, channels.to_vec(), may_move.to_vec(), 2).unwrap()
    }

    /// After that many tenths of a second, in which the processes have taken so many milliseconds
    /// of it in all, and sent so much.
    fn figures(tenths: u64, each_ms: &[u64], messages: &[u64]) -> Figures {
        Figures {
            at: Duration::from_millis(tenths * 100),
            workers: 2,
            processes: each_ms
                .iter()
                .map(|&ms| (Duration::from_millis(ms), false))
                .collect(),
            messages: messages.to_vec(),
            looks: Duration::ZERO,
        }
    }

    #[test]
    fn the_load_of_one_part_is_shared() {
        let mut across = across(&[true; 4], &[]);
        let then = across.look(&[0; 4], &figures(1, &[25; 4], &[])).unwrap();
        assert_eq!(then.iter().filter(|&&part| part == 0).count(), 2);
    }

    #[test]
    fn what_may_not_move_stays_and_the_others_go_where_there_is_room() {
        let mut across = across(&[false, true, false, true], &[]);
        let now = [0, 0, 0, 0];
        let then = across.look(&now, &figures(1, &[40, 10, 10, 40], &[]));
        assert_eq!(then, Some(vec![0, 1, 0, 1]));
    }

    #[test]
    fn balanced_parts_stay_as_they_are_though_figures_differ_a_little() {
        let channels = [(0, 1), (2, 3)];
        let mut across = across(&[true; 4], &channels);
        let mut each = [0; 4];
        let mut noise = 1_u64;
        for tenths in 1..200 {
            for ms in &mut each {
                noise = noise
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1);
                *ms += 20 + (noise >> 33) % 2;
            }
            let then = across.look(&[0, 0, 1, 1], &figures(tenths, &each, &[tenths * 900; 2]));
            assert_eq!(then, None, "after {tenths} tenths");
        }
    }

    #[test]
    fn one_process_that_does_everything_is_left_alone() {
        let mut across = across(&[true; 3], &[(0, 1), (1, 2)]);
        for tenths in 1..50 {
            let each = [tenths, 98 * tenths, tenths];
            assert_eq!(
                across.look(&[0, 1, 0], &figures(tenths, &each, &[tenths; 2])),
                None
            );
        }
    }

    #[test]
    fn processes_that_talk_come_together_if_that_is_worth_the_move() {
        let channels = [(0, 1), (2, 3)];
        let now = [0, 1, 0, 1];
        let each = [20; 4];
        let apart = across(&[true; 4], &channels).look(&now, &figures(1, &each, &[10; 2]));
        assert_eq!(apart, None, "20 messages, where two moves cost 32");
        let then = across(&[true; 4], &channels).look(&now, &figures(1, &each, &[10_000; 2]));
        let then = then.unwrap();
        assert_eq!((then[0], then[2]), (then[1], then[3]));
        assert_ne!(then[0], then[2]);
    }

    #[test]
    fn nothing_moves_while_nobody_is_idle() {
        let mut across = across(&[true; 4], &[]);
        assert_eq!(across.look(&[0; 4], &figures(1, &[48; 4], &[])), None);
    }

    #[test]
    fn who_has_ended_is_not_moved() {
        let mut across = across(&[true; 4], &[(0, 1)]);
        let mut figures = figures(1, &[50, 10, 20, 20], &[0]);
        figures.processes[0].1 = true;
        let then = across.look(&[0; 4], &figures).unwrap();
        assert_eq!(then[0], 0);
        assert_eq!(then[1..].iter().filter(|&&part| part == 1).count(), 1);
    }
}
