//! Graph partitioning: which processes go together.
//!
//! A [`Graph`] with weights is to be cut into parts that are about equally heavy, so that the edges
//! between parts weigh as little as possible. A [`Problem`] says into how many, a [`Partitioner`]
//! does it, and a [`Partition`] says what came of it. [`KWay`] is the partitioner that a network
//! has unless told otherwise.
//!
//! Vertices can be pinned to a part, with weight zero, and parts can be at different
//! [`Distances`]: the two together are what scheduling process networks by partitioning needs, and
//! what no other partitioner had (Vrba et al., *Limits of Work-Stealing Scheduling*, 2009,
//! appendix D). [`Rebalance`] makes the graph of a running network whose cut is what communication
//! and migration cost.

mod buckets;
mod coarsen;
mod distances;
mod graph;
mod grow;
mod kway;
mod problem;
mod random;
mod rebalance;
mod refine;
mod relabel;
mod state;
#[cfg(test)]
mod tests;
mod topology;

pub use distances::{DISTANCE_MAX, DistanceError, Distances};
pub use graph::{Graph, GraphBuilder, GraphError, WEIGHT_MAX};
pub use kway::{KWay, Partitioner};
pub use problem::{PARTS_MAX, Partition, Problem, ProblemError};
pub use rebalance::{Load, MigrationCost, Rebalance, Traffic};
