//! How much an owner shows, as functions of what it sees: the runtime and its simulator decide by
//! these. Nothing here has a state, or looks at a clock.

use std::time::Duration;

/// Publications that come slower than one in this time show all that there is, up to a bound.
pub const CREDIT_TIME: Duration = Duration::from_micros(2);
/// Most publications that can be made in a row before the rate counts.
pub const CREDIT_MAX: u32 = 64;

/// Most joined tasks that are public before anybody asks, where they come fast. In a recursion that
/// turns to its second half at the depth of its first, the number of tasks that are pushed at depth
/// d grows like a binomial coefficient: `fib(40)` on 8 workers publishes 2.8 million times with 7
/// shown (30 thousand with 3), a quarter of its time on two cores.
const UNASKED_MAX: usize = 3;
/// Tasks that are public unasked where their owner may do something else meanwhile, at most; and
/// the fewest where publications are rare.
const SHOWN_MAX: usize = 16;
/// Most spawned tasks that are hidden for each public one where the line has just fallen. A tree of
/// scopes raises and lowers the stack again and again: with one for each, the line moved with every
/// second scope.
const HIDDEN_MAX: usize = 3;
/// Where publications are rare, so many are public for each other worker: an owner that runs one
/// long task looks at no request, while the others run several short ones each.
const ROUNDS: usize = 4;

/// How many tasks are public unasked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shown {
    /// At least.
    pub unasked: usize,
    /// While the stack holds spawned tasks, which stay there while their spawner does something
    /// else.
    pub thieves: usize,
    /// As long as publications are rare.
    pub wide: usize,
}

impl Shown {
    /// In a pool of so many workers, where a thief takes `least` tasks or none.
    #[inline]
    pub fn of(workers: usize, least: usize) -> Shown {
        // Fewer than a thief takes at once are shown to nobody.
        let shown = |count: usize| match workers {
            0 | 1 => 0,
            _ => count.max(least.min(SHOWN_MAX)),
        };
        let others = workers.saturating_sub(1);
        Shown {
            unasked: shown(others.min(UNASKED_MAX)),
            thieves: shown(others.min(SHOWN_MAX)),
            wide: shown((ROUNDS * others).max(SHOWN_MAX)),
        }
    }
}

/// The credit of an owner that has none left, and got some so long ago; never before, if `None`.
#[inline]
pub fn credit(since: Option<Duration>) -> u32 {
    since.map_or(CREDIT_MAX, |time| {
        let times = time.as_nanos() / CREDIT_TIME.as_nanos();
        times.min(CREDIT_MAX.into()) as u32
    })
}

/// A stack that is about to show more: slots `oldest .. split` are public, those up to `top` are
/// its owner's.
#[derive(Clone, Copy, Debug)]
pub struct About {
    /// The oldest public task.
    pub oldest: usize,
    /// The first private one.
    pub split: usize,
    /// The first free slot.
    pub top: usize,
    /// Where the split line has to be at least.
    pub least: usize,
    /// How many tasks are public unasked at present.
    pub unasked: usize,
    /// Whether somebody has asked for more.
    pub wanted: bool,
    /// Whether who asks gets everything, and not half.
    pub everything: bool,
}

impl About {
    /// Where the split line goes.
    #[inline]
    pub fn split_after(self) -> usize {
        let About { split, top, .. } = self;
        let shown = self.oldest + self.unasked;
        let asked = match self.wanted {
            true if self.everything => top,
            true => split + (top - split).div_ceil(2),
            false => split,
        };
        shown.max(asked).max(self.least).clamp(split, top)
    }
}

/// How many spawned tasks may be hidden beside so many public ones.
#[inline]
pub(crate) fn hidden_beside(public: usize, has_shrunk: bool) -> usize {
    match has_shrunk {
        true => HIDDEN_MAX * public,
        false => public,
    }
}

/// Where the split line goes when a task was spawned, and some of the public ones were taken back
/// since the line last rose (`has_shrunk`) or not.
///
/// Spawned tasks may stay for long while their spawner does something else, so half of a stack that
/// grows is public; a quarter where the line has just fallen and may do so again.
#[inline]
pub fn split_spawned(oldest: usize, split: usize, top: usize, has_shrunk: bool) -> usize {
    let hidden = top - split;
    match hidden > hidden_beside(split - oldest, has_shrunk) {
        true => split + hidden.div_ceil(2),
        false => split,
    }
}

