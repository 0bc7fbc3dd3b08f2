//! The settings of a run, as all parts of the simulator read them.

use roving::policy::Amount;

use super::machine::Topology;

/// Slots of one task stack, for spawned tasks; what goes beyond runs in place.
pub(super) const SLOTS: usize = 1 << 13;

/// The settings that hold throughout a run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rules {
    pub(super) workers: usize,
    /// How many threads can run at a time.
    pub(super) cores: usize,
    /// Tasks sleep, and leave their core to others meanwhile.
    pub(super) naps: bool,
    /// Compensation threads that run tasks.
    pub(super) spares: usize,
    /// How many threads there should be that are not parked in a wait.
    pub(super) target: usize,
    pub(super) amount: Amount,
    /// The fewest public tasks of which a thief takes any.
    pub(super) least: u32,
    pub(super) topology: Topology,
    /// Half of the times thieves look into their own socket first.
    pub(super) near_first: bool,
    /// How many tasks are public before anybody asks; the same for spawned ones; the same while
    /// publications are rare.
    pub(super) unasked: u32,
    pub(super) thieves: u32,
    pub(super) wide: u32,
}
