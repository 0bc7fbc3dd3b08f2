//! A thread that waits in a loop of its own, and runs tasks meanwhile.
//!
//! ```
//! use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
//! use roving::raw::waits::{has_pending, lent_index, run_one};
//!
//! assert_eq!((lent_index(), has_pending(), run_one(false)), (None, None, None));
//! let pool = roving::Pool::new(1)?;
//! let (ran, is_alone) = (AtomicBool::new(false), AtomicBool::new(false));
//! pool.install(|| roving::scope(|scope| {
//!     is_alone.store(lent_index() == Some(0), SeqCst);
//!     scope.spawn(|_| ran.store(true, SeqCst));
//!     assert_eq!(has_pending(), Some(true));
//!     while !ran.load(SeqCst) {
//!         run_one(true);
//!     }
//! }));
//! assert!(is_alone.into_inner());
//! # Ok::<(), roving::BuildError>(())
//! ```

use crate::workers::Worker;
use crate::workers::jobs::Jobs;
use crate::workers::on_demand::OnDemand;

/// Returns the index of the worker that the calling thread is, or stands in for. It is below the
/// number of workers, unless more compensation threads ask than workers wait; no two threads get
/// the same index at a time.
#[inline]
pub fn lent_index() -> Option<usize> {
    Worker::with_current(|worker| {
        worker.map(|worker| {
            let lending = &worker.registry().lending;
            worker.shown_index.get(lending, worker.is_spare())
        })
    })
}

/// Returns whether the calling worker has tasks that have not begun; `None` if the thread is no
/// worker.
#[inline]
pub fn has_pending() -> Option<bool> {
    Worker::with_current(|worker| worker.map(|worker| Jobs(worker).has_pending()))
}

/// Runs one pending task on top of the caller's frame, whatever it is: one of the calling worker's
/// own or, unless `own_only`, of any worker. Returns whether there was one; `None` if the caller is
/// no worker.
#[inline]
pub fn run_one(own_only: bool) -> Option<bool> {
    Worker::with_current(|worker| worker.map(|worker| OnDemand(worker).run(own_only)))
}
