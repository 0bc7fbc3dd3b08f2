//! The meaning of a program, read off the program itself: how often each step runs, at least and at
//! most.

use super::feature::{Feature, PartRuns};
use super::program::{FeatureStep, StepProgram};

/// Bounds of a step's runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Bounds {
    pub(crate) least: u32,
    pub(crate) most: u32,
}

/// The facts about the place of a sequence of steps.
#[derive(Clone, Copy)]
struct SequencePlace {
    /// It runs, as long as nothing before it panics.
    is_certain: bool,
    most: u32,
    /// Something around may be cancelled.
    cancels: bool,
}

/// The bounds of all steps, by their numbers.
pub(crate) fn bounds(program: &StepProgram) -> Vec<Bounds> {
    let mut all = vec![Bounds::default(); program.len as usize];
    let place = SequencePlace {
        is_certain: true,
        most: 1,
        cancels: false,
    };
    sequence(&program.steps, place, &mut all);
    all
}

/// Whether the sequence may end by a panic.
fn sequence(steps: &[FeatureStep], mut place: SequencePlace, all: &mut [Bounds]) -> bool {
    let mut may_unwind = false;
    for step in steps {
        all[step.id as usize] = Bounds {
            least: u32::from(place.is_certain),
            most: place.most,
        };
        let unwinds = parts(step, place, all) || step.feature.about().throws;
        if unwinds {
            may_unwind = true;
            place.is_certain = false;
        }
        if step.feature == Feature::Throw {
            place.most = 0;
        }
    }
    may_unwind
}

fn parts(step: &FeatureStep, place: SequencePlace, all: &mut [Bounds]) -> bool {
    let mut unwinds = false;
    for (part, about) in step.parts.iter().zip(step.feature.about().parts) {
        let cancels = place.cancels || about.cancels;
        let (is_certain, most) = match about.runs {
            PartRuns::Once => (true, 1),
            PartRuns::Task => (!cancels, 1),
            PartRuns::AtMost(times) => (false, times),
        };
        let inside = SequencePlace {
            // What is cancelled may unwind anywhere.
            is_certain: is_certain
                && place.is_certain
                && !cancels
                && !(unwinds && step.feature.is_sequential()),
            most: place.most.saturating_mul(most),
            cancels,
        };
        unwinds |= sequence(part, inside, all) && about.leaves;
        unwinds |= cancels && step.feature != Feature::Cancel;
    }
    unwinds
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::program::step;
    use super::*;

    fn of(steps: Vec<FeatureStep>, len: u32) -> Vec<(u32, u32)> {
        let program = StepProgram {
            seed: 0,
            workers: [1, 1],
            slots: 1,
            work_first: true,
            steps: Arc::from(steps),
            len,
        };
        let all = bounds(&program);
        all.into_iter().map(|one| (one.least, one.most)).collect()
    }

    #[test]
    fn both_sides_of_a_join_run_and_nothing_after_a_panic_does() {
        let join = step(
            0,
            Feature::Join,
            vec![
                vec![
                    step(1, Feature::Throw, vec![]),
                    step(2, Feature::Act, vec![]),
                ],
                vec![step(3, Feature::Act, vec![])],
            ],
        );
        let after = step(4, Feature::Act, vec![]);
        let all = of(vec![join, after], 5);
        assert_eq!(all, [(1, 1), (1, 1), (0, 0), (1, 1), (0, 1)]);
    }

    #[test]
    fn what_is_caught_does_not_reach_the_next_step_and_what_is_cancelled_may_not_run() {
        let throw = step(1, Feature::Throw, vec![]);
        let catch = step(0, Feature::Catch, vec![vec![throw]]);
        let inside = step(3, Feature::Act, vec![]);
        let cancel = step(2, Feature::Cancel, vec![vec![inside]]);
        let after = step(4, Feature::Act, vec![]);
        let all = of(vec![catch, cancel, after], 5);
        assert_eq!(all, [(1, 1), (1, 1), (1, 1), (0, 1), (1, 1)]);
    }
}
