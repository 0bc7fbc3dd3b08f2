//! Detached tasks and their handles.
//!
//! A detached task is one piece of memory (`cell.rs`), which its job in a queue of the pool
//! (`workers/job.rs`) and its handle keep between them (`word.rs`). A handle that is dropped at
//! once, as by a caller who wants none, costs one compare-and-swap; the worker then finds the task
//! its alone and runs it without another.

mod cell;
mod error;
mod handle;
#[cfg(all(test, loom))]
mod loom_tests;
mod spawn;
mod word;

pub(crate) use handle::detached;
pub use {
    error::JoinError,
    handle::JoinHandle,
    spawn::{spawn, try_spawn},
};
