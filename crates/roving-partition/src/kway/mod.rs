//! The partitioner that this crate has of its own.

mod buckets;
mod coarsen;
mod grow;
mod refine;
mod relabel;
mod state;

use crate::graph::Graph;
use crate::problem::{Partition, Problem};
use crate::random::SplitMix64;
use coarsen::{Level, coarsen};
use grow::{grow, spread};
use refine::refine;
use relabel::relabel;
use state::WorkingPartition;

/// A partitioner of graphs.
///
/// ```
/// use roving_partition::{Graph, Partition, Partitioner, Problem};
///
/// /// Everything in part 0, but what is pinned elsewhere.
/// struct Lump;
///
/// impl Partitioner for Lump {
///     fn partition(&self, problem: &Problem<'_>) -> Partition {
///         let graph = problem.graph();
///         let parts = (0..graph.vertices()).map(|vertex| graph.pin(vertex).unwrap_or(0) as u32);
///         problem.partition(parts.collect()).expect("each vertex is where it may be")
///     }
/// }
///
/// let mut graph = Graph::builder();
/// graph.vertex(1);
/// let graph = graph.build().unwrap();
/// assert_eq!(Lump.partition(&Problem::new(&graph, 2).unwrap()).parts(), [0]);
/// ```
pub trait Partitioner: Send + Sync {
    /// A partition of the problem's graph that keeps to its limit, or exceeds it as little as
    /// possible, and cuts as little as possible: both as well as the partitioner can.
    ///
    /// ```
    /// use roving_partition::{Graph, KWay, Partitioner, Problem};
    ///
    /// let mut graph = Graph::builder();
    /// let (a, b) = (graph.vertex(1), graph.vertex(1));
    /// graph.edge(a, b, 5);
    /// let graph = graph.build().unwrap();
    /// assert_eq!(KWay::new(1).partition(&Problem::new(&graph, 2).unwrap()).cut(), 5);
    /// ```
    fn partition(&self, problem: &Problem<'_>) -> Partition;
}

/// The partitioner: multi-start, multi-level k-way Fiduccia–Mattheyses.
///
/// From each start the graph is made smaller by joining pairs of vertices, the smallest one is
/// partitioned, and the partition is refined on each larger graph up to the whole one. The best of
/// all is refined the same way until that changes nothing. Pinned vertices stay, weights have 64
/// bits, and the result depends on the problem and the seed alone.
///
/// ```
/// use roving_partition::{Graph, KWay, Partitioner, Problem};
///
/// let mut graph = Graph::builder();
/// let ring: Vec<usize> = (0..1000).map(|_| graph.vertex(1)).collect();
/// for at in 0..1000 {
///     graph.edge(ring[at], ring[(at + 1) % 1000], 1);
/// }
/// let graph = graph.build().unwrap();
/// let arcs = KWay::new(7).partition(&Problem::new(&graph, 4).unwrap());
/// assert_eq!((arcs.cut(), arcs.excess()), (4, 0));
/// ```
#[derive(Clone, Debug)]
pub struct KWay {
    seed: u64,
    starts: usize,
}

/// Starts unless told.
const STARTS: usize = 8;
/// Vertices for each part in the smallest graph, in turns: the fewer, the more is seen at once, and
/// the less can be told apart.
const COARSE: [usize; 2] = [8, 24];
/// In all, at the least.
const COARSE_MIN: usize = 32;
/// Graphs up to that size have so many times as many starts: they take little time, and no rounding
/// hides a bad partition of few vertices.
const SMALL: usize = 64;
const MORE: usize = 8;
/// How often the best is refined once more, at the most.
const CYCLES_MAX: usize = 6;

impl Default for KWay {
    fn default() -> KWay {
        KWay::new(0)
    }
}

impl KWay {
    /// Creates a partitioner with 8 starts.
    ///
    /// ```
    /// let _partitioner = roving_partition::KWay::new(42);
    /// ```
    pub fn new(seed: u64) -> KWay {
        let starts = STARTS;
        KWay { seed, starts }
    }

