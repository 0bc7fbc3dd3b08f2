//! The seam below the public face, for benchmarks and for `roving-model`. Semantic versioning does
//! not cover it: what is said of [`roving::raw`] holds here, with its version.
//!
//! ```
//! use std::sync::Arc;
//! use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
//! use roving_dist::World;
//! use roving_dist::raw::{Bare, Mail};
//!
//! World::threads(2, |world| {
//!     let sum = Arc::new(AtomicU32::new(0));
//!     let sums = Arc::clone(&sum);
//!     let mail = Mail::new(&world, move |_from, bytes| {
//!         sums.fetch_add(bytes[0].into(), Relaxed);
//!     });
//!     mail.send(0, &[21]);
//!     mail.flush();
//!     if world.rank() == 0 {
//!         mail.wait(|| sum.load(Relaxed) == 42).unwrap();
//!     }
//!     // Ranks that are threads have no messages of MPI itself.
//!     Bare::with(&world, |bare| {
//!         assert!(bare.send(1, &[1]).is_err() && bare.receive(1, &mut [0]).is_err());
//!     });
//! });
//! ```

#[cfg(not(loom))]
pub use crate::bag::rules;
pub use crate::world::raw::{Bare, Mail};
