//! Dropping of tasks that were cancelled before they began.

use crate::inherit::node;
use crate::stats::bump;
use crate::workers::Worker;

/// Whether what is about to begin on this thread, in the context that this is in, is to be dropped
/// instead. Counts it, then.
#[inline]
pub(crate) fn is_dropped() -> bool {
    let is_dropped = node::is_cancelled();
    if is_dropped {
        count_dropped();
    }
    is_dropped
}

/// Something was dropped instead of begun.
#[inline]
pub(crate) fn count_dropped() {
    Worker::with_current(|worker| {
        if let Some(worker) = worker {
            bump(&worker.tally().tasks_dropped, 1);
        }
    });
}

/// A detached task's turn has come: whether it is dropped instead, because its pool is being
/// stopped. Counts it, then.
#[inline]
pub(crate) fn drops() -> bool {
    let is_dropped = Worker::with_current(|worker| {
        let stopping = worker.map(|worker| &worker.registry().stopping);
        let stopping = stopping.filter(|stopping| stopping.is_on());
        stopping.inspect(|stopping| stopping.count()).is_some()
    });
    if is_dropped {
        count_dropped();
    }
    is_dropped
}
