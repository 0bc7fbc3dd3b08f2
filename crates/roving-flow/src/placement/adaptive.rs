//! Stealing, partitioning or one worker: what moves more messages.
//!
//! Two obstacles were found to partitioning: running times that vary, and the choice of the moment
//! (Vrba et al. 2009). Both come from acting on a prediction. Here a prediction is a proposal only:
//! it is tried for some milliseconds, beside what the network did just before, and what moves more
//! messages, twice in a row, stays. A trial costs at most its own length, and trials that fail may
//! take a twenty-fifth of the time, so that what they cost is bounded whatever they propose; one
//! that failed is put off for ever longer.
//!
//! Where messages carry work, stealing is near its best and nothing is tried: only a few figures
//! are read every tenth of a second. Where they are tiny, the network's time goes into passing
//! them; then it matters that both ends of a busy channel are on one worker (*parts*), or, where
//! the network has no parallelism worth the way to the next core, that all of it is (*one*).

use std::time::Duration;

use super::Placement;
use super::partitioned::{expect_more, first_parts};
use super::policy::{ANYWHERE, Change, Policy};
use super::snapshot::{Seen, Shape};
use roving_partition::Distances;

/// After a trial that failed, the first time.
const RETRY_NS: u64 = 100_000_000;
/// Trials are put off by ever more, up to that.
const RETRY_NS_MAX: u64 = 10_000_000_000;
/// How long a network whose messages carry work is left alone, at the most.
const CALM: Duration = Duration::from_millis(100);
/// Networks with more processes are left to stealing: partitioning them would take too long.
const PROCESSES_MAX: usize = 100_000;
/// Imbalance of the parts: measured weights of a few milliseconds are no better than that.
const IMBALANCE: f64 = 0.05;
/// Trials that fail take no more than one in so many of all nanoseconds, and those of two.
const SHARE: u64 = 25;
const PREPAID_NS: u64 = 15_000_000;
/// Below that share of what is usual, so many times in a row, the kept arm has become slower.
const FALLEN: f64 = 0.75;
const FALLS: u32 = 4;
/// How thoroughly they are looked for: workers have to do without a processor meanwhile, where
/// there are no more processors than workers.
const STARTS: usize = 2;

/// One way to place all processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Arm {
    Stealing,
    Parts,
    One,
}

impl Arm {
    const ALL: [Arm; 3] = [Arm::Stealing, Arm::Parts, Arm::One];

    fn name(self) -> &'static str {
        match self {
            Arm::Stealing => "stealing",
            Arm::Parts => "parts",
            Arm::One => "one",
        }
    }
}

/// When an arm is tried next, and by how much that is put off if it fails.
#[derive(Clone, Copy, Debug)]
struct Retry {
    at_ns: u64,
    after_ns: u64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Phase {
    /// The kept arm runs.
    Kept,
    /// Another one has just been chosen; the processes are on their way.
    Settling { arm: Arm, before: f64 },
    /// It is being measured, for the last time if `last`: one lucky measurement keeps nothing.
    Trying { arm: Arm, before: f64, last: bool },
}

#[derive(Debug)]
pub(super) struct Adaptive {
    shape: Shape,
    workers: usize,
    grain_ns: f64,
    trial: Duration,
    margin: f64,
    kept: Arm,
    /// Where the processes are if `kept` is `Parts`.
    parts: Vec<u32>,
    /// The places that the processes get if the present trial succeeds.
    proposed: Vec<u32>,
    phase: Phase,
    retries: [Retry; 3],
    calm: Duration,
    /// The rate of the kept arm, smoothed.
    usual: f64,
    /// How many times in a row it was far below that.
    falls: u32,
    /// When the trial that is going on began, and how long all those took that failed.
    began_ns: u64,
    failed_ns: u64,
    last: Seen,
}

impl Adaptive {
    /// `None` if that is not what the placement is, or the network too large.
    pub(super) fn new(placement: &Placement, shape: &Shape, workers: usize) -> Option<Adaptive> {
        let Placement::Adaptive {
            grain,
            trial,
            margin,
        } = *placement
        else {
            return None;
        };
        let retry = Retry {
            at_ns: 0,
            after_ns: RETRY_NS,
        };
        (shape.processes <= PROCESSES_MAX).then(|| Adaptive {
            shape: shape.clone(),
            workers,
            grain_ns: grain.as_nanos() as f64,
            trial,
            margin,
            kept: Arm::Stealing,
            parts: Vec::new(),
            proposed: Vec::new(),
            phase: Phase::Kept,
            retries: [retry; 3],
            calm: trial,
            usual: 0.0,
            falls: 0,
            began_ns: 0,
            failed_ns: 0,
            last: Seen::default(),
        })
    }

    fn places(&self, arm: Arm, parts: &[u32]) -> Vec<u32> {
        match arm {
            Arm::Stealing => vec![ANYWHERE; self.shape.processes],
            Arm::Parts => parts.to_vec(),
            Arm::One => vec![0; self.shape.processes],
        }
    }

    fn retry(&mut self, arm: Arm) -> &mut Retry {
        &mut self.retries[arm as usize]
    }

