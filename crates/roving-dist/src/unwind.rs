//! The text of a panic, and locks that it left.

use std::any::Any;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The message of a panic, if it is text.
pub(crate) fn text(payload: &(dyn Any + Send)) -> &str {
    if let Some(text) = payload.downcast_ref::<&str>() {
        text
    } else if let Some(text) = payload.downcast_ref::<String>() {
        text
    } else {
        "a panic without text"
    }
}

/// Locks, whatever has happened under the lock before.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
