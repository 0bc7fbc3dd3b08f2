//! The partitioning problem: a graph, and the parts to divide it into.

use std::fmt;

use crate::distances::{Distances, PARTS_MAX};
use crate::graph::{Graph, WEIGHT_MAX};

/// A graph that is to be partitioned, the number of parts and the conditions.
///
/// No part may be heavier than [`Problem::limit`]; among the partitions for which that holds, the
/// one with the least [cut](Partition::cut) is looked for.
///
/// ```
/// use roving_partition::{Graph, KWay, Partitioner, Problem};
///
/// // A path of four.
/// let mut graph = Graph::builder();
/// let path: Vec<usize> = (0..4).map(|_| graph.vertex(1)).collect();
/// for pair in path.windows(2) {
///     graph.edge(pair[0], pair[1], 1);
/// }
/// let graph = graph.build().unwrap();
/// let halves = KWay::default().partition(&Problem::new(&graph, 2).unwrap());
/// assert_eq!(halves.cut(), 1);
/// assert_eq!(halves.weights(), [2, 2]);
/// ```
#[derive(Clone, Debug)]
pub struct Problem<'g> {
    graph: &'g Graph,
    distances: Distances,
    imbalance: f64,
    limit: u64,
    start: Option<Vec<u32>>,
}

/// By how much a part may be heavier than the mean, unless told: 3 %.
const IMBALANCE: f64 = 0.03;

impl<'g> Problem<'g> {
    /// Creates the problem of partitioning the graph into that many parts, of which the heaviest is
    /// at most 3 % heavier than the mean.
    ///
    /// # Errors
    /// There are no parts, or more than [`PARTS_MAX`]; or a vertex is pinned to a part that there
    /// is not.
    ///
    /// ```
    /// use roving_partition::{Graph, Problem};
    ///
    /// let graph = Graph::builder().build().unwrap();
    /// assert_eq!(
    ///     Problem::new(&graph, 0).unwrap_err().to_string(),
    ///     "0 parts; allowed are 1 to 4096: ask for one part a worker",
    /// );
    /// ```
    pub fn new(graph: &'g Graph, parts: usize) -> Result<Problem<'g>, ProblemError> {
        if !(1..=PARTS_MAX).contains(&parts) {
            return Err(ProblemError::Parts(parts));
        }
        let pins = (0..graph.vertices()).filter_map(|vertex| Some((vertex, graph.pin(vertex)?)));
        if let Some((vertex, part)) = pins.into_iter().find(|&(_, part)| part >= parts) {
            return Err(ProblemError::Pin {
                vertex,
                part,
                parts,
            });
        }
        let mut problem = Problem {
            graph,
            distances: Distances::uniform(parts),
            imbalance: IMBALANCE,
            limit: 0,
            start: None,
        };
        problem.set_limit();
        Ok(problem)
    }

    /// Sets by which share of the mean the heaviest part may be heavier than the mean: 0.03 by
    /// default.
    ///
    /// # Errors
    /// It is negative or not a number.
    ///
    /// ```
    /// use roving_partition::{Graph, Problem};
    ///
    /// let mut graph = Graph::builder();
    /// for _ in 0..100 {
    ///     graph.vertex(1);
    /// }
    /// let graph = graph.build().unwrap();
    /// let problem = Problem::new(&graph, 2).unwrap().imbalance(0.1).unwrap();
    /// assert_eq!(problem.limit(), 55);
    /// ```
    pub fn imbalance(mut self, imbalance: f64) -> Result<Problem<'g>, ProblemError> {
        if imbalance.is_nan() || imbalance < 0.0 {
            return Err(ProblemError::Imbalance(imbalance));
        }
        self.imbalance = imbalance;
        self.set_limit();
        Ok(self)
    }

