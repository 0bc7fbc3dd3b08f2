//! Process networks and bags of tasks across ranks.
//!
//! A [`World`] is what one rank knows of the others: processes that `mpirun` started, or threads of
//! one process. The same program runs on each.
//!
//! * [`Network`] is a network of `roving-flow` whose processes are spread over the ranks.
//! * [`Bag`] is a collection of tasks that make more tasks, balanced between the ranks.
//!
//! # What may be unsafe, and why
//!
//! Unsafe code is denied but in this module, which says in its comments what it relies on.
//!
//! | module | reason |
//! |---|---|
//! | `world/mpi.rs` | calls MPI |
#![deny(unsafe_code)]

#[cfg(all(loom, not(feature = "loom")))]
compile_error!("`--cfg loom` needs the feature `loom`: see `cargo xtask loom`");

#[cfg(not(loom))]
mod bag;
mod bell;
mod error;
#[cfg(not(loom))]
mod network;
mod prim;
mod unwind;
mod world;

#[cfg(not(loom))]
pub use bag::{Bag, Checkpoints, Local};
pub use error::Error;
#[cfg(not(loom))]
pub use network::{
    Blocked, ChannelReport, Growth, MovablePorts, Moved, Mover, Network, NetworkError,
    ProcessReport, Rebalance, Report,
};
pub use world::World;
pub use world::plan::Plan;

/// For benchmarks only.
#[doc(hidden)]
pub mod raw {
    pub use crate::world::raw::{Bare, Mail};
}
