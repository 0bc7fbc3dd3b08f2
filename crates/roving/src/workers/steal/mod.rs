//! The search for work in other workers' stacks. No unsafe code here.

pub(crate) mod amount;
pub(crate) mod patience;
pub(crate) mod restraint;
pub(crate) mod victim;

use self::amount::{AMOUNT_MAX, Amount};
use self::patience::Manner;
use self::restraint::Theft;
use crate::machine::meeting_points::{At, meet, now};
use crate::stack::thief::Claim;
use crate::stats::lane::Event;
use crate::stats::{Activity, bump};
use crate::workers::Worker;
use crate::workers::frames::Level;
use crate::workers::job_runs::Jobs;
use crate::workers::sleep::sleep_loop::has_found;
use crate::workers::worker::claimed::Claimed;

/// The result of a look into one stack, or of a search through all.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use]
pub(crate) enum Search {
    /// A task was taken and has been run.
    Got,
    /// A task was taken and has been run, but it was too short to be worth the steal.
    GotLittle,
    /// There was nothing.
    Empty,
    /// There was something, but somebody else was faster: look again.
    Busy,
}

impl Search {
    #[inline]
    pub(crate) fn is_got(self) -> bool {
        matches!(self, Search::Got | Search::GotLittle)
    }
}

/// Fruitless rounds after which a thief asks owners to make more public. What they show unasked is
/// enough for a thief that finds something at once.
pub(crate) const ROUNDS_BEFORE_WANT: usize = 8;

/// A worker that looks for work in the stacks of others.
#[derive(Clone, Copy)]
pub(crate) struct Thief<'w>(pub(crate) &'w Worker);

impl Thief<'_> {
    /// How it looks around in vain at present.
    fn manner(self) -> Manner {
        let registry = self.0.registry();
        let workers = registry.size.roster.size();
        let cores = registry.settings.cores;
        let alone = cores.map_or(Manner::default(), |cores| Manner::of(workers, cores));
        alone.beside(&registry.others)
    }

    /// Lets some time pass before the next look around.
    pub(crate) fn pause(self, round: usize) {
        let others = &self.0.registry().others;
        self.0.patience.pause(round, self.manner(), others);
    }

    /// Whether it has looked around in vain for long enough, and had better park.
    pub(crate) fn is_tired(self, round: usize) -> bool {
        let is_closing = self.0.registry().crew.is_closing();
        self.0
            .patience
            .is_over(round, self.manner().limit, is_closing)
    }

    /// Looks into every other stack once, and runs what it can take.
    pub(crate) fn steal(self, round: usize) -> Search {
        let mut outcome = Search::Empty;
        let (me, registry) = (self.0.index(), self.0.registry());
        let seats = registry.in_use.count();
        let near = registry.settings.pins.near(me);
        for victim in self.0.victims.others(me, seats, near) {
            match self.steal_from(victim, round) {
                got @ (Search::Got | Search::GotLittle) => {
                    self.0.victims.remember(victim);
                    return got;
                }
                Search::Busy => outcome = Search::Busy,
                Search::Empty => {}
            }
        }
        outcome
    }

    pub(crate) fn steal_from(self, victim: usize, round: usize) -> Search {
        meet(At::Look);
        let tally = self.0.tally();
        let stack = &self.0.registry().seats[victim].stack;
        bump(&tally.steals_tried, 1);
        let amount = self.0.registry().settings.amount;
        if amount.of(stack.public()) == 0 {
            if let Some(job) = self.0.registry().seats[victim].spawned.pop() {
                has_found(self.0);
                Jobs(self.0).run_job((job, None));
                return Search::Got;
            }
            bump(&tally.steals_empty, 1);
            if round >= ROUNDS_BEFORE_WANT && !stack.is_wanted() {
                let _ = stack.want();
            }
            return Search::Empty;
        }
        let looked = now();
        // Half of what was not worth the way is not worth it either: one, to see whether it is now.
        let most = match amount == Amount::Half && self.0.restraint.is_on() {
            true => 1,
            false => AMOUNT_MAX,
        };
        match stack.claim(0, |public| amount.of(public).min(most)) {
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
                remind,
            } => {
                has_found(self.0);
                bump(&tally.steals_won, 1);
                bump(&tally.tasks_stolen, count as u64);
                self.0.clock().enter(Activity::Busy);
                self.0.clock().note(|at| Event::Theft {
                    victim,
                    tasks: count,
                    at,
                });
                self.0.calls().wake_for_left(victim, left);
                let base = self.0.owner().line().top.get();
                let before = self.0.seat().tasks.fates();
                let claimed = index..index + count;
                let began = Claimed(self.0).run_claimed(victim, claimed, remind, Level::Ground);
                // Tasks that the steal and the task left on this worker's own stack.
                self.0.drain(base);
                self.0.clock().enter(Activity::Steal);
                let after = self.0.seat().tasks.fates();
                let theft = Theft {
                    looked,
                    began,
                    count,
                    forks: after.forks - before.forks,
                    robbed: after.losses != before.losses,
                };
                match self.0.restraint.judge(theft) {
                    true => Search::Got,
                    false => Search::GotLittle,
                }
            }
        }
    }
}
