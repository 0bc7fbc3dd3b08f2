//! An answer that holds for a number of tasks, each of which is counted once.
//!
//! | word | who changes it, and how |
//! |---|---|
//! | `taken` | each task that goes by the answer adds one |
//! | `until` | a task that was decided raises it above `taken` |
//! | `told` | who counts what was taken raises it to `taken`, and counts the difference |
//!
//! All of them only grow, and no word is read because of what another one says: everything is
//! Relaxed. Two tasks that find the same last place both take it, so there may be one too many for
//! each thread. Each task is counted once: what two callers of [`Answer::untold`] count are
//! disjoint pieces of what was taken.

use super::prim::{AtomicU64, Ordering};

#[derive(Debug, Default)]
pub(crate) struct Answer {
    /// Tasks that went by the answer.
    taken: AtomicU64,
    /// As long as `taken` is below this, the answer holds.
    until: AtomicU64,
    /// So many of those taken have been counted.
    told: AtomicU64,
}

impl Answer {
    /// Whether a task goes by the answer. If so, it has been noted.
    #[inline]
    pub(crate) fn goes(&self) -> bool {
        // Ordering: Relaxed, all: counters; see above.
        let holds = self.taken.load(Ordering::Relaxed) < self.until.load(Ordering::Relaxed);
        if holds {
            self.taken.fetch_add(1, Ordering::Relaxed);
        }
        holds
    }

    /// It holds for so many more.
    pub(crate) fn holds_for(&self, tasks: u64) {
        // Ordering: Relaxed, both: as in `goes`.
        let until = self.taken.load(Ordering::Relaxed) + tasks;
        self.until.fetch_max(until, Ordering::Relaxed);
    }

    /// Takes the tasks that were not counted yet: the caller counts them.
    pub(crate) fn untold(&self) -> u64 {
        // Ordering: Relaxed, both: what is counted is the way from the old value to the new one,
        // and the values of one word are in one order for all.
        let taken = self.taken.load(Ordering::Relaxed);
        taken.saturating_sub(self.told.fetch_max(taken, Ordering::Relaxed))
    }
}

#[cfg(all(test, loom))]
mod loom_tests {
    use std::sync::Arc;

    use super::*;
    use crate::explored::prim::explore_within;

    /// Both go by the answer and count: each task is counted once, and at most one more goes than
    /// the answer holds for.
    #[test]
    fn loom_each_task_that_goes_by_an_answer_is_counted_once() {
        explore_within(None, || {
            let answer = Arc::new(Answer::default());
            answer.holds_for(1);
            let there = Arc::clone(&answer);
            let other = loom::thread::spawn(move || (u64::from(there.goes()), there.untold()));
            let mine = (u64::from(answer.goes()), answer.untold());
            let theirs = other.join().unwrap();
            let gone = mine.0 + theirs.0;
            assert!((1..=2).contains(&gone), "{gone} go");
            assert_eq!(mine.1 + theirs.1 + answer.untold(), gone);
        });
    }
}
