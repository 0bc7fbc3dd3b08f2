//! Which features have met: how many programs have had each pair, and each triple, of them.

use std::fmt::Write as _;
use std::io;
use std::path::Path;

use super::feature::{FEATURES, Feature};
use super::generate::Recipe;
use super::meaning;
use super::name::Name;
use super::program::{Edits, FeatureStep, StepProgram};
use crate::random::{SplitMix, mix2};

/// How many programs each pair, and each triple, is to be in.
pub(crate) const PAIR_LEAST: u32 = 1000;
pub(crate) const TRIPLE_LEAST: u32 = 10;

/// How many triples are looked at to find one that lacks.
const LOOKS: usize = 100;
/// The pair that lacks most of so many is taken.
const NEEDIEST_OF: usize = 4;

/// How many programs are made for each that runs.
const CANDIDATES: u64 = 16;

/// The cost of a program in that of a plain step: its pools, and a step that starts threads.
const COST: f64 = 20.0;
const COST_HEAVY: f64 = 5.0;

const COUNT: usize = FEATURES.len();

/// Features, one bit each.
type Set = u128;

fn bit(feature: Feature) -> Set {
    1 << feature as u8
}

fn members(set: Set) -> impl Iterator<Item = usize> {
    (0..COUNT).filter(move |index| set >> index & 1 == 1)
}

/// Programs by what has met in them. A feature meets another if it runs while that is active around
/// it, or runs at the same time, or has left something behind.
pub(crate) struct Cover {
    pub(crate) programs: u64,
    pub(crate) steps: u64,
    /// By the smaller number, then the larger; the same twice is a feature within itself.
    pairs: Vec<u32>,
    /// By the three numbers, the smallest first.
    triples: Vec<u32>,
    /// The look that each was seen in last, and the number of that look.
    pair_seen: Vec<u64>,
    triple_seen: Vec<u64>,
    look: u64,
}

/// A step that runs, and the features that it meets.
type Meeting = (usize, Set);

/// The share of `least` that is lacking.
fn need(count: u32, least: u32) -> f64 {
    f64::from(least.saturating_sub(count)) / f64::from(least)
}

fn pair_of(a: usize, b: usize) -> usize {
    a.min(b) * COUNT + a.max(b)
}

fn triple_of(mut three: [usize; 3]) -> usize {
    three.sort_unstable();
    (three[0] * COUNT + three[1]) * COUNT + three[2]
}

/// All pairs, by their numbers.
fn pairs() -> impl Iterator<Item = (usize, usize)> + Clone {
    (0..COUNT).flat_map(|a| (a..COUNT).map(move |b| (a, b)))
}

fn triples() -> impl Iterator<Item = [usize; 3]> + Clone {
    let after = |(a, b): (usize, usize)| (b + 1..COUNT).map(move |c| [a, b, c]);
    pairs().filter(|(a, b)| a < b).flat_map(after)
}

impl Cover {
    pub(crate) fn new() -> Cover {
        Cover {
            programs: 0,
            steps: 0,
            pairs: vec![0; COUNT * COUNT],
            triples: vec![0; COUNT * COUNT * COUNT],
            pair_seen: vec![0; COUNT * COUNT],
            triple_seen: vec![0; COUNT * COUNT * COUNT],
            look: 0,
        }
    }

    /// A program has run; its steps so often.
    pub(crate) fn add(&mut self, program: &StepProgram, runs: &[u32]) {
        let meetings = meetings(&program.steps, runs);
        self.programs += 1;
        self.steps += meetings.len() as u64;
        let (pairs, triples) = self.met(&meetings);
        pairs.into_iter().for_each(|pair| self.pairs[pair] += 1);
        for triple in triples {
            self.triples[triple] += 1;
        }
    }

    /// Adds what another process has come to.
    pub(crate) fn add_all(&mut self, other: &Cover) {
        self.programs += other.programs;
        self.steps += other.steps;
        let add = |(all, more): (&mut u32, &u32)| *all += *more;
        self.pairs.iter_mut().zip(&other.pairs).for_each(add);
        self.triples.iter_mut().zip(&other.triples).for_each(add);
    }

