//! Programs of [`roving`] on more than one machine: networks of processes, and bags of tasks that
//! make more tasks. The crate is for clusters, where `mpirun` starts the same program many times;
//! each of these is a *rank*.
//!
//! ```
//! use roving_dist::{Bag, Error, World};
//!
//! /// The number of leaves of a binary tree, counted by all ranks.
//! fn leaves(world: &World, depth: u32) -> Result<u64, Error> {
//!     let pool = roving::Pool::new(1).unwrap();
//!     Bag::new(world).run(&pool, Some(depth), |depth, local| {
//!         if depth == 0 {
//!             *local.result() += 1;
//!             return;
//!         }
//!         local.push(depth - 1);
//!         local.push(depth - 1);
//!     }, |a: u64, b| a + b)
//! }
//!
//! // Under `mpirun -n 8` these would be eight ranks. Here they are threads of one process, as in tests.
//! let counts = World::threads(2, |world| leaves(&world, 8).unwrap());
//! assert_eq!(counts, [256, 256]);
//! ```
//!
//! | for | use |
//! |---|---|
//! | this process's rank, and what all ranks do together | [`World`] |
//! | tasks that make more tasks, balanced between the ranks | [`Bag`]; [`Checkpoints`] to resume from |
//! | a network of `roving-flow` across ranks | [`Network`]; [`Checkpoints`] as well |
//! | processes that move to another rank while the network runs | [`Mover`], [`Rebalance`] |
//! | ranks that are threads, with delays and losses between them, for tests | [`World::threads`], [`Plan`] |
//!
//! # What holds
//!
//! * Each task of a bag runs once, and each result is counted once.
//! * A rank that panics, fails or is lost ends the run on all ranks within seconds, with an
//!   [`Error`] that names it.
//! * A run that was killed and resumes from a checkpoint comes to the same result, on as many ranks
//!   or on another number.
//!
//! # Limits
//!
//! The feature `mpi` adds ranks that are processes; it needs an MPI library and libclang when it is
//! built. It has been run with ranks on one machine, and never on a cluster.
//!
//! # More
//!
//! [Past one machine, in the
//! book](https://github.com/roving-rs/roving/blob/main/docs/distribution.md), with a script for
//! Slurm; [issues](https://github.com/roving-rs/roving/issues).

// # What may be unsafe, and why
//
// Unsafe code is denied but in this module, which says in its comments what it relies on.
//
// | module | reason |
// |---|---|
// | `world/mpi.rs` | calls MPI |
// The pages at docs.rs say which feature an item needs.
#![cfg_attr(docsrs, feature(doc_cfg))]
#![deny(unsafe_code)]

#[cfg(all(loom, not(feature = "loom")))]
compile_error!("`--cfg loom` needs the feature `loom`: see `cargo xtask loom`");

#[cfg(not(loom))]
mod bag;
mod bell;
#[cfg(not(loom))]
mod checkpoint;
mod error;
#[cfg(not(loom))]
mod network;
mod prim;
#[cfg(all(test, loom))]
#[path = "network/slot.rs"]
mod slot;
mod tray;
mod unwind;
mod world;

#[cfg(not(loom))]
pub use bag::{Bag, Local};
#[cfg(not(loom))]
pub use checkpoint::Checkpoints;
pub use error::Error;
#[cfg(not(loom))]
pub use network::{
    Blocked, ChannelReport, Growth, MovablePorts, Moved, Mover, Network, NetworkError,
    ProcessReport, Rebalance, Report,
};
pub use world::World;
pub use world::plan::Plan;

pub mod raw;
