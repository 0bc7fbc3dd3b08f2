//! Which of the groups that belong together gets which part's number: it matters where vertices are
//! pinned, and where parts are at different distances.

use crate::distances::Distances;
use crate::graph::Graph;

/// Above this, looking at all pairs of parts is not worth while.
const PARTS_MAX: usize = 256;

/// Exchanges the numbers of two parts, pinned vertices left where they are, as long as the cut gets
/// less by it.
pub(super) fn relabel(graph: &Graph, distances: &Distances, parts: &mut [u32]) {
    let count = distances.parts();
    let has_pins = (0..graph.vertices() as u32).any(|vertex| !graph.is_free(vertex));
    if !(2..=PARTS_MAX).contains(&count) || distances.is_uniform() && !has_pins {
        return;
    }
    let mut labels = Labels::new(graph, distances, parts);
    while labels.exchange_any() {}
    for (vertex, part) in parts.iter_mut().enumerate() {
        if graph.is_free(vertex as u32) {
            *part = labels.place[*part as usize] as u32;
        }
    }
}

struct Labels<'d> {
    distances: &'d Distances,
    /// Weight between the free vertices of two groups, row by row.
    between: Vec<u64>,
    /// Weight between the free vertices of a group (row) and what is pinned to a part (column).
    pinned: Vec<u64>,
    /// The part that each group gets.
    place: Vec<usize>,
}

impl<'d> Labels<'d> {
    fn new(graph: &Graph, distances: &'d Distances, parts: &[u32]) -> Labels<'d> {
        let count = distances.parts();
        let (mut between, mut pinned) = (vec![0; count * count], vec![0; count * count]);
        for vertex in 0..graph.vertices() as u32 {
            if !graph.is_free(vertex) {
                continue;
            }
            let row = parts[vertex as usize] as usize * count;
            for &(other, weight) in graph.edges_of(vertex) {
                let to = match graph.is_free(other) {
                    true => &mut between,
                    false => &mut pinned,
                };
                to[row + parts[other as usize] as usize] += weight;
            }
        }
        Labels {
            distances,
            between,
            pinned,
            place: (0..count).collect(),
        }
    }

    fn exchange_any(&mut self) -> bool {
        let mut any = false;
        for a in 0..self.place.len() {
            for b in 0..a {
                let now = self.cost(a, b);
                self.place.swap(a, b);
                match self.cost(a, b) < now {
                    true => any = true,
                    false => self.place.swap(a, b),
                }
            }
        }
        any
    }

    /// The part of the cut that depends on the places of two groups, but for the edges between
    /// them, whose distance does not change when the two are exchanged.
    fn cost(&self, a: usize, b: usize) -> u128 {
        let count = self.place.len();
        let apart = |x: usize, y: usize| u128::from(self.distances.between(x, y));
        let mut cost = 0;
        for group in [a, b] {
            let (place, row) = (self.place[group], group * count);
            for other in 0..count {
                if other != a && other != b {
                    let weight = u128::from(self.between[row + other]);
                    cost += weight * apart(place, self.place[other]);
                }
                cost += u128::from(self.pinned[row + other]) * apart(place, other);
            }
        }
        cost
    }
}

#[cfg(test)]
mod tests {
    use super::relabel;
    use crate::distances::Distances;
    use crate::graph::Graph;

    #[test]
    fn groups_go_where_their_pins_are() {
        let mut graph = Graph::builder();
        let at: Vec<usize> = (0..3).map(|_| graph.vertex(1)).collect();
        for (part, &vertex) in at.iter().enumerate() {
            let anchor = graph.pinned((part + 1) % 3);
            graph.edge(anchor, vertex, 5);
        }
        let graph = graph.build().unwrap();
        let mut parts = vec![0, 1, 2, 1, 2, 0];
        relabel(&graph, &Distances::uniform(3), &mut parts);
        assert_eq!(parts, [1, 2, 0, 1, 2, 0]);
    }

    #[test]
    fn groups_that_talk_become_neighbours() {
        let mut graph = Graph::builder();
        let at: Vec<usize> = (0..4).map(|_| graph.vertex(1)).collect();
        graph.edge(at[0], at[2], 5).edge(at[1], at[3], 5);
        let graph = graph.build().unwrap();
        let distances = Distances::new(4, |a, b| if a / 2 == b / 2 { 1 } else { 9 }).unwrap();
        let mut parts = vec![0, 1, 2, 3];
        relabel(&graph, &distances, &mut parts);
        assert_eq!(parts[0] / 2, parts[2] / 2);
        assert_eq!(parts[1] / 2, parts[3] / 2);
    }
}
