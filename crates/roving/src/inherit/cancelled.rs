//! The error of what a request to stop has ended early, and its place among panics.

use std::any::Any;
use std::fmt;

use crate::machine::unwind::drop_quietly;

/// The error of work that was dropped or given up because its [`Cancel`](crate::Cancel) was
/// cancelled.
///
/// ```
/// assert_eq!(roving::CancelledError.to_string(), "cancelled before it was done");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct CancelledError;

impl fmt::Display for CancelledError {
    #[inline]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("cancelled before it was done")
    }
}

impl std::error::Error for CancelledError {}

/// The payload of a panic.
type Payload = Box<dyn Any + Send>;

/// Keeps the first payload, but rather one that is a panic than one by which work has said that it
/// was cancelled. Returns the other, which may panic when it is dropped.
#[cold]
#[inline(never)]
pub(crate) fn keep_first(first: &mut Option<Payload>, payload: Payload) -> Option<Payload> {
    match first {
        Some(kept) if !kept.is::<CancelledError>() => Some(payload),
        _ => first.replace(payload),
    }
}

/// Returns the payload that goes on, of that of a caller and of what it has waited for: the first,
/// but for the same exception. The other is dropped.
#[cold]
#[inline(never)]
pub(crate) fn first_of(first: Payload, other: Option<Payload>) -> Payload {
    let mut kept = Some(first);
    if let Some(other) = other {
        drop_quietly(keep_first(&mut kept, other));
    }
    kept.expect("one is kept")
}
