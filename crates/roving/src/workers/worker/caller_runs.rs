//! Pools without threads: who enters one is its worker meanwhile.

use std::panic::{self, AssertUnwindSafe};
use std::sync::{Arc, PoisonError, TryLockError};
use std::thread;

use super::{Worker, drawn};
use crate::stats::Activity;
use crate::workers::jobs::Jobs;
use crate::workers::priority::Priority;
use crate::workers::registry::Registry;

/// Makes the calling thread the worker of an in-place pool, and runs what the pool holds. If
/// it is that already, further out, it becomes so once more.
pub(crate) fn be_in_place<R>(registry: &Arc<Registry>, f: impl FnOnce() -> R) -> R {
    let outermost = !Worker::is_or_was(registry);
    let lock = || {
        registry
            .in_place
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    };
    let guard = outermost.then(lock);
    let result = in_place_held(registry, outermost, f);
    drop(guard);
    if outermost {
        run_left_in_place(registry);
    }
    if outermost && result.is_err() {
        drawn::say_seed(registry);
    }
    result.unwrap_or_else(|payload| panic::resume_unwind(payload))
}

/// Runs the jobs that an in-place pool holds. Where another thread has the pool, that will: who
/// lets go of it looks here, and the queue's own lock sees to it that one of the two finds the
/// job: either that look comes after the push, or this one, which follows the push, after the
/// pool was let go.
pub(crate) fn run_left_in_place(registry: &Arc<Registry>) {
    while registry.injector.has_not_below(Priority::Low) {
        let guard = match registry.in_place.try_lock() {
            Ok(guard) => guard,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return,
        };
        let result = in_place_held(registry, true, || ());
        drop(guard);
        result.unwrap_or_else(|payload| panic::resume_unwind(payload));
    }
}

/// The calling thread has the lock of the in-place pool: just taken (`outermost`), or further
/// out.
fn in_place_held<R>(
    registry: &Arc<Registry>,
    outermost: bool,
    f: impl FnOnce() -> R,
) -> thread::Result<R> {
    let index = drawn::draw_entrance(registry);
    // SAFETY: the lock, which the caller has, makes this thread the only one.
    unsafe {
        Worker::be(Arc::clone(registry), index, |worker| {
            let before = worker.clock().enter(Activity::Busy);
            // The context that the thread is in goes with it.
            let run = || panic::catch_unwind(AssertUnwindSafe(f));
            let result = worker.segment(|| worker.framed(run));
            if outermost {
                Jobs(worker).run_jobs();
            }
            worker
                .clock()
                .enter(if outermost { Activity::Idle } else { before });
            result
        })
    }
}
