//! Which features have met: how many programs have had each pair, and each triple, of them.

use std::fmt::Write as _;
use std::io;
use std::path::Path;

use super::feature::{FEATURES, Feature};
use super::program::{Program, Step};
use crate::random::Random;

/// How many programs each pair, and each triple, is to be in.
pub(crate) const PAIR_LEAST: u32 = 1000;
pub(crate) const TRIPLE_LEAST: u32 = 10;
/// How many of them are looked at to find one that is seldom.
const LOOKS: usize = 100;

const COUNT: usize = FEATURES.len();

/// Features, one bit each.
type Set = u64;

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
    /// The program that each was seen in last.
    pair_seen: Vec<u64>,
    triple_seen: Vec<u64>,
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
        }
    }

    /// A program has run; its steps so often.
    pub(crate) fn add(&mut self, program: &Program, runs: &[u32]) {
        self.programs += 1;
        let mut kept = 0;
        self.walk(&program.steps, runs, 0, &mut kept);
    }

    fn walk(&mut self, steps: &[Step], runs: &[u32], around: Set, kept: &mut Set) {
        for step in steps.iter().filter(|step| runs[step.id as usize] > 0) {
            self.steps += 1;
            self.meet(step.feature as usize, around | *kept);
            let mut around = around | bit(step.feature);
            for part in &step.parts {
                self.walk(part, runs, around, kept);
                if step.feature.is_parallel() {
                    around |= all_of(part, runs);
                }
            }
            if step.feature.about().keeps {
                *kept |= bit(step.feature);
            }
        }
    }

    fn meet(&mut self, feature: usize, others: Set) {
        for a in members(others) {
            let pair = pair_of(a, feature);
            if self.pair_seen[pair] != self.programs {
                self.pair_seen[pair] = self.programs;
                self.pairs[pair] += 1;
            }
            for b in members(others).filter(|b| *b > a && *b != feature && a != feature) {
                let triple = triple_of([a, b, feature]);
                if self.triple_seen[triple] != self.programs {
                    self.triple_seen[triple] = self.programs;
                    self.triples[triple] += 1;
                }
            }
        }
    }

    /// Three features that have met seldom so far.
    pub(crate) fn seldom(&self, random: &mut Random, without: &[Feature]) -> [Feature; 3] {
        let with = FEATURES.iter().filter(|one| !without.contains(one));
        let with: Vec<usize> = with.map(|one| *one as usize).collect();
        let any = |random: &mut Random| random.pick(&with);
        let three = match random.one_in(2) {
            true => {
                let some = (0..LOOKS).map(|_| (any(random), any(random)));
                let (a, b) = some
                    .min_by_key(|(a, b)| self.pairs[pair_of(*a, *b)])
                    .unwrap_or_default();
                [a, b, any(random)]
            }
            false => {
                let mut distinct = || {
                    let (a, b) = (any(random), any(random));
                    let c = any(random);
                    (a != b && b != c && a != c).then_some([a, b, c])
                };
                let some: Vec<_> = (0..LOOKS).filter_map(|_| distinct()).collect();
                let least = some
                    .into_iter()
                    .min_by_key(|three| self.triples[triple_of(*three)]);
                least.unwrap_or_default()
            }
        };
        three.map(|index| FEATURES[index])
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

/// The features of all steps that have run.
fn all_of(steps: &[Step], runs: &[u32]) -> Set {
    let ran = steps.iter().filter(|step| runs[step.id as usize] > 0);
    ran.fold(0, |all, step| {
        let inside = step.parts.iter().map(|part| all_of(part, runs));
        inside.fold(all | bit(step.feature), |all, set| all | set)
    })
}

#[cfg(test)]
mod tests {
    use super::super::generate::{self, Recipe};
    use super::super::program::step;
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