    /// The kept arm has run for a while, at that rate.
    fn after_kept(&mut self, seen: &Seen, messages: u64, rate: f64) -> Option<Change> {
        let worker_ns = (self.workers as u64 * (seen.at_ns - self.last.at_ns)) as f64;
        if worker_ns > messages as f64 * self.grain_ns {
            self.calm = (self.calm * 2).min(CALM);
            let was = std::mem::replace(&mut self.kept, Arm::Stealing);
            return (was != Arm::Stealing).then(|| self.change(Arm::Stealing, &[]));
        }
        self.calm = self.trial;
        self.expect(rate, seen.at_ns);
        let due = Arm::ALL.into_iter().filter(|&arm| arm != self.kept);
        let arm = due.min_by_key(|&arm| self.retries[arm as usize].at_ns)?;
        let is_paid = self.failed_ns <= PREPAID_NS + seen.at_ns / SHARE;
        if self.retry(arm).at_ns > seen.at_ns || !is_paid {
            return None;
        }
        self.began_ns = seen.at_ns;
        if arm == Arm::Parts {
            let mut load = seen.load_since(&self.last, &self.shape, 0);
            expect_more(&mut load, seen);
            self.proposed =
                first_parts(&load, &Distances::uniform(self.workers), IMBALANCE, STARTS);
        }
        let before = rate.max(self.usual);
        self.phase = Phase::Settling { arm, before };
        Some(self.change(arm, &self.proposed))
    }

    /// Learns the rate of the kept arm. When it has fallen, what was tried before says little: the
    /// network has changed, or a trial has left it in a worse state than it was in.
    fn expect(&mut self, rate: f64, now_ns: u64) {
        self.falls = match rate < FALLEN * self.usual {
            true => self.falls + 1,
            false => 0,
        };
        if self.falls == FALLS {
            (self.falls, self.usual) = (0, rate);
            for retry in &mut self.retries {
                retry.at_ns = now_ns;
            }
        } else if self.falls == 0 {
            self.usual += (rate - self.usual) / 4.0;
        }
    }

    /// The arm moves more messages: it is kept, where it already runs.
    fn keep(&mut self, arm: Arm, rate: f64, now_ns: u64) {
        let was = std::mem::replace(&mut self.kept, arm);
        if arm == Arm::Parts {
            self.parts = std::mem::take(&mut self.proposed);
        }
        self.usual = rate;
        self.phase = Phase::Kept;
        let retry = self.retry(was);
        retry.at_ns = now_ns + retry.after_ns;
    }

    /// The arm moves no more messages, or not by enough: it is put off.
    fn put_off(&mut self, arm: Arm, rate: f64, before: f64, now_ns: u64) -> Change {
        // One that is behind is put off for longer at once.
        let factor = match rate / before {
            0.9.. => 2,
            0.5.. => 4,
            _ => 16,
        };
        let retry = self.retry(arm);
        retry.at_ns = now_ns + retry.after_ns;
        retry.after_ns = (retry.after_ns * factor).min(RETRY_NS_MAX);
        self.failed_ns += now_ns - self.began_ns;
        self.phase = Phase::Kept;
        self.change(self.kept, &self.parts)
    }

    fn change(&self, arm: Arm, parts: &[u32]) -> Change {
        Change {
            name: arm.name(),
            places: self.places(arm, parts),
        }
    }
}

impl Policy for Adaptive {
    fn first(&mut self) -> Vec<u32> {
        self.places(Arm::Stealing, &[])
    }

    fn wait(&self) -> Duration {
        match self.phase {
            Phase::Kept => self.calm,
            Phase::Settling { .. } => self.trial / 4,
            Phase::Trying { .. } => self.trial,
        }
    }

