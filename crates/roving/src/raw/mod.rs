//! The seam below the public face: what crates build on that put an interface of their own on the
//! workers. The drop-in for Rayon, `roving-iter`, `roving-flow`, `roving-dist`, `roving-c` and
//! `roving-omp` stand on it; of what is hidden they use `Scope::worker_index` and the slots of a
//! worker's task stack.
//!
//! | to build | use |
//! |---|---|
//! | another runtime's closures, on a global pool of its own | [`calls`] |
//! | loops and iterators | [`loops`] |
//! | processes, actors, pipelines | [`tasks`] |
//! | a loop of one's own that waits, and runs tasks meanwhile | [`waits`] |
//! | traces and reports of standstills, with those of this crate | [`reports`] |
//! | tasks whose code is not Rust | [`foreign`], [`trees`] |
//! | a runtime with loops of its own on these task stacks | [`hosted`] |
//! | on code whose panics have to end with you | [`panics`] |
//! | what has threads, and may be used in a forked child | [`forks`] |
//! | a simulator of this runtime | [`rules`] |
//! | protocols that the same checks explore | [`prim`] |
//!
//! # Versions
//!
//! Semantic versioning of `roving` does not cover this module: it may change with each release. A
//! change that breaks a crate built on it raises [`VERSION`] and has a line in the changelog. So
//! such a crate pins the release (`roving = "=0.1.0"`), and may say which seam it was written for:
//!
//! ```
//! const _: () = assert!(roving::raw::VERSION == 1, "written for version 1 of the seam");
//! ```
//!
//! A whole crate on it, a mailbox for each actor with a place among the workers:
//! [`examples/actors`](https://github.com/roving-rs/roving/tree/main/examples/actors).

pub mod calls;
pub mod foreign;
pub mod forks;
pub mod hosted;
pub mod loops;
pub mod panics;
pub mod prim;
pub mod reports;
pub mod rules;
pub mod tasks;
pub mod trees;
pub mod waits;

/// The version of this module: raised by each change that breaks a crate built on it.
///
/// ```
/// assert!(roving::raw::VERSION >= 1);
/// ```
pub const VERSION: u32 = 1;
