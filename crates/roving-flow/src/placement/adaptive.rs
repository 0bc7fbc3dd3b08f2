//! Stealing, partitioning or one worker: what moves more messages.
//!
//! Two obstacles were found to partitioning: running times that vary, and the choice of the moment
//! (Vrba et al. 2009). Both come from acting on a prediction. Here a prediction is a proposal only:
//! it is tried in turns of some milliseconds with what the network did before, and what moves more
//! messages stays. Where a worker loses its processor for a while, the messages of a turn say
//! little, so a few turns of either are compared, as many as their differences ask for.
//!
//! What trials lose is counted in time, by the messages that the kept placement would have moved,
//! and takes a fiftieth of the time at most, but for the first, whatever they propose. A placement
//! that failed is put off for ever longer.
//!
//! Where messages carry work, stealing is near its best and nothing is tried: only a few figures
//! are read every tenth of a second. Where they are tiny, the network's time goes into passing
//! them; then it matters that both ends of a busy channel are on one worker (*parts*), or, where
//! the network has no parallelism worth the way to the next core, that all of it is (*one*).

use std::time::Duration;

use super::Placement;
use super::partitioned::{expect_more, first_parts};
use super::policy::{Change, Policy};
use super::snapshot::{ANYWHERE, NetworkFigures, Shape};
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
/// Trials lose no more than one in so many of all nanoseconds, and those of two trials.
const SHARE: u64 = 50;
const PREPAID_NS: u64 = 10_000_000;
/// A trial ends undecided after that many comparisons.
const COMPARISONS: u32 = 12;
/// A trial has failed when the differences add up to that, downwards: the first one is enough where
/// two fifths fewer messages move than before.
const HOPELESS: f64 = -0.25;
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
    /// The order in which they are tried first: one worker is cheaper to try than parts.
    const ALL: [Arm; 3] = [Arm::Stealing, Arm::One, Arm::Parts];

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

/// A trial: another arm and the kept one take turns.
#[derive(Debug)]
struct Trial {
    arm: Arm,
    /// By which share it must be faster.
    margin: f64,
    /// Whether it is its turn.
    is_on: bool,
    /// The turn has just begun: the processes are on their way, and what moves says little.
    is_moving: bool,
    /// The rates of the last turn of each, until both are there to be compared.
    rate: Option<f64>,
    kept_rate: Option<f64>,
    found: Found,
    /// How long it has been on.
    on_ns: u64,
}

/// The comparisons of a trial so far.
#[derive(Debug, Default)]
struct Found {
    comparisons: u32,
    /// The sum of the differences, and of their squares: together they say whether the sum is more
    /// than chance, however much a network's rate varies.
    sum: f64,
    squares: f64,
    /// The sums of the rates.
    rates: f64,
    kept_rates: f64,
}

impl Found {
    fn compare(&mut self, rate: f64, kept_rate: f64, margin: f64) {
        self.comparisons += 1;
        self.rates += rate;
        self.kept_rates += kept_rate;
        let both = rate + kept_rate;
        if both > 0.0 {
            let difference = (rate - kept_rate * (1.0 + margin)) / both;
            self.sum += difference;
            self.squares += difference * difference;
        }
    }

    /// Whether the arm is better; `None` if that cannot be said yet. Two equal differences decide;
    /// where they vary, it takes more.
    fn verdict(&self) -> Option<bool> {
        // Of two equal differences the square of the sum is twice the squares, but for rounding.
        let is_clear = self.sum * self.sum >= 1.99 * self.squares;
        match self.sum > 0.0 {
            true if is_clear => Some(true),
            false if is_clear || self.sum < HOPELESS => Some(false),
            _ => (self.comparisons >= COMPARISONS).then_some(false),
        }
    }

    /// The share of the kept arm's messages that did not move while the other one was on.
    fn lost(&self) -> f64 {
        match self.kept_rates > 0.0 {
            true => (1.0 - self.rates / self.kept_rates).max(0.0),
            false => 0.0,
        }
    }
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
    trying: Option<Trial>,
    retries: [Retry; 3],
    calm: Duration,
    /// The rate of the kept arm, smoothed.
    usual: f64,
    /// How many times in a row it was far below that.
    falls: u32,
    /// The time that trials have lost.
    lost_ns: u64,
    last: NetworkFigures,
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
            trying: None,
            retries: [retry; 3],
            calm: trial,
            usual: 0.0,
            falls: 0,
            lost_ns: 0,
            last: NetworkFigures::default(),
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
    fn after_kept(&mut self, seen: &NetworkFigures, messages: u64, rate: f64) -> Option<Change> {
        let worker_ns = self.workers as u64 * (seen.at_ns - self.last.at_ns);
        let tiny_ns = messages as f64 * self.grain_ns;
        if worker_ns as f64 > tiny_ns {
            self.calm = (self.calm * 2).min(CALM);
            return self.after_few(seen, worker_ns, tiny_ns);
        }
        self.calm = self.trial;
        self.expect(rate, seen.at_ns);
        let due = Arm::ALL.into_iter().filter(|&arm| arm != self.kept);
        let arm = due.min_by_key(|&arm| self.retries[arm as usize].at_ns)?;
        let is_paid = self.lost_ns <= PREPAID_NS + seen.at_ns / SHARE;
        if self.retry(arm).at_ns > seen.at_ns || !is_paid {
            return None;
        }
        if arm == Arm::Parts {
            let mut load = seen.load_since(&self.last, &self.shape, 0);
            expect_more(&mut load, seen);
            self.proposed =
                first_parts(&load, &Distances::uniform(self.workers), IMBALANCE, STARTS);
        }
        self.trying = Some(Trial {
            arm,
            // One worker leaves the processors of the others to whoever else there is.
            margin: if arm == Arm::One { 0.0 } else { self.margin },
            is_on: true,
            is_moving: true,
            rate: None,
            kept_rate: Some(rate),
            found: Found::default(),
            on_ns: 0,
        });
        Some(self.change(arm, &self.proposed))
    }