    /// How much a program would add to what is lacking, if each of its steps runs that may, for its
    /// cost.
    pub(crate) fn worth(&mut self, program: &StepProgram) -> f64 {
        let bounds = meaning::bounds(program);
        let runs: Vec<u32> = bounds.iter().map(|bounds| bounds.most).collect();
        let meetings = meetings(&program.steps, &runs);
        let heavy = |(feature, _): &&Meeting| FEATURES[*feature].about().is_heavy;
        let heavy = meetings.iter().filter(heavy).count();
        let cost = COST + meetings.len() as f64 + COST_HEAVY * heavy as f64;
        let (pairs, triples) = self.met(&meetings);
        let pairs = pairs.iter().map(|pair| need(self.pairs[*pair], PAIR_LEAST));
        let triples = triples
            .iter()
            .map(|three| need(self.triples[*three], TRIPLE_LEAST));
        (pairs.sum::<f64>() + triples.sum::<f64>()) / cost
    }

    /// The pairs and triples of these meetings, each once.
    fn met(&mut self, meetings: &[Meeting]) -> (Vec<usize>, Vec<usize>) {
        self.look += 1;
        let (mut pairs, mut triples) = (Vec::new(), Vec::new());
        for &(feature, others) in meetings {
            for a in members(others) {
                let pair = pair_of(a, feature);
                if std::mem::replace(&mut self.pair_seen[pair], self.look) != self.look {
                    pairs.push(pair);
                }
                for b in members(others).filter(|b| *b > a && *b != feature && a != feature) {
                    let triple = triple_of([a, b, feature]);
                    if std::mem::replace(&mut self.triple_seen[triple], self.look) != self.look {
                        triples.push(triple);
                    }
                }
            }
        }
        (pairs, triples)
    }

    /// Three features of which a pair, or all, have not met as often as they are to; any three
    /// where none is found that lacks.
    pub(crate) fn lacking(&self, random: &mut SplitMix, without: &[Feature]) -> [Feature; 3] {
        let has = |index: &usize| !without.contains(&FEATURES[*index]);
        let with: Vec<usize> = (0..COUNT).filter(has).collect();
        let mut any = || random.pick(&with);
        let mut some = (0..LOOKS).map(|_| [any(), any(), any()]);
        let triple = some.find(|three| {
            let [a, b, c] = *three;
            let is_triple = a != b && b != c && a != c;
            is_triple && self.triples[triple_of(*three)] < TRIPLE_LEAST
        });
        let is_with = |(a, b): &(usize, usize)| has(a) && has(b);
        let lacks = |(a, b): &(usize, usize)| self.pairs[pair_of(*a, *b)] < PAIR_LEAST;
        let lacking: Vec<_> = pairs().filter(lacks).filter(is_with).collect();
        let three = match triple.filter(|_| random.one_in(2)) {
            Some(three) => three,
            None if lacking.is_empty() => [0; 3].map(|_| random.pick(&with)),
            None => {
                let mut least = random.pick(&lacking);
                for _ in 1..NEEDIEST_OF {
                    let other = random.pick(&lacking);
                    if self.pairs[pair_of(other.0, other.1)] < self.pairs[pair_of(least.0, least.1)]
                    {
                        least = other;
                    }
                }
                [least.0, least.1, random.pick(&with)]
            }
        };
        three.map(|index| FEATURES[index])
    }

    /// Of some programs, the one that adds most to what is lacking, with its name.
    pub(crate) fn choose(&mut self, seed: u64, recipe: &Recipe) -> (Name, StepProgram) {
        let mut candidate = |number| {
            let seed = mix2(seed, number);
            let focus = self.lacking(&mut SplitMix::new(seed), &recipe.without);
            let name = Name {
                seed,
                recipe: Recipe {
                    focus: Some(focus),
                    ..recipe.clone()
                },
                edits: Edits::default(),
            };
            let program = name.program();
            (self.worth(&program), name, program)
        };
        let first = candidate(0);
        let (_, name, program) =
            (1..CANDIDATES)
                .map(candidate)
                .fold(first, |best, other| match other.0 > best.0 {
                    true => other,
                    false => best,
                });
        (name, program)
    }

    /// How many pairs there are, and how many were in so many programs at least.
    pub(crate) fn pairs_with(&self, least: u32) -> (usize, usize) {
        let all = pairs().map(|(a, b)| self.pairs[pair_of(a, b)]);
        let with = all.clone().filter(|count| *count >= least).count();
        (all.count(), with)
    }

