//! Steal back-off: when a thief does not steal although there are tasks.
//!
//! To take a task from another worker costs both a few hundred nanoseconds: the slot, the span and
//! the result travel from one core to the other, and how long that takes depends on where the two
//! are. A thief that takes tasks shorter than that slows down the worker that it means to help, and
//! cannot know it before it has run one. So a thief whose last task was that short looks away for a
//! while, twice as long after each more of the kind. The first task that was worth the way resets
//! this.

use std::cell::Cell;
use std::time::{Duration, Instant};

use crate::machine::meeting_points::now;

/// A task was worth stealing if it took so many times as long as to get hold of it. Its closure,
/// what that borrows, and its result travel too, and what the victim had at hand before has to come
/// back.
const WORTH: u32 = 8;
/// Or if it took this long for each task that came along, in case the thief lost its core on the
/// way. Many short ones are not worth it either: each travels.
const WORTH_ANYHOW: Duration = Duration::from_micros(3);
/// The back-off of a thief after the first steal that was not worth it.
const PAUSE_MIN: Duration = Duration::from_nanos(300);
/// Worth of a steal whose continuation was stolen back: it was worth it if it took this long, or if
/// the tasks that it forked meanwhile took longer than the way. Otherwise two workers only take the
/// same loop from each other.
const WORTH_IF_ROBBED: Duration = Duration::from_micros(24);
/// As often as this that time is doubled, to some ten microseconds: what is short is not always
/// without value, such as the part of a search that has the needle.
const DOUBLINGS_MAX: u32 = 5;

/// Whether so many tasks, which took `way` to get hold of and `run` to run, were worth it.
#[inline]
pub fn was_worth(run: Duration, way: Duration, count: usize) -> bool {
    let anyhow = WORTH_ANYHOW * u32::try_from(count).unwrap_or(u32::MAX);
    run >= anyhow.min(way * WORTH)
}

/// How long a thief looks away after so many steals in a row that were not worth it and one more,
/// and how many that counts as.
#[inline]
pub fn look_away(streak: u32) -> (Duration, u32) {
    (PAUSE_MIN * (1 << streak), (streak + 1).min(DOUBLINGS_MAX))
}

/// The record of one steal, by which the back-off judges it.
#[derive(Clone, Copy)]
pub(crate) struct Theft {
    /// When it set out.
    pub(crate) looked: Instant,
    /// When it began to run what it had got hold of.
    pub(crate) began: Instant,
    /// How many tasks these were.
    pub(crate) count: usize,
    /// How many were forked meanwhile, work-first.
    pub(crate) forks: u64,
    /// Whether one of these found its parent's continuation stolen.
    pub(crate) robbed: bool,
}

impl Theft {
    /// One task, that forked none.
    pub(crate) fn of_one(looked: Instant, began: Instant) -> Theft {
        Theft {
            looked,
            began,
            count: 1,
            forks: 0,
            robbed: false,
        }
    }
}

/// A thief's memory of what it got lately.
#[derive(Default)]
pub(crate) struct Restraint {
    /// Steals in a row that were not worth it.
    streak: Cell<u32>,
    /// Until when it looks away.
    until: Cell<Option<Instant>>,
}

impl Restraint {
    /// Whether the thief looks away.
    pub(crate) fn holds(&self) -> bool {
        match self.until.get() {
            None => false,
            Some(until) => {
                let holds = now() < until;
                if !holds {
                    self.lift();
                }
                holds
            }
        }
    }

    /// Ends a steal: the thief has ended all tasks that it could keep. Returns whether it was worth
    /// it.
    pub(crate) fn judge(&self, theft: Theft) -> bool {
        self.judge_at(theft, now())
    }

    /// Judges a steal that ended at `now`.
    fn judge_at(&self, theft: Theft, now: Instant) -> bool {
        let Theft { looked, began, .. } = theft;
        let (way, run) = (began.duration_since(looked), now.duration_since(began));
        let each = run / u32::try_from(theft.forks + 1).unwrap_or(u32::MAX);
        let in_vain = theft.robbed && each < way && run < WORTH_IF_ROBBED;
        let worth = was_worth(run, way, theft.count) && !in_vain;
        if worth {
            self.streak.set(0);
            self.lift();
        } else {
            let streak = self.streak.get();
            let (pause, next) = look_away(streak);
            self.until.set(Some(now + pause));
            self.streak.set(next);
        }
        worth
    }

    /// Whether the last steal was not worth it.
    pub(crate) fn is_on(&self) -> bool {
        self.streak.get() > 0
    }

    /// The thief looks again, whatever was before.
    pub(crate) fn lift(&self) {
        self.until.set(None);
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::{DOUBLINGS_MAX, PAUSE_MIN, Restraint, Theft, WORTH_ANYHOW};

    /// How long the restraint now holds, from a moment before it was put on.
    fn judge_short(restraint: &Restraint) -> Duration {
        // An instant in the future has not elapsed, however slow a test runs.
        let began = Instant::now() + Duration::from_secs(3600);
        let before = Instant::now();
        assert!(!restraint.judge(Theft::of_one(began - WORTH_ANYHOW, began)));
        restraint.until.get().unwrap() - before
    }

    #[test]
    fn short_tasks_are_left_alone_longer_and_longer() {
        let restraint = Restraint::default();
        assert!(!restraint.holds() && !restraint.is_on());
        for doublings in 0..8 {
            let held = judge_short(&restraint);
            assert!(held >= PAUSE_MIN * (1 << doublings.min(DOUBLINGS_MAX)));
            assert!(restraint.is_on());
        }
        let now = Instant::now();
        let one = Theft::of_one(now - 2 * WORTH_ANYHOW, now - WORTH_ANYHOW);
        assert!(
            !restraint.judge_at(Theft { count: 64, ..one }, now),
            "64 short ones"
        );
        let robbed = Theft {
            robbed: true,
            forks: 1 << 20,
            ..one
        };
        assert!(
            !restraint.judge_at(robbed, now),
            "robbed of a loop of short ones"
        );
        assert!(restraint.judge_at(one, now));
        assert!(!restraint.holds() && !restraint.is_on(), "forgotten");
    }

    #[test]
    fn a_restraint_ends_by_itself_or_is_lifted() {
        let restraint = Restraint::default();
        judge_short(&restraint);
        while restraint.holds() {}
        assert_eq!(restraint.until.get(), None);
        restraint
            .until
            .set(Some(Instant::now() + Duration::from_secs(3600)));
        assert!(restraint.holds());
        restraint.lift();
        assert!(!restraint.holds());
    }
}
