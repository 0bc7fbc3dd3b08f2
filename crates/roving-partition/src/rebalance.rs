//! The graph by which a running network is partitioned anew (Catalyurek, Boman, Devine et al.,
//! IPDPS 2007): its cut is `alpha` times what communication costs, and what migration costs.

use crate::graph::{Graph, GraphError};

/// The messages that passed along a channel.
///
/// ```
/// let traffic = roving_partition::Traffic { from: 0, to: 1, messages: 100 };
/// assert_eq!(traffic.messages, 100);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Traffic {
    /// The process that sends.
    pub from: usize,
    /// The process that receives.
    pub to: usize,
    /// The number of messages, or bytes: the unit in which communication is to be measured.
    pub messages: u64,
}

/// The work and messages of a network during some time.
///
/// ```
/// use roving_partition::Load;
///
/// assert_eq!(Load::unit(3, [(0, 1), (1, 2)]).processes, [1, 1, 1]);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Load {
    /// The processor time of each process, in nanoseconds.
    pub processes: Vec<u64>,
    /// The messages along each channel.
    pub channels: Vec<Traffic>,
}

impl Load {
    /// Creates a load of 1 for each process and each channel, for a network of which nothing is
    /// known yet.
    ///
    /// ```
    /// let load = roving_partition::Load::unit(2, [(0, 1)]);
    /// assert_eq!(load.channels[0].messages, 1);
    /// ```
    pub fn unit(processes: usize, channels: impl IntoIterator<Item = (usize, usize)>) -> Load {
        let channels = channels.into_iter().map(|(from, to)| Traffic {
            from,
            to,
            messages: 1,
        });
        Load {
            processes: vec![1; processes],
            channels: channels.collect(),
        }
    }

    /// Builds the graph whose vertices are the processes and whose edges are the channels; channels
    /// between the same two processes become one edge. The first partition is made from it.
    ///
    /// # Errors
    /// A channel has an end at a process that is not there; or the sums are too great.
    ///
    /// ```
    /// use roving_partition::Load;
    ///
    /// let graph = Load::unit(2, [(0, 1), (1, 0)]).graph()?;
    /// assert_eq!(graph.neighbours(0).collect::<Vec<_>>(), [(1, 2)]);
    /// # Ok::<(), roving_partition::GraphError>(())
    /// ```
    pub fn graph(&self) -> Result<Graph, GraphError> {
        let mut graph = Graph::builder();
        for &weight in &self.processes {
            graph.vertex(weight);
        }
        for channel in &self.channels {
            graph.edge(channel.from, channel.to, channel.messages);
        }
        graph.build()
    }
}

/// The cost of migrating a process, in units of messages.
///
/// ```
/// use roving_partition::MigrationCost;
///
/// assert_eq!(MigrationCost::Fixed(16).of(1_000_000), 16);
/// let fading = MigrationCost::Fading { cost: 16, half_ns: 1_000_000 };
/// assert_eq!((fading.of(0), fading.of(1_000_000), fading.of(3_000_000)), (16, 8, 4));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MigrationCost {
    /// One cost for all processes.
    Fixed(u64),
    /// Less the longer it has been blocked, because ever less of it is in its worker's cache: half
    /// of `cost` after `half_ns`, a third after twice as long.
    Fading {
        /// Of a process that has just run.
        cost: u64,
        /// After how many nanoseconds it is half of that.
        half_ns: u64,
    },
}

impl MigrationCost {
    /// Returns the cost for a process that has been blocked for that many nanoseconds.
    ///
    /// ```
    /// assert_eq!(roving_partition::MigrationCost::Fixed(3).of(0), 3);
    /// ```
    pub fn of(self, blocked_ns: u64) -> u64 {
        match self {
            MigrationCost::Fixed(cost) => cost,
            MigrationCost::Fading { cost, half_ns } => {
                let half = u128::from(half_ns.max(1));
                (u128::from(cost) * half / (half + u128::from(blocked_ns))) as u64
            }
        }
    }
}

