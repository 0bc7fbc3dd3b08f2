//! When not to steal although there is something.
//!
//! To take a task from another worker costs both a few hundred nanoseconds: the slot, the span and
//! the result travel from one core to the other, and how long that takes depends on where the two
//! are. Who takes tasks that are shorter than that slows down the one it means to help. It does not
//! know before it has run one; so a thief whose last task was that short looks away for a while,
//! twice as long after each more of the kind, and forgets it all at the first that was worth the way.

use std::cell::Cell;
use std::time::{Duration, Instant};

/// A task was worth stealing if it took so many times as long as to get hold of it. Its closure, what
/// that borrows, and its result travel too, and what the victim had at hand before has to come back.
const WORTH: u32 = 8;
/// Or if it took this long, in case the thief lost its core on the way.
const WORTH_ANYHOW: Duration = Duration::from_micros(3);
/// Looks that are let go after the first theft that was not worth it.
const LOOKS_MIN: u32 = 4;
/// As often as this that number is doubled.
const DOUBLINGS_MAX: u32 = 6;

/// A thief's memory of what it got lately.
#[derive(Default)]
pub(crate) struct Restraint {
    /// Thefts in a row that were not worth it.
    streak: Cell<u32>,
    /// Looks still to be let go.
    looks: Cell<u32>,
}

impl Restraint {
    /// Whether this look is to be let go.
    pub(crate) fn holds(&self) -> bool {
        let looks = self.looks.get();
        self.looks.set(looks.saturating_sub(1));
        looks > 0
    }

    /// A thief `looked`, got hold of a task, `began` to run it, and has ended it now. Whether it was
    /// worth it.
    pub(crate) fn judge(&self, looked: Instant, began: Instant) -> bool {
        let (way, run) = (began.duration_since(looked), began.elapsed());
        let worth = run >= WORTH_ANYHOW.min(way * WORTH);
        let streak = match worth {
            true => 0,
            false => (self.streak.get() + 1).min(DOUBLINGS_MAX),
        };
        self.streak.set(streak);
        self.looks.set(match streak {
            0 => 0,
            _ => LOOKS_MIN << streak,
        });
        worth
    }

    /// Whether the last theft was not worth it.
    pub(crate) fn is_on(&self) -> bool {
        self.streak.get() > 0
    }

    /// The next look is not let go, whatever was before.
    pub(crate) fn lift(&self) {
        self.looks.set(0);
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::{Restraint, WORTH_ANYHOW};

    fn looks_let_go(restraint: &Restraint) -> usize {
        std::iter::from_fn(|| restraint.holds().then_some(())).count()
    }

    /// An instant in the future has not elapsed, however slow a test runs.
    fn judge_short(restraint: &Restraint) -> bool {
        let began = Instant::now() + Duration::from_secs(3600);
        restraint.judge(began - WORTH_ANYHOW, began)
    }

    #[test]
    fn short_tasks_are_left_alone_longer_and_longer() {
        let restraint = Restraint::default();
        assert_eq!(looks_let_go(&restraint), 0);
        let held: Vec<usize> = (0..8)
            .map(|_| {
                assert!(!judge_short(&restraint));
                looks_let_go(&restraint)
            })
            .collect();
        assert!(held.windows(2).all(|pair| pair[0] <= pair[1]), "{held:?}");
        assert!(held[0] > 0 && held[7] > held[0], "{held:?}");
        assert_eq!(held[6], held[7], "there is a bound");
        let now = Instant::now();
        assert!(restraint.judge(now - 2 * WORTH_ANYHOW, now - WORTH_ANYHOW));
        assert_eq!(looks_let_go(&restraint), 0, "forgotten");
    }

    #[test]
    fn lifted_it_does_not_hold() {
        let restraint = Restraint::default();
        judge_short(&restraint);
        restraint.lift();
        assert!(!restraint.holds());
    }
}
