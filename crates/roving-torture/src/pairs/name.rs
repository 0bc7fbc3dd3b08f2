//! The name of a program, and the words by which it is asked for.

use super::feature::Feature;
use super::generate::{self, Recipe};
use super::program::{Edits, StepProgram};

/// Which program: all of it follows from these.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Name {
    pub(crate) seed: u64,
    pub(crate) recipe: Recipe,
    pub(crate) edits: Edits,
}

impl Name {
    pub(crate) fn program(&self) -> StepProgram {
        generate::program(self.seed, &self.recipe).edited(&self.edits)
    }

    /// The words that say so on the command line.
    pub(crate) fn words(&self) -> Vec<String> {
        let mut words = vec![
            "pairs".to_owned(),
            "--replay".to_owned(),
            self.seed.to_string(),
            "--steps".to_owned(),
            self.recipe.steps.to_string(),
        ];
        if let Some(focus) = self.recipe.focus {
            words.push("--focus".to_owned());
            words.push(focus.map(Feature::name).join("+"));
        }
        if !self.recipe.without.is_empty() {
            let names = self.recipe.without.iter().map(|one| one.name());
            words.push("--without".to_owned());
            words.push(names.collect::<Vec<_>>().join("+"));
        }
        if !self.edits.0.is_empty() {
            words.push(format!("--edits={}", self.edits));
        }
        words
    }

    pub(crate) fn replay(&self) -> String {
        format!("torture {}", self.words().join(" "))
    }
}

/// Features, as `join+scope`.
pub(crate) fn features(text: &str) -> Result<Vec<Feature>, String> {
    let one = |name: &str| Feature::named(name).ok_or_else(|| format!("no feature `{name}`"));
    text.split('+')
        .filter(|name| !name.is_empty())
        .map(one)
        .collect()
}

/// Three features, as `join+scope+merge`.
pub(crate) fn focus(text: &str) -> Result<[Feature; 3], String> {
    let all: Result<[Feature; 3], _> = features(text)?.try_into();
    all.map_err(|_| "name three features, with + between".to_owned())
}
