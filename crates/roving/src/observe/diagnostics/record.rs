//! The figures of a pool that are written, at one time.

use crate::stats::lane::Lane;
use crate::stats::{Keep, Profile};
use crate::workers::registry::Registry;

/// The statistics that a pool leaves behind.
pub(super) struct Record {
    pub(super) name: String,
    /// Entries of the profile from here on are those of compensation threads.
    pub(super) workers: usize,
    pub(super) profile: Profile,
    pub(super) lanes: Vec<Lane>,
}

impl Record {
    /// Of a pool, so far.
    pub(super) fn of(registry: &Registry) -> Record {
        let lanes = match registry.settings.keep() {
            Keep::Trace => registry.seats.lanes(),
            Keep::Nothing | Keep::Times => Vec::new(),
        };
        Record {
            name: registry.settings.name.clone(),
            workers: registry.workers(),
            profile: registry.seats.profile(),
            lanes,
        }
    }
}
