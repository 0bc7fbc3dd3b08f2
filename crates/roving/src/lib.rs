//! A work-stealing runtime in which a task costs about as much as a function call.
//!
//! * [`join`] runs two closures, [`scope`] any number of tasks that may borrow, [`spawn`] a
//!   detached one.
//! * [`task`] runs async tasks, whose continuations can be stolen.
//! * [`blocking`] marks a region in which a worker blocks: a spare thread takes its core.
//! * [`par_for`], [`par_chunks_mut`] and [`map_reduce`] are loops that split by demand.
//! * [`reduce`] and its kin combine in the same tree on any number of workers.
//! * [`context`] is what everything inside inherits: values, and requests to stop ([`Cancel`]).
//! * [`Pool`] is a set of workers; without one, everything uses a global pool. An [`Arena`] is a set of
//!   threads that many pools share.
//! * [`testing`] goes through schedules that are a function of a seed.
//! * [`watch`] names the lock that is held where a program stands still.
//! * [`Profile`] says what the workers did; [`trace`] shows it over time, for any program.
//!
//! ```
//! fn fib(n: u32) -> u64 {
//!     if n < 2 {
//!         return n.into();
//!     }
//!     let (a, b) = roving::join(|| fib(n - 1), || fib(n - 2));
//!     a + b
//! }
//! assert_eq!(fib(20), 6765);
//! ```
//!
//! # What may be unsafe, and why
//!
//! Unsafe code is denied but in these modules; each says in its comments what it relies on.
//!
//! | module | reason |
//! |---|---|
//! | `stack` | the memory that owner and thieves share |
//! | `join`, `scope` | put closures into slots, and take results out |
//! | `worker` | runs slots; knows which thread is which worker |
//! | `pool`, `broadcast` | lend a frame to another thread, and wait until it is given back; the handler for a stack that is full |
//! | `context` | leads threads to contexts that others keep |
//! | `task` | moves futures into frames, and frames between workers |
//! | `arena` | makes a thread the worker at a seat, for as long as the seat's word says so |
//! | `lease` | one thread takes out what others have used, when all have gone |
//! | `latch` | is dropped by its waiter while its setter may still be inside |
//! | `local` | hands each worker its own cell |
//! | `os`, `prim` | system calls, and one processor instruction |
#![deny(unsafe_code)]

#[cfg(all(loom, not(feature = "loom")))]
compile_error!("`--cfg loom` needs the feature `loom`: see `cargo xtask loom`");

#[cfg(not(loom))]
#[doc(hidden)]
pub mod adapt;
#[allow(unsafe_code)]
mod arena;
#[cfg(not(loom))]
mod blocking;
#[cfg(not(loom))]
#[allow(unsafe_code)]
mod broadcast;
#[cfg(doctest)]
mod compile_fail;
#[allow(unsafe_code, reason = "listed above")]
pub mod context;
#[cfg(all(not(loom), roving_faults))]
#[doc(hidden)]
pub mod faults;
#[cfg(all(not(loom), not(roving_faults)))]
mod faults;
mod inject;
#[cfg(not(loom))]
mod jobs;
#[cfg(not(loom))]
#[allow(unsafe_code)]
mod join;
#[allow(unsafe_code)]
mod latch;
#[allow(unsafe_code)]
mod lease;
#[cfg(not(loom))]
#[allow(unsafe_code)]
mod local;
#[cfg(all(feature = "metrics", not(loom)))]
pub mod metrics;
#[cfg(not(loom))]
#[allow(unsafe_code)]
mod os;
#[cfg(not(loom))]
mod parallel;
#[cfg(not(loom))]
#[allow(unsafe_code)]
mod pool;
#[doc(hidden)]
#[allow(unsafe_code, reason = "listed above")]
pub mod prim;
mod priority;
#[cfg(not(loom))]
mod reduce;
#[cfg(not(loom))]
mod schedule;
#[cfg(not(loom))]
#[allow(unsafe_code)]
mod scope;
#[cfg(not(loom))]
mod service;
mod sleep;
#[allow(unsafe_code)]
mod stack;
mod stats;
#[cfg(not(loom))]
mod steal;
#[cfg(not(loom))]
pub mod testing;
#[cfg(not(loom))]
pub mod trace;
#[cfg(not(loom))]
mod unwind;
mod wait;
#[cfg(not(loom))]
pub mod watch;
#[cfg(not(loom))]
#[allow(unsafe_code)]
mod worker;

#[allow(unsafe_code, reason = "listed above")]
pub mod task;

#[cfg(not(loom))]
pub use {
    arena::{Arena, ArenaBuilder},
    blocking::blocking,
    broadcast::broadcast,
    context::{Cancel, Cancelled, is_cancelled},
    join::{join, join_context},
    local::WorkerLocal,
    parallel::{map_reduce, par_chunks_mut, par_for},
    pool::{
        BuildError, Dropped, Pool, PoolBuilder, StillUsed, WorkerThread, current_worker,
        current_workers, shutdown_global, shutdown_global_now, spawn,
    },
    reduce::{reduce, reduce_chunks, reduce_slice},
    scope::{Scope, in_place_scope, scope},
    steal::amount::{Amount, ParseAmountError},
};

pub use priority::Priority;
pub use stats::{Counters, Profile, WorkerProfile};
