//! The error of what a request to stop has ended early.

use std::fmt;

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
