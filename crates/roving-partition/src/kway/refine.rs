//! Fiduccia–Mattheyses: passes that move one vertex after the other, best gain first, each once,
//! and keep the best partition on the way.
//!
//! Two kinds of pass take turns. One never exceeds the limit; the other lets one part exceed it by
//! one vertex, and then moves vertices out of that part until the limit holds again, which finds
//! exchanges and longer rotations. While the limit is exceeded, both move vertices out of the
//! heaviest part only, and never to where the excess would grow.

use super::buckets::Buckets;
use super::state::{Rule, WorkingPartition};
use crate::random::SplitMix64;

/// Passes at the most; mostly three or four suffice.
const PASSES_MAX: usize = 24;

/// Moves without a better partition after which a pass ends, at the least and at the most; in
/// between it is an eighth of the vertices.
const STALL_MIN: usize = 512;
const STALL_MAX: usize = 4096;

/// In graphs with more vertices, those that have all neighbours in their own part are left out,
/// until one of these is moved.
const LARGE: usize = 1 << 15;

/// Betters a partition until neither kind of pass does.
pub(super) fn refine(state: &mut WorkingPartition<'_>, parts: usize, random: &mut SplitMix64) {
    if parts < 2 {
        return;
    }
    let vertices = state.graph.vertices();
    let mut pass = Pass {
        buckets: Buckets::new(vertices, parts),
        locked: vec![false; vertices],
        parts: parts as u32,
        log: Vec::new(),
    };
    let mut fruitless = 0;
    for number in 0..PASSES_MAX {
        let rule = [Rule::Keep, Rule::Borrow][number % 2];
        fruitless = match pass.run(state, rule, random) {
            true => 0,
            false => fruitless + 1,
        };
        if fruitless == 2 {
            break;
        }
    }
}

struct Pass {
    buckets: Buckets,
    locked: Vec<bool>,
    parts: u32,
    /// The moves so far, each with the part that the vertex came from.
    log: Vec<(u32, u32)>,
}

impl Pass {
    /// Whether the partition is a better one afterwards.
    fn run(
        &mut self,
        state: &mut WorkingPartition<'_>,
        rule: Rule,
        random: &mut SplitMix64,
    ) -> bool {
        self.fill(state, random);
        let stall = (state.graph.vertices() / 8).clamp(STALL_MIN, STALL_MAX);
        let first = state.rank();
        let (mut best, mut kept) = (first, 0);
        while let Some((vertex, to)) = self.pick(state, rule) {
            self.log.push((vertex, state.part(vertex)));
            self.buckets.remove(vertex);
            self.locked[vertex as usize] = true;
            state.shift(vertex, to);
            self.update_around(state, vertex);
            if state.rank() < best {
                (best, kept) = (state.rank(), self.log.len());
            } else if self.log.len() - kept > stall {
                break;
            }
        }
        for &(vertex, from) in self.log[kept..].iter().rev() {
            state.shift(vertex, from);
        }
        debug_assert_eq!(state.rank(), best);
        self.buckets.clear();
        self.log.clear();
        self.locked.fill(false);
        best < first
    }

    fn fill(&mut self, state: &WorkingPartition<'_>, random: &mut SplitMix64) {
        let rim_only = state.graph.vertices() > LARGE && !state.has_excess();
        for vertex in random.order(state.graph.vertices()) {
            if !state.graph.is_free(vertex) {
                self.locked[vertex as usize] = true;
            } else if rim_only && !state.is_on_rim(vertex) {
                continue;
            } else if let Some((gain, _)) = state.best_move(vertex, Rule::Any) {
                self.buckets.insert(vertex, state.part(vertex), gain);
            }
        }
    }

    /// The next move. What cannot be moved now is left out until something around it is.
    fn pick(&mut self, state: &WorkingPartition<'_>, rule: Rule) -> Option<(u32, u32)> {
        let (parts, rule) = match state.has_excess() {
            true => (state.heaviest()..state.heaviest() + 1, rule),
            false => (0..self.parts, rule),
        };
        loop {
            let best = parts.clone().filter_map(|part| self.buckets.best(part));
            let (bucket, vertex) = best.max_by_key(|&(bucket, _)| bucket)?;
            let found = state.best_move(vertex, rule);
            let Some((gain, to)) = found else {
                self.buckets.remove(vertex);
                continue;
            };
            if super::buckets::bucket(gain) >= bucket {
                return Some((vertex, to));
            }
            self.buckets.remove(vertex);
            self.buckets.insert(vertex, state.part(vertex), gain);
        }
    }

    fn update_around(&mut self, state: &WorkingPartition<'_>, vertex: u32) {
        for &(other, _) in state.graph.edges_of(vertex) {
            if self.locked[other as usize] {
                continue;
            }
            self.buckets.remove(other);
            if let Some((gain, _)) = state.best_move(other, Rule::Any) {
                self.buckets.insert(other, state.part(other), gain);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{SplitMix64, WorkingPartition, refine};
    use crate::distances::Distances;
    use crate::graph::Graph;

    fn refined(graph: &Graph, parts: usize, limit: u64, start: Vec<u32>) -> (u64, u64) {
        let distances = Distances::uniform(parts);
        let mut state = WorkingPartition::new(graph, &distances, limit, start);
        refine(&mut state, parts, &mut SplitMix64::new(1, 1));
        let (excess, cut, _) = state.rank();
        let checked = WorkingPartition::new(graph, &distances, limit, state.into_parts());
        assert_eq!((checked.rank().0, checked.rank().1), (excess, cut));
        (excess, cut)
    }

    /// Two pairs, each with one vertex in the wrong part: no single move keeps to the limit.
    #[test]
    fn two_vertices_are_exchanged_where_no_single_move_is_allowed() {
        let mut graph = Graph::builder();
        let at: Vec<usize> = (0..4).map(|_| graph.vertex(1)).collect();
        graph.edge(at[0], at[1], 5).edge(at[2], at[3], 5);
        let graph = graph.build().unwrap();
        assert_eq!(refined(&graph, 2, 2, vec![0, 1, 0, 1]), (0, 0));
    }

    #[test]
    fn what_exceeds_the_limit_is_moved_out_at_the_least_cost() {
        let mut graph = Graph::builder();
        let at: Vec<usize> = (0..4).map(|_| graph.vertex(1)).collect();
        graph
            .edge(at[0], at[1], 9)
            .edge(at[1], at[2], 1)
            .edge(at[2], at[3], 9);
        let graph = graph.build().unwrap();
        assert_eq!(refined(&graph, 2, 2, vec![0; 4]), (0, 1));
    }

    #[test]
    fn three_vertices_rotate_through_three_full_parts() {
        let mut graph = Graph::builder();
        let at: Vec<usize> = (0..3).map(|_| graph.vertex(1)).collect();
        let anchors: Vec<usize> = (0..3).map(|part| graph.pinned(part)).collect();
        for (vertex, anchor) in [(0, 1), (1, 2), (2, 0)] {
            graph.edge(at[vertex], anchors[anchor], 4);
        }
        let graph = graph.build().unwrap();
        assert_eq!(refined(&graph, 3, 1, vec![0, 1, 2, 0, 1, 2]), (0, 0));
    }
}
