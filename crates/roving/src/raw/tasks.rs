//! Async tasks for processes, actors and pipelines: the seam of `roving-flow`.
//!
//! ```
//! use std::task::Poll;
//! use roving::raw::tasks::{Place, spawn_kept, spawn_placed, yield_to_woken};
//!
//! let pool = roving::Pool::new(2)?;
//! let place = Place::new(Some(1));
//! let mut polls = 0;
//! let polls_of_it = &mut polls;
//! let counts = std::future::poll_fn(|context| {
//!     *polls_of_it += 1;
//!     if *polls_of_it == 3 {
//!         return Poll::Ready(());
//!     }
//!     yield_to_woken(context);
//!     Poll::Pending
//! });
//! let ran_on = pool.run(|scope| {
//!     let place = &place;
//!     async move {
//!         spawn_kept(scope, counts).await;
//!         spawn_placed(scope, place, async { roving::current_worker() }).await
//!     }
//! });
//! assert_eq!(ran_on, Some(1));
//! place.set(None);
//! assert_eq!((polls, place.get()), (3, None));
//! # Ok::<(), roving::BuildError>(())
//! ```

pub use crate::context::waiting::OnCancel;
pub use crate::task::kept::spawn_kept;
pub use crate::task::placed::spawn_placed;
pub use crate::workers::frames::place::Place;
pub use crate::workers::frames::yielded::yield_to_woken;