    pub(crate) fn triples_with(&self, least: u32) -> (usize, usize) {
        let all = triples().map(|three| self.triples[triple_of(three)]);
        let with = all.clone().filter(|count| *count >= least).count();
        (all.count(), with)
    }

    /// The pair that was in the fewest programs.
    pub(crate) fn least_pair(&self) -> (Feature, Feature, u32) {
        let count = |(a, b): &(usize, usize)| self.pairs[pair_of(*a, *b)];
        let (a, b) = pairs().min_by_key(count).unwrap_or_default();
        (FEATURES[a], FEATURES[b], count(&(a, b)))
    }

    /// One line for each feature: in how many programs it has met which other seldomest, half of
    /// the others, and which most often; and how many of its triples have met in the programs that
    /// are asked for.
    pub(crate) fn table(&self) -> String {
        let mut text =
            "feature               least  with                  half    most  triples\n".to_owned();
        for (a, feature) in FEATURES.iter().enumerate() {
            let mut met: Vec<(u32, usize)> =
                (0..COUNT).map(|b| (self.pairs[pair_of(a, b)], b)).collect();
            met.sort_unstable();
            let others = pairs().filter(|(b, c)| *b != a && *c != a && b != c);
            let counts = others.map(|(b, c)| self.triples[triple_of([a, b, c])]);
            let all = counts.clone().count();
            let enough = counts.filter(|count| *count >= TRIPLE_LEAST).count();
            let (least, with) = met[0];
            let (half, most) = (met[COUNT / 2].0, met[COUNT - 1].0);
            let (feature, with) = (feature.name(), FEATURES[with].name());
            let _ = writeln!(
                text,
                "{feature:20} {least:6}  {with:20} {half:6} {most:7}  {enough} of {all}"
            );
        }
        text
    }

    /// One line for each pair, and how many triples each pair is short of.
    pub(crate) fn csv(&self) -> String {
        let mut text = "feature,other,programs,triples,triples_met\n".to_owned();
        for (a, b) in pairs() {
            let third = (0..COUNT).filter(|c| *c != a && *c != b && a != b);
            let counts = third.map(|c| self.triples[triple_of([a, b, c])]);
            let met = counts.clone().filter(|count| *count >= TRIPLE_LEAST);
            let (all, met) = (counts.count(), met.count());
            let (first, second) = (FEATURES[a], FEATURES[b]);
            let programs = self.pairs[pair_of(a, b)];
            let _ = writeln!(text, "{first},{second},{programs},{all},{met}");
        }
        text
    }

    /// All counts, to be read by another process.
    pub(crate) fn write(&self, path: &Path) -> io::Result<()> {
        let mut text = format!("{} {}\n", self.programs, self.steps);
        for count in self.pairs.iter().chain(&self.triples) {
            let _ = write!(text, "{count} ");
        }
        std::fs::write(path, text)
    }

    /// Reads the file that another process has written; empty if there is none.
    pub(crate) fn read(path: &Path) -> Cover {
        let text = std::fs::read_to_string(path).unwrap_or_default();
        let mut cover = Cover::new();
        let mut words = text
            .split_whitespace()
            .map_while(|word| word.parse::<u64>().ok());
        let (Some(programs), Some(steps)) = (words.next(), words.next()) else {
            return cover;
        };
        (cover.programs, cover.steps) = (programs, steps);
        let counts: Vec<u32> = words.map(|count| count as u32).collect();
        if counts.len() == cover.pairs.len() + cover.triples.len() {
            let (pairs, triples) = counts.split_at(cover.pairs.len());
            cover.pairs.copy_from_slice(pairs);
            cover.triples.copy_from_slice(triples);
        }
        cover
    }
}

/// Which steps of those that have run met what.
fn meetings(steps: &[FeatureStep], runs: &[u32]) -> Vec<Meeting> {
    let mut meetings = Vec::new();
    walk(steps, runs, 0, &mut 0, &mut meetings);
    meetings
}

fn walk(steps: &[FeatureStep], runs: &[u32], around: Set, kept: &mut Set, into: &mut Vec<Meeting>) {
    for step in steps.iter().filter(|step| runs[step.id as usize] > 0) {
        into.push((step.feature as usize, around | *kept));
        let mut around = around | bit(step.feature);
        for part in &step.parts {
            walk(part, runs, around, kept, into);
            if step.feature.is_parallel() {
                around |= all_of(part, runs);
            }
        }
        if step.feature.about().keeps {
            *kept |= bit(step.feature);
        }
    }
}