    fn look(&mut self, seen: &Seen) -> Option<Change> {
        let messages = seen
            .total_messages()
            .saturating_sub(self.last.total_messages());
        let rate = messages as f64 / (seen.at_ns - self.last.at_ns).max(1) as f64;
        let change = match self.phase {
            Phase::Kept => self.after_kept(seen, messages, rate),
            // This measurement contains the cost of moving, so only a bad one says something.
            Phase::Settling { arm, before } if rate * 3.0 < before => {
                Some(self.put_off(arm, rate, before, seen.at_ns))
            }
            Phase::Settling { arm, before } => {
                let last = false;
                self.phase = Phase::Trying { arm, before, last };
                None
            }
            Phase::Trying { arm, before, last } => {
                let is_better = rate > before * (1.0 + self.margin);
                match (is_better, last) {
                    (false, _) => Some(self.put_off(arm, rate, before, seen.at_ns)),
                    (true, false) => {
                        let last = true;
                        self.phase = Phase::Trying { arm, before, last };
                        None
                    }
                    (true, true) => {
                        self.keep(arm, rate, seen.at_ns);
                        None
                    }
                }
            }
        };
        self.last = seen.clone();
        change
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::meter::Spent;

    /// A network that moves so many messages a millisecond, by how it is placed.
    struct Model {
        stealing: u64,
        parts: u64,
        one: u64,
    }

    /// Returns the placement of each millisecond, and how many messages moved in all.
    fn run(model: &Model, milliseconds: u64) -> (Vec<&'static str>, u64) {
        let shape = Shape {
            processes: 4,
            channels: vec![(0, 1), (1, 2), (2, 3)],
        };
        let mut policy = Adaptive::new(&Placement::adaptive(), &shape, 2).unwrap();
        assert!(policy.first().iter().all(|&place| place == ANYWHERE));
        let (mut name, mut total, mut at_us) = ("stealing", 0, 0);
        let mut names = Vec::new();
        while at_us < milliseconds * 1000 {
            let wait_us = policy.wait().as_micros() as u64;
            let rate = match name {
                "stealing" => model.stealing,
                "parts" => model.parts,
                _ => model.one,
            };
            total += rate * wait_us / 1000;
            at_us += wait_us;
            names.resize((at_us / 1000) as usize, name);
            let seen = Seen {
                at_ns: at_us * 1000,
                busy_ns: 0,
                looks_ns: 0,
                processes: vec![Spent::default(); 4],
                messages: vec![total, 0, 0],
            };
            if let Some(change) = policy.look(&seen) {
                name = change.name;
                let first = change.places[0];
                assert_eq!(name == "stealing", first == ANYWHERE);
                assert_eq!(name == "one", change.places.iter().all(|&place| place == 0));
            }
        }
        (names, total)
    }

    fn share(names: &[&str], name: &str) -> f64 {
        names.iter().filter(|&&of| of == name).count() as f64 / names.len() as f64
    }

    #[test]
    fn messages_that_carry_work_are_left_to_stealing() {
        let model = Model {
            stealing: 500,
            parts: 5000,
            one: 5000,
        };
        let (names, _) = run(&model, 2000);
        assert_eq!(share(&names, "stealing"), 1.0);
    }

    #[test]
    fn what_moves_twice_as_many_messages_is_kept() {
        let (names, _) = run(
            &Model {
                stealing: 5_000,
                parts: 10_000,
                one: 4_000,
            },
            2000,
        );
        assert!(share(&names, "parts") > 0.9, "{}", share(&names, "parts"));
        let (names, _) = run(
            &Model {
                stealing: 5_000,
                parts: 4_000,
                one: 10_000,
            },
            2000,
        );
        assert!(share(&names, "one") > 0.9, "{}", share(&names, "one"));
    }

    #[test]
    fn trials_that_fail_cost_little() {
        let model = Model {
            stealing: 10_000,
            parts: 1_000,
            one: 1_000,
        };
        let (names, total) = run(&model, 1000);
        assert!(
            share(&names, "stealing") > 0.96,
            "{}",
            share(&names, "stealing")
        );
        assert!(total > 10_000 * 960, "{total}");
    }

    /// Every ninth millisecond moves twice as many messages, whatever the placement.
    #[test]
    fn one_lucky_measurement_keeps_nothing() {
        let shape = Shape {
            processes: 2,
            channels: vec![(0, 1)],
        };
        let mut policy = Adaptive::new(&Placement::adaptive(), &shape, 2).unwrap();
        policy.first();
        let (mut total, mut at_us, mut last) = (0, 0, "stealing");
        for look in 0.. {
            let wait_us = policy.wait().as_micros() as u64;
            at_us += wait_us;
            total += wait_us * if look % 9 == 2 { 20 } else { 10 };
            let seen = Seen {
                at_ns: at_us * 1000,
                processes: vec![Spent::default(); 2],
                messages: vec![total],
                ..Seen::default()
            };
            last = policy.look(&seen).map_or(last, |change| change.name);
            assert_eq!(policy.kept, Arm::Stealing);
            if at_us > 1_000_000 {
                break;
            }
        }
        assert!(
            policy.retries.iter().any(|retry| retry.after_ns > RETRY_NS),
            "{last}"
        );
    }

    /// After half a second, stealing moves half as many messages as before.
    #[test]
    fn when_the_kept_placement_has_become_slower_others_are_tried_at_once() {
        let shape = Shape {
            processes: 2,
            channels: vec![(0, 1)],
        };
        let mut policy = Adaptive::new(&Placement::adaptive(), &shape, 2).unwrap();
        policy.first();
        let (mut total, mut at_us, mut name) = (0, 0, "stealing");
        while at_us < 600_000 {
            let wait_us = policy.wait().as_micros() as u64;
            at_us += wait_us;
            let rate = match name {
                "stealing" if at_us < 500_000 => 10,
                "stealing" => 5,
                _ => 8,
            };
            total += wait_us * rate;
            let seen = Seen {
                at_ns: at_us * 1000,
                processes: vec![Spent::default(); 2],
                messages: vec![total],
                ..Seen::default()
            };
            name = policy.look(&seen).map_or(name, |change| change.name);
        }
        assert_ne!(policy.kept, Arm::Stealing);
    }

    #[test]
    fn a_little_faster_is_not_worth_a_move() {
        let (names, _) = run(
            &Model {
                stealing: 10_000,
                parts: 10_500,
                one: 10_500,
            },
            2000,
        );
        assert!(
            share(&names, "stealing") > 0.85,
            "{}",
            share(&names, "stealing")
        );
    }
}