    /// Sets the distances between parts, by which cut edges are weighed.
    ///
    /// # Errors
    /// The distances are for another number of parts, or the cut could exceed [`WEIGHT_MAX`].
    ///
    /// ```
    /// use roving_partition::{Distances, Graph, Problem};
    ///
    /// let graph = Graph::builder().build().unwrap();
    /// let problem = Problem::new(&graph, 2).unwrap();
    /// assert!(problem.distances(Distances::uniform(3)).is_err());
    /// ```
    pub fn distances(mut self, distances: Distances) -> Result<Problem<'g>, ProblemError> {
        if distances.parts() != self.parts() {
            return Err(ProblemError::Distances {
                given: distances.parts(),
                parts: self.parts(),
            });
        }
        let all = self.graph.edge_weight() * u128::from(distances.greatest());
        if all > u128::from(WEIGHT_MAX) {
            return Err(ProblemError::Cut(all));
        }
        self.distances = distances;
        Ok(self)
    }

    /// Sets a partition to start with: the result is never worse.
    ///
    /// # Errors
    /// As [`Self::partition`].
    ///
    /// ```
    /// use roving_partition::{Graph, Problem};
    ///
    /// let mut graph = Graph::builder();
    /// graph.vertex(1);
    /// let graph = graph.build().unwrap();
    /// let problem = Problem::new(&graph, 2).unwrap().start(vec![1]).unwrap();
    /// assert_eq!(problem.started(), Some(&[1][..]));
    /// ```
    pub fn start(mut self, parts: Vec<u32>) -> Result<Problem<'g>, ProblemError> {
        self.check(&parts)?;
        self.start = Some(parts);
        Ok(self)
    }

    /// Returns the graph.
    ///
    /// ```
    /// use roving_partition::{Graph, Problem};
    ///
    /// let graph = Graph::builder().build().unwrap();
    /// assert_eq!(Problem::new(&graph, 2).unwrap().graph(), &graph);
    /// ```
    pub fn graph(&self) -> &'g Graph {
        self.graph
    }

    /// Returns the number of parts.
    ///
    /// ```
    /// use roving_partition::{Graph, Problem};
    ///
    /// let graph = Graph::builder().build().unwrap();
    /// assert_eq!(Problem::new(&graph, 2).unwrap().parts(), 2);
    /// ```
    pub fn parts(&self) -> usize {
        self.distances.parts()
    }

    /// Returns the distances between the parts.
    ///
    /// ```
    /// use roving_partition::{Graph, Problem};
    ///
    /// let graph = Graph::builder().build().unwrap();
    /// assert!(Problem::new(&graph, 2).unwrap().distance().is_uniform());
    /// ```
    pub fn distance(&self) -> &Distances {
        &self.distances
    }

    /// Returns the partition to start with; see [`Self::start`].
    ///
    /// ```
    /// use roving_partition::{Graph, Problem};
    ///
    /// let graph = Graph::builder().build().unwrap();
    /// assert_eq!(Problem::new(&graph, 2).unwrap().started(), None);
    /// ```
    pub fn started(&self) -> Option<&[u32]> {
        self.start.as_deref()
    }

    /// Returns the weight limit of a part: the mean and the allowed imbalance, but always as much
    /// as the mean, rounded up, and as the heaviest vertex. A partition that keeps to it need not
    /// exist; [`Partition::excess`] is by how much one does not.
    ///
    /// ```
    /// use roving_partition::{Graph, Problem};
    ///
    /// let mut graph = Graph::builder();
    /// graph.vertex(1);
    /// graph.vertex(100);
    /// let graph = graph.build().unwrap();
    /// assert_eq!(Problem::new(&graph, 2).unwrap().limit(), 100);
    /// ```
    pub fn limit(&self) -> u64 {
        self.limit
    }

    /// Builds the partition in which vertex `v` is in part `parts[v]`, with its cut and its
    /// weights.
    ///
    /// # Errors
    /// There is not one part for each vertex, a part that there is not, or a pinned vertex in
    /// another part than its own.
    ///
    /// ```
    /// use roving_partition::{Graph, Problem};
    ///
    /// let mut graph = Graph::builder();
    /// let (a, b) = (graph.vertex(1), graph.vertex(4));
    /// graph.edge(a, b, 9);
    /// let graph = graph.build().unwrap();
    /// let problem = Problem::new(&graph, 2).unwrap();
    /// let apart = problem.partition(vec![0, 1]).unwrap();
    /// assert_eq!((apart.cut(), apart.weights()), (9, &[1, 4][..]));
    /// assert!(problem.partition(vec![0, 2]).is_err());
    /// ```
    pub fn partition(&self, parts: Vec<u32>) -> Result<Partition, ProblemError> {
        self.check(&parts)?;
        let mut weights = vec![0; self.parts()];
        let mut cut = 0;
        for (vertex, &part) in parts.iter().enumerate() {
            weights[part as usize] += self.graph.weight(vertex);
            for &(other, weight) in self.graph.edges_of(vertex as u32) {
                if (other as usize) < vertex {
                    let there = parts[other as usize] as usize;
                    cut += weight * u64::from(self.distances.between(part as usize, there));
                }
            }
        }
        let excess = weights
            .iter()
            .map(|weight| weight.saturating_sub(self.limit));
        Ok(Partition {
            excess: excess.sum(),
            parts,
            cut,
            weights,
        })
    }

    fn check(&self, parts: &[u32]) -> Result<(), ProblemError> {
        let vertices = self.graph.vertices();
        if parts.len() != vertices {
            let given = parts.len();
            return Err(ProblemError::Length { given, vertices });
        }
        for (vertex, &part) in parts.iter().enumerate() {
            let part = part as usize;
            if part >= self.parts() {
                let parts = self.parts();
                return Err(ProblemError::Part {
                    vertex,
                    part,
                    parts,
                });
            }
            if let Some(pin) = self.graph.pin(vertex).filter(|&pin| pin != part) {
                return Err(ProblemError::Moved { vertex, part, pin });
            }
        }
        Ok(())
    }

    fn set_limit(&mut self) {
        let mean = self.graph.total_weight() / self.parts() as u64;
        let rounded_up = self.graph.total_weight().div_ceil(self.parts() as u64);
        let heaviest = (0..self.graph.vertices())
            .map(|vertex| self.graph.weight(vertex))
            .max();
        // A cast from a float saturates.
        let allowed = mean.saturating_add((mean as f64 * self.imbalance) as u64);
        self.limit = allowed
            .min(WEIGHT_MAX)
            .max(rounded_up)
            .max(heaviest.unwrap_or(0));
    }
}

