//! A program as a value: a tree of steps, which follows from its seed, and what is left of it when
//! some steps are taken out.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use super::feature::Feature;

/// One step, with the steps inside it.
#[derive(Clone, Debug)]
pub(crate) struct FeatureStep {
    /// Steps are numbered in the order in which they are written.
    pub(crate) id: u32,
    /// One more than the last number inside.
    pub(crate) end: u32,
    pub(crate) feature: Feature,
    pub(crate) mode: u8,
    pub(crate) parts: Vec<Arc<[FeatureStep]>>,
}

/// A whole program.
#[derive(Clone, Debug)]
pub(crate) struct StepProgram {
    pub(crate) seed: u64,
    /// Workers of the two pools that all its parts may use.
    pub(crate) workers: [usize; 2],
    /// Of the first pool: task slots, and which order a branch has.
    pub(crate) slots: usize,
    pub(crate) work_first: bool,
    pub(crate) steps: Arc<[FeatureStep]>,
    /// So many steps were made, whatever was taken out.
    pub(crate) len: u32,
}

impl FeatureStep {
    /// Whether a step of that number is this one, or inside.
    pub(crate) fn contains(&self, id: u32) -> bool {
        (self.id..self.end).contains(&id)
    }
}

impl fmt::Display for FeatureStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.id, self.feature)?;
        if self.feature.about().modes > 1 {
            write!(f, ".{}", self.mode)?;
        }
        if self.parts.iter().all(|part| part.is_empty()) {
            return Ok(());
        }
        f.write_str("(")?;
        for (number, part) in self.parts.iter().enumerate() {
            f.write_str(if number > 0 { " | " } else { "" })?;
            write_steps(f, part)?;
        }
        f.write_str(")")
    }
}

fn write_steps(f: &mut fmt::Formatter<'_>, steps: &[FeatureStep]) -> fmt::Result {
    for (number, step) in steps.iter().enumerate() {
        f.write_str(if number > 0 { ", " } else { "" })?;
        write!(f, "{step}")?;
    }
    Ok(())
}

impl fmt::Display for StepProgram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [first, second] = self.workers;
        write!(f, "pools of {first} and {second}, {} slots: ", self.slots)?;
        write_steps(f, &self.steps)
    }
}

/// One change to a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Edit {
    /// The step is gone, with all inside.
    Out(u32),
    /// Its inner steps stand in its place.
    Open(u32),
    /// It is of the first mode.
    Plain(u32),
}

/// Several changes, as `-3,^5,=7`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Edits(pub(crate) Vec<Edit>);

impl fmt::Display for Edits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, edit) in self.0.iter().enumerate() {
            f.write_str(if number > 0 { "," } else { "" })?;
            match edit {
                Edit::Out(id) => write!(f, "-{id}")?,
                Edit::Open(id) => write!(f, "^{id}")?,
                Edit::Plain(id) => write!(f, "={id}")?,
            }
        }
        Ok(())
    }
}

impl FromStr for Edits {
    type Err = String;

    fn from_str(text: &str) -> Result<Edits, String> {
        let one = |word: &str| {
            let hint = || format!("`{word}`: say -3, ^3 or =3, with commas between");
            let mut chars = word.chars();
            let sign = chars.next().ok_or_else(hint)?;
            let id = chars.as_str().parse().map_err(|_| hint())?;
            match sign {
                '-' => Ok(Edit::Out(id)),
                '^' => Ok(Edit::Open(id)),
                '=' => Ok(Edit::Plain(id)),
                _ => Err(hint()),
            }
        };
        let words = text.split(',').filter(|word| !word.is_empty());
        words.map(one).collect::<Result<_, _>>().map(Edits)
    }
}

impl Edits {
    /// With one more.
    pub(crate) fn and(&self, edit: Edit) -> Edits {
        let mut all = self.clone();
        all.0.push(edit);
        all
    }

    fn has(&self, edit: Edit) -> bool {
        self.0.contains(&edit)
    }
}

