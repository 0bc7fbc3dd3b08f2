//! The interface between a network's watcher and what decides where its processes run.

use std::time::Duration;

use super::snapshot::NetworkFigures;

/// New places for all processes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Change {
    /// The name of this kind of placement.
    pub(super) name: &'static str,
    pub(super) places: Vec<u32>,
}

/// Decides where processes run. Knows no clock and no thread.
pub(super) trait Policy: Send {
    /// The places to begin with. Called once, before anything else.
    fn first(&mut self) -> Vec<u32>;
    /// How long until the next look.
    fn wait(&self) -> Duration;
    fn look(&mut self, seen: &NetworkFigures) -> Option<Change>;
}