/// A partition: the part of each vertex, and its cost. Only [`Problem::partition`] makes one, so
/// its cost and weights always agree with its parts.
///
/// ```
/// use roving_partition::{Graph, KWay, Partitioner, Problem};
///
/// let mut graph = Graph::builder();
/// let worker = graph.pinned(1);
/// let process = graph.vertex(8);
/// graph.edge(worker, process, 1);
/// let graph = graph.build().unwrap();
/// let partition = KWay::default().partition(&Problem::new(&graph, 2).unwrap());
/// assert_eq!(partition.parts(), [1, 1]);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Partition {
    parts: Vec<u32>,
    cut: u64,
    excess: u64,
    weights: Vec<u64>,
}

impl Partition {
    /// Returns the part of each vertex.
    ///
    /// ```
    /// use roving_partition::{Graph, Problem};
    ///
    /// let graph = Graph::builder().build().unwrap();
    /// let none = Problem::new(&graph, 1).unwrap().partition(Vec::new()).unwrap();
    /// assert!(none.parts().is_empty());
    /// ```
    pub fn parts(&self) -> &[u32] {
        &self.parts
    }

    /// Returns the part of each vertex, without copying.
    ///
    /// ```
    /// use roving_partition::{Graph, Problem};
    ///
    /// let graph = Graph::builder().build().unwrap();
    /// let none = Problem::new(&graph, 1).unwrap().partition(Vec::new()).unwrap();
    /// assert_eq!(none.into_parts(), Vec::<u32>::new());
    /// ```
    pub fn into_parts(self) -> Vec<u32> {
        self.parts
    }

    /// Returns the cut: the sum of the weights of the edges between parts, each times the distance
    /// of its parts.
    ///
    /// ```
    /// use roving_partition::{Graph, Problem};
    ///
    /// let graph = Graph::builder().build().unwrap();
    /// let none = Problem::new(&graph, 1).unwrap().partition(Vec::new()).unwrap();
    /// assert_eq!(none.cut(), 0);
    /// ```
    pub fn cut(&self) -> u64 {
        self.cut
    }

    /// Returns by how much the parts are heavier than the limit, all together.
    ///
    /// ```
    /// use roving_partition::{Graph, Problem};
    ///
    /// let mut graph = Graph::builder();
    /// graph.vertex(1);
    /// graph.vertex(1);
    /// let graph = graph.build().unwrap();
    /// let problem = Problem::new(&graph, 2).unwrap();
    /// assert_eq!(problem.partition(vec![0, 0]).unwrap().excess(), 1);
    /// ```
    pub fn excess(&self) -> u64 {
        self.excess
    }

