//! A drop-in for `rayon-core`: the same interface, on [`roving`]'s workers.
//!
//! Rayon's iterators ask `rayon-core` for everything that has to do with threads. A program that
//! uses Rayon moves to Roving by two lines in its `Cargo.toml`:
//!
//! ```toml
//! [patch.crates-io]
//! rayon-core = { git = "https://github.com/roving-rs/roving" }
//! ```
//!
//! Then `cargo update -p rayon-core`. What cargo does where a version is pinned is on [the
//! drop-in's page](https://github.com/roving-rs/roving/blob/main/crates/rayon-core/README.md).
//!
//! # What differs
//!
//! * A worker that waits in a `join`, `scope`, `install` or `broadcast` runs nothing unrelated:
//!   only what belongs to the awaited task. So a lock that is held across such a call cannot
//!   deadlock because of what the waiting thread picked up, and nothing nests on its stack.
//!   Broadcasts are the exception: they are addressed to this very thread.
//! * Where a detached task, or a call from another pool, waits for a worker while workers wait, a
//!   *compensation thread* runs it. It has the index of a worker that waits, if it is asked for
//!   one; that worker goes on when the task has ended. If no index is free, it has one of
//!   [`current_num_threads`] or more, as Rayon reserves for pools that grow.
//!   With the environment variable `ROVING_RAYON_STAND_IN=tasks` such threads run parts of joins as
//!   well, in the place of workers that wait, and all of them have an index of
//!   [`current_num_threads`] or more.
//! * Pools whose threads the program has set up have only these: those with a
//!   [`ThreadPoolBuilder::spawn_handler`], with a [start](ThreadPoolBuilder::start_handler) or an
//!   [exit handler](ThreadPoolBuilder::exit_handler), or with
//!   [names](ThreadPoolBuilder::thread_name). A compensation thread would lack what the handler has
//!   made for each index, once, and would bear a name that nobody gave. There a waiting worker does
//!   run such a task itself, as Rayon does.
//! * A thread that a pool has [adopted](ThreadPoolBuilder::use_current_thread) is a thread like any
//!   other again when the pool has been dropped; so what it spawns then goes to the global pool.
//!   With Rayon it would be lost.
//! * [`yield_now`] and [`yield_local`] run some task on top of the calling frame, as their name
//!   promises; who calls them with a lock held answers for it.
//! * [`max_num_threads`] is smaller than Rayon's.
//! * The global pool is that of [`roving`]: a program that uses both has one set of threads.

// # What may be unsafe, and why
//
// | module | reason |
// |---|---|
// | `scope` | passes a scope of `roving` off as one of this crate; lets tasks find the scope whose order they keep |
#![deny(unsafe_code)]

mod broadcast;
mod build;
mod deprecated;
mod global;
mod join;
mod pool;
#[allow(unsafe_code)]
mod scope;
mod spawn;
mod yielding;

pub use broadcast::{BroadcastContext, broadcast, spawn_broadcast};
pub use build::{ThreadBuilder, ThreadPoolBuildError, ThreadPoolBuilder};
#[allow(deprecated)]
pub use deprecated::{Configuration, initialize};
pub use global::{
    current_num_threads, current_thread_has_pending_tasks, current_thread_index, max_num_threads,
};
pub use join::{FnContext, join, join_context};
pub use pool::ThreadPool;
pub use scope::{Scope, ScopeFifo, in_place_scope, in_place_scope_fifo, scope, scope_fifo};
pub use spawn::{spawn, spawn_fifo};
pub use yielding::{Yield, yield_local, yield_now};