    /// Sets the number of starts: more take longer and may cut less. At least one is made, unless
    /// the problem has a partition to start with.
    ///
    /// ```
    /// let _thorough = roving_partition::KWay::new(42).starts(64);
    /// ```
    pub fn starts(mut self, starts: usize) -> KWay {
        self.starts = starts;
        self
    }

    /// How many starts are made for a graph of so many vertices.
    fn starts_for(&self, vertices: usize) -> usize {
        let more = if vertices <= SMALL { MORE } else { 1 };
        self.starts.saturating_mul(more)
    }
}

impl Partitioner for KWay {
    fn partition(&self, problem: &Problem<'_>) -> Partition {
        let mut best = problem.started().map(|parts| {
            let start = keep(problem, parts.to_vec());
            cycle(problem, start, &mut SplitMix64::new(self.seed, u64::MAX))
        });
        let starts = self.starts_for(problem.graph().vertices());
        for start in 0..starts.max(usize::from(best.is_none())) {
            let found = fresh(
                problem,
                start,
                &mut SplitMix64::new(self.seed, start as u64),
            );
            if best.as_ref().is_none_or(|best| found.is_better_than(best)) {
                best = Some(found);
            }
        }
        let best = best.expect("there was a start");
        cycle(problem, best, &mut SplitMix64::new(self.seed, u64::MAX - 1))
    }
}

fn keep(problem: &Problem<'_>, parts: Vec<u32>) -> Partition {
    problem
        .partition(parts)
        .expect("a partition of this problem")
}

/// Refines a partition, on smaller graphs that have it, too, until it stays the same.
fn cycle(problem: &Problem<'_>, mut best: Partition, random: &mut SplitMix64) -> Partition {
    for turn in 0..CYCLES_MAX {
        let levels = coarsen(
            problem.graph(),
            enough(problem, turn),
            Some(best.parts()),
            random,
        );
        let mut parts = best.parts().to_vec();
        for level in &levels {
            let mut smaller = vec![0; level.graph.vertices()];
            for (vertex, &into) in level.group.iter().enumerate() {
                smaller[into as usize] = parts[vertex];
            }
            parts = smaller;
        }
        let found = ascend(problem, &levels, parts, random);
        if !found.is_better_than(&best) {
            break;
        }
        best = found;
    }
    best
}

/// A partition from nothing.
fn fresh(problem: &Problem<'_>, start: usize, random: &mut SplitMix64) -> Partition {
    let levels = coarsen(problem.graph(), enough(problem, start), None, random);
    let smallest = levels.last().map_or(problem.graph(), |level| &level.graph);
    let mut parts = match start % 4 {
        3 => spread(smallest, problem.parts(), problem.limit(), random),
        _ => grow(smallest, problem.parts(), random),
    };
    relabel(smallest, problem.distance(), &mut parts);
    ascend(problem, &levels, parts, random)
}

/// Refines a partition of the smallest graph on all of them.
fn ascend(
    problem: &Problem<'_>,
    levels: &[Level],
    mut parts: Vec<u32>,
    random: &mut SplitMix64,
) -> Partition {
    for at in (0..=levels.len()).rev() {
        let graph: &Graph = match at {
            0 => problem.graph(),
            _ => &levels[at - 1].graph,
        };
        if let Some(smaller) = levels.get(at) {
            parts = smaller
                .group
                .iter()
                .map(|&into| parts[into as usize])
                .collect();
        }
        let mut state = WorkingPartition::new(graph, problem.distance(), problem.limit(), parts);
        refine(&mut state, problem.parts(), random);
        parts = state.into_parts();
    }
    keep(problem, parts)
}

fn enough(problem: &Problem<'_>, turn: usize) -> usize {
    (COARSE[turn % COARSE.len()] * problem.parts()).max(COARSE_MIN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_starts_are_never_fewer() {
        let starts = |wished, vertices| KWay::new(1).starts(wished).starts_for(vertices);
        assert_eq!(starts(3, SMALL), 3 * MORE);
        assert_eq!(starts(3, SMALL + 1), 3);
        let most = usize::MAX / MORE + 1;
        assert_eq!(starts(most, SMALL), usize::MAX);
        assert_eq!(starts(most, SMALL + 1), most);
    }
}
