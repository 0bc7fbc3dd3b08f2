//! Where a panic ends or goes on, its text, and locks that it left.

use std::any::Any;
use std::panic::{self, AssertUnwindSafe};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

use roving::CancelledError;
use roving::raw::panics;

pub(crate) use roving::raw::panics::drop_quietly;

/// The message of a panic, if it is text.
pub(crate) fn text(payload: &(dyn Any + Send)) -> &str {
    match panics::text(payload) {
        Some(text) => text,
        None if payload.is::<CancelledError>() => "it was cancelled",
        None => "a panic without text",
    }
}

/// Calls `f`, code of the program. A panic ends here, also one in the drop of its payload; the
/// error is its text.
pub(crate) fn contain<R>(f: impl FnOnce() -> R) -> Result<R, String> {
    panic::catch_unwind(AssertUnwindSafe(f)).map_err(|payload| {
        let text = text(&*payload).to_owned();
        drop_quietly(payload);
        text
    })
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
    use super::{contain, text};

    #[test]
    fn a_panic_says_what_it_is() {
        let token = roving::Cancel::new();
        token.cancel();
        let cancelled = token.run(|| ()).unwrap_err();
        assert_eq!(text(&cancelled), "it was cancelled");
        assert_eq!(text(&"one"), "one");
        assert_eq!(text(&3), "a panic without text");
        assert_eq!(contain(|| 7), Ok(7));
        let told = contain(|| std::panic::panic_any(3));
        assert_eq!(told, Err::<(), _>("a panic without text".to_owned()));
    }
}
