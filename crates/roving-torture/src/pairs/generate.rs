//! Making programs: the steps that a focus names stand in them somewhere, one inside or after
//! another, and others around.

use std::sync::Arc;

use super::feature::{FEATURES, Feature, StepPart};
use super::program::{FeatureStep, StepProgram};
use super::world::WORKERS_MAX;
use crate::random::SplitMix;

/// Nesting beyond which no step has parts.
const DEPTH_MAX: u32 = 6;
/// Steps in one program that start threads or pools.
const HEAVY_MAX: u32 = 6;
/// How often a step may run where those around it repeat it.
const TIMES_MAX: u32 = 8;

/// The place of a step.
#[derive(Clone, Copy)]
struct StepPlace {
    is_async: bool,
    is_calm: bool,
    depth: u32,
    /// About how often a step here runs.
    times: u32,
}

/// The recipe for a program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Recipe {
    /// Features that it has, if they can meet.
    pub(crate) focus: Option<[Feature; 3]>,
    /// Features that it does not have.
    pub(crate) without: Vec<Feature>,
    /// Its steps, at most, before those that its focus asks for.
    pub(crate) steps: u32,
}

struct Maker<'r> {
    recipe: &'r Recipe,
    random: SplitMix,
    left: u32,
    heavy_left: u32,
    /// To be put in as soon as they may stand somewhere.
    wanted: Vec<Feature>,
}

/// The program of a seed.
pub(crate) fn program(seed: u64, recipe: &Recipe) -> StepProgram {
    let mut random = SplitMix::new(seed);
    let mut wanted = recipe.focus.map_or_else(Vec::new, Vec::from);
    for last in (1..wanted.len()).rev() {
        let other = random.below(last as u64 + 1) as usize;
        wanted.swap(last, other);
    }
    let workers = [random.pick(&[1, 2, 3, WORKERS_MAX]), random.pick(&[1, 2])];
    let slots = random.pick(&[1, 2, 8, 512]);
    let work_first = random.one_in(2);
    let mut maker = Maker {
        recipe,
        left: random.between(3, u64::from(recipe.steps.max(3))) as u32,
        heavy_left: HEAVY_MAX,
        wanted,
        random,
    };
    let at = StepPlace {
        is_async: false,
        is_calm: false,
        depth: 0,
        times: 1,
    };
    let mut steps = maker.steps(at);
    while !maker.wanted.is_empty() {
        let before = maker.wanted.len();
        maker.left = maker.left.max(4);
        steps.extend(maker.steps(at));
        if maker.wanted.len() == before && maker.random.one_in(20) {
            break;
        }
    }
    let mut len = 0;
    number(&mut steps, &mut len);
    StepProgram {
        seed,
        workers,
        slots,
        work_first,
        steps: steps.into(),
        len,
    }
}

/// Gives the steps their numbers.
fn number(steps: &mut [FeatureStep], next: &mut u32) {
    for step in steps {
        step.id = *next;
        *next += 1;
        for part in &mut step.parts {
            if let Some(part) = Arc::get_mut(part) {
                number(part, next);
            }
        }
        step.end = *next;
    }
}

