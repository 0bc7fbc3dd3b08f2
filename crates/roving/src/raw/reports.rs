//! Traces and reports of standstills: whether somebody asks for them, and a way to add to them.
//!
//! ```
//! use roving::raw::reports::{keeps_trace, tell_standstill, watch_patience};
//!
//! roving::watch::on_report(|text| assert!(text.contains("two ports wait")));
//! if watch_patience().is_none() && !keeps_trace() {
//!     tell_standstill("two ports wait for each other");
//! }
//! ```

use std::time::Duration;

use crate::observe::{diagnostics, watch};

/// Returns whether a pool of this process keeps a trace, so that spans are worth their names.
#[inline]
pub fn keeps_trace() -> bool {
    crate::observe::trace::is_on()
}

/// The patience that `ROVING_WATCH` asks for.
#[inline]
pub fn watch_patience() -> Option<Duration> {
    diagnostics::patience()
}

/// Gives a report of a standstill to [`watch::on_report`]'s function, or
/// to standard error.
#[inline]
pub fn tell_standstill(text: &str) {
    watch::tell(text);
}
