//! Regions in which a worker blocks in a call that the runtime does not know.

use std::panic::{self, AssertUnwindSafe};

use crate::workers::Worker;
use crate::workers::wait::Wait;

/// Calls `f`, which may block the thread (in the operating system, on a lock, on a device), while a
/// compensation thread of the pool takes the calling worker's core.
///
/// All tasks that the worker has pushed become public first, so other workers can go on with them.
/// A pool has up to 256 compensation threads; when all are in use, or none can be started, the core
/// stays idle until `f` returns. In a profile the time counts as idle. On a thread that is no
/// worker, and in pools without compensation threads
/// ([`PoolBuilder::caller_runs`](crate::PoolBuilder::caller_runs)), it just calls
/// `f`.
///
/// Costs the wake-up of a compensation thread, and the start of one when none is idle: worth it for
/// calls that block for tens of microseconds or more. `f` may call [`join`](crate::join) and the
/// like, and may be nested; then more threads than cores may run for that long.
///
/// # Panics
/// If `f` panics.
///
/// ```
/// use std::sync::mpsc;
///
/// let pool = roving::Pool::new(1).unwrap();
/// let (sender, receiver) = mpsc::channel();
/// let received = pool.install(move || {
///     roving::spawn(move || sender.send("from a task").unwrap());
///     // The only worker waits for a task that has not begun.
///     roving::blocking(|| receiver.recv().unwrap())
/// });
/// assert_eq!(received, "from a task");
/// ```
pub fn blocking<F, R>(f: F) -> R
where
    F: FnOnce() -> R,
{
    Worker::with_waiting(|worker| match worker {
        None => f(),
        Some(worker) => {
            let result = Wait(worker).blocking(|| panic::catch_unwind(AssertUnwindSafe(f)));
            result.unwrap_or_else(|payload| panic::resume_unwind(payload))
        }
    })
}
