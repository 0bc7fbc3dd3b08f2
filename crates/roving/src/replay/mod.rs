//! Schedules that are a pure function of a seed.
//!
//! The workers of a pool with such a schedule have threads as those of any other, but one of them
//! goes on at a time: who has the *turn* ([`baton`]). At each place where threads can meet
//! ([`crate::machine::meeting_points`]) the schedule decides whether it keeps the turn, and who
//! gets it if not. What runs is the same code as in any pool, so each schedule is one that can
//! happen.

pub(crate) mod baton;
#[allow(unsafe_code)]
pub(crate) mod members;
mod thread_state;
mod wish;

use std::fmt::Write as _;
use std::mem;

use crate::machine::meeting_points::{At, PLACES};
use crate::machine::prim::{Mutex, MutexGuard};

pub(crate) use wish::{VARIABLE, Wish, seed_of_environment};

/// The weights that a habit may have, in parts of [`WHOLE`]. Drawn once for each schedule and
/// place, so that some schedules barely change threads there and others do little else: rare orders
/// need both. A change costs a wake-up, so most are small.
const WEIGHTS: [usize; 5] = [1, 3, 8, 24, 56];
const WHOLE: usize = 64;

/// How long a step takes, in nanoseconds of the pool's own clock; drawn once for each schedule. A
/// steal is worth its way in some and not in others.
const TICKS: [usize; 3] = [50, 400, 3000];

/// The number of ways in which a pool may show its tasks. Drawn once for each schedule.
pub(crate) const SHOWN: usize = 3;

/// The workers that a pool has unless it is told how many.
pub(crate) const WORKERS: usize = 4;

/// The start of a digest, by FNV-1a.
const START: u64 = 0xCBF2_9CE4_8422_2325;

/// The decisions of one pool.
pub(crate) struct Schedule {
    seed: u64,
    tick: u64,
    shown: usize,
    state: Mutex<Draws>,
}

/// The generator that a schedule draws from, and what has been drawn.
struct Draws {
    random: u64,
    digest: u64,
    decisions: u64,
    habits: [usize; PLACES],
    log: Option<String>,
    /// The seed has been said.
    said: bool,
}

impl Schedule {
    #[inline]
    pub(crate) fn new(seed: u64, logs: bool) -> Schedule {
        let mut state = Draws {
            random: seed,
            digest: START,
            decisions: 0,
            habits: [0; PLACES],
            log: logs.then(String::new),
            said: false,
        };
        for place in 0..PLACES {
            state.habits[place] = WEIGHTS[state.next(WEIGHTS.len())];
        }
        Schedule {
            seed,
            tick: TICKS[state.next(TICKS.len())] as u64,
            shown: state.next(SHOWN),
            state: Mutex::new(state),
        }
    }

    /// A program has panicked under this schedule: says, once, how to have that again.
    #[inline]
    pub(crate) fn say_seed(&self) {
        let seed = self.seed;
        if !mem::replace(&mut self.state().said, true) {
            eprintln!(
                "roving: a panic under the deterministic schedule of seed {seed}: \
                 set {VARIABLE}={seed} to replay it"
            );
        }
    }

    #[inline]
    fn state(&self) -> MutexGuard<'_, Draws> {
        self.state.lock()
    }

    /// The nanoseconds of a step.
    #[inline]
    pub(super) fn tick(&self) -> u64 {
        self.tick
    }

    /// Which of [`SHOWN`] ways the pool has to show its tasks to thieves.
    #[inline]
    pub(crate) fn shown(&self) -> usize {
        self.shown
    }

    /// One of `count` ways, all alike; nothing is drawn where there is only one.
    #[inline]
    pub(crate) fn pick(&self, count: usize) -> usize {
        match count {
            0 | 1 => 0,
            _ => self.state().decide(count),
        }
    }

    /// Whether another thread goes on at that place.
    #[inline]
    pub(super) fn changes(&self, at: At) -> bool {
        let mut state = self.state();
        let weight = state.habits[at as usize];
        state.decide_weighted(weight)
    }

    /// Writes a line into the log, if there is one.
    #[inline]
    pub(super) fn note(&self, what: &dyn Fn() -> String) {
        if let Some(log) = &mut self.state().log {
            let _ = writeln!(log, "{}", what());
        }
    }

    /// The log so far; empty if none is kept.
    #[inline]
    pub(crate) fn log(&self) -> String {
        self.state().log.clone().unwrap_or_default()
    }

    /// The pool has begun: what was decided until now is the same for all programs.
    #[inline]
    pub(super) fn begin(&self) {
        let mut state = self.state();
        (state.decisions, state.digest) = (0, START);
        if let Some(log) = &mut state.log {
            log.clear();
        }
    }

    /// How many decisions were made, and a number that differs (but for one chance in 2⁶⁴) from
    /// that of every schedule which decided otherwise.
    #[inline]
    pub(crate) fn digest(&self) -> (u64, u64) {
        let state = self.state();
        (state.decisions, state.digest)
    }
}

impl Draws {
    /// SplitMix64 (Steele, Lea and Flood 2014): every seed is as good as any other. Below `count`.
    #[inline]
    fn next(&mut self, count: usize) -> usize {
        self.random = self.random.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut x = self.random;
        x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        x ^= x >> 31;
        ((u128::from(x) * count as u128) >> 64) as usize
    }

    #[inline]
    fn decide(&mut self, count: usize) -> usize {
        let choice = self.next(count);
        self.record(choice);
        choice
    }

    #[inline]
    fn decide_weighted(&mut self, weight: usize) -> bool {
        let choice = self.next(WHOLE) < weight;
        self.record(choice.into());
        choice
    }

    /// FNV-1a over the decisions.
    #[inline]
    fn record(&mut self, choice: usize) {
        self.decisions += 1;
        self.digest = (self.digest ^ choice as u64).wrapping_mul(0x0100_0000_01B3);
    }
}

#[cfg(test)]
mod tests {
    use super::Schedule;
    use crate::machine::meeting_points::At;

    #[test]
    fn a_schedule_is_a_function_of_its_seed() {
        let draws = |seed| {
            let schedule = Schedule::new(seed, false);
            let draws: Vec<usize> = (0..64).map(|_| schedule.pick(5)).collect();
            (draws, schedule.changes(At::Push), schedule.digest())
        };
        assert_eq!(draws(7), draws(7));
        let seeds = if cfg!(miri) { 5 } else { 1000 };
        let different: std::collections::HashSet<_> = (0..seeds).map(draws).collect();
        assert_eq!(different.len() as u64, seeds);
    }

    #[test]
    fn every_way_is_drawn_about_equally_often() {
        let schedule = Schedule::new(1, false);
        let mut counts = [0; 5];
        let (draws, most) = if cfg!(miri) { (50, 45) } else { (5000, 150) };
        for _ in 0..draws {
            counts[schedule.pick(5)] += 1;
        }
        let is_fair = |&count: &u64| count.abs_diff(draws / 5) < most;
        assert!(counts.iter().all(is_fair), "{counts:?}");
        assert_eq!(schedule.digest().0, draws);
        assert_eq!(schedule.pick(1), 0);
        assert_eq!(schedule.digest().0, draws, "one way is no decision");
    }
}
