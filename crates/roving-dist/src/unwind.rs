//! The text of a panic, its going on, and locks that it left.

use std::any::Any;
use std::panic;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

use roving::CancelledError;

/// The message of a panic, if it is text.
pub(crate) fn text(payload: &(dyn Any + Send)) -> &str {
    if let Some(text) = payload.downcast_ref::<&str>() {
        text
    } else if let Some(text) = payload.downcast_ref::<String>() {
        text
    } else if payload.is::<CancelledError>() {
        "it was cancelled"
    } else {
        "a panic without text"
    }
}

/// Goes on with a panic, if it was one.
pub(crate) fn resumed<V>(outcome: thread::Result<V>) -> V {
    outcome.unwrap_or_else(|payload| panic::resume_unwind(payload))
}

/// Locks, whatever has happened under the lock before.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::text;

    #[test]
    fn a_panic_says_what_it_is() {
        let token = roving::Cancel::new();
        token.cancel();
        let cancelled = token.run(|| ()).unwrap_err();
        assert_eq!(text(&cancelled), "it was cancelled");
        assert_eq!(text(&"one"), "one");
        assert_eq!(text(&"two".to_owned()), "two");
        assert_eq!(text(&3), "a panic without text");
    }
}