/// The features of all steps that have run.
fn all_of(steps: &[FeatureStep], runs: &[u32]) -> Set {
    let ran = steps.iter().filter(|step| runs[step.id as usize] > 0);
    ran.fold(0, |all, step| {
        let inside = step.parts.iter().map(|part| all_of(part, runs));
        inside.fold(all | bit(step.feature), |all, set| all | set)
    })
}

#[cfg(test)]
mod tests {
    use super::super::generate;
    use super::super::program::step;
    use super::super::supervise::STEPS_MAX;
    use super::*;

    fn count(cover: &Cover, a: Feature, b: Feature) -> u32 {
        cover.pairs[pair_of(a as usize, b as usize)]
    }

    #[test]
    fn what_is_around_or_kept_or_beside_is_met_and_what_has_ended_or_not_run_is_not() {
        let mut program = generate::program(1, &Recipe::default());
        program.steps = vec![
            step(
                0,
                Feature::With,
                vec![vec![step(1, Feature::Pause, vec![])]],
            ),
            step(2, Feature::KeptPool, vec![]),
            step(
                3,
                Feature::Join,
                vec![
                    vec![step(4, Feature::Throw, vec![])],
                    vec![step(5, Feature::Call, vec![])],
                ],
            ),
        ]
        .into();
        let mut cover = Cover::new();
        cover.add(&program, &[1, 1, 1, 1, 1, 0]);
        assert_eq!(count(&cover, Feature::Pause, Feature::With), 1);
        assert_eq!(count(&cover, Feature::Join, Feature::KeptPool), 1);
        assert_eq!(count(&cover, Feature::With, Feature::Join), 0);
        assert_eq!(count(&cover, Feature::Throw, Feature::Call), 0);
        cover.add(&program, &[1; 6]);
        assert_eq!(count(&cover, Feature::Throw, Feature::Call), 1);
        assert_eq!(count(&cover, Feature::Pause, Feature::With), 2);
        let three = [Feature::Throw, Feature::Call, Feature::Join].map(|one| one as usize);
        assert_eq!(cover.triples[triple_of(three)], 1);
        let table = cover.table();
        assert_eq!(table.lines().count(), 1 + COUNT);
        let throw = table.lines().find(|line| line.starts_with("throw "));
        let words: Vec<&str> = throw.unwrap().split_whitespace().collect();
        assert_eq!((words[1], words[4]), ("0", "2"), "{table}");
    }

    /// Programs are chosen by what is lacking, so several hundred have every pair. `PAIRS_DRY` says
    /// how many programs are made, and none is run.
    #[test]
    fn no_pair_is_left_out_of_many_programs() {
        let count = std::env::var("PAIRS_DRY").ok();
        let count = count.and_then(|text| text.parse().ok()).unwrap_or(900);
        let recipe = Recipe {
            steps: STEPS_MAX,
            ..Recipe::default()
        };
        let mut cover = Cover::new();
        for number in 0..count {
            let (_, program) = cover.choose(number, &recipe);
            let bounds = meaning::bounds(&program);
            let runs: Vec<u32> = bounds.iter().map(|bounds| bounds.most).collect();
            cover.add(&program, &runs);
        }
        let (a, b, least) = cover.least_pair();
        let (pairs, met) = cover.pairs_with(PAIR_LEAST);
        let (triples, of_three) = cover.triples_with(TRIPLE_LEAST);
        println!("{count} programs: {met} of {pairs} pairs, {of_three} of {triples} triples");
        println!("least: {a} and {b}, in {least}");
        assert!(least > 0, "{a} has not met {b}\n{}", cover.table());
    }

    #[test]
    fn counts_go_to_another_process_and_back() {
        let mut cover = Cover::new();
        let program = generate::program(3, &Recipe::default());
        cover.add(&program, &vec![1; program.len as usize]);
        let path = std::env::temp_dir().join(format!("pairs-{}", std::process::id()));
        cover.write(&path).unwrap();
        let again = Cover::read(&path);
        std::fs::remove_file(&path).unwrap();
        assert_eq!(
            (again.programs, again.pairs, again.triples),
            (1, cover.pairs, cover.triples)
        );
    }
}
