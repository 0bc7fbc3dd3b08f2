//! A partition on its way: every vertex in a part, and what moving one would change.

use crate::distances::Distances;
use crate::graph::Graph;

/// Where a vertex may be moved to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Rule {
    /// Anywhere.
    Any,
    /// Where the limit holds afterwards, or is exceeded by no more than before.
    Keep,
    /// To a part that does not exceed the limit yet: it may by this one vertex.
    Borrow,
}

/// The better partition is less.
pub(super) type Rank = (u64, u64, u64);

pub(super) struct WorkingPartition<'g> {
    pub(super) graph: &'g Graph,
    distances: &'g Distances,
    limit: u64,
    parts: Vec<u32>,
    weights: Vec<u64>,
    lightest: u32,
    heaviest: u32,
    cut: u64,
    excess: u64,
    links: Links,
}

impl<'g> WorkingPartition<'g> {
    pub(super) fn new(
        graph: &'g Graph,
        distances: &'g Distances,
        limit: u64,
        parts: Vec<u32>,
    ) -> WorkingPartition<'g> {
        let mut weights = vec![0; distances.parts()];
        let mut links = Links::new(graph, distances.parts());
        let mut cut = 0;
        for vertex in 0..graph.vertices() as u32 {
            let part = parts[vertex as usize];
            weights[part as usize] += graph.weight(vertex as usize);
            for &(other, weight) in graph.edges_of(vertex) {
                let there = parts[other as usize];
                links.add(vertex, there, weight);
                if other < vertex {
                    cut += weight * u64::from(distances.between(part as usize, there as usize));
                }
            }
        }
        let mut state = WorkingPartition {
            excess: weights
                .iter()
                .map(|weight| weight.saturating_sub(limit))
                .sum(),
            graph,
            distances,
            limit,
            parts,
            weights,
            lightest: 0,
            heaviest: 0,
            cut,
            links,
        };
        state.find_extremes();
        state
    }

    pub(super) fn part(&self, vertex: u32) -> u32 {
        self.parts[vertex as usize]
    }

    pub(super) fn into_parts(self) -> Vec<u32> {
        self.parts
    }

    pub(super) fn heaviest(&self) -> u32 {
        self.heaviest
    }

    pub(super) fn has_excess(&self) -> bool {
        self.excess > 0
    }

    pub(super) fn rank(&self) -> Rank {
        (self.excess, self.cut, self.weights[self.heaviest as usize])
    }

    /// The best move of a vertex that a rule allows: its gain, which may be negative, and the part.
    /// Among equals it is the one to the lighter part.
    pub(super) fn best_move(&self, vertex: u32, rule: Rule) -> Option<(i64, u32)> {
        let mut best: Option<(i64, u32)> = None;
        let mut consider = |to: u32, gain: i64| {
            let better = best.is_none_or(|(best_gain, best_to)| {
                gain > best_gain || gain == best_gain && self.is_lighter(to, best_to)
            });
            if better && to != self.part(vertex) && self.allows(vertex, to, rule) {
                best = Some((gain, to));
            }
        };
        if self.distances.is_uniform() {
            let here = self.links.weight(vertex, self.part(vertex)) as i64;
            for &(to, weight) in self.links.of(vertex) {
                consider(to, weight as i64 - here);
            }
            let weight = self.links.weight(vertex, self.lightest) as i64;
            consider(self.lightest, weight - here);
        } else {
            for to in 0..self.weights.len() as u32 {
                consider(to, self.gain(vertex, to));
            }
        }
        best
    }

    /// Whether it has an edge to another part.
    pub(super) fn is_on_rim(&self, vertex: u32) -> bool {
        let own = self.part(vertex);
        self.links.of(vertex).iter().any(|entry| entry.0 != own)
    }

    /// By how much the cut gets less when a vertex is moved.
    fn gain(&self, vertex: u32, to: u32) -> i64 {
        let from = self.part(vertex) as usize;
        let gains = self.links.of(vertex).iter().map(|&(part, weight)| {
            let now = i64::from(self.distances.between(from, part as usize));
            let then = i64::from(self.distances.between(to as usize, part as usize));
            weight as i64 * (now - then)
        });
        gains.sum()
    }

    fn is_lighter(&self, part: u32, than: u32) -> bool {
        let rank = |of: u32| (self.weights[of as usize], of);
        rank(part) < rank(than)
    }

    fn allows(&self, vertex: u32, to: u32, rule: Rule) -> bool {
        match rule {
            Rule::Any => true,
            Rule::Keep => self.excess_after(vertex, to) <= self.excess,
            Rule::Borrow => self.weights[to as usize] <= self.limit,
        }
    }

    fn excess_after(&self, vertex: u32, to: u32) -> u64 {
        let weight = self.graph.weight(vertex as usize);
        let (from, to) = (self.part(vertex) as usize, to as usize);
        let over = |weight: u64| weight.saturating_sub(self.limit);
        let before = over(self.weights[from]) + over(self.weights[to]);
        self.excess - before + over(self.weights[from] - weight) + over(self.weights[to] + weight)
    }

    /// Moves a vertex. To undo it, move it back.
    pub(super) fn shift(&mut self, vertex: u32, to: u32) {
        let from = self.part(vertex);
        debug_assert!(from != to && self.graph.is_free(vertex));
        let gain = self.gain(vertex, to);
        self.cut = self.cut.wrapping_add_signed(-gain);
        self.excess = self.excess_after(vertex, to);
        let weight = self.graph.weight(vertex as usize);
        self.weights[from as usize] -= weight;
        self.weights[to as usize] += weight;
        self.parts[vertex as usize] = to;
        for &(other, weight) in self.graph.edges_of(vertex) {
            self.links.subtract(other, from, weight);
            self.links.add(other, to, weight);
        }
        self.find_extremes();
    }

    fn find_extremes(&mut self) {
        let (mut lightest, mut heaviest) = (0, 0);
        for part in 1..self.weights.len() as u32 {
            if self.is_lighter(part, lightest) {
                lightest = part;
            }
            if self.weights[part as usize] > self.weights[heaviest as usize] {
                heaviest = part;
            }
        }
        (self.lightest, self.heaviest) = (lightest, heaviest);
    }
}

