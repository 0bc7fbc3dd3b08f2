//! The text of a panic's payload.

use std::any::Any;

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
