//! Undirected graphs with weights on vertices and edges.

use std::fmt;

/// The greatest sum of the weights of all vertices, and of all edges: gains are signed 64-bit
/// numbers.
///
/// ```
/// use roving_partition::{Graph, WEIGHT_MAX};
///
/// let mut graph = Graph::builder();
/// graph.vertex(WEIGHT_MAX);
/// graph.vertex(1);
/// assert!(graph.build().is_err());
/// ```
pub const WEIGHT_MAX: u64 = i64::MAX as u64;

/// An undirected graph with 64-bit weights on its vertices and edges; a vertex may be pinned to a
/// part.
///
/// Vertices are numbered from 0 in the order in which they were added. Edges between the same two
/// vertices are one edge with the sum of their weights. An edge from a vertex to itself is left
/// out, since it can never be cut; so is an edge of weight zero.
///
/// ```
/// use roving_partition::Graph;
///
/// let mut graph = Graph::builder();
/// let a = graph.vertex(10);
/// let b = graph.vertex(20);
/// let anchor = graph.pinned(0);
/// graph.edge(a, b, 3).edge(b, a, 4).edge(a, anchor, 1);
/// let graph = graph.build()?;
/// assert_eq!(graph.neighbours(a).collect::<Vec<_>>(), [(b, 7), (anchor, 1)]);
/// assert_eq!(graph.pin(anchor), Some(0));
/// # Ok::<(), roving_partition::GraphError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Graph {
    weights: Vec<u64>,
    pins: Vec<u32>,
    total: u64,
    /// Where the edges of each vertex begin in `edges`; one more entry than vertices.
    starts: Vec<usize>,
    /// The other end and the weight, by vertex, in ascending order of the other end.
    edges: Vec<(u32, u64)>,
}

/// No pin.
const FREE: u32 = u32::MAX;

impl Graph {
    /// Returns a builder of an empty graph.
    ///
    /// ```
    /// let graph = roving_partition::Graph::builder().build()?;
    /// assert_eq!(graph.vertices(), 0);
    /// # Ok::<(), roving_partition::GraphError>(())
    /// ```
    pub fn builder() -> GraphBuilder {
        GraphBuilder::default()
    }

    /// Returns the number of vertices.
    ///
    /// ```
    /// let mut graph = roving_partition::Graph::builder();
    /// graph.vertex(1);
    /// assert_eq!(graph.build()?.vertices(), 1);
    /// # Ok::<(), roving_partition::GraphError>(())
    /// ```
    pub fn vertices(&self) -> usize {
        self.weights.len()
    }

    /// Returns the number of edges, each counted once.
    ///
    /// ```
    /// let mut graph = roving_partition::Graph::builder();
    /// let (a, b) = (graph.vertex(1), graph.vertex(1));
    /// graph.edge(a, b, 1).edge(a, b, 1);
    /// assert_eq!(graph.build()?.edges(), 1);
    /// # Ok::<(), roving_partition::GraphError>(())
    /// ```
    pub fn edges(&self) -> usize {
        self.edges.len() / 2
    }

    /// Returns the weight of a vertex.
    ///
    /// # Panics
    /// There is no such vertex.
    ///
    /// ```
    /// let mut graph = roving_partition::Graph::builder();
    /// let a = graph.vertex(5);
    /// assert_eq!(graph.build()?.weight(a), 5);
    /// # Ok::<(), roving_partition::GraphError>(())
    /// ```
    pub fn weight(&self, vertex: usize) -> u64 {
        self.weights[vertex]
    }

    /// Returns the sum of the weights of all vertices.
    ///
    /// ```
    /// let mut graph = roving_partition::Graph::builder();
    /// graph.vertex(5);
    /// graph.vertex(6);
    /// assert_eq!(graph.build()?.total_weight(), 11);
    /// # Ok::<(), roving_partition::GraphError>(())
    /// ```
    pub fn total_weight(&self) -> u64 {
        self.total
    }

    /// Returns the part to which a vertex is pinned, if there is one.
    ///
    /// # Panics
    /// There is no such vertex.
    ///
    /// ```
    /// let mut graph = roving_partition::Graph::builder();
    /// let (free, pinned) = (graph.vertex(1), graph.pinned(3));
    /// let graph = graph.build()?;
    /// assert_eq!((graph.pin(free), graph.pin(pinned)), (None, Some(3)));
    /// # Ok::<(), roving_partition::GraphError>(())
    /// ```
    pub fn pin(&self, vertex: usize) -> Option<usize> {
        let pin = self.pins[vertex];
        (pin != FREE).then_some(pin as usize)
    }

