//! A fault plan for ranks that are threads: what fails between them, and how slow they are.

use std::time::Duration;

use super::pulse::SILENCE_MAX;

/// A test plan for ranks that are threads of one process: how their packets travel, at once by
/// default. A seed makes the same delays each time, though not the same schedule.
///
/// ```
/// use roving_dist::{Plan, World};
/// use std::time::Duration;
///
/// let plan = Plan::new(3).seed(7).delay_max(Duration::from_micros(300));
/// let ranks = World::threads_with(&plan, |world| {
///     world.barrier().unwrap();
///     world.rank()
/// });
/// assert_eq!(ranks, [0, 1, 2]);
/// ```
#[derive(Clone, Debug)]
pub struct Plan {
    pub(crate) ranks: usize,
    pub(crate) seed: u64,
    pub(crate) delay_max: Duration,
    pub(crate) silence_max: Duration,
    pub(crate) lost: Option<(usize, u64)>,
}

impl Plan {
    /// Creates a plan for so many ranks, at least one, without faults.
    ///
    /// ```
    /// let plan = roving_dist::Plan::new(2);
    /// assert_eq!(roving_dist::World::threads_with(&plan, |world| world.ranks()), [2, 2]);
    /// ```
    pub fn new(ranks: usize) -> Plan {
        Plan {
            ranks: ranks.max(1),
            seed: 0,
            delay_max: Duration::ZERO,
            silence_max: SILENCE_MAX,
            lost: None,
        }
    }

    /// Sets the seed from which the delays are drawn.
    ///
    /// ```
    /// let plan = roving_dist::Plan::new(1).seed(3);
    /// assert_eq!(roving_dist::World::threads_with(&plan, |world| world.ranks()), [1]);
    /// ```
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Plan {
        self.seed = seed;
        self
    }

    /// Sets the longest delay of a packet. Packets of different pairs of ranks then overtake each
    /// other; those from one rank to another never do.
    ///
    /// ```
    /// let plan = roving_dist::Plan::new(2).delay_max(std::time::Duration::from_micros(50));
    /// let sums = roving_dist::World::threads_with(&plan, |world| {
    ///     let parts = world.all_gather(&[world.rank() as u8 + 1]).unwrap();
    ///     parts.iter().map(|part| part[0]).sum::<u8>()
    /// });
    /// assert_eq!(sums, [3, 3]);
    /// ```
    #[must_use]
    pub fn delay_max(mut self, delay: Duration) -> Plan {
        self.delay_max = delay;
        self
    }

    /// Drops all packets of this rank from its `packets`th on, as if it had been killed. The others
    /// are to notice: see [`Self::silence_max`].
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// let plan = roving_dist::Plan::new(2).lose(1, 0).silence_max(Duration::from_millis(300));
    /// let errors = roving_dist::World::threads_with(&plan, |world| world.barrier().unwrap_err());
    /// assert_eq!(errors[0].rank(), Some(1));
    /// ```
    #[must_use]
    pub fn lose(mut self, rank: usize, packets: u64) -> Plan {
        self.lost = Some((rank, packets));
        self
    }

    /// Sets how long a rank may be silent before the run ends.
    ///
    /// ```
    /// let plan = roving_dist::Plan::new(2).silence_max(std::time::Duration::from_secs(60));
    /// assert_eq!(roving_dist::World::threads_with(&plan, |world| world.rank()), [0, 1]);
    /// ```
    #[must_use]
    pub fn silence_max(mut self, silence: Duration) -> Plan {
        self.silence_max = silence;
        self
    }
}
