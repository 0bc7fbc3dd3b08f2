//! What is to go wrong between ranks that are threads, and how slowly.

use std::time::Duration;

/// How packets travel between ranks that are threads of one process: at once, unless told otherwise. For
/// tests: a seed makes the same delays each time, though not the same schedule.
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
    /// So many ranks, at least one, and nothing wrong between them.
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
            silence_max: super::SILENCE_MAX,
            lost: None,
        }
    }

    /// What the delays are drawn from.
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

    /// Each packet is under way for up to so long. So packets of different pairs of ranks overtake each
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

    /// From its `packets`th packet on, nothing that this rank sends arrives, as if it had been killed. The
    /// others are to notice: see [`Self::silence_max`].
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

    /// How long a rank may be silent before the run ends.
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
