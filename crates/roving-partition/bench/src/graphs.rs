//! The graphs, each from a fixed seed: the process networks of the papers, and two that are not.

use roving_partition::{Graph, GraphBuilder};

/// How far the two sockets are apart, with cores of one at distance 1.
pub(crate) const FAR: u32 = 4;

/// The cost of moving a vertex, where that is weighed.
const MIGRATION: u64 = 16;

pub(crate) fn all() -> Vec<(&'static str, Graph)> {
    vec![
        ("ring", ring(1000)),
        ("scatter/gather", star(50)),
        ("MapReduce", map_reduce(128)),
        ("random A", random(239, 364, 1)),
        ("random B", random(213, 333, 2)),
        ("H.264-like", stages(&[1, 128, 1, 128, 1, 128, 1])),
        ("grid", grid(60, 60)),
        ("chain", chain(20_000)),
    ]
}

/// The graph with a vertex pinned to each part, and an edge from each vertex to one of these.
pub(crate) fn pinned(free: &Graph, parts: usize) -> Graph {
    let mut graph = Graph::builder();
    for vertex in 0..free.vertices() {
        graph.vertex(free.weight(vertex));
    }
    let anchors: Vec<usize> = (0..parts).map(|part| graph.pinned(part)).collect();
    let mut random = LinearCongruential(3);
    for vertex in 0..free.vertices() {
        for (other, weight) in free.neighbours(vertex) {
            if other > vertex {
                graph.edge(vertex, other, weight);
            }
        }
        graph.edge(vertex, anchors[random.below(parts)], MIGRATION);
    }
    graph.build().expect("weights are small")
}

/// Weights as they are measured: most are alike, some are many times as great.
struct LinearCongruential(u64);

impl LinearCongruential {
    fn below(&mut self, below: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % below
    }

    fn weight(&mut self, typical: usize) -> u64 {
        let tail = 1 << self.below(4);
        (1 + self.below(2 * typical * tail) / 2) as u64
    }
}

fn add(graph: &mut GraphBuilder, vertices: usize, random: &mut LinearCongruential) -> Vec<usize> {
    (0..vertices)
        .map(|_| graph.vertex(random.weight(1000)))
        .collect()
}

fn finish(graph: GraphBuilder) -> Graph {
    graph.build().expect("weights are small")
}

fn ring(vertices: usize) -> Graph {
    let mut graph = Graph::builder();
    let at: Vec<usize> = (0..vertices).map(|_| graph.vertex(1)).collect();
    for vertex in 0..vertices {
        graph.edge(at[vertex], at[(vertex + 1) % vertices], 1);
    }
    finish(graph)
}

fn star(rays: usize) -> Graph {
    let (mut graph, mut random) = (Graph::builder(), LinearCongruential(4));
    let at = add(&mut graph, rays + 1, &mut random);
    for &ray in &at[1..] {
        graph.edge(at[0], ray, 2 * random.weight(20));
    }
    finish(graph)
}

fn map_reduce(wide: usize) -> Graph {
    let (mut graph, mut random) = (Graph::builder(), LinearCongruential(5));
    let at = add(&mut graph, 2 * wide, &mut random);
    for &map in &at[..wide] {
        for &reduce in &at[wide..] {
            graph.edge(map, reduce, random.weight(4));
        }
    }
    finish(graph)
}

/// Connected, and with edges to vertices that are near by number more often than not.
fn random(vertices: usize, edges: usize, seed: u64) -> Graph {
    let (mut graph, mut random) = (Graph::builder(), LinearCongruential(seed));
    let at = add(&mut graph, vertices, &mut random);
    for vertex in 1..vertices {
        let back = 1 + random.below(vertex.min(12));
        graph.edge(at[vertex - back], at[vertex], random.weight(20));
    }
    for _ in vertices - 1..edges {
        let (a, b) = (random.below(vertices), random.below(vertices));
        graph.edge(at[a], at[b], random.weight(20));
    }
    finish(graph)
}

/// Each process of a stage has a channel to each of the next.
fn stages(widths: &[usize]) -> Graph {
    let (mut graph, mut random) = (Graph::builder(), LinearCongruential(6));
    let stages: Vec<Vec<usize>> = widths
        .iter()
        .map(|&wide| add(&mut graph, wide, &mut random))
        .collect();
    for pair in stages.windows(2) {
        for &from in &pair[0] {
            for &to in &pair[1] {
                graph.edge(from, to, random.weight(20));
            }
        }
    }
    finish(graph)
}

fn grid(wide: usize, high: usize) -> Graph {
    let mut graph = Graph::builder();
    let at: Vec<usize> = (0..wide * high).map(|_| graph.vertex(1)).collect();
    for y in 0..high {
        for x in 0..wide {
            if x > 0 {
                graph.edge(at[y * wide + x - 1], at[y * wide + x], 1);
            }
            if y > 0 {
                graph.edge(at[(y - 1) * wide + x], at[y * wide + x], 1);
            }
        }
    }
    finish(graph)
}

fn chain(vertices: usize) -> Graph {
    let (mut graph, mut random) = (Graph::builder(), LinearCongruential(7));
    let at = add(&mut graph, vertices, &mut random);
    for pair in at.windows(2) {
        graph.edge(pair[0], pair[1], random.weight(20));
    }
    finish(graph)
}
