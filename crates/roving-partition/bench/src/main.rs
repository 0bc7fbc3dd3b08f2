//! The partitioner of roving-flow beside METIS and Scotch: cut, heaviest part and time, as CSV.
//!
//! ```text
//! apt-get install libscotch-dev
//! cargo run --release --features metis,scotch > partition.csv
//! ```
//!
//! Words behind `--` are parts of the names of the graphs that are wanted.
//!
//! Each graph is partitioned in three ways: *free*; *pinned*, with one vertex of weight zero a part
//! and migration edges to it, as when a network is partitioned anew; and *mapped*, where the parts
//! are cores of two sockets. METIS knows the first only, and the others are left out for it.
//!
//! # What may be unsafe, and why
//!
//! | module | reason |
//! |---|---|
//! | `scotch` | calls a C library |
#![deny(unsafe_code)]

mod compressed;
mod graphs;
#[cfg(feature = "metis")]
mod metis;
#[cfg(feature = "scotch")]
#[allow(unsafe_code)]
mod scotch;

use std::time::{Duration, Instant};

use roving_partition::{Distances, Graph, KWay, Partition, Partitioner, Problem};

const SEEDS: u64 = 9;
const PARTS: [usize; 3] = [2, 8, 32];

/// How a graph is partitioned.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Manner {
    Free,
    Pinned,
    Mapped,
}

impl Manner {
    const ALL: [(Manner, &str); 3] = [
        (Manner::Free, "free"),
        (Manner::Pinned, "pinned"),
        (Manner::Mapped, "mapped"),
    ];
}

/// A partitioner for one seed; `None` where it cannot do what is asked.
type Contender = fn(u64, Manner) -> Option<Box<dyn Partitioner>>;

const CONTENDERS: &[(&str, Contender)] = &[
    ("k-way FM, 8 starts", |seed, _| {
        Some(Box::new(KWay::new(seed)))
    }),
    ("k-way FM, 1 start", |seed, _| {
        Some(Box::new(KWay::new(seed).starts(1)))
    }),
    #[cfg(feature = "metis")]
    ("METIS k-way", |seed, manner| {
        (manner == Manner::Free).then(|| Box::new(metis::Metis { seed }) as Box<dyn Partitioner>)
    }),
    #[cfg(feature = "scotch")]
    ("Scotch", |seed, _| Some(Box::new(scotch::Scotch { seed }))),
];

fn main() {
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    println!(
        "graph,vertices,edges,parts,manner,who,cut_median,cut_least,cut_greatest,heaviest_over_mean,ms_least"
    );
    for (name, free) in graphs::all() {
        if !wanted.is_empty() && !wanted.iter().any(|part| name.contains(part)) {
            continue;
        }
        for parts in PARTS {
            let pinned = graphs::pinned(&free, parts);
            for (manner, manner_name) in Manner::ALL {
                let graph = if manner == Manner::Free {
                    &free
                } else {
                    &pinned
                };
                let Some(problem) = problem(graph, parts, manner) else {
                    continue;
                };
                for &(who, contender) in CONTENDERS {
                    if let Some(row) = measure(&problem, manner, contender) {
                        let (vertices, edges) = (graph.vertices(), graph.edges());
                        println!("{name},{vertices},{edges},{parts},{manner_name},\"{who}\",{row}");
                    }
                }
            }
        }
    }
}

/// Two sockets for the manner that maps, which needs four parts at least.
fn problem(graph: &Graph, parts: usize, manner: Manner) -> Option<Problem<'_>> {
    let problem = Problem::new(graph, parts).ok()?;
    match manner {
        Manner::Mapped if parts < 4 => None,
        Manner::Mapped => {
            let socket = |part: usize| part * 2 / parts;
            let apart = |a, b| {
                if socket(a) == socket(b) {
                    1
                } else {
                    graphs::FAR
                }
            };
            problem.distances(Distances::new(parts, apart).ok()?).ok()
        }
        _ => Some(problem),
    }
}

fn measure(problem: &Problem<'_>, manner: Manner, contender: Contender) -> Option<String> {
    let mut found: Vec<(Partition, Duration)> = Vec::new();
    for seed in 0..SEEDS {
        let partitioner = contender(seed, manner)?;
        let begin = Instant::now();
        let partition = partitioner.partition(problem);
        found.push((partition, begin.elapsed()));
    }
    let mut cuts: Vec<u64> = found.iter().map(|(partition, _)| partition.cut()).collect();
    cuts.sort_unstable();
    // Others on the machine only make it longer.
    let least = found.iter().map(|&(_, time)| time).min()?;
    let mean = problem.graph().total_weight() as f64 / problem.parts() as f64;
    let heaviest = found
        .iter()
        .flat_map(|(partition, _)| partition.weights())
        .max()?;
    Some(format!(
        "{},{},{},{:.3},{:.3}",
        cuts[cuts.len() / 2],
        cuts[0],
        cuts[cuts.len() - 1],
        *heaviest as f64 / mean,
        least.as_secs_f64() * 1e3,
    ))
}
