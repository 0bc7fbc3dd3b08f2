//! Graph partitioning: a [`Graph`] with weights is divided into parts of about equal weight, so
//! that the edges between parts weigh as little as possible. It is for programs that place work on
//! threads or machines.
//!
//! ```
//! use roving_partition::{Graph, KWay, Partitioner, Problem};
//!
//! // A path of four, whose edge in the middle is the lightest.
//! let mut graph = Graph::builder();
//! let stops: Vec<usize> = (0..4).map(|_| graph.vertex(1)).collect();
//! for (at, weight) in [(0, 9), (1, 1), (2, 9)] {
//!     graph.edge(stops[at], stops[at + 1], weight);
//! }
//! let graph = graph.build()?;
//! let problem = Problem::new(&graph, 2)?;
//! assert_eq!(KWay::new(1).partition(&problem).cut(), 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | for | use |
//! |---|---|
//! | vertices, edges, and what is pinned to a part | [`Graph::builder`] |
//! | how many parts, how even, and where to begin | [`Problem`] |
//! | parts that are not equally far from each other | [`Distances`] |
//! | a partition, and what it came to | [`KWay`], [`Partition`] |
//! | moving what runs already, where that costs something | [`Load`], [`Rebalance`] |
//! | a partitioner of your own | [`Partitioner`] |
//!
//! Vertices can be pinned to a part, with weight zero, and parts can be at different [`Distances`].
//! Scheduling process networks by partitioning needs both, which no other partitioner had (Vrba et
//! al., *Limits of Work-Stealing Scheduling*, 2009, appendix D).
//!
//! # Limits
//!
//! Needs `std`. A partitioner uses one thread, and the same seed gives the same partition.
//!
//! # More
//!
//! [Networks, in the book](https://github.com/roving-rs/roving/blob/main/docs/networks.md);
//! [issues](https://github.com/roving-rs/roving/issues).
#![forbid(unsafe_code)]

mod distances;
mod graph;
mod kway;
mod problem;
mod random;
mod rebalance;
#[cfg(test)]
mod tests;
mod topology;

pub use distances::{DISTANCE_MAX, DistanceError, Distances, PARTS_MAX};
pub use graph::{Graph, GraphBuilder, GraphError, WEIGHT_MAX};
pub use kway::{KWay, Partitioner};
pub use problem::{Partition, Problem, ProblemError};
pub use rebalance::{Load, MigrationCost, Rebalance, Traffic};
