//! Other programs, cargo before all: how they are run and watched, and what they say.

pub(crate) mod features;
pub(crate) mod lint;
pub(crate) mod tally;
pub(crate) mod tool;
pub(crate) mod watchdog;
pub(crate) mod workspace;
