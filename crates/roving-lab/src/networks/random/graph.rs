//! Random graphs with exactly so many nodes, edges and cycles, from a fixed seed.
//!
//! Nodes are numbered so that each forward edge goes from a smaller to a greater number: 0 is the
//! source, the last is the sink, and each other node lies on a way between them. A back edge closes
//! exactly one elementary cycle, with the back edges before it counted in; so there are as many
//! cycles as back edges.

use crate::workloads::numbers::Noise;

/// How far back a node looks for where its edge comes from. It sets how long the ways are.
const REACH: usize = 40;
/// How many forward edges a back edge spans at most.
const SPAN: usize = 4;

/// A directed graph with one source and one sink.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RandomGraph {
    /// How many nodes.
    pub(crate) nodes: usize,
    /// From, to; from the smaller to the greater.
    pub(crate) forward: Vec<(usize, usize)>,
    /// From, to; from the greater to the smaller.
    pub(crate) back: Vec<(usize, usize)>,
}

impl RandomGraph {
    /// The first graph of that shape that comes from `seed` or from a number after it.
    pub(crate) fn random(nodes: usize, edges: usize, cycles: usize, seed: u64) -> RandomGraph {
        let mut attempts = (seed..).map(|seed| attempt(nodes, edges, cycles, Noise::new(seed)));
        attempts
            .find_map(|graph| graph)
            .expect("some seed gives such a graph")
    }

    /// All edges.
    pub(crate) fn edges(&self) -> usize {
        self.forward.len() + self.back.len()
    }

    /// The mean number of nodes, source and sink left out, that a unit of work meets on its way
    /// when each node divides what it gets among its forward edges.
    #[cfg(test)]
    pub(crate) fn way(&self) -> f64 {
        let mut flow = vec![0.0; self.nodes];
        flow[0] = 1.0;
        let mut way = 0.0;
        for node in 0..self.nodes - 1 {
            let outs = self.forward.iter().filter(|edge| edge.0 == node);
            let part = flow[node] / outs.clone().count() as f64;
            outs.for_each(|edge| flow[edge.1] += part);
            way += if node == 0 { 0.0 } else { flow[node] };
        }
        way
    }
}

/// One try: none when the numbers do not come out.
fn attempt(nodes: usize, edges: usize, cycles: usize, mut noise: Noise) -> Option<RandomGraph> {
    let forward = forward_edges(nodes, edges.checked_sub(cycles)?, &mut noise)?;
    let mut graph = RandomGraph {
        nodes,
        forward,
        back: Vec::new(),
    };
    let mut tries = 100 * cycles;
    while graph.back.len() < cycles {
        tries = tries.checked_sub(1)?;
        if let Some(edge) = back_edge(&graph, &mut noise) {
            graph.back.push(edge);
        }
    }
    Some(graph)
}

/// A tree from the source, then a way on for each node that has none, then edges anywhere.
fn forward_edges(nodes: usize, edges: usize, noise: &mut Noise) -> Option<Vec<(usize, usize)>> {
    let sink = nodes - 1;
    let mut forward: Vec<(usize, usize)> = Vec::with_capacity(edges);
    for node in 1..sink {
        let nearest = node.saturating_sub(REACH);
        forward.push((nearest + noise.below(node - nearest), node));
    }
    for node in 1..sink {
        if forward.iter().all(|edge| edge.0 != node) {
            let last = (node + REACH).min(sink);
            forward.push((node, node + 1 + noise.below(last - node)));
        }
    }
    // Those near the end have the sink in reach.
    let reached = forward.iter().any(|edge| edge.1 == sink);
    while forward.len() < edges {
        let from = noise.below(sink);
        let to = from + 1 + noise.below((from + REACH).min(sink) - from);
        if from != to && !forward.contains(&(from, to)) {
            forward.push((from, to));
        }
    }
    (reached && forward.len() == edges).then_some(forward)
}

/// An edge from a node to one a few edges before it that closes one cycle, if chance finds one.
fn back_edge(graph: &RandomGraph, noise: &mut Noise) -> Option<(usize, usize)> {
    let from = 1 + noise.below(graph.nodes - 2);
    let mut to = from;
    for _ in 0..2 + noise.below(SPAN - 1) {
        let before: Vec<usize> = graph
            .forward
            .iter()
            .filter(|edge| edge.1 == to)
            .map(|edge| edge.0)
            .collect();
        to = before[noise.below(before.len())];
        if to == 0 {
            return None;
        }
    }
    let ways = ways(graph, to, from, &mut vec![false; graph.nodes], 2);
    (ways == 1 && !graph.back.contains(&(from, to))).then_some((from, to))
}