/// Most sleepers that an owner wakes for one demand, each with a publication of its own: a burst
/// begins with so many. Who is woken takes as long to come as it takes to push many tasks, and
/// wakes others itself for what it leaves.
const WAKES_PER_DEMAND: u32 = 4;

/// Whether a publication wakes a sleeper, and for how many of the next ones that holds, too.
#[inline]
pub fn wakes(answers: bool, owed: u32) -> (bool, u32) {
    match answers {
        true => (true, WAKES_PER_DEMAND - 1),
        false => (owed > 0, owed.saturating_sub(1)),
    }
}

/// Where the split line goes when the owner takes back the task at `index`, which is public and the
/// newest: others come back with it, unless somebody waits for more, while `unasked` stay.
#[inline]
pub fn split_taken_back(oldest: usize, index: usize, unasked: usize, owes: bool) -> usize {
    let half = if owes { index } else { (oldest + index) / 2 };
    index.min(half.max(oldest + unasked))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_public_unasked_goes_by_the_workers() {
        let of = |workers, least| {
            let Shown {
                unasked,
                thieves,
                wide,
            } = Shown::of(workers, least);
            (unasked, thieves, wide)
        };
        assert_eq!(of(1, 1), (0, 0, 0));
        assert_eq!(of(2, 1), (1, 1, 16));
        assert_eq!(of(64, 1), (3, 16, 252));
        assert_eq!(of(2, 5), (5, 5, 16), "fewer are shown to nobody");
    }

    #[test]
    fn who_asks_gets_half_or_all_and_nothing_is_hidden_again() {
        let about = About {
            oldest: 10,
            split: 12,
            top: 32,
            least: 0,
            unasked: 3,
            wanted: false,
            everything: false,
        };
        assert_eq!(about.split_after(), 13);
        let asked = About {
            wanted: true,
            ..about
        };
        assert_eq!(asked.split_after(), 22);
        let all = About {
            everything: true,
            ..asked
        };
        assert_eq!(all.split_after(), 32);
        assert_eq!(About { least: 99, ..about }.split_after(), 32);
        assert_eq!(About { oldest: 2, ..about }.split_after(), 12);
    }

    #[test]
    fn half_of_the_spawned_tasks_is_public_or_a_quarter() {
        assert_eq!(split_spawned(10, 10, 11, false), 11);
        assert_eq!(split_spawned(10, 12, 14, false), 12, "two beside two");
        assert_eq!(split_spawned(10, 12, 15, false), 14);
        // It has fallen from 40: at half of that it takes tasks back, and then none until it is
        // higher than before.
        assert_eq!(split_taken_back(0, 20, 1, false), 10);
        assert_eq!(split_spawned(0, 10, 40, true), 10);
        assert_eq!(split_spawned(0, 10, 41, true), 26);
    }

    #[test]
    fn so_many_are_woken_for_each_demand() {
        let mut owed = 0;
        let mut publish = |answers| {
            let (wakes, after) = wakes(answers, owed);
            owed = after;
            wakes
        };
        assert!(!publish(false));
        let further = (0..10).filter(|_| publish(false));
        assert_eq!(further.count(), 0);
        assert!(
            publish(true) && publish(true),
            "a demand is always answered"
        );
        let further = (0..10).filter(|_| publish(false));
        assert_eq!(further.count() as u32, WAKES_PER_DEMAND - 1);
    }

    #[test]
    fn half_comes_back_unless_somebody_waits() {
        assert_eq!(split_taken_back(0, 40, 3, false), 20);
        assert_eq!(split_taken_back(0, 40, 30, false), 30);
        assert_eq!(split_taken_back(0, 40, 3, true), 40);
        assert_eq!(split_taken_back(0, 40, 300, false), 40);
    }

    #[test]
    fn credit_grows_with_time_up_to_a_bound() {
        assert_eq!(
            (credit(None), credit(Some(Duration::ZERO))),
            (CREDIT_MAX, 0)
        );
        assert_eq!(credit(Some(7 * CREDIT_TIME)), 7);
        assert_eq!(credit(Some(Duration::from_secs(1))), CREDIT_MAX);
    }
}