    /// Returns the weight of each part.
    ///
    /// ```
    /// use roving_partition::{Graph, Problem};
    ///
    /// let graph = Graph::builder().build().unwrap();
    /// let none = Problem::new(&graph, 2).unwrap().partition(Vec::new()).unwrap();
    /// assert_eq!(none.weights(), [0, 0]);
    /// ```
    pub fn weights(&self) -> &[u64] {
        &self.weights
    }

    /// Returns whether this partition is better than `other`: it exceeds the limit by less, or by
    /// as much and cuts less, or cuts as much and has the lighter heaviest part.
    ///
    /// ```
    /// use roving_partition::{Graph, Problem};
    ///
    /// let mut graph = Graph::builder();
    /// graph.vertex(1);
    /// graph.vertex(1);
    /// let graph = graph.build().unwrap();
    /// let problem = Problem::new(&graph, 2).unwrap();
    /// let apart = problem.partition(vec![0, 1]).unwrap();
    /// assert!(apart.is_better_than(&problem.partition(vec![0, 0]).unwrap()));
    /// ```
    pub fn is_better_than(&self, other: &Partition) -> bool {
        let rank = |of: &Partition| (of.excess, of.cut, of.weights.iter().max().copied());
        rank(self) < rank(other)
    }
}

/// The errors of a problem, or of a partition that is given as its solution.
///
/// ```
/// use roving_partition::{Graph, Problem, ProblemError};
///
/// let graph = Graph::builder().build().unwrap();
/// let error = Problem::new(&graph, 2).unwrap().imbalance(-1.0).unwrap_err();
/// assert_eq!(error, ProblemError::Imbalance(-1.0));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
#[allow(missing_docs, reason = "what the fields are is what the messages say")]
pub enum ProblemError {
    /// So many parts are not possible.
    Parts(usize),
    /// A vertex is pinned to a part that there is not.
    Pin {
        vertex: usize,
        part: usize,
        parts: usize,
    },
    /// The imbalance is out of range.
    Imbalance(f64),
    /// The distances are for another number of parts.
    Distances { given: usize, parts: usize },
    /// The cut could be too great to count.
    Cut(u128),
    /// Not one part for each vertex.
    Length { given: usize, vertices: usize },
    /// A vertex is in a part that there is not.
    Part {
        vertex: usize,
        part: usize,
        parts: usize,
    },
    /// A pinned vertex is in another part than its own.
    Moved {
        vertex: usize,
        part: usize,
        pin: usize,
    },
}

impl fmt::Display for ProblemError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            ProblemError::Parts(parts) => write!(
                f,
                "{parts} parts; allowed are 1 to {PARTS_MAX}: ask for one part a worker"
            ),
            ProblemError::Pin {
                vertex,
                part,
                parts,
            } => write!(
                f,
                "vertex {vertex} is pinned to part {part}; allowed are 0 to {}: ask for more parts",
                parts - 1
            ),
            ProblemError::Imbalance(imbalance) => write!(
                f,
                "an imbalance of {imbalance}; allowed are numbers from 0: 0.03 is usual"
            ),
            ProblemError::Distances { given, parts } => write!(
                f,
                "distances of {given} parts; allowed are those of {parts}: give one for each two"
            ),
            ProblemError::Cut(cut) => write!(
                f,
                "a cut of up to {cut}; allowed is at most {WEIGHT_MAX}: divide the weights of the \
                 edges by a common factor"
            ),
            ProblemError::Length { given, vertices } => write!(
                f,
                "parts of {given} vertices; allowed is one part for each of {vertices}: give one a \
                 vertex"
            ),
            ProblemError::Part {
                vertex,
                part,
                parts,
            } => write!(
                f,
                "vertex {vertex} in part {part}; allowed are 0 to {}: ask for more parts",
                parts - 1
            ),
            ProblemError::Moved { vertex, part, pin } => write!(
                f,
                "vertex {vertex} in part {part}; allowed is only {pin}, to which it is pinned: \
                 leave it there"
            ),
        }
    }
}

impl std::error::Error for ProblemError {}
