//! Smaller graphs that resemble a large one: pairs of vertices become one.

use crate::graph::Graph;
use crate::random::SplitMix64;

/// A smaller graph, and which of its vertices each vertex of the larger one has become part of.
pub(super) struct Level {
    pub(super) graph: Graph,
    pub(super) group: Vec<u32>,
}

/// Graphs that get smaller, until there are at most `enough` vertices or pairs are rare. Two
/// vertices pair only if they are in the same part of `within`, if that is given; nothing pairs
/// with a pinned one.
pub(super) fn coarsen(
    graph: &Graph,
    enough: usize,
    within: Option<&[u32]>,
    random: &mut SplitMix64,
) -> Vec<Level> {
    let mut levels: Vec<Level> = Vec::new();
    let mut within = within.map(<[u32]>::to_vec);
    // Otherwise a few vertices outgrow all others, and no partition of them keeps to a limit.
    let heaviest = (graph.total_weight() / enough.max(1) as u64).saturating_mul(3) / 2;
    loop {
        let finest = levels.last().map_or(graph, |level| &level.graph);
        let vertices = finest.vertices();
        if vertices <= enough {
            return levels;
        }
        let pairing = Pairing::new(finest, heaviest, within.as_deref());
        let (group, groups) = pairing.run(random);
        if groups >= vertices - vertices / 16 {
            return levels;
        }
        if let Some(within) = &mut within {
            let mut parts = vec![0; groups];
            for (vertex, &into) in group.iter().enumerate() {
                parts[into as usize] = within[vertex];
            }
            *within = parts;
        }
        let graph = finest.contract(&group, groups);
        levels.push(Level { graph, group });
    }
}

/// Nobody.
const NONE: u32 = u32::MAX;

struct Pairing<'a> {
    graph: &'a Graph,
    heaviest: u64,
    within: Option<&'a [u32]>,
    group: Vec<u32>,
    groups: u32,
}

impl<'a> Pairing<'a> {
    fn new(graph: &'a Graph, heaviest: u64, within: Option<&'a [u32]>) -> Pairing<'a> {
        Pairing {
            graph,
            heaviest,
            within,
            group: vec![NONE; graph.vertices()],
            groups: 0,
        }
    }

    /// The group of each vertex, and how many there are.
    fn run(mut self, random: &mut SplitMix64) -> (Vec<u32>, usize) {
        let order = random.order(self.graph.vertices());
        for &vertex in &order {
            self.pair_along_edge(vertex);
        }
        self.pair_around_hubs(&order);
        for vertex in order {
            if self.is_single(vertex) {
                self.join(&[vertex]);
            }
        }
        (self.group, self.groups as usize)
    }

    fn join(&mut self, vertices: &[u32]) {
        for &vertex in vertices {
            self.group[vertex as usize] = self.groups;
        }
        self.groups += 1;
    }

    fn is_single(&self, vertex: u32) -> bool {
        self.group[vertex as usize] == NONE
    }

    /// With the neighbour that it has the heaviest edge to; among equals with the lightest.
    fn pair_along_edge(&mut self, vertex: u32) {
        if !self.is_single(vertex) {
            return;
        }
        let edges = self.graph.edges_of(vertex).iter();
        let possible = edges.filter(|&&(other, _)| self.may_pair(vertex, other));
        let lightness = |other: u32| u64::MAX - self.graph.weight(other as usize);
        let best = possible.max_by_key(|&&(other, weight)| (weight, lightness(other)));
        if let Some(&(other, _)) = best {
            self.join(&[vertex, other]);
        }
    }

    /// Those that are left have often one neighbour that took another: a star's rays pair with each
    /// other.
    fn pair_around_hubs(&mut self, order: &[u32]) {
        let mut waiting = vec![NONE; self.graph.vertices()];
        for &vertex in order {
            if !self.is_single(vertex) {
                continue;
            }
            let edges = self.graph.edges_of(vertex).iter();
            let Some(&(hub, _)) = edges.max_by_key(|edge| edge.1) else {
                continue;
            };
            let other = waiting[hub as usize];
            match other != NONE && self.may_pair(vertex, other) {
                true => {
                    self.join(&[vertex, other]);
                    waiting[hub as usize] = NONE;
                }
                false => waiting[hub as usize] = vertex,
            }
        }
    }

    fn may_pair(&self, vertex: u32, other: u32) -> bool {
        let weight = |of: u32| self.graph.weight(of as usize);
        self.is_single(other)
            && self.graph.is_free(vertex)
            && self.graph.is_free(other)
            && weight(vertex) + weight(other) <= self.heaviest
            && (self.within).is_none_or(|parts| parts[vertex as usize] == parts[other as usize])
    }
}

#[cfg(test)]
mod tests {
    use super::coarsen;
    use crate::graph::Graph;
    use crate::random::SplitMix64;

    #[test]
    fn weights_stay_and_pins_pair_with_nobody() {
        let mut graph = Graph::builder();
        let at: Vec<usize> = (0..300).map(|_| graph.vertex(2)).collect();
        let anchor = graph.pinned(1);
        for pair in at.windows(2) {
            graph.edge(pair[0], pair[1], 3).edge(pair[0], anchor, 1);
        }
        let graph = graph.build().unwrap();
        let levels = coarsen(&graph, 40, None, &mut SplitMix64::new(1, 1));
        let last = &levels.last().unwrap().graph;
        assert!(last.vertices() <= 60, "{}", last.vertices());
        assert_eq!(last.total_weight(), 600);
        let pins: Vec<_> = (0..last.vertices())
            .filter_map(|at| Some((last.weight(at), last.pin(at)?)))
            .collect();
        assert_eq!(pins, [(0, 1)]);
    }

    #[test]
    fn the_rays_of_a_star_pair() {
        let mut graph = Graph::builder();
        let hub = graph.vertex(1);
        for _ in 0..if cfg!(miri) { 70 } else { 200 } {
            let ray = graph.vertex(1);
            graph.edge(hub, ray, 1);
        }
        let graph = graph.build().unwrap();
        let levels = coarsen(&graph, 20, None, &mut SplitMix64::new(1, 1));
        assert!(levels.last().unwrap().graph.vertices() < 50);
    }

    #[test]
    fn pairs_stay_within_their_part() {
        let mut graph = Graph::builder();
        let at: Vec<usize> = (0..64).map(|_| graph.vertex(1)).collect();
        for pair in at.windows(2) {
            graph.edge(pair[0], pair[1], 1);
        }
        let graph = graph.build().unwrap();
        let parts: Vec<u32> = (0..64).map(|at| at / 3 % 2).collect();
        let levels = coarsen(&graph, 4, Some(&parts), &mut SplitMix64::new(1, 1));
        let mut seen = vec![None; levels[0].graph.vertices()];
        for (vertex, &into) in levels[0].group.iter().enumerate() {
            let part = seen[into as usize].get_or_insert(parts[vertex]);
            assert_eq!(*part, parts[vertex]);
        }
    }
}