impl Maker<'_> {
    fn steps(&mut self, at: StepPlace) -> Vec<FeatureStep> {
        let mut steps = Vec::new();
        let count = match at.depth {
            0 => self.random.between(1, 4),
            _ => self
                .random
                .between(0, 3)
                .max(u64::from(!self.wanted.is_empty())),
        };
        for _ in 0..count {
            if self.left == 0 && self.wanted.is_empty() {
                break;
            }
            let Some(feature) = self.choose(at) else {
                break;
            };
            steps.push(self.step(feature, at));
            if feature == Feature::Throw {
                break;
            }
        }
        steps
    }

    fn step(&mut self, feature: Feature, at: StepPlace) -> FeatureStep {
        self.left = self.left.saturating_sub(1);
        let about = feature.about();
        self.heavy_left = self.heavy_left.saturating_sub(u32::from(about.is_heavy));
        let inside = StepPlace {
            // What panics inside is caught here.
            is_calm: at.is_calm && feature != Feature::Catch,
            ..at
        };
        let parts = about.parts.iter();
        let parts = parts.map(|part| self.part(part, inside)).collect();
        FeatureStep {
            id: 0,
            end: 0,
            feature,
            mode: self.random.below(u64::from(about.modes)) as u8,
            parts,
        }
    }

    fn part(&mut self, part: &StepPart, at: StepPlace) -> Arc<[FeatureStep]> {
        let inside = StepPlace {
            is_async: part.is_async,
            is_calm: part.is_calm || at.is_calm,
            depth: at.depth + 1,
            times: at.times * if part.repeats() { 4 } else { 1 },
        };
        match inside.depth > DEPTH_MAX || inside.times > TIMES_MAX {
            true => Arc::new([]),
            false => self.steps(inside).into(),
        }
    }

    /// The next feature that is wanted, or one in which it meets the rest of them; `None` where
    /// neither may stand.
    fn choose_for_wanted(&mut self, at: StepPlace) -> Option<Feature> {
        // A step with parts, or one that leaves something, meets those that come after it.
        let meets = |one: &Feature| !one.about().parts.is_empty() || one.about().keeps;
        let place = self.wanted.iter().position(meets);
        // Two others meet where they run at the same time.
        if place.is_none() && self.wanted.len() > 1 && !self.random.one_in(4) {
            return Some(match at.is_async {
                true => (self.random).pick(&[Feature::Fork, Feature::TaskSpawn, Feature::Branch]),
                false => self.random.pick(&[Feature::Join, Feature::Scope]),
            });
        }
        let place = place.unwrap_or(0);
        let first = self.wanted[place];
        if may_stand(first, at) {
            self.wanted.remove(place);
            return Some(first);
        }
        if first.about().is_async && !at.is_async {
            let roots = [Feature::BlockOn, Feature::TaskScope, Feature::Network];
            return Some(self.random.pick(&roots));
        }
        // It throws, and nothing may here: it is caught, or what else is wanted may fit.
        if self.random.one_in(2) {
            return Some(Feature::Catch);
        }
        self.wanted.rotate_left(1);
        None
    }

    /// Chooses the next feature: a wanted one, one that makes room for it, or any.
    fn choose(&mut self, at: StepPlace) -> Option<Feature> {
        if !self.wanted.is_empty() && !self.random.one_in(4) {
            let next = self.choose_for_wanted(at);
            if next.is_some() {
                return next;
            }
        }
        let all = FEATURES.iter().copied();
        let may = |feature: &Feature| {
            may_stand(*feature, at)
                && !self.recipe.without.contains(feature)
                && (self.heavy_left > 0 || !feature.about().is_heavy)
        };
        let fitting: Vec<Feature> = all.filter(may).collect();
        // Steps that await are rarer than places for them.
        let awaited = fitting.iter().copied().filter(|one| one.about().is_async);
        let awaited: Vec<Feature> = awaited.collect();
        if !awaited.is_empty() && self.random.one_in(2) {
            return Some(self.random.pick(&awaited));
        }
        // What was kept is used now and then.
        if self.random.one_in(6) {
            return Some(self.random.pick(&[Feature::Take, Feature::Act]));
        }
        (!fitting.is_empty()).then(|| self.random.pick(&fitting))
    }
}

fn may_stand(feature: Feature, at: StepPlace) -> bool {
    let about = feature.about();
    (at.is_async || !about.is_async) && !(at.is_calm && about.throws)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn has(steps: &[FeatureStep], feature: Feature) -> bool {
        steps
            .iter()
            .any(|step| step.feature == feature || step.parts.iter().any(|part| has(part, feature)))
    }

    #[test]
    fn a_program_has_what_its_focus_names() {
        for seed in 0..300 {
            let mut random = SplitMix::new(seed);
            let focus = [0; 3].map(|_| random.pick(FEATURES));
            let recipe = Recipe {
                focus: Some(focus),
                steps: 12,
                ..Recipe::default()
            };
            let program = program(seed, &recipe);
            for feature in focus {
                assert!(has(&program.steps, feature), "{feature} in {program}");
            }
        }
    }

    #[test]
    fn the_same_seed_makes_the_same_program() {
        let recipe = Recipe {
            steps: 12,
            ..Recipe::default()
        };
        let text = |seed| program(seed, &recipe).to_string();
        assert_eq!(text(5), text(5));
        assert_ne!(text(5), text(6));
    }
}
