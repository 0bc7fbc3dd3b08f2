//! Runs Rust code on all cores: recursion, loops, scopes and async tasks. A `join` costs about as
//! much as a function call, an async task some ten nanoseconds more. It is for programs that
//! compute, and for those that use Rayon, which need
//! [two lines](https://github.com/roving-rs/roving/blob/main/crates/rayon-core/README.md) and no
//! other change.
//!
//! ```
//! fn fib(n: u32) -> u64 {
//!     if n < 2 {
//!         return n.into();
//!     }
//!     // No cut-off and no grain size: this is the whole program.
//!     let (a, b) = roving::join(|| fib(n - 1), || fib(n - 2));
//!     a + b
//! }
//! assert_eq!(fib(20), 6765);
//! ```
//!
//! There is nothing to start: the first parallel call starts a global pool with one worker for each
//! processor that the process may use.
//!
//! | for | use |
//! |---|---|
//! | recursion, two things at once | [`join`] |
//! | any number of tasks, which may borrow | [`scope`]; [`spawn`] for one that runs by itself, with a handle to wait for it |
//! | loops | [`par_for`], [`par_chunks_mut`], [`map_reduce`] |
//! | loops that end at the first answer or error | [`par_find_any`], [`par_find_first`], [`try_par_for`] |
//! | sums of floats that are the same in each run | [`reduce`], [`reduce_slice`], [`reduce_chunks`] |
//! | async tasks, which may wait for anything | [`task`] |
//! | a call that blocks in the system | [`blocking`] |
//! | a request to stop, a deadline | [`Cancel`] makes one, [`is_cancelled`] asks for it, [`CancelledError`] says that it came |
//! | a value that everything inside inherits | [`context`] |
//! | workers of one's own; many pools on one set of threads | [`Pool`], [`Arena`] |
//! | one value for each worker | [`WorkerLocal`] |
//! | what the workers did, as figures or as a picture | [`Profile`], [`mod@trace`] |
//! | tests that find what depends on the order | [`testing`] |
//! | a program that stands still | [`watch`] |
//! | threads that the program starts itself; the end of the global pool | [`embed`] |
//! | an interface of your own on these workers | [`raw`] |
//! | how many tasks a thief takes, and other policies to compare | [`policy`] |
//!
//! # What holds
//!
//! * A worker that waits runs what it waits for and nothing else, so a lock may be held across
//!   [`join`] and [`scope`].
//! * A [`join`] that nobody steals allocates nothing. A million spawned tasks do not take a million
//!   times the memory.
//! * An idle pool uses no processor time. A dropped pool joins its threads.
//! * A panic comes out of the one call that waits, after all that borrows has ended.
//!
//! Each promise, and the test that holds it, is in [the
//! contract](https://github.com/roving-rs/roving/blob/main/docs/contract.md).
//!
//! # Limits
//!
//! Needs `std`. Linux on x86-64 is what every check runs on; other systems are [compiled or
//! emulated](https://github.com/roving-rs/roving#status-and-limits). Closures of one [`join`] that
//! wait for each other are outside the contract. A call that blocks in the system blocks its
//! worker, unless it is inside [`blocking`]. Thread-locals do not follow a task to another worker.
//! Parallel iterators are in a crate of their own,
//! [`roving-iter`](https://github.com/roving-rs/roving/blob/main/docs/iterators.md).
//!
//! # Features
//!
//! `diagnostics` is on by default: what `ROVING_PROFILE`, `ROVING_TRACE`, `ROVING_TOP` and
//! `ROVING_WATCH` show, and `report`, `trace` and `watch_waits` of [`PoolBuilder`]. It costs a
//! program some 120 KB, and no time until it is asked for. The other two are off by default:
//! `tracing` puts spans of the `tracing` crate into traces, and lets tasks inherit them; `metrics`
//! hands the counters of a pool to recorders of the `metrics` crate.
//!
//! # More
//!
//! [The book](https://github.com/roving-rs/roving/blob/main/docs/README.md), with guides and
//! [programs to read](https://github.com/roving-rs/roving/blob/main/docs/examples.md);
//! [questions](https://github.com/roving-rs/roving/blob/main/docs/faq.md);
//! [issues](https://github.com/roving-rs/roving/issues).