    /// Returns the neighbours of a vertex, with the weights of the edges, in ascending order.
    ///
    /// # Panics
    /// There is no such vertex.
    ///
    /// ```
    /// let mut graph = roving_partition::Graph::builder();
    /// let (a, b) = (graph.vertex(1), graph.vertex(1));
    /// graph.edge(a, b, 9);
    /// assert_eq!(graph.build()?.neighbours(b).collect::<Vec<_>>(), [(a, 9)]);
    /// # Ok::<(), roving_partition::GraphError>(())
    /// ```
    pub fn neighbours(&self, vertex: usize) -> impl ExactSizeIterator<Item = (usize, u64)> {
        let edges = self.edges_of(vertex as u32);
        edges
            .iter()
            .map(|&(other, weight)| (other as usize, weight))
    }

    /// The edges of a vertex, as stored.
    pub(super) fn edges_of(&self, vertex: u32) -> &[(u32, u64)] {
        let at = vertex as usize;
        &self.edges[self.starts[at]..self.starts[at + 1]]
    }

    /// The sum of the weights of all edges.
    pub(super) fn edge_weight(&self) -> u128 {
        let both: u128 = self
            .edges
            .iter()
            .map(|&(_, weight)| u128::from(weight))
            .sum();
        both / 2
    }

    pub(super) fn is_free(&self, vertex: u32) -> bool {
        self.pins[vertex as usize] == FREE
    }

    /// Makes the graph from edges in any order, of which there may be several between two vertices.
    /// The caller has seen to the sums of the weights.
    fn from_parts(weights: Vec<u64>, pins: Vec<u32>, edges: &[(u32, u32, u64)]) -> Graph {
        let vertices = weights.len();
        let kept = edges.iter().filter(|&&(a, b, weight)| a != b && weight > 0);
        let mut starts = vec![0; vertices + 1];
        for &(a, b, _) in kept.clone() {
            starts[a as usize + 1] += 1;
            starts[b as usize + 1] += 1;
        }
        for at in 0..vertices {
            starts[at + 1] += starts[at];
        }
        let mut ends = starts.clone();
        let mut all = vec![(0, 0); starts[vertices]];
        for &(a, b, weight) in kept {
            for (from, to) in [(a, b), (b, a)] {
                all[ends[from as usize]] = (to, weight);
                ends[from as usize] += 1;
            }
        }
        let mut merged: Vec<(u32, u64)> = Vec::with_capacity(all.len());
        let mut merged_starts = vec![0];
        for at in 0..vertices {
            let own = &mut all[starts[at]..starts[at + 1]];
            own.sort_unstable();
            let begin = merged.len();
            for &(to, weight) in &*own {
                match merged[begin..].last_mut() {
                    Some(last) if last.0 == to => last.1 += weight,
                    _ => merged.push((to, weight)),
                }
            }
            merged_starts.push(merged.len());
        }
        Graph {
            total: weights.iter().sum(),
            weights,
            pins,
            starts: merged_starts,
            edges: merged,
        }
    }

    /// The graph in which all vertices with the same number in `group` are one.
    pub(super) fn contract(&self, group: &[u32], groups: usize) -> Graph {
        let (mut weights, mut pins) = (vec![0; groups], vec![FREE; groups]);
        let mut edges = Vec::with_capacity(self.edges.len() / 2);
        for vertex in 0..self.vertices() {
            let into = group[vertex];
            weights[into as usize] += self.weights[vertex];
            if self.pins[vertex] != FREE {
                pins[into as usize] = self.pins[vertex];
            }
            for &(other, weight) in self.edges_of(vertex as u32) {
                if (other as usize) > vertex {
                    edges.push((into, group[other as usize], weight));
                }
            }
        }
        Graph::from_parts(weights, pins, &edges)
    }
}

/// A builder of a [`Graph`].
///
/// ```
/// let mut graph = roving_partition::Graph::builder();
/// let (a, b) = (graph.vertex(1), graph.vertex(2));
/// graph.edge(a, b, 3);
/// assert_eq!(graph.build()?.total_weight(), 3);
/// # Ok::<(), roving_partition::GraphError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct GraphBuilder {
    weights: Vec<u64>,
    pins: Vec<u32>,
    edges: Vec<(usize, usize, u64)>,
}

impl GraphBuilder {
    /// Adds a vertex and returns its number.
    ///
    /// ```
    /// let mut graph = roving_partition::Graph::builder();
    /// assert_eq!((graph.vertex(1), graph.vertex(1)), (0, 1));
    /// ```
    pub fn vertex(&mut self, weight: u64) -> usize {
        self.weights.push(weight);
        self.pins.push(FREE);
        self.weights.len() - 1
    }

