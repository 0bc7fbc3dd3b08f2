//! The plan of the measurements: which, at which size, and how long they may take.

use std::time::{Duration, Instant};

use super::store::MeasuredPoint;
use super::verdict::RUNS_MIN;
use crate::io::input::CommandFailure;
use crate::machine::cores;
use crate::timing::lanes::Rounds;

/// How long all groups of a quick run may take together, without the report.
const QUICK_ALL: Duration = Duration::from_secs(255);

/// Size and machine.
#[derive(Clone, Debug)]
pub(super) struct SizeAndMachine {
    /// Small inputs and little time, or the papers' own sizes.
    pub(super) quick: bool,
    /// Numbers of workers, rising: 1, 2, 4 … and one a core.
    pub(super) workers: Vec<usize>,
    /// How many cores this process may use.
    pub(super) cores: usize,
}

impl SizeAndMachine {
    /// For this machine.
    pub(super) fn here(quick: bool) -> SizeAndMachine {
        SizeAndMachine::on(quick, cores())
    }

    /// For a machine with so many cores.
    pub(super) fn on(quick: bool, cores: usize) -> SizeAndMachine {
        let mut workers: Vec<usize> = (0..)
            .map(|power| 1 << power)
            .take_while(|n| *n < cores)
            .collect();
        workers.push(cores);
        SizeAndMachine {
            quick,
            workers,
            cores,
        }
    }

    /// The word for the size.
    pub(super) fn size(&self) -> &'static str {
        if self.quick { "quick" } else { "full" }
    }

    /// One of two, by size.
    pub(super) fn pick<T>(&self, quick: T, full: T) -> T {
        if self.quick { quick } else { full }
    }
}

/// The measuring of a group.
pub(super) type Measure =
    Box<dyn Fn(&SizeAndMachine, &Rounds) -> Result<Vec<MeasuredPoint>, CommandFailure>>;

/// Things that are measured in turn, and kept together.
pub(super) struct MeasureGroup {
    /// Its name; no two are equal.
    pub(super) name: String,
    /// The seconds that it should take.
    pub(super) seconds: f64,
    /// The fewest rounds and the most.
    pub(super) rounds: (usize, usize),
    /// Does it.
    pub(super) measure: Measure,
}

impl MeasureGroup {
    /// A group with the usual numbers of rounds. The seconds are those of a quick and of a full
    /// run.
    pub(super) fn new(
        plan: &SizeAndMachine,
        name: impl Into<String>,
        seconds: (f64, f64),
        measure: impl Fn(&SizeAndMachine, &Rounds) -> Result<Vec<MeasuredPoint>, CommandFailure>
        + 'static,
    ) -> MeasureGroup {
        MeasureGroup {
            name: name.into(),
            seconds: plan.pick(seconds.0, seconds.1),
            rounds: plan.pick((RUNS_MIN, 15), (RUNS_MIN, 30)),
            measure: Box::new(measure),
        }
    }

    /// With other numbers of rounds: of a quick and of a full run.
    pub(super) fn rounds(
        mut self,
        plan: &SizeAndMachine,
        quick: (usize, usize),
        full: (usize, usize),
    ) -> MeasureGroup {
        self.rounds = plan.pick(quick, full);
        self
    }
}

/// The clock over all groups of a run: who took longer than planned takes time from those that
/// follow.
pub(super) struct Budget {
    start: Instant,
    quick: bool,
    /// The seconds planned for groups that are not measured yet.
    planned: f64,
}

impl Budget {
    /// From now on, for these groups.
    pub(super) fn new<'a>(
        plan: &SizeAndMachine,
        groups: impl Iterator<Item = &'a MeasureGroup>,
    ) -> Budget {
        Budget {
            start: Instant::now(),
            quick: plan.quick,
            planned: groups.map(|group| group.seconds).sum(),
        }
    }

    /// The rounds that the next group may use.
    pub(super) fn allow(&mut self, group: &MeasureGroup) -> Rounds {
        let left = QUICK_ALL.saturating_sub(self.start.elapsed()).as_secs_f64();
        let share = if self.quick && self.planned > 0.0 {
            (left / self.planned).min(1.0)
        } else {
            1.0
        };
        self.planned = (self.planned - group.seconds).max(0.0);
        let (least, most) = group.rounds;
        // Out of time: as little as gives a number at all.
        let least = if share < 0.2 { 1 } else { least };
        let time = Duration::from_secs_f64(group.seconds * share);
        Rounds {
            least,
            most,
            until: Some(Instant::now() + time),
            quiet: true,
        }
    }

    /// About how long it will take from now on.
    pub(super) fn left(&self) -> Duration {
        Duration::from_secs_f64(self.planned)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group(plan: &SizeAndMachine, seconds: f64) -> MeasureGroup {
        MeasureGroup::new(plan, "a/b", (seconds, seconds), |_, _| Ok(Vec::new()))
    }

    #[test]
    fn workers_are_doubled_up_to_the_cores() {
        for (cores, want) in [
            (1, vec![1]),
            (2, vec![1, 2]),
            (8, vec![1, 2, 4, 8]),
            (6, vec![1, 2, 4, 6]),
        ] {
            assert_eq!(SizeAndMachine::on(true, cores).workers, want);
        }
    }

    #[test]
    fn who_overdraws_the_time_leaves_less_to_the_others() {
        let plan = SizeAndMachine::on(true, 2);
        let groups = [group(&plan, 100.0), group(&plan, 400.0)];
        let mut budget = Budget::new(&plan, groups.iter());
        // 500 s are planned where 255 s are allowed.
        let before = Instant::now();
        let until = budget.allow(&groups[0]).until.unwrap();
        let from = |begin: Instant| (until - begin).as_secs_f64();
        let (first, left) = (from(before), from(Instant::now()));
        assert!(first >= 48.0 && left <= 51.0, "{first}, {left}");
        assert_eq!(budget.left(), Duration::from_secs(400));
        budget.start -= QUICK_ALL;
        let late = budget.allow(&groups[1]);
        assert_eq!(late.least, 1);
        assert!(late.goes_on(0) && !late.goes_on(1));
    }
}
