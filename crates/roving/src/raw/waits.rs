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
use crate::workers::job_runs::Jobs;
use crate::workers::on_demand::OnDemand;

/// Returns the index of the worker that the calling thread is, or stands in for.
///
/// It is `None` if the thread is neither, and in a region that [blocks](crate::blocking). No two
/// threads that run get the same index at a time. It is below the number of workers, but for a job
/// that began on a compensation thread before anybody in the pool had asked for an index, if that
/// worker goes on before the job asks, and for one that begins there when the threads of all
/// workers are gone: then it is no worker's.
#[inline]
pub fn lent_index() -> Option<usize> {
    Worker::with_current(|worker| {
        worker.and_then(|worker| worker.shown_index.get(&worker.registry().lending))
    })
}

/// Returns whether the calling worker has tasks that have not begun; `None` if the thread is no
/// worker.
#[inline]
pub fn has_pending() -> Option<bool> {
    Worker::with_current(|worker| worker.map(|worker| Jobs(worker).has_pending()))
}

/// Runs one pending task on top of the caller's frame, whatever it is: one of the calling worker's
/// own or, unless `own_only`, of any worker. Of its own detached ones come first, the newest of
/// them, then the newest of the innermost scope or task; where that is a half of a `join`, or a
/// task is polled beneath, the oldest. A task in the queue of its scope is nobody's own. What it
/// makes is no child of the task that is polled beneath. Returns whether there was one; `None` if
/// the caller is no worker.
#[inline]
pub fn run_one(own_only: bool) -> Option<bool> {
    Worker::with_current(|worker| worker.map(|worker| OnDemand(worker).run(own_only)))
}