/// The problem of partitioning a running network anew.
///
/// The graph has the processes first, in their order, then one vertex of weight zero for each part,
/// pinned to it. The edge between two processes weighs `alpha` times what passed between them; the
/// edge from a process to the vertex of the part that it is in now weighs what its migration costs.
///
/// ```
/// use roving_partition::{Load, MigrationCost, Rebalance};
///
/// let load = Load::unit(3, [(0, 1), (1, 2)]);
/// let rebalance = Rebalance {
///     load: &load,
///     now: &[0, 0, 1],
///     blocked_ns: &[],
///     parts: 2,
///     alpha: 10,
///     migration_cost: MigrationCost::Fixed(16),
/// };
/// let graph = rebalance.graph()?;
/// assert_eq!((graph.vertices(), graph.pin(3), graph.pin(4)), (5, Some(0), Some(1)));
/// assert_eq!(graph.neighbours(2).collect::<Vec<_>>(), [(1, 10), (4, 16)]);
/// assert_eq!(rebalance.start(), [0, 0, 1, 0, 1]);
/// # Ok::<(), roving_partition::GraphError>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Rebalance<'a> {
    /// The work and messages of the network.
    pub load: &'a Load,
    /// The part that each process is in.
    pub now: &'a [u32],
    /// The time for which each process has been blocked, in nanoseconds: 0 for those that are not
    /// listed.
    pub blocked_ns: &'a [u64],
    /// Number of parts.
    pub parts: usize,
    /// The weight of communication against migration: how many times as much traffic as has been
    /// seen is expected until the next time.
    pub alpha: u64,
    /// The cost of migrating a process.
    pub migration_cost: MigrationCost,
}

impl Rebalance<'_> {
    /// Builds the graph.
    ///
    /// # Errors
    /// A channel has an end at a process that is not there; or the sums are too great, for instance
    /// by a great `alpha`.
    ///
    /// ```
    /// use roving_partition::{Load, MigrationCost, Rebalance};
    ///
    /// let load = Load::unit(1, [(0, 5)]);
    /// let now = &[0];
    /// let migration_cost = MigrationCost::Fixed(1);
    /// let rebalance = Rebalance { load: &load, now, blocked_ns: &[], parts: 1, alpha: 1, migration_cost };
    /// assert!(rebalance.graph().is_err());
    /// ```
    pub fn graph(&self) -> Result<Graph, GraphError> {
        self.graph_where(|_| false)
    }

    /// Builds the graph in which the processes for which `stays` is true are pinned to their
    /// present part.
    ///
    /// # Errors
    /// As [`Self::graph`].
    ///
    /// ```
    /// use roving_partition::{Load, MigrationCost, Rebalance};
    ///
    /// let load = Load::unit(2, []);
    /// let now = &[1, 0];
    /// let migration_cost = MigrationCost::Fixed(1);
    /// let rebalance = Rebalance { load: &load, now, blocked_ns: &[], parts: 2, alpha: 1, migration_cost };
    /// let graph = rebalance.graph_where(|process| process == 0)?;
    /// assert_eq!((graph.pin(0), graph.pin(1)), (Some(1), None));
    /// # Ok::<(), roving_partition::GraphError>(())
    /// ```
    pub fn graph_where(&self, stays: impl Fn(usize) -> bool) -> Result<Graph, GraphError> {
        let processes = self.load.processes.len();
        let mut graph = Graph::builder();
        for (process, &weight) in self.load.processes.iter().enumerate() {
            let vertex = graph.vertex(weight);
            if let (true, Some(&part)) = (stays(process), self.now.get(process)) {
                graph.pin(vertex, part as usize);
            }
        }
        for part in 0..self.parts {
            graph.pinned(part);
        }
        for channel in &self.load.channels {
            for end in [channel.from, channel.to] {
                if end >= processes {
                    let vertices = processes;
                    return Err(GraphError::Edge { end, vertices });
                }
            }
            let weight = channel.messages.saturating_mul(self.alpha);
            graph.edge(channel.from, channel.to, weight);
        }
        for (process, &part) in self.now.iter().enumerate() {
            let blocked_ns = self.blocked_ns.get(process).copied().unwrap_or(0);
            let cost = self.migration_cost.of(blocked_ns);
            graph.edge(process, processes + part as usize, cost);
        }
        graph.build()
    }

    /// Returns the present partition, as one of [`Self::graph`].
    ///
    /// ```
    /// use roving_partition::{Load, MigrationCost, Rebalance};
    ///
    /// let load = Load::unit(1, []);
    /// let migration_cost = MigrationCost::Fixed(1);
    /// let rebalance = Rebalance { load: &load, now: &[1], blocked_ns: &[], parts: 2, alpha: 1, migration_cost };
    /// assert_eq!(rebalance.start(), [1, 0, 1]);
    /// ```
    pub fn start(&self) -> Vec<u32> {
        self.now
            .iter()
            .copied()
            .chain(0..self.parts as u32)
            .collect()
    }
}
