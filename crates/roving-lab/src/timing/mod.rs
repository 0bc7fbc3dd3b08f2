//! Runs in turn, and their times.

pub(crate) mod lanes;
pub(crate) mod times;
