//! Where workers are parked, in pools that are watched.

#[cfg(not(feature = "diagnostics"))]
mod absent;
#[cfg(feature = "diagnostics")]
mod watch;

#[cfg(not(feature = "diagnostics"))]
pub(crate) use absent::ParkTable;
#[cfg(feature = "diagnostics")]
pub(crate) use watch::{FILE, ParkTable, WatchedThread};

/// The reason for which a worker is parked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ParkReason {
    /// Tasks that others have.
    Task,
    /// Something that need not be work of this pool: an event that a root of async tasks waits for,
    /// a call into another pool.
    Event,
    /// It is in `blocking`.
    Blocks,
}