// # What may be unsafe, and why
//
// Unsafe code is denied but in these modules; each says in its comments what it relies on.
//
// | module | reason |
// |---|---|
// | `machine::apart` | drops a value in a function of its own |
// | `machine::lease` | one thread takes out what others have used, when all have gone |
// | `machine::lock` | a value that a lock guards stands beside it |
// | `machine::latch` | is dropped by its waiter while its setter may still be inside |
// | `machine::linux`, `machine::os`, `machine::prim` | system calls, and one processor instruction |
// | `machine::stack_overflow` | the handler for a native stack that is full |
// | `stack` | the memory that owner and thieves share |
// | `inherit::node` | leads threads to contexts that others keep |
// | `replay::members` | leads a thread to the visit that it makes, in a frame further out |
// | `workers::worker` | runs slots; knows which thread is which worker |
// | `workers::outside_calls` | lends a frame to a worker, and waits until it is given back |
// | `workers::own_tasks`, `workers::stranded` | run what was taken off the worker's own stack |
// | `workers::thread_loop` | makes a thread of the pool the worker at its seat |
// | `workers::wait::worker_side` | is a worker further out again, to run its mail |
// | `workers::enter` | lets workers into contexts that others keep |
// | `workers::job` | a closure behind a pointer that two may keep |
// | `workers::frames` | moves futures into frames, and frames between workers |
// | `workers::arena` | makes a thread the worker at a seat, for as long as the seat's word says so |
// | `pool`, `forkjoin::broadcast` | lend a frame to another thread, and wait until it is given back |
// | `task` | hands futures to the frames that run them |
// | `forkjoin::join`, `forkjoin::scope` | put closures into slots, and take results out |
// | `forkjoin::foreign`, `forkjoin::trees` | push tasks whose code is not Rust, and pop them |
// | `forkjoin::hosted` | makes a thread of another runtime the worker at a seat |
// | `forkjoin::whole` | stands in a frame that waits while other workers use it |
// | `forkjoin::detached` | puts a closure and its outcome into one piece of memory, which two keep |
// | `forkjoin::loops` | parts of a loop meet in memory that the last of them frees |
// | `forkjoin::local` | hands each worker its own cell |
// The pages at docs.rs say which feature an item needs.
#![cfg_attr(docsrs, feature(doc_cfg))]
#![deny(unsafe_code)]
#![cfg_attr(
    not(feature = "diagnostics"),
    allow(
        dead_code,
        reason = "some of what the workers tell only `observe::diagnostics` asks"
    )
)]

#[cfg(all(loom, not(feature = "loom")))]
compile_error!("`--cfg loom` needs the feature `loom`: see `cargo xtask loom`");

pub mod context;
mod forkjoin;
mod inherit;
mod machine;
mod observe;
#[allow(unsafe_code)]
mod pool;
pub mod raw;
mod replay;
#[allow(unsafe_code)]
mod stack;
mod stats;
#[allow(unsafe_code, reason = "listed above")]
pub mod task;
mod workers;

pub use {
    forkjoin::broadcast::broadcast,
    forkjoin::detached::{JoinError, JoinHandle, spawn, try_spawn},
    forkjoin::join::{join, join_context},
    forkjoin::local::WorkerLocal,
    forkjoin::loops::{
        Attempt, map_reduce, par_chunks_mut, par_find_any, par_find_first, par_for, reduce,
        reduce_chunks, reduce_slice, try_par_for,
    },
    forkjoin::scope::{Scope, in_place_scope, scope},
    pool::arena::ArenaBuilder,
    pool::{BuildError, Dropped, Pool, PoolBuilder, PoolRef, current_worker, current_workers},
    workers::arena::Arena,
    workers::blocking::blocking,
};

// Modules that are public here, and each stand in the room that they belong to.
#[cfg(roving_faults)]
#[doc(hidden)]
pub use machine::faults;
#[cfg(feature = "metrics")]
pub use pool::metrics;
pub use {
    observe::{trace, watch},
    pool::{embed, policy, testing},
};

// Shown with their own sentences, as `context` is public.
#[doc(inline)]
pub use context::{Cancel, CancelledError, is_cancelled};
pub use stats::{Counters, Profile, WorkerProfile};
pub use workers::job_limit::QueueFullError;
pub use workers::priority::Priority;
