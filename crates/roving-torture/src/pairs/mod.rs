//! The row `pairs`: programs of all public operations, so that each two of them meet, checked
//! against what the program itself says must happen. In safe code only.
#![forbid(unsafe_code)]

mod checked;
mod closures;
mod cover;
mod feature;
mod generate;
mod handles;
mod inherit;
mod inside;
mod iterators;
mod jobs;
mod kept;
mod meaning;
mod name;
mod networks;
mod pools;
mod program;
mod repeats;
mod run;
mod shelf;
mod steps;
mod strays;
mod supervise;
mod tasks;
mod thread_end;
mod timed;
mod world;

pub(crate) use feature::Feature;
pub(crate) use generate::Recipe;
pub(crate) use inside::{Chunk, chunk, replay};
pub(crate) use name::{Name, features, focus};
pub(crate) use program::Edits;
pub(crate) use supervise::{STEPS_MAX, run, smallest};

#[cfg(test)]
mod tests {
    use super::*;

    /// Without files and processes, for Miri too. `PAIRS_SEED`, `PAIRS_COUNT`, `PAIRS_STEPS`,
    /// `PAIRS_FOCUS` and `PAIRS_WITHOUT` say which.
    #[test]
    fn small_programs_do_what_they_must() {
        let text = |name: &str| std::env::var(name).ok();
        let number = |name: &str, usual: u64| {
            let text = text(name).and_then(|text| text.parse().ok());
            text.unwrap_or(usual)
        };
        let (steps, count) = if cfg!(miri) { (4, 3) } else { (10, 20) };
        let without = text("PAIRS_WITHOUT").unwrap_or_default();
        let recipe = Recipe {
            focus: text("PAIRS_FOCUS").map(|text| focus(&text).unwrap()),
            without: features(&without).unwrap(),
            steps: number("PAIRS_STEPS", steps) as u32,
        };
        let first = number("PAIRS_SEED", 1);
        for seed in first..first + number("PAIRS_COUNT", count) {
            let program = generate::program(seed, &recipe);
            println!("seed {seed}: {program}");
            if let Err(text) = run::program(&program) {
                panic!("seed {seed}: {program}\n{text}");
            }
        }
        let _ = roving::embed::shutdown_global();
    }
}
