//! The decisions of the runtime that its simulator shares: functions of what is seen, and bounds.
//!
//! ```
//! use std::time::Duration;
//! use roving::policy::Amount;
//! use roving::raw::rules::*;
//!
//! // A thief that takes half of seven public tasks, or that takes three at a time or none.
//! assert_eq!((taken_of(Amount::Half, 7), least_of(Amount::Half)), (4, 1));
//! assert_eq!((taken_of(Amount::Fixed(3), 2), least_of(Amount::Fixed(3))), (0, 3));
//! assert!(taken_of(Amount::Half, 1000) <= AMOUNT_MAX);
//!
//! // An owner with one idle worker beside it shows the oldest of its ten tasks unasked, and half
//! // of the others when that one asks.
//! let shown = Shown::of(2, 1);
//! let about = About {
//!     oldest: 0,
//!     split: 1,
//!     top: 10,
//!     least: 0,
//!     unasked: shown.unasked,
//!     wanted: true,
//!     everything: false,
//! };
//! assert_eq!((shown.unasked, about.split_after()), (1, 6));
//! // It takes the newest of six public tasks back, and with it half of them.
//! assert_eq!(split_taken_back(0, 5, shown.unasked, false), 2);
//! // Beside two public ones it hides two spawned tasks; six where the line has fallen before.
//! assert_eq!([4, 5].map(|top| split_spawned(0, 2, top, false)), [2, 4]);
//! assert_eq!([8, 9].map(|top| split_spawned(0, 2, top, true)), [2, 6]);
//! assert_eq!((credit(None), credit(Some(CREDIT_TIME * 3))), (CREDIT_MAX, 3));
//!
//! // A thief looks away after a steal that was not worth its way, and longer after the next one.
//! let (way, run) = (Duration::from_micros(2), Duration::from_nanos(50));
//! assert!(!was_worth(run, way, 1));
//! assert!(look_away(1).0 > look_away(0).0);
//! // What it may do while its own task is away, and when it parks.
//! assert!(CHAIN_MAX > 1 && THEFT_COST < PATIENCE);
//! assert!(patience(4, 2) < patience(4, 4));
//! // Who answers a demand wakes a worker, and so do the publications after that one; how many a
//! // thief wakes for what it leaves; how many there can be.
//! let (wakes_one, owed) = wakes(true, 0);
//! assert!(wakes_one && owed > 0 && wakes(false, 0) == (false, 0));
//! assert!(WAKES_PER_CLAIM < WORKERS_LIMIT && SPARES_MAX < WORKERS_LIMIT);
//! ```

pub use crate::stack::policy::{
    About, CREDIT_MAX, CREDIT_TIME, Shown, credit, split_spawned, split_taken_back, wakes,
};
pub use crate::workers::settings::{SPARES_MAX, WORKERS_LIMIT};
pub use crate::workers::sleep::parts::WAKES_PER_CLAIM;
pub use crate::workers::steal::amount::{AMOUNT_MAX, least_of, taken_of};
pub use crate::workers::steal::patience::{PATIENCE, patience};
pub use crate::workers::steal::restraint::{look_away, was_worth};
pub use crate::workers::wait::{CHAIN_MAX, THEFT_COST};
