//! Checkpoints of a run across ranks: consistent cuts in a directory that all ranks see.
//!
//! A bag and a network each say what a rank's part of a cut is, and when it is recorded. The rest
//! is here: the files, who may write them, and what a run that resumes finds there.

mod directory;
mod files;
mod format;
mod plan;

pub use directory::Checkpoints;
pub(crate) use files::{Files, Which};
pub(crate) use plan::{CutPlan, Loaded, Writers, close, open};

#[cfg(test)]
pub(crate) use format::tests::identity;