    /// Adds a vertex of weight zero that is pinned to that part, and returns its number.
    ///
    /// ```
    /// let mut graph = roving_partition::Graph::builder();
    /// let worker = graph.pinned(2);
    /// assert_eq!(graph.build()?.weight(worker), 0);
    /// # Ok::<(), roving_partition::GraphError>(())
    /// ```
    pub fn pinned(&mut self, part: usize) -> usize {
        self.weights.push(0);
        self.pins.push(u32::try_from(part).unwrap_or(FREE - 1));
        self.weights.len() - 1
    }

    /// Pins a vertex to that part, with the weight that it has.
    ///
    /// # Panics
    /// There is no such vertex.
    ///
    /// ```
    /// use roving_partition::{Graph, KWay, Partitioner, Problem};
    ///
    /// let mut graph = Graph::builder();
    /// let [heavy, one, two] = [10, 5, 5].map(|weight| graph.vertex(weight));
    /// graph.pin(heavy, 1).edge(heavy, one, 1).edge(heavy, two, 1);
    /// let graph = graph.build().unwrap();
    /// let partition = KWay::default().partition(&Problem::new(&graph, 2).unwrap());
    /// assert_eq!(partition.parts(), [1, 0, 0]);
    /// ```
    pub fn pin(&mut self, vertex: usize, part: usize) -> &mut GraphBuilder {
        self.pins[vertex] = u32::try_from(part).unwrap_or(FREE - 1);
        self
    }

    /// Adds an edge between two vertices, which may be added later.
    ///
    /// ```
    /// let mut graph = roving_partition::Graph::builder();
    /// let a = graph.vertex(1);
    /// graph.edge(a, 7, 1);
    /// assert_eq!(
    ///     graph.build().unwrap_err().to_string(),
    ///     "an edge ends at vertex 7; allowed are 0 to 0: add the vertex before building the graph",
    /// );
    /// ```
    pub fn edge(&mut self, a: usize, b: usize, weight: u64) -> &mut GraphBuilder {
        self.edges.push((a, b, weight));
        self
    }

    /// Builds the graph.
    ///
    /// # Errors
    /// An edge ends at a vertex that is not there; there are too many vertices; or a sum of
    /// weights is greater than [`WEIGHT_MAX`].
    ///
    /// ```
    /// let mut graph = roving_partition::Graph::builder();
    /// graph.vertex(u64::MAX);
    /// assert!(graph.build().is_err());
    /// ```
    pub fn build(self) -> Result<Graph, GraphError> {
        let vertices = self.weights.len();
        if vertices >= FREE as usize {
            return Err(GraphError::Vertices(vertices));
        }
        let vertex_weights = self.weights.iter().map(|&weight| u128::from(weight));
        let edge_weights = self.edges.iter().map(|&(_, _, weight)| u128::from(weight));
        for (of, sum) in [
            ("vertices", vertex_weights.sum::<u128>()),
            ("edges", edge_weights.sum()),
        ] {
            if sum > u128::from(WEIGHT_MAX) {
                return Err(GraphError::Weight { of, sum });
            }
        }
        let mut edges = Vec::with_capacity(self.edges.len());
        for (a, b, weight) in self.edges {
            if let Some(end) = [a, b].into_iter().find(|&end| end >= vertices) {
                return Err(GraphError::Edge { end, vertices });
            }
            edges.push((a as u32, b as u32, weight));
        }
        Ok(Graph::from_parts(self.weights, self.pins, &edges))
    }
}

/// The errors of a graph.
///
/// ```
/// use roving_partition::{Graph, GraphError};
///
/// let mut graph = Graph::builder();
/// graph.edge(0, 1, 1);
/// assert!(matches!(graph.build(), Err(GraphError::Edge { end: 0, vertices: 0 })));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum GraphError {
    /// An edge ends at a vertex that is not there.
    Edge {
        /// That vertex.
        end: usize,
        /// How many there are.
        vertices: usize,
    },
    /// More vertices than can be numbered.
    Vertices(usize),
    /// The sum of all weights is too great.
    Weight {
        /// "vertices" or "edges".
        of: &'static str,
        /// Their sum.
        sum: u128,
    },
}

impl fmt::Display for GraphError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            GraphError::Edge { end, vertices: 0 } => write!(
                f,
                "an edge ends at vertex {end}; there are none: add the vertex before building the graph"
            ),
            GraphError::Edge { end, vertices } => write!(
                f,
                "an edge ends at vertex {end}; allowed are 0 to {}: add the vertex before building \
                 the graph",
                vertices - 1
            ),
            GraphError::Vertices(count) => write!(
                f,
                "{count} vertices; allowed are at most {}: partition a contracted graph",
                FREE - 1
            ),
            GraphError::Weight { of, sum } => write!(
                f,
                "the weights of the {of} add up to {sum}; allowed are at most {WEIGHT_MAX}: divide \
                 them by a common factor"
            ),
        }
    }
}

impl std::error::Error for GraphError {}
