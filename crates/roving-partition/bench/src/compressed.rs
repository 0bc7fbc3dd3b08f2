//! A graph as METIS and Scotch want it: 32-bit numbers, neighbours in rows.
#![cfg(any(feature = "metis", feature = "scotch"))]

use roving_partition::Graph;

pub(crate) struct Compressed {
    /// Where each vertex's neighbours begin, and one more.
    pub(crate) starts: Vec<i32>,
    pub(crate) neighbours: Vec<i32>,
    pub(crate) edge_weights: Vec<i32>,
    pub(crate) vertex_weights: Vec<i32>,
}

impl Compressed {
    /// Weights whose sum is too great for 32 bits are divided, and what gets zero by that becomes
    /// one: the loss that a partitioner with 64 bits does not have.
    pub(crate) fn new(graph: &Graph) -> Compressed {
        let mut starts = vec![0];
        let (mut neighbours, mut edge_weights) = (Vec::new(), Vec::new());
        for vertex in 0..graph.vertices() {
            for (other, weight) in graph.neighbours(vertex) {
                neighbours.push(other as i32);
                edge_weights.push(weight);
            }
            starts.push(neighbours.len() as i32);
        }
        let vertex_weights: Vec<u64> = (0..graph.vertices())
            .map(|vertex| graph.weight(vertex))
            .collect();
        Compressed {
            starts,
            neighbours,
            edge_weights: fit(&edge_weights),
            vertex_weights: fit(&vertex_weights),
        }
    }
}

fn fit(weights: &[u64]) -> Vec<i32> {
    let sum: u128 = weights.iter().map(|&weight| u128::from(weight)).sum();
    let divisor = (sum / (i32::MAX as u128 / 2) + 1) as u64;
    let fitted = weights.iter().map(|&weight| match weight {
        0 => 0,
        _ => (weight / divisor).max(1) as i32,
    });
    fitted.collect()
}
