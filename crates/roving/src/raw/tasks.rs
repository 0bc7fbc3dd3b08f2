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

use std::ptr;
use std::task::Waker;

pub use crate::context::waiting::OnCancel;
pub use crate::task::kept::spawn_kept;
pub use crate::task::placed::spawn_placed;
pub use crate::workers::frames::place::Place;
pub use crate::workers::frames::yielded::yield_to_woken;
use crate::workers::frames::{local::Local, waker::frame_of};

/// Returns whether the calling thread polls the task of this waker, and no other one on top of it.
///
/// ```
/// use std::task::Poll;
/// use roving::raw::tasks::is_polling;
///
/// roving::task::block_on(std::future::poll_fn(|context| {
///     let waker = context.waker().clone();
///     assert!(is_polling(&waker));
///     roving::context::with("a context", || assert!(is_polling(&waker)));
///     roving::task::block_on(async { assert!(!is_polling(&waker)) });
///     Poll::Ready(())
/// }));
/// ```
#[must_use]
pub fn is_polling(waker: &Waker) -> bool {
    let of_waker = frame_of(waker);
    Local::with(|local| of_waker.is_some_and(|frame| ptr::eq(frame.as_ptr(), local.polled())))
}