impl StepProgram {
    /// The program after the edits. Steps keep their numbers.
    pub(crate) fn edited(&self, edits: &Edits) -> StepProgram {
        StepProgram {
            steps: edited(&self.steps, edits),
            ..self.clone()
        }
    }

    /// The programs that are one change smaller than it is with these; the largest changes come
    /// first.
    pub(crate) fn smaller(&self, edits: &Edits) -> Vec<Edits> {
        let mut steps = Vec::new();
        collect(&self.edited(edits).steps, &mut steps);
        steps.sort_by_key(|(id, end, _)| (id.abs_diff(*end), *id));
        steps.reverse();
        let out = steps.iter().map(|(id, ..)| Edit::Out(*id));
        let open = steps.iter().filter(|(id, end, _)| end - id > 1);
        let open = open.map(|(id, ..)| Edit::Open(*id));
        let plain = steps.iter().filter(|(.., mode)| *mode > 0);
        let plain = plain.map(|(id, ..)| Edit::Plain(*id));
        let all = out.chain(open).chain(plain);
        all.map(|edit| edits.and(edit)).collect()
    }
}

fn edited(steps: &[FeatureStep], edits: &Edits) -> Arc<[FeatureStep]> {
    let mut left = Vec::new();
    for step in steps.iter().filter(|step| !edits.has(Edit::Out(step.id))) {
        let parts: Vec<_> = step.parts.iter().map(|part| edited(part, edits)).collect();
        if edits.has(Edit::Open(step.id)) {
            left.extend(parts.iter().flat_map(|part| part.iter().cloned()));
            continue;
        }
        let mode = match edits.has(Edit::Plain(step.id)) {
            true => 0,
            false => step.mode,
        };
        left.push(FeatureStep {
            mode,
            parts,
            ..step.clone()
        });
    }
    left.into()
}

fn collect(steps: &[FeatureStep], into: &mut Vec<(u32, u32, u8)>) {
    for step in steps {
        into.push((step.id, step.end, step.mode));
        step.parts.iter().for_each(|part| collect(part, into));
    }
}

/// A step of a program that a test makes by hand.
#[cfg(test)]
pub(super) fn step(id: u32, feature: Feature, parts: Vec<Vec<FeatureStep>>) -> FeatureStep {
    FeatureStep {
        id,
        end: id + 1,
        feature,
        mode: 0,
        parts: parts.into_iter().map(Into::into).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::generate::{self, Recipe};
    use super::*;

    #[test]
    fn edits_are_written_as_they_are_read() {
        let text = "-3,^5,=7";
        let edits: Edits = text.parse().unwrap();
        assert_eq!(edits.to_string(), text);
        assert!("3".parse::<Edits>().is_err());
        assert_eq!("".parse::<Edits>().unwrap(), Edits::default());
    }

    /// Whatever a program must contain to fail, taking steps out ends at little else.
    #[test]
    fn a_program_becomes_as_small_as_what_it_must_contain() {
        let recipe = Recipe {
            steps: 24,
            ..Recipe::default()
        };
        let mut shrunk = 0;
        for seed in 0..200 {
            let program = generate::program(seed, &recipe);
            let mut ids = Vec::new();
            collect(&program.steps, &mut ids);
            let Some(&(wanted, ..)) = ids.last() else {
                continue;
            };
            let fails = |edits: &Edits| {
                let mut left = Vec::new();
                collect(&program.edited(edits).steps, &mut left);
                left.iter().any(|(id, ..)| *id == wanted)
            };
            let mut edits = Edits::default();
            while let Some(next) = program.smaller(&edits).into_iter().find(&fails) {
                edits = next;
            }
            let mut left = Vec::new();
            collect(&program.edited(&edits).steps, &mut left);
            assert_eq!(left.len(), 1, "{}", program.edited(&edits));
            shrunk += 1;
        }
        assert!(shrunk > 100);
    }
}