    /// Few messages have moved: they carry work, for which there is stealing; or the workers waited
    /// for others or for a processor, which says nothing against the kept arm.
    fn after_few(&mut self, seen: &NetworkFigures, worker_ns: u64, tiny_ns: f64) -> Option<Change> {
        // An estimate, from the polls that were timed.
        let busy_ns = seen.busy_ns - self.last.busy_ns;
        let busy_ns = match self.kept {
            Arm::Stealing => return None,
            Arm::Parts => busy_ns,
            // The others would have been as busy.
            Arm::One => busy_ns.saturating_mul(self.workers as u64),
        };
        if busy_ns.min(worker_ns) as f64 <= tiny_ns {
            return None;
        }
        self.kept = Arm::Stealing;
        Some(self.change(Arm::Stealing, &[]))
    }

    /// The trial has gone on for a while; whoever's turn it is has moved messages at that rate.
    fn after_turn(&mut self, mut trial: Trial, rate: f64, ns: u64) -> Option<Change> {
        if trial.is_on {
            trial.on_ns += ns;
        }
        if std::mem::take(&mut trial.is_moving) {
            self.trying = Some(trial);
            return None;
        }
        match trial.is_on {
            true => trial.rate = Some(rate),
            false => trial.kept_rate = Some(rate),
        }
        if let (Some(rate), Some(kept_rate)) = (trial.rate, trial.kept_rate) {
            (trial.rate, trial.kept_rate) = (None, None);
            trial.found.compare(rate, kept_rate, trial.margin);
            if let Some(is_better) = trial.found.verdict() {
                return self.end(&trial, is_better, self.last.at_ns + ns);
            }
            // The next comparison begins with whoever is on: half as many moves.
            self.trying = Some(trial);
            return None;
        }
        trial.is_on = !trial.is_on;
        trial.is_moving = true;
        let (arm, parts) = match trial.is_on {
            true => (trial.arm, &self.proposed),
            false => (self.kept, &self.parts),
        };
        let change = self.change(arm, parts);
        self.trying = Some(trial);
        Some(change)
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

    /// The trial is over: the arm is kept from now on, or put off. Whichever was left is tried
    /// again later.
    fn end(&mut self, trial: &Trial, is_better: bool, now_ns: u64) -> Option<Change> {
        let arm = trial.arm;
        if !is_better {
            self.lost_ns += (trial.found.lost() * trial.on_ns as f64) as u64;
            let retry = self.retry(arm);
            retry.at_ns = now_ns + retry.after_ns;
            retry.after_ns = (retry.after_ns * 2).min(RETRY_NS_MAX);
            return trial.is_on.then(|| self.change(self.kept, &self.parts));
        }
        let was = std::mem::replace(&mut self.kept, arm);
        if arm == Arm::Parts {
            self.parts.clone_from(&self.proposed);
        }
        self.usual = trial.found.rates / f64::from(trial.found.comparisons);
        let retry = self.retry(was);
        retry.at_ns = now_ns + retry.after_ns;
        (!trial.is_on).then(|| self.change(arm, &self.parts))
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
        match &self.trying {
            None => self.calm,
            Some(trial) if trial.is_moving => self.trial / 4,
            Some(_) => self.trial,
        }
    }

    fn look(&mut self, seen: &NetworkFigures) -> Option<Change> {
        let messages = seen
            .total_messages()
            .saturating_sub(self.last.total_messages());
        let ns = seen.at_ns - self.last.at_ns;
        let rate = messages as f64 / ns.max(1) as f64;
        let change = match self.trying.take() {
            None => self.after_kept(seen, messages, rate),
            Some(trial) => self.after_turn(trial, rate, ns),
        };
        self.last = seen.clone();
        change
    }
}

#[cfg(test)]
mod tests;
