//! The only door to atomics, cells, locks, threads and clocks: `std`, or loom when built with
//! `--cfg loom`, so that the same algorithm runs and is explored.
//!
//! Which of the two is decided here and nowhere else: `prim/real.rs` and `prim/explored.rs` hold
//! the same names with the same interfaces, so all else is compiled for both as it is.
//!
//! What is public here is for the crates of this repository that are explored as well. It is not
//! covered by semantic versioning.

#[cfg_attr(not(loom), path = "prim/real.rs")]
#[cfg_attr(loom, path = "prim/explored.rs")]
mod chosen;

pub use chosen::*;

/// Set once, before any thread that reads it can know of it; loom has no model of its own.
pub(crate) use std::sync::OnceLock;
pub(crate) use std::sync::atomic::Ordering;

/// The words that loom knows nothing of in either case: atomics for what the system calls, such as
/// handlers of signals and forks, and for figures on which no protocol hangs; a lock for a value
/// that the compiler has to make, under which nobody touches anything that is explored.
pub(crate) mod unexplored {
    pub(crate) use crate::machine::lock::{Mutex, MutexGuard};
    pub(crate) use std::sync::atomic::*;
}

/// Whether this is built for the model checker: for what is no matter of types, such as how often
/// to look before a thread parks.
pub(crate) const IS_EXPLORED: bool = cfg!(loom);

/// Waits until that is no longer so, or for ever; whoever changes it notifies.
pub(crate) fn wait_while<'g, T>(
    changed: &Condvar,
    mut guard: MutexGuard<'g, T>,
    mut is_so: impl FnMut(&mut T) -> bool,
) -> MutexGuard<'g, T> {
    while is_so(&mut guard) {
        guard = changed.wait(guard);
    }
    guard
}

/// Keeps two values that different threads write on different cache lines (two of them, because
/// neighbouring lines are fetched together).
#[repr(align(128))]
pub(crate) struct Padded<T>(pub(crate) T);

impl<T> std::ops::Deref for Padded<T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        &self.0
    }
}
