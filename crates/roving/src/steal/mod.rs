//! The search for work in other workers' stacks. No unsafe code here.

pub(crate) mod amount;
pub(crate) mod victim;

use crate::stack::thief::Claim;
use crate::stats::{Activity, bump};
use crate::task::Level;
use crate::worker::Worker;

/// What a look into one stack, or a search through all, came to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use]
pub(crate) enum Search {
    /// A task was taken and has been run.
    Got,
    /// There was nothing.
    Empty,
    /// There was something, but somebody else was faster: look again.
    Busy,
}

/// Fruitless rounds after which a thief asks owners to make more public. What they show unasked is
/// enough for a thief that finds something at once.
const ROUNDS_BEFORE_WANT: usize = 8;

impl Worker {
    /// Looks into every other stack once, and runs what it can take.
    pub(crate) fn steal(&self, round: usize) -> Search {
        let mut outcome = Search::Empty;
        for victim in self.victims() {
            match self.steal_from(victim, round) {
                Search::Got => {
                    self.remember_victim(victim);
                    return Search::Got;
                }
                Search::Busy => outcome = Search::Busy,
                Search::Empty => {}
            }
        }
        outcome
    }

    fn steal_from(&self, victim: usize, round: usize) -> Search {
        let tally = self.tally();
        let stack = &self.registry().seats[victim].stack;
        bump(&tally.steals_tried, 1);
        if stack.public() == 0 {
            bump(&tally.steals_empty, 1);
            if round >= ROUNDS_BEFORE_WANT && !stack.is_wanted() {
                let _ = stack.want();
            }
            return Search::Empty;
        }
        let amount = self.registry().settings.amount;
        match stack.claim(0, |public| amount.of(public)) {
            Claim::Empty => {
                bump(&tally.steals_empty, 1);
                Search::Empty
            }
            Claim::Busy => {
                bump(&tally.steals_busy, 1);
                Search::Busy
            }
            Claim::Won {
                index,
                count,
                left,
                short,
            } => {
                bump(&tally.steals_won, 1);
                bump(&tally.tasks_stolen, count as u64);
                self.clock().enter(Activity::Busy);
                if left > 0 {
                    self.wake_another();
                }
                self.run_claimed(victim, index..index + count, short, Level::Ground);
                // What the theft and the task left on this worker's own stack.
                self.drain(0);
                self.clock().enter(Activity::Steal);
                Search::Got
            }
        }
    }
}