/// For each vertex, the parts that it has edges to, and their weight: as many entries as it has
/// neighbours, or as there are parts, at most.
struct Links {
    starts: Vec<usize>,
    counts: Vec<u32>,
    entries: Vec<(u32, u64)>,
}

impl Links {
    fn new(graph: &Graph, parts: usize) -> Links {
        let mut starts = vec![0];
        let mut end = 0;
        for vertex in 0..graph.vertices() as u32 {
            end += graph.edges_of(vertex).len().min(parts);
            starts.push(end);
        }
        Links {
            starts,
            counts: vec![0; graph.vertices()],
            entries: vec![(0, 0); end],
        }
    }

    fn of(&self, vertex: u32) -> &[(u32, u64)] {
        let start = self.starts[vertex as usize];
        &self.entries[start..start + self.counts[vertex as usize] as usize]
    }

    fn weight(&self, vertex: u32, part: u32) -> u64 {
        let found = self.of(vertex).iter().find(|entry| entry.0 == part);
        found.map_or(0, |entry| entry.1)
    }

    fn add(&mut self, vertex: u32, part: u32, weight: u64) {
        let start = self.starts[vertex as usize];
        let count = &mut self.counts[vertex as usize];
        let entries = &mut self.entries[start..];
        let known = &mut entries[..*count as usize];
        if let Some(entry) = known.iter_mut().find(|entry| entry.0 == part) {
            entry.1 += weight;
            return;
        }
        entries[*count as usize] = (part, weight);
        *count += 1;
    }

    /// Less what was added before.
    fn subtract(&mut self, vertex: u32, part: u32, weight: u64) {
        let start = self.starts[vertex as usize];
        let count = &mut self.counts[vertex as usize];
        let entries = &mut self.entries[start..start + *count as usize];
        let at = entries.iter().position(|entry| entry.0 == part);
        let at = at.expect("it was added before");
        entries[at].1 -= weight;
        if entries[at].1 == 0 {
            *count -= 1;
            entries.swap(at, *count as usize);
        }
    }
}
