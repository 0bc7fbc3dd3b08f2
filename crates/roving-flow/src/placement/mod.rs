//! Where the processes of a network run.

mod across;
mod adaptive;
mod groups;
mod partitioned;
mod policy;
mod snapshot;
mod watch;

use std::time::Duration;

use roving_partition::MigrationCost;

pub use across::{Across, Figures};
pub(crate) use groups::Grouped;
pub(crate) use snapshot::PlacedNetwork;
pub use watch::Moved;
pub(crate) use watch::Placer;

/// The policy by which the processes of a network are spread over the workers.
///
/// ```
/// use roving_flow::{Network, Placement};
///
/// let pool = roving::Pool::new(2).unwrap();
/// for placement in [Placement::Stealing, Placement::partitioned(), Placement::adaptive()] {
///     let mut network = Network::new();
///     network.placement(placement);
///     let (out, input) = network.channel("numbers");
///     network.process("count", out, async |mut out| {
///         for n in 0..100_u32 {
///             out.send(n).await.unwrap();
///         }
///     });
///     network.process("add", input, async |mut input| {
///         let mut sum = 0;
///         while let Some(n) = input.recv().await {
///             sum += n;
///         }
///         assert_eq!(sum, 4950);
///     });
///     network.run(&pool).unwrap();
/// }
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub enum Placement {
    /// Each process runs where it was woken, or where a worker without work took it to. Best as
    /// long as messages carry microseconds of work.
    #[default]
    Stealing,
    /// Each process has its worker, by partitioning the graph of the network: first as if all
    /// processes and channels were alike, then, whenever the workers have been idle for
    /// `idle_threshold` since the last time, all together, by what they have spent (Devine et al.).
    /// Networks of more than 100,000 processes are partitioned by groups of processes that talk.
    Partitioned {
        /// Idle time, summed over the workers, after which the network is partitioned anew.
        idle_threshold: Duration,
        /// How much communication weighs against migration.
        alpha: u64,
        /// The cost of migrating a process, in messages.
        migration_cost: MigrationCost,
        /// By which share of the mean a worker's load may exceed it.
        imbalance: f64,
        /// Whether communication is weighed by how far the workers' processors are apart
        /// ([`Distances::of_machine`](roving_partition::Distances::of_machine)). Only where the
        /// pool pins its workers does a worker stay where it is.
        topology: bool,
    },
    /// Stealing, as long as messages carry work. Where they are tiny, partitioning and a single
    /// worker are tried now and then, in turns of some milliseconds with what there is, and kept
    /// where more messages pass. Networks of more than 100,000 processes are left to stealing.
    Adaptive {
        /// Worker time a message below which other placements than stealing are tried.
        grain: Duration,
        /// How long a turn is.
        trial: Duration,
        /// By which share partitioning, or stealing again, must be faster to be kept. A single
        /// worker leaves processors to others, and has to be faster only.
        margin: f64,
    },
}

impl Placement {
    /// Returns [`Placement::Partitioned`] with `idle_threshold` 20 ms, `alpha` 1, a migration cost
    /// of 16 messages as in Nornir, 3 % imbalance, and all workers at the same distance.
    ///
    /// ```
    /// use roving_flow::Placement;
    ///
    /// let placement = Placement::partitioned();
    /// assert!(matches!(placement, Placement::Partitioned { alpha: 1, .. }));
    /// ```
    pub fn partitioned() -> Placement {
        Placement::Partitioned {
            idle_threshold: Duration::from_millis(20),
            alpha: 1,
            migration_cost: MigrationCost::Fixed(16),
            imbalance: 0.03,
            topology: false,
        }
    }

    /// Returns [`Placement::Adaptive`] with a grain of 2 µs, trials of 5 ms and a margin of a
    /// tenth.
    ///
    /// ```
    /// use roving_flow::Placement;
    ///
    /// assert!(matches!(Placement::adaptive(), Placement::Adaptive { .. }));
    /// ```
    pub fn adaptive() -> Placement {
        Placement::Adaptive {
            grain: Duration::from_micros(2),
            trial: Duration::from_millis(5),
            margin: 0.1,
        }
    }

    /// Checks the figures, and returns an error of one line.
    #[doc(hidden)]
    pub fn check(&self) -> Result<(), String> {
        let share = |name, value: f64| match (0.0..=100.0).contains(&value) {
            true => Ok(()),
            false => Err(format!(
                "{name} of {value}; allowed are 0 to 100: it is a share, 0.03 means 3 %"
            )),
        };
        match *self {
            Placement::Partitioned { imbalance, .. } => share("an imbalance", imbalance),
            Placement::Adaptive { trial, margin, .. } => {
                let allowed = Duration::from_micros(100)..=Duration::from_secs(10);
                if !allowed.contains(&trial) {
                    return Err(format!(
                        "a trial of {trial:?}; allowed are 100 µs to 10 s: 5 ms is usual"
                    ));
                }
                share("a margin", margin)
            }
            Placement::Stealing => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::Placement;

    #[test]
    fn figures_out_of_range_are_named_with_range_and_remedy() {
        let Placement::Adaptive { grain, trial, .. } = Placement::adaptive() else {
            panic!("not adaptive");
        };
        let told = |trial, margin| {
            let placement = Placement::Adaptive {
                grain,
                trial,
                margin,
            };
            placement.check().unwrap_err()
        };
        assert_eq!(
            told(trial, f64::NAN),
            "a margin of NaN; allowed are 0 to 100: it is a share, 0.03 means 3 %"
        );
        assert_eq!(
            told(Duration::ZERO, 0.1),
            "a trial of 0ns; allowed are 100 µs to 10 s: 5 ms is usual"
        );
        assert_eq!(Placement::adaptive().check(), Ok(()));
        assert_eq!(Placement::partitioned().check(), Ok(()));
    }
}