/// How many simple ways lead from `from` to `to`, counted up to `most`.
fn ways(graph: &RandomGraph, from: usize, to: usize, seen: &mut [bool], most: usize) -> usize {
    if from == to {
        return 1;
    }
    seen[from] = true;
    let mut found = 0;
    for next in successors(graph, from) {
        if found < most && !seen[next] && reaches(graph, next, to, seen) {
            found += ways(graph, next, to, seen, most - found);
        }
    }
    seen[from] = false;
    found
}

fn successors(graph: &RandomGraph, node: usize) -> impl Iterator<Item = usize> {
    let edges = graph.forward.iter().chain(&graph.back);
    edges.filter(move |edge| edge.0 == node).map(|edge| edge.1)
}

/// Whether there is a way from `from` to `to` that meets nothing seen.
fn reaches(graph: &RandomGraph, from: usize, to: usize, seen: &[bool]) -> bool {
    let mut met = seen.to_vec();
    let mut open = vec![from];
    while let Some(node) = open.pop() {
        if node == to {
            return true;
        }
        if !std::mem::replace(&mut met[node], true) {
            open.extend(successors(graph, node));
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All elementary cycles, each counted at its smallest node: by definition, not by how it was
    /// made.
    fn cycles(graph: &RandomGraph) -> usize {
        fn from(graph: &RandomGraph, start: usize, node: usize, seen: &mut [bool]) -> usize {
            seen[node] = true;
            let mut found = 0;
            for next in successors(graph, node) {
                if next == start {
                    found += 1;
                } else if !seen[next]
                    && reaches(graph, next, start, seen_but(seen, start).as_slice())
                {
                    found += from(graph, start, next, seen);
                }
            }
            seen[node] = false;
            found
        }
        fn seen_but(seen: &[bool], start: usize) -> Vec<bool> {
            let mut seen = seen.to_vec();
            seen[start] = false;
            seen
        }
        (0..graph.nodes)
            .map(|start| {
                let mut seen = vec![false; graph.nodes];
                // Nodes below the start are met from their own.
                seen[..start].fill(true);
                from(graph, start, start, &mut seen)
            })
            .sum()
    }

    #[test]
    fn counts_are_exact() {
        for (nodes, edges, wanted, seed) in [
            (239, 364, 0, 1),
            (213, 333, 13, 1),
            (20, 30, 3, 5),
            (12, 15, 1, 9),
        ] {
            let graph = RandomGraph::random(nodes, edges, wanted, seed);
            assert_eq!((graph.nodes, graph.edges()), (nodes, edges));
            assert_eq!(graph.back.len(), wanted);
            assert_eq!(cycles(&graph), wanted);
            let mut all: Vec<_> = graph.forward.iter().chain(&graph.back).collect();
            all.sort_unstable();
            all.dedup();
            assert_eq!(all.len(), edges, "no edge is there twice");
            assert_eq!(graph, RandomGraph::random(nodes, edges, wanted, seed));
        }
        let other = RandomGraph::random(213, 333, 13, 2);
        assert_ne!(other, RandomGraph::random(213, 333, 13, 1));
    }

    #[test]
    fn every_node_lies_between_source_and_sink() {
        let graph = RandomGraph::random(213, 333, 13, 1);
        let sink = graph.nodes - 1;
        for node in 1..sink {
            assert!(graph.forward.iter().any(|edge| edge.1 == node));
            assert!(graph.forward.iter().any(|edge| edge.0 == node));
        }
        assert!(graph.forward.iter().all(|(from, to)| from < to));
        assert!(graph.back.iter().all(|(from, to)| from > to));
        assert!(
            graph
                .forward
                .iter()
                .all(|edge| edge.1 != 0 && edge.0 != sink)
        );
        let way = graph.way();
        assert!((4.0..20.0).contains(&way), "{way}");
    }

    #[test]
    fn cycles_are_counted_by_their_definition() {
        // 0 → 1 → 2 → 3 with 1 → 3: closing 3 → 1 makes two cycles; 2 → 1 one more.
        let graph = RandomGraph {
            nodes: 4,
            forward: vec![(0, 1), (1, 2), (2, 3), (1, 3)],
            back: vec![(3, 1), (2, 1)],
        };
        assert_eq!(cycles(&graph), 3);
        assert_eq!(ways(&graph, 1, 3, &mut [false; 4], 9), 2);
        assert_eq!(ways(&graph, 1, 3, &mut [false; 4], 1), 1);
    }
}
