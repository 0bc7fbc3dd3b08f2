//! The machine: how many cores and how much memory it gives us, and with `rivals` which one it is.

#[cfg(feature = "rivals")]
mod description;
#[cfg(feature = "rivals")]
pub(crate) mod handoff;
pub(crate) mod memory;

use std::thread::available_parallelism;

#[cfg(feature = "rivals")]
pub(crate) use self::description::{commit, cpu_time, hardware, line, moment};

/// How many cores this process may use.
pub(crate) fn cores() -> usize {
    available_parallelism().map_or(1, usize::from)
}
