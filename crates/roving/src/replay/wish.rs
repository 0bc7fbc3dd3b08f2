//! The options for a seeded schedule, and the variable that overrules them.

use std::env;

use super::Schedule;

/// The variable whose seed takes the place of any other.
pub(crate) const VARIABLE: &str = "ROVING_SEED";

/// The options for a schedule that a builder was given.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Wish {
    pub(crate) seed: Option<u64>,
    pub(crate) logs: bool,
    pub(crate) is_quiet: bool,
}

impl Wish {
    /// The schedule, if one was asked for. An error is the text of a variable that says no seed.
    pub(crate) fn grant(self) -> Result<Option<Schedule>, String> {
        let Some(seed) = self.seed else {
            return Ok(None);
        };
        let seed = seed_of_environment()?.unwrap_or(seed);
        let schedule = Schedule::new(seed, self.logs);
        schedule.state().said = self.is_quiet;
        Ok(Some(schedule))
    }
}

/// The seed that the environment says, if it says one; the variable's text if that is none.
pub(crate) fn seed_of_environment() -> Result<Option<u64>, String> {
    match env::var(VARIABLE) {
        Ok(text) => match text.trim().parse() {
            Ok(seed) => Ok(Some(seed)),
            Err(_) => Err(text),
        },
        Err(env::VarError::NotPresent) => Ok(None),
        Err(env::VarError::NotUnicode(text)) => Err(text.to_string_lossy().into_owned()),
    }
}
