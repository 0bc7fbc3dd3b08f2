//! Processes that move by themselves: rank 0 partitions the network anew when its workers have been
//! idle.

use std::time::Duration;

use roving_flow::Placement;
use roving_partition::MigrationCost;

/// The settings for spreading the movable processes of a network over the ranks anew: see
/// [`Network::rebalance`](crate::Network::rebalance). They are named as in
/// [`Placement::Partitioned`], which does the same with the workers of one rank.
///
/// ```
/// use roving_dist::Rebalance;
/// use std::time::Duration;
///
/// let mut often = Rebalance::default();
/// often.every = Duration::from_millis(20);
/// assert_eq!(often.alpha, 1);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Rebalance {
    /// How often each rank tells rank 0 the time and the messages of its processes.
    pub every: Duration,
    /// The idle time, summed over the workers of all ranks, after which the network is partitioned
    /// anew. It doubles, up to 64 times, as long as that makes workers no less idle.
    pub idle_threshold: Duration,
    /// The weight of communication against migration.
    pub alpha: u64,
    /// The cost of moving a process, in messages. A [fading](MigrationCost::Fading) cost counts as
    /// for a process that has just run.
    pub migration_cost: MigrationCost,
    /// The share of the mean by which a rank's load may exceed it. No process moves to make the
    /// heaviest rank lighter by less than that.
    pub imbalance: f64,
}

impl Default for Rebalance {
    /// Every 50 ms, an idle threshold of 100 ms, `alpha` 1, 64 messages for a move, 10 % imbalance.
    ///
    /// ```
    /// assert_eq!(roving_dist::Rebalance::default().imbalance, 0.1);
    /// ```
    fn default() -> Rebalance {
        Rebalance {
            every: Duration::from_millis(50),
            idle_threshold: Duration::from_millis(100),
            alpha: 1,
            migration_cost: MigrationCost::Fixed(64),
            imbalance: 0.1,
        }
    }
}

impl Rebalance {
    /// Converts the settings to a placement of one rank's network.
    pub(super) fn placement(&self) -> Placement {
        Placement::Partitioned {
            idle_threshold: self.idle_threshold,
            alpha: self.alpha,
            migration_cost: self.migration_cost,
            imbalance: self.imbalance,
            topology: false,
        }
    }

    /// Checks the figures, and returns an error of one line.
    pub(super) fn check(&self) -> Result<(), String> {
        let allowed = Duration::from_millis(1)..=Duration::from_secs(3600);
        match allowed.contains(&self.every) {
            true => self.placement().check(),
            false => Err(format!(
                "to rebalance every {:?}; allowed are 1 ms to 1 h: 50 ms is usual",
                self.every
            )),
        }
    }

    /// To be compared between ranks.
    pub(super) fn words(&self) -> String {
        format!("{self:?}")
    }
}
