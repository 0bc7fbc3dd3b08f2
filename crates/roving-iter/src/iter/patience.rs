//! A lock that is mostly free, or free soon, and may be held by who waits for other tasks.

use std::hint;
use std::sync::{LockResult, Mutex, MutexGuard, TryLockError};

/// Hints to the processor between two looks at a lock that another worker has.
const PAUSE: u32 = 32;
/// Looks until a worker sleeps: after ten microseconds or so.
const LOOKS: u32 = 32;

/// Calls `f` with what is locked.
///
/// Who holds it may wait for what needs this worker, so to sleep for it gives the core away
/// ([`roving::blocking`]). With what `f` has found in hand, because who comes back from a blocking
/// region may wait for others, and holds no lock by then.
pub(super) fn with_lock<T, R>(
    mutex: &Mutex<T>,
    f: impl FnOnce(LockResult<MutexGuard<'_, T>>) -> R,
) -> R {
    match try_lock(mutex) {
        Some(locked) => f(locked),
        None => roving::blocking(|| f(mutex.lock())),
    }
}

/// Most need it for nanoseconds. To sleep for it takes a thousand times as long, for the sleeper
/// and for who has to wake it; and to take turns brings the lines of the lock, and of what is
/// beside it, from one core to the other. So who finds the lock taken pauses, and meanwhile the
/// other takes it many times. Who waits under it takes longer than all the pauses: then there is
/// none.
fn try_lock<T>(mutex: &Mutex<T>) -> Option<LockResult<MutexGuard<'_, T>>> {
    for _ in 0..LOOKS {
        match mutex.try_lock() {
            Ok(locked) => return Some(Ok(locked)),
            Err(TryLockError::Poisoned(poisoned)) => return Some(Err(poisoned)),
            Err(TryLockError::WouldBlock) => (0..PAUSE).for_each(|_| hint::spin_loop()),
        }
    }
    None
}
