//! The options for a seeded schedule, and the variable that overrules them.

use std::env;

use super::Schedule;

/// The variable whose seed takes the place of any other.
pub(crate) const VARIABLE: &str = "ROVING_SEED";

/// The options for a schedule that a builder was given.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Wish {
    /// The seed, and how the schedule is made of it: set together, so that a program which asks for
    /// none has no code for them.
    seed: Option<(u64, Make)>,
    pub(crate) logs: bool,
    pub(crate) is_quiet: bool,
}

type Make = fn(Wish, u64) -> Result<Schedule, String>;

impl Wish {
    /// Asks for a schedule.
    #[inline]
    pub(crate) fn ask(&mut self, seed: u64) {
        self.seed = Some((seed, Wish::make));
    }

    pub(crate) fn is_asked(self) -> bool {
        self.seed.is_some()
    }

    /// The schedule, if one was asked for. An error is the text of a variable that says no seed.
    pub(crate) fn grant(self) -> Result<Option<Schedule>, String> {
        self.seed.map(|(seed, make)| make(self, seed)).transpose()
    }

    #[inline]
    fn make(self, seed: u64) -> Result<Schedule, String> {
        let seed = seed_of_environment()?.unwrap_or(seed);
        let schedule = Schedule::new(seed, self.logs);
        schedule.state().said = self.is_quiet;
        Ok(schedule)
    }
}

/// The seed that the environment says, if it says one; the variable's text if that is none.
#[inline]
pub(crate) fn seed_of_environment() -> Result<Option<u64>, String> {
    match env::var(VARIABLE) {
        Ok(text) => match text.trim_ascii().parse() {
            Ok(seed) => Ok(Some(seed)),
            Err(_) => Err(text),
        },
        Err(env::VarError::NotPresent) => Ok(None),
        Err(env::VarError::NotUnicode(text)) => Err(text.to_string_lossy().into_owned()),
    }
}
