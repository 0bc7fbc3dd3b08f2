//! Schedules that are a pure function of a seed.
//!
//! A pool with such a schedule has one thread, which plays all its workers: where a pool with
//! threads leaves it to chance who does what and when, the schedule draws it. Every push of a task
//! is refused, as if the task stack were full, so what is drawn is asked for in the slow paths
//! only, and pools with threads pay nothing for it. What can be drawn, and by whom:
//!
//! | what | drawn in |
//! |---|---|
//! | which closure of a `join` comes first, and which worker runs the second | `workers/worker/drawn.rs` |
//! | whether a task of a scope runs at once, or in which place of the order at the scope's end, and on which worker | `workers/worker/drawn.rs` |
//! | where a loop is split, and how far it runs before it looks | `forkjoin/loops/range.rs` |
//! | the order of detached tasks and broadcasts | `workers/worker/drawn.rs`, `forkjoin/broadcast.rs` |
//! | which frame is polled next, and on which worker | `workers/frames/drawn.rs` |
//!
//! One worker at a time runs on the native stack; those further down are busy, but for those that
//! wait. A busy worker is given nothing to do, and a waiting one only what runs on top of the task
//! that it waits for, which descends from it. So what the contract says of locks holds here too.

mod wish;

use std::fmt::Write as _;
use std::mem;

use crate::machine::lock::{Mutex, MutexGuard};

pub(crate) use wish::{VARIABLE, Wish, seed_of_environment};

/// A kind of yes-or-no decision of a schedule, each with a weight of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Habit {
    /// Another worker takes it.
    Theft,
    /// Who takes it is later than the worker that it is taken from.
    Late,
    /// It runs at once.
    AtOnce,
    /// Everything that lies there is done before the next thing.
    Drain,
    /// A loop is split.
    Split,
}

const HABITS: usize = Habit::Split as usize + 1;

/// The weights that a habit may have, in sixteenths. Drawn once for each schedule, so that some
/// barely steal and others do little else: rare orders need both.
const WEIGHTS: [usize; 5] = [1, 4, 8, 12, 15];

/// The workers that a pool plays unless it is told how many.
pub(crate) const PLAYED: usize = 4;

/// The decisions of one pool.
pub(crate) struct Schedule {
    seed: u64,
    state: Mutex<State>,
}

struct State {
    random: u64,
    digest: u64,
    decisions: u64,
    habits: [usize; HABITS],
    log: Option<String>,
    /// The seed has been said.
    said: bool,
}

impl Schedule {
    #[inline]
    pub(crate) fn new(seed: u64, logs: bool) -> Schedule {
        let mut state = State {
            random: seed,
            digest: 0xCBF2_9CE4_8422_2325,
            decisions: 0,
            habits: [0; HABITS],
            log: logs.then(String::new),
            said: false,
        };
        for habit in 0..HABITS {
            state.habits[habit] = WEIGHTS[state.next(WEIGHTS.len())];
        }
        Schedule {
            seed,
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
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    /// One of `count` ways, all alike; nothing is drawn where there is only one.
    #[inline]
    pub(crate) fn pick(&self, count: usize) -> usize {
        match count {
            0 | 1 => 0,
            _ => self.state().decide(count),
        }
    }

    /// Whether to follow the habit this time.
    #[inline]
    pub(crate) fn follows(&self, habit: Habit) -> bool {
        let mut state = self.state();
        let weight = state.habits[habit as usize];
        state.decide_weighted(weight)
    }

    /// Writes a line into the log, if there is one.
    #[inline]
    pub(crate) fn note(&self, worker: usize, what: impl Fn() -> String) {
        self.write(worker, &what);
    }

    #[inline]
    fn write(&self, worker: usize, what: &dyn Fn() -> String) {
        if let Some(log) = &mut self.state().log {
            let _ = writeln!(log, "worker {worker}: {}", what());
        }
    }

    /// The log so far; empty if none is kept.
    #[inline]
    pub(crate) fn log(&self) -> String {
        self.state().log.clone().unwrap_or_default()
    }

    /// How many decisions were made, and a number that differs (but for one chance in 2⁶⁴) from
    /// that of every schedule which decided otherwise.
    #[inline]
    pub(crate) fn digest(&self) -> (u64, u64) {
        let state = self.state();
        (state.decisions, state.digest)
    }
}

impl State {
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
        let choice = self.next(16) < weight;
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
    use super::{Habit, Schedule};

    #[test]
    fn a_schedule_is_a_function_of_its_seed() {
        let draws = |seed| {
            let schedule = Schedule::new(seed, false);
            let draws: Vec<usize> = (0..64).map(|_| schedule.pick(5)).collect();
            (draws, schedule.follows(Habit::Theft), schedule.digest())
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
