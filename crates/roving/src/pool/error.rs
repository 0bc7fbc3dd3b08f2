//! Why a pool, or an arena, cannot be had.

use std::fmt;
use std::io;
use std::sync::Arc;

use crate::replay;
use crate::workers::pool_kind::Unfit;
use crate::workers::settings::WORKERS_LIMIT;
use crate::workers::steal::amount::{AMOUNT_MAX, Amount};

/// The error of a pool that could not be built. Its text names the wrong value, and what would do.
///
/// ```
/// let error = roving::Pool::new(0).unwrap_err();
/// assert!(error.to_string().starts_with("0 workers"));
/// ```
#[derive(Clone, Debug)]
pub struct BuildError(Reason);

#[derive(Clone, Debug)]
pub(crate) enum Reason {
    Workers(usize),
    Size { workers: usize, most: usize },
    ArenaThreads(usize),
    ArenaThread(Arc<io::Error>),
    Share(&'static str),
    LeftBehind(String),
    WorkersLeast(usize, usize),
    WorkersVariable(String),
    Name(String),
    Seed(String),
    Memory(usize),
    Amount(Amount),
    Thread { index: usize, error: Arc<io::Error> },
    Unfit(Unfit),
    GlobalExists,
}

/// A thread's name ends at its first NUL, and `std` panics instead.
pub(crate) fn check_name(name: &str) -> Result<(), Reason> {
    match name.as_bytes().contains(&0) {
        true => Err(Reason::Name(name.to_owned())),
        false => Ok(()),
    }
}

impl From<Reason> for BuildError {
    fn from(reason: Reason) -> BuildError {
        BuildError(reason)
    }
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Reason::Workers(workers) => {
                write!(
                    f,
                    "{workers} workers cannot be started: say 1 to {WORKERS_LIMIT}"
                )
            }
            Reason::Size { workers: 0, most } => {
                write!(f, "0 workers are out of range: say 1 to {most}")
            }
            Reason::Size { workers, most } => write!(
                f,
                "{workers} workers are out of range: say 1 to {most}, or build the pool with a higher \
                 workers_max"
            ),
            Reason::WorkersLeast(least, workers) => write!(
                f,
                "workers_at_least({least}) is out of range for {workers} workers: say 1 to {workers}"
            ),
            Reason::Memory(workers) => write!(
                f,
                "there is no memory for task stacks ({workers}): ask for fewer workers, or raise the \
                 limit on memory"
            ),
            Reason::WorkersVariable(value) => write!(
                f,
                "ROVING_WORKERS={value:?} is not a number of workers: say 1 to {WORKERS_LIMIT}, \
                 or unset it"
            ),
            Reason::Name(name) => write!(
                f,
                "the name {name:?} has a NUL in it, which no thread's name can have: leave it out"
            ),
            Reason::Seed(value) => write!(
                f,
                "{}={value:?} is not a seed: say 0 to {}, or unset it",
                replay::VARIABLE,
                u64::MAX
            ),
            Reason::Amount(amount) => {
                write!(
                    f,
                    "steal amount {amount} is out of range: D is 1 to {AMOUNT_MAX}"
                )
            }
            Reason::Thread { index, error } => write!(
                f,
                "the thread of worker {index} could not be started ({error}): ask for fewer \
                 workers, a smaller stack_size, or a higher limit on threads"
            ),
            Reason::Unfit(Unfit::IsWorker) => f.write_str(
                "the calling thread is a worker already and cannot be adopted: build the pool on \
                 another thread, or without adopt_current_thread",
            ),
            Reason::Unfit(Unfit::IsEnding) => f.write_str(
                "the calling thread is ending and cannot be adopted by a pool that it could not leave \
                 any more: build the pool earlier in the thread, or without adopt_current_thread",
            ),
            Reason::GlobalExists => f.write_str(
                "the global pool has been started already: call build_global before the first \
                 join, scope or spawn outside of a pool",
            ),
            of_arena => of_arena.fmt_of_arena(f),
        }
    }
}

impl Reason {
    /// Why there is no arena, or no share of one.
    fn fmt_of_arena(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reason::ArenaThreads(threads) => {
                write!(
                    f,
                    "an arena of {threads} threads cannot be started: say 1 to {WORKERS_LIMIT}"
                )
            }
            Reason::ArenaThread(error) => write!(
                f,
                "a thread of the arena could not be started ({error}): ask for fewer threads, a smaller \
                 stack_size, or a higher limit on threads"
            ),
            Reason::Share(what) => write!(
                f,
                "{what} is not available for a share of an arena, whose threads belong to the arena: \
                 leave it out, or build the pool without an arena"
            ),
            Reason::LeftBehind(name) => write!(
                f,
                "the arena `{name}` has no threads in this process, which was forked after the arena was \
                 built: build one in the child"
            ),
            _ => unreachable!("it is not about arenas"),
        }
    }
}

impl std::error::Error for BuildError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.0 {
            Reason::Thread { error, .. } | Reason::ArenaThread(error) => Some(&**error),
            _ => None,
        }
    }
}
