//! Workers whose loops are another runtime's: the seam of `roving-omp`.
//!
//! ```
//! use roving::Pool;
//! use roving::raw::hosted::{self, Frame, Hosted};
//!
//! // With more workers than one, these are called where a worker waits for a stolen task.
//! let hosted = Hosted::build(Pool::builder().workers(1))?.serving(|| false, || ());
//! assert_eq!((hosted.seats(), hosted::is_worker()), (1, false));
//! hosted.enlist(0);
//! let mut sum = 0;
//! let body = || {
//!     let outer = hosted::open();
//!     // A part of the caller's own that counts as begun further out.
//!     let frame: Frame = hosted::open().with_base_of(outer);
//!     // SAFETY: `sum` stays until the frame is drained.
//!     let added = unsafe { hosted::add(|| sum += 42) };
//!     assert!(added.is_ok(), "a worker, with room on its stack");
//!     assert!(hosted::run_newest(frame) && !hosted::run_newest(frame));
//!     // SAFETY: `sum` is still there, and the frame is drained below.
//!     let added = unsafe { hosted::add(|| sum += 42) };
//!     assert!(added.is_ok(), "as before");
//!     hosted::show();
//!     assert!(!hosted::steal(0), "there is nobody to steal from");
//!     hosted::drain(frame);
//!     assert!(hosted::is_drained(frame));
//!     hosted.wake(0);
//!     hosted::sleep_until(|| true);
//!     hosted::leave(frame);
//!     hosted::leave(outer);
//! };
//! // SAFETY: this thread was enlisted just now, and is the only one that comes to a seat.
//! unsafe { hosted.be(0, body) };
//! assert_eq!(sum, 84);
//! # Ok::<(), roving::BuildError>(())
//! ```

pub use crate::forkjoin::hosted::{
    Frame, Hosted, add, drain, is_drained, is_worker, leave, open, run_newest, show, sleep_until,
    steal,
};
