//! Parts for a program inside of another: pools on threads that somebody else starts, and the end
//! of the global pool before its library is unloaded.
//!
//! Most programs need none of it: a [`Pool`](crate::Pool) starts its threads and joins them when it
//! is dropped, and the global pool ends with the process.
//!
//! | the host | use |
//! |---|---|
//! | starts all threads itself, with its own names, stacks and priorities | [`PoolBuilder::build_with`](crate::PoolBuilder::build_with), which hands out a [`WorkerThread`] for each worker |
//! | has a thread that is to be one of the workers | [`PoolBuilder::adopt_current_thread`](crate::PoolBuilder::adopt_current_thread) |
//! | allows no other thread at all | [`PoolBuilder::caller_runs`](crate::PoolBuilder::caller_runs) |
//! | unloads the library that uses the global pool | [`shutdown_global`], [`shutdown_global_now`] |
//!
//! ```
//! use roving::Pool;
//!
//! // A host that keeps a list of its threads, and joins them itself.
//! let mut threads = Vec::new();
//! let pool = Pool::builder().workers(2).build_with(|worker| {
//!     threads.push(std::thread::Builder::new().spawn(|| worker.run())?);
//!     Ok(())
//! })?;
//! assert_eq!(pool.install(|| roving::join(|| 1, || 2)), (1, 2));
//! drop(pool);
//! threads.into_iter().for_each(|thread| thread.join().unwrap());
//!
//! // A library that is about to be unloaded.
//! roving::embed::shutdown_global()?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub use crate::pool::{StillUsedError, WorkerThread, shutdown_global, shutdown_global_now};
