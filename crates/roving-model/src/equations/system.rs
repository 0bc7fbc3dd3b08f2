//! The differential equations themselves.

use ivp::prelude::FirstOrderSystem;

use crate::Policy;

/// The right-hand side for `levels` levels. The state is `s_1 ..= s_levels`; with a transfer delay,
/// after these `w_0 ..= w_levels`, the processors that wait for stolen tasks and hold at least so
/// many others.
#[derive(Clone, Copy, Debug)]
pub(super) struct System {
    pub(super) arrival: f64,
    pub(super) spawning: f64,
    pub(super) retry: f64,
    /// Transfers that end in a unit of time, of one that is under way.
    pub(super) transfer: Option<f64>,
    pub(super) policy: Policy,
    pub(super) levels: usize,
}

/// One class of processors by their least load.
#[derive(Clone, Copy)]
struct LoadClass<'y> {
    zero: f64,
    above: &'y [f64],
}

impl LoadClass<'_> {
    fn at(&self, level: usize) -> f64 {
        match level {
            0 => self.zero,
            level => self.above.get(level - 1).copied().unwrap_or(0.0),
        }
    }
}

/// How fast thieves come, and how often they find something.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Thefts {
    pub(super) attempts: f64,
    pub(super) steals: f64,
}

impl System {
    /// How long a state is.
    pub(super) fn size(&self) -> usize {
        match self.transfer {
            None => self.levels,
            Some(_) => 2 * self.levels + 1,
        }
    }

    fn classes<'y>(&self, y: &'y [f64]) -> (LoadClass<'y>, Option<LoadClass<'y>>) {
        let (free, waiting) = y.split_at(self.levels);
        let zero = 1.0 - waiting.first().copied().unwrap_or(0.0);
        let waiting = waiting
            .split_first()
            .map(|(&zero, above)| LoadClass { zero, above });
        (LoadClass { zero, above: free }, waiting)
    }

    /// The fraction of processors with at least so many tasks.
    pub(super) fn at_least(&self, y: &[f64], level: usize) -> f64 {
        let (free, waiting) = self.classes(y);
        free.at(level) + waiting.map_or(0.0, |class| class.at(level))
    }

    /// Tasks for each processor, those under way included.
    pub(super) fn tasks(&self, y: &[f64]) -> f64 {
        let (free, waiting) = self.classes(y);
        let under_way = waiting.map_or(0.0, |class| {
            class.above.iter().sum::<f64>() + self.amount() as f64 * class.zero
        });
        free.above.iter().sum::<f64>() + under_way
    }

    /// How many tasks a transfer brings, where that is always the same.
    fn amount(&self) -> usize {
        match self.policy {
            Policy::Fixed { amount, .. } => amount as usize,
            _ => 1,
        }
    }

    /// Per processor and unit of time.
    pub(super) fn thefts(&self, y: &[f64]) -> Thefts {
        let Some(threshold) = self.policy.threshold() else {
            return Thefts {
                attempts: 0.0,
                steals: 0.0,
            };
        };
        let (free, _) = self.classes(y);
        let attempts = free.at(1) - free.at(2) + self.retry * (free.at(0) - free.at(1));
        Thefts {
            attempts,
            steals: attempts * self.at_least(y, threshold),
        }
    }

    /// By how much the part with at least `level` tasks falls when each processor of the class is
    /// the victim of one steal.
    fn loss(&self, class: &LoadClass<'_>, level: usize) -> f64 {
        let from = |threshold: u32| level.max(threshold as usize);
        match self.policy {
            Policy::None => 0.0,
            Policy::One { threshold } if level < threshold as usize => 0.0,
            Policy::One { .. } => class.at(level) - class.at(level + 1),
            Policy::Fixed { amount, threshold } => {
                let beyond = level + amount as usize;
                match beyond > threshold as usize {
                    true => class.at(from(threshold)) - class.at(beyond),
                    false => 0.0,
                }
            }
            Policy::Half { threshold } => {
                let keeps = (2 * level - 1).max(threshold as usize);
                class.at(from(threshold)) - class.at(keeps)
            }
        }
    }

    /// Arrivals and departures of one class at `level`, at least 1.
    fn flow(&self, class: &LoadClass<'_>, level: usize) -> f64 {
        let (below, here) = (class.at(level - 1), class.at(level));
        let spawned = if level >= 2 { self.spawning } else { 0.0 };
        (self.arrival + spawned) * (below - here) - (here - class.at(level + 1))
    }

    /// The immediate gain of thieves at `level`, for each attempt.
    fn gain(&self, free: &LoadClass<'_>, level: usize) -> f64 {
        let Some(threshold) = self.policy.threshold() else {
            return 0.0;
        };
        match self.policy {
            Policy::Half { .. } => free.at((2 * level).max(threshold)),
            _ if level <= self.amount() => free.at(threshold),
            _ => 0.0,
        }
    }

    /// The derivative.
    pub(super) fn derive(&self, y: &[f64], dy: &mut [f64]) {
        let Thefts { attempts, steals } = self.thefts(y);
        let (free, waiting) = self.classes(y);
        for level in 1..=self.levels {
            let taken = attempts * self.loss(&free, level);
            let gained = match (waiting, self.transfer) {
                (Some(waiting), Some(rate)) => {
                    rate * waiting.at(level.saturating_sub(self.amount()))
                }
                _ => attempts * self.gain(&free, level),
            };
            dy[level - 1] = self.flow(&free, level) - taken + gained;
        }
        if let (Some(waiting), Some(rate)) = (waiting, self.transfer) {
            dy[self.levels] = steals - rate * waiting.zero;
            for level in 1..=self.levels {
                let taken = attempts * self.loss(&waiting, level);
                dy[self.levels + level] =
                    self.flow(&waiting, level) - taken - rate * waiting.at(level);
            }
        }
    }
}

impl FirstOrderSystem for System {
    fn derivative(&self, _t: f64, y: &[f64], dydt: &mut [f64]) {
        self.derive(y, dydt);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Steals move tasks and make none: the loss at all levels is the gain.
    #[test]
    fn thefts_keep_the_number_of_tasks() {
        for text in ["one", "one:5", "fixed:3", "fixed:2:7", "half", "half:5"] {
            for transfer in [None, Some(2.0)] {
                let policy: Policy = text.parse().unwrap();
                if transfer.is_some() && matches!(policy, Policy::Half { .. }) {
                    continue;
                }
                let system = System {
                    arrival: 0.6,
                    spawning: 0.2,
                    retry: 3.0,
                    transfer,
                    policy,
                    levels: 200,
                };
                let mut y: Vec<f64> = (1..=200).map(|i| 0.5 * 0.9_f64.powi(i)).collect();
                if transfer.is_some() {
                    y.extend((0..=200).map(|i| 0.3 * 0.8_f64.powi(i)));
                }
                let mut dy = vec![0.0; system.size()];
                system.derive(&y, &mut dy);
                let grows: f64 = dy[..200].iter().sum();
                let waiting: f64 = dy[200..].iter().skip(1).sum();
                let under_way = system.amount() as f64 * dy.get(200).copied().unwrap_or(0.0);
                let busy = system.at_least(&y, 1);
                let expected = 0.6 + 0.2 * busy - busy;
                let total = grows + waiting + under_way;
                assert!(
                    (total - expected).abs() < 1e-6,
                    "{text} {transfer:?}: {total}"
                );
            }
        }
    }
}
