//! First partitions, from which refinement starts.

use super::buckets::Buckets;
use crate::graph::Graph;
use crate::random::SplitMix64;

/// No part yet.
const NOWHERE: u32 = u32::MAX;

/// Parts that grow one after the other, each from its pinned vertices or from a random one, by the
/// vertex that it is most, and the rest least, connected with.
pub(super) fn grow(graph: &Graph, parts: usize, random: &mut SplitMix64) -> Vec<u32> {
    let mut growth = GrowingParts {
        graph,
        parts: pinned(graph),
        inside: vec![0; graph.vertices()],
        open: vec![0; graph.vertices()],
        rim: Buckets::new(graph.vertices(), 1),
        reached: Vec::new(),
    };
    for vertex in 0..graph.vertices() as u32 {
        let open = graph
            .edges_of(vertex)
            .iter()
            .filter(|edge| growth.parts[edge.0 as usize] == NOWHERE);
        growth.open[vertex as usize] = open.map(|edge| edge.1 as i64).sum();
    }
    let order = random.order(parts);
    let mut seeds = random.order(graph.vertices()).into_iter();
    let mut left = graph.total_weight();
    for (at, &part) in order.iter().enumerate() {
        match at + 1 == parts {
            true => growth.give_rest(part),
            false => left -= growth.grow_one(part, left / (parts - at) as u64, &mut seeds),
        }
    }
    growth.parts
}

/// Heavy vertices first, otherwise in random order, each to the part that it is most connected with
/// among those with room, or else to the lightest: keeps to the limit where weights differ much.
pub(super) fn spread(graph: &Graph, parts: usize, limit: u64, random: &mut SplitMix64) -> Vec<u32> {
    let mut result = pinned(graph);
    let mut weights = vec![0_u64; parts];
    for (vertex, &part) in result.iter().enumerate() {
        if part != NOWHERE {
            weights[part as usize] += graph.weight(vertex);
        }
    }
    let mut links = vec![0_u64; parts];
    let mut order = random.order(graph.vertices());
    order.sort_by_key(|&vertex| std::cmp::Reverse(graph.weight(vertex as usize).checked_ilog2()));
    for vertex in order {
        if !graph.is_free(vertex) {
            continue;
        }
        links.fill(0);
        for &(other, weight) in graph.edges_of(vertex) {
            if let Some(link) = links.get_mut(result[other as usize] as usize) {
                *link += weight;
            }
        }
        let weight = graph.weight(vertex as usize);
        let rank = |part: &usize| match weights[*part] + weight <= limit {
            true => (1, links[*part], u64::MAX - weights[*part]),
            false => (0, u64::MAX - weights[*part], 0),
        };
        let part = (0..parts).max_by_key(rank).unwrap_or(0);
        weights[part] += weight;
        result[vertex as usize] = part as u32;
    }
    result
}

fn pinned(graph: &Graph) -> Vec<u32> {
    let pins = (0..graph.vertices()).map(|vertex| graph.pin(vertex));
    pins.map(|pin| pin.map_or(NOWHERE, |part| part as u32))
        .collect()
}

/// Parts of which one grows at a time, by the vertex that is bound most to it and least to those
/// that are in no part yet.
struct GrowingParts<'g> {
    graph: &'g Graph,
    parts: Vec<u32>,
    /// Weight of the edges to the part that grows.
    inside: Vec<i64>,
    /// Weight of the edges to vertices that are in no part yet.
    open: Vec<i64>,
    rim: Buckets,
    /// Where `inside` is not zero.
    reached: Vec<u32>,
}

impl GrowingParts<'_> {
    /// Returns the weight that the part has got.
    fn grow_one(&mut self, part: u32, goal: u64, seeds: &mut impl Iterator<Item = u32>) -> u64 {
        for vertex in 0..self.graph.vertices() as u32 {
            if self.parts[vertex as usize] == part {
                self.reach_around(vertex);
            }
        }
        let mut got = 0;
        while got < goal {
            let next = self.rim.best(0).map(|(_, vertex)| vertex);
            let is_open = |vertex: &u32| self.parts[*vertex as usize] == NOWHERE;
            let Some(vertex) = next.or_else(|| seeds.find(is_open)) else {
                break;
            };
            self.rim.remove(vertex);
            let weight = self.graph.weight(vertex as usize);
            // Too heavy by more than is missing: somebody else's.
            if got > 0 && got.saturating_add(weight) - goal.min(got + weight) > goal - got {
                continue;
            }
            got += weight;
            self.parts[vertex as usize] = part;
            for &(other, weight) in self.graph.edges_of(vertex) {
                self.open[other as usize] -= weight as i64;
            }
            self.reach_around(vertex);
        }
        self.rim.clear();
        for vertex in self.reached.drain(..) {
            self.inside[vertex as usize] = 0;
        }
        got
    }

    fn reach_around(&mut self, vertex: u32) {
        for &(other, weight) in self.graph.edges_of(vertex) {
            if self.parts[other as usize] != NOWHERE {
                continue;
            }
            let inside = &mut self.inside[other as usize];
            if *inside == 0 {
                self.reached.push(other);
            }
            *inside += weight as i64;
            let gain = *inside - self.open[other as usize];
            self.rim.remove(other);
            self.rim.insert(other, 0, gain);
        }
    }

    fn give_rest(&mut self, part: u32) {
        for place in &mut self.parts {
            if *place == NOWHERE {
                *place = part;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{grow, spread};
    use crate::graph::Graph;
    use crate::random::SplitMix64;

    fn ring(vertices: usize) -> Graph {
        let mut graph = Graph::builder();
        let at: Vec<usize> = (0..vertices).map(|_| graph.vertex(1)).collect();
        for vertex in 0..vertices {
            graph.edge(at[vertex], at[(vertex + 1) % vertices], 1);
        }
        graph.build().unwrap()
    }

    #[test]
    fn the_parts_of_a_ring_are_arcs() {
        let ring = ring(40);
        let parts = grow(&ring, 4, &mut SplitMix64::new(3, 0));
        for part in 0..4 {
            assert_eq!(parts.iter().filter(|&&of| of == part).count(), 10);
        }
        let cut = (0..40)
            .filter(|&at| parts[at] != parts[(at + 1) % 40])
            .count();
        assert!(cut <= 7, "{cut}");
    }

    #[test]
    fn heavy_vertices_are_spread() {
        let mut graph = Graph::builder();
        for weight in [1, 1, 1, 100, 100, 100] {
            graph.vertex(weight);
        }
        let parts = spread(&graph.build().unwrap(), 3, 101, &mut SplitMix64::new(3, 0));
        let mut heavy = parts[3..].to_vec();
        heavy.sort_unstable();
        assert_eq!(heavy, [0, 1, 2]);
    }

    #[test]
    fn parts_grow_from_what_is_pinned() {
        let mut graph = Graph::builder();
        let at: Vec<usize> = (0..8).map(|_| graph.vertex(1)).collect();
        for pair in at.windows(2) {
            graph.edge(pair[0], pair[1], 1);
        }
        let (one, zero) = (graph.pinned(1), graph.pinned(0));
        graph.edge(one, at[0], 1).edge(zero, at[7], 1);
        let parts = grow(&graph.build().unwrap(), 2, &mut SplitMix64::new(3, 0));
        assert_eq!(parts, [1, 1, 1, 1, 0, 0, 0, 0, 1, 0]);
    }
}
