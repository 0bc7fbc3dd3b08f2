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
use crate::workers::frames::on_top;
pub use crate::workers::frames::on_top::AroundPolls;
pub use crate::workers::frames::place::Place;
pub use crate::workers::frames::yielded::yield_to_woken;

/// Names the calls around what a worker does on top of the poll of a task, from now on, in this
/// process. Returns whether they are named: false if others were before, which stay.
///
/// ```
/// use std::cell::Cell;
/// use roving::raw::tasks::{AroundPolls, around_polls};
///
/// thread_local! { static DEPTH: Cell<u32> = const { Cell::new(0) } }
/// fn count(f: &mut dyn FnMut()) {
///     DEPTH.set(DEPTH.get() + 1);
///     f();
///     DEPTH.set(DEPTH.get() - 1);
/// }
/// static COUNT: AroundPolls = AroundPolls { awaited: count, others: count };
///
/// assert!(around_polls(&COUNT));
/// let pool = roving::Pool::new(1)?;
/// let depth = pool.run(async |_| {
///     let own = DEPTH.get();
///     (own, roving::task::block_on(async { DEPTH.get() }))
/// });
/// assert_eq!(depth, (0, 1));
/// # Ok::<(), roving::BuildError>(())
/// ```
pub fn around_polls(calls: &'static AroundPolls) -> bool {
    on_top::set(calls)
}
