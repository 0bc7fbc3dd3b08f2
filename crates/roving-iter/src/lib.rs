//! Parallel iterators with the names and meanings of Rayon's, on the workers of [`roving`].
//!
//! ```
//! use roving_iter::prelude::*;
//!
//! let words = ["to", "be", "or", "not", "to", "be"];
//! let letters: usize = words.par_iter().filter(|word| **word != "be").map(|word| word.len()).sum();
//! assert_eq!(letters, 9);
//! ```
//!
//! A program or library that uses Rayon for the everyday needs one changed line in its
//! `Cargo.toml`, and no other change:
//!
//! ```toml
//! rayon = { package = "roving-iter", git = "https://github.com/roving-rs/roving" }
//! ```
//!
//! | for | use |
//! |---|---|
//! | iterators over slices, vectors, ranges, maps, texts | [`prelude`], [`iter`] |
//! | parts of slices, and sorting | [`slice`](mod@slice) |
//! | characters, lines and words | [`str`](mod@str) |
//! | an iterator of `std` whose items are used in parallel | [`iter::ParallelBridge`] |
//! | two things at once; any number of tasks | [`join`], [`scope()`], [`spawn`] |
//! | a pool of one's own | [`ThreadPoolBuilder`], [`ThreadPool`] |
//! | a request to stop, a deadline, a profile | [`roving`] itself: it is the same pool |
//!
//! # What is different from Rayon
//!
//! * There is no grain to tune: an iterator is cut where another worker asks for a part, and is a
//!   plain loop of `std` otherwise. `with_min_len` is seldom of use.
//! * A worker that waits runs what it waits for and nothing else, so a lock may be held across an
//!   iterator.
//! * An iterator inside [`roving::Cancel::run`] ends when that is cancelled.
//!
//! # Limits
//!
//! Needs `std`. The traits cannot be implemented for types of your own, other than by
//! [`IntoParallelIterator`](iter::IntoParallelIterator): there is no interface of producers and
//! consumers. Items of hash maps, trees and linked lists are gathered in a vector first. The
//! [README](https://github.com/roving-rs/roving/blob/main/crates/roving-iter/README.md#limits)
//! lists the names of Rayon that are not here.
//!
//! # More
//!
//! [Iterators, in the book](https://github.com/roving-rs/roving/blob/main/docs/iterators.md);
//! [issues](https://github.com/roving-rs/roving/issues).

// # What may be unsafe, and why
//
// Unsafe code is denied but in this module; it says in its comments what it relies on.
//
// | module | reason |
// |---|---|
// | `memory` | vectors whose items are taken, written and merged by many workers at a time |
#![deny(unsafe_code)]

mod engine;
pub mod iter;
#[allow(unsafe_code)]
mod memory;
pub mod option;
mod pool;
pub mod prelude;
pub mod range;
pub mod slice;
mod sources;
pub mod str;
pub mod vec;

pub use pool::{
    BroadcastContext, FnContext, ThreadPool, ThreadPoolBuildError, ThreadPoolBuilder, broadcast,
    current_num_threads, current_thread_index, join_context, spawn,
};

/// A scope, as its body and its tasks see it: [`roving::Scope`].
#[doc(inline)]
pub use roving::Scope;
/// Opens a scope whose body runs on the calling thread: [`roving::in_place_scope`].
#[doc(inline)]
pub use roving::in_place_scope;
/// Runs two closures, perhaps at the same time: [`roving::join`].
#[doc(inline)]
pub use roving::join;
/// Opens a scope in which any number of tasks may be spawned: [`roving::scope`].
#[doc(inline)]
pub use roving::scope;
