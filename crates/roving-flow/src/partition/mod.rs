//! Graph partitioning, which decides the processes that run on one worker.
//!
//! Partitioning divides a [`Graph`] with weights into parts of about equal weight, so that the
//! edges between parts weigh as little as possible. A [`Problem`] has the graph and the number of
//! parts, a [`Partitioner`] solves it, and a [`Partition`] is the result. [`KWay`] is the default
//! partitioner of a network.
//!
//! Vertices can be pinned to a part, with weight zero, and parts can be at different [`Distances`].
//! Scheduling process networks by partitioning needs both, which no other partitioner had (Vrba et
//! al., *Limits of Work-Stealing Scheduling*, 2009, appendix D). [`Rebalance`] makes the graph of a
//! running network, whose cut is the cost of communication and migration.

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
