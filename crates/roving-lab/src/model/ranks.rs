//! Figures of simulated ranks: a bag of `roving-dist` on up to a million of them.

use roving_model::{MessageCosts, Ranks, RanksOutcome};

use super::args::CheckedArgs;
use super::folder::Folder;
use super::progress::SimulationBar;
use crate::io::csv::Csv;
use crate::io::figures::figures;
use crate::io::input::CommandFailure;
use crate::io::out::show;
use crate::io::plot::{self, Axes, Curve};

/// Simulated ranks, unless others are asked for.
pub(crate) const RANKS: [usize; 6] = [1 << 10, 1 << 12, 1 << 14, 1 << 16, 1 << 18, 1 << 20];
/// The length of a node in ns, unless another is asked for: that of a subtree which is searched
/// without being divided.
pub(crate) const NODE_NS: f64 = 10e6;
/// Expected children of a node.
const CHILDREN: f64 = 4.0;
/// Nodes that the bag begins with.
const ROOTS: u64 = 256;
/// About so many nodes are run by each rank.
const EACH: u64 = 64;

/// How ranks find tasks, the way of `roving-dist` first: how many they ask at random, and how far
/// their lifelines go.
pub(crate) struct LifelineGraph {
    pub(crate) name: &'static str,
    attempts: usize,
    base: usize,
}

pub(crate) const GRAPHS: [LifelineGraph; 6] = [
    LifelineGraph {
        name: "2 at random, lifelines 1, 2, 4, …",
        attempts: 2,
        base: 2,
    },
    LifelineGraph {
        name: "none at random, lifelines 1, 2, 4, …",
        attempts: 0,
        base: 2,
    },
    LifelineGraph {
        name: "8 at random, lifelines 1, 2, 4, …",
        attempts: 8,
        base: 2,
    },
    LifelineGraph {
        name: "2 at random, lifelines 1, 4, 16, …",
        attempts: 2,
        base: 4,
    },
    LifelineGraph {
        name: "2 at random, lifelines 1, 32, 1024, …",
        attempts: 2,
        base: 32,
    },
    LifelineGraph {
        name: "2 at random, a ring",
        attempts: 2,
        base: usize::MAX,
    },
];

impl LifelineGraph {
    pub(crate) fn ranks(&self, count: usize, latency_ns: f64) -> Ranks {
        let costs = MessageCosts {
            latency_ns,
            ..MessageCosts::default()
        };
        let ranks = Ranks::new(count).costs(costs);
        ranks.attempts(self.attempts).base(self.base)
    }
}

/// A node of the tree: its number, and how far below it there may be others.
type Node = (u64, u32);

/// A hash of a whole number: that of a node's children is all that is random in the tree.
fn hash(number: u64) -> u64 {
    let number = (number ^ (number >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    let number = (number ^ (number >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    number ^ (number >> 33)
}

/// How many children a node has: by the geometric distribution, as in the trees of UTS.
fn children(node: u64) -> u64 {
    let unit = (hash(node) >> 11) as f64 / (1_u64 << 53) as f64;
    let parameter = 1.0 / (1.0 + CHILDREN);
    ((1.0 - unit).ln() / (1.0 - parameter).ln()) as u64
}

/// The depth at which a tree has about so many nodes.
fn depth(nodes: u64) -> u32 {
    let levels = (nodes as f64 / ROOTS as f64).ln() / CHILDREN.ln();
    levels.round().max(1.0) as u32
}

/// A bag of about [`EACH`] nodes of this length for each rank.
pub(crate) fn simulate(
    seed: u64,
    node_ns: f64,
    ranks: &Ranks,
    count: usize,
) -> Result<RanksOutcome, CommandFailure> {
    let depth = depth(EACH * count as u64);
    let roots = (0..ROOTS).map(|root| (hash(seed ^ (root << 32)), depth));
    let outcome = ranks.run(roots, |(node, depth): Node, tasks| {
        if depth > 0 {
            let child = |place| (hash(node.wrapping_add(place + 1)), depth - 1);
            tasks.extend((0..children(node)).map(child));
        }
        node_ns
    });
    outcome.map_err(|error| CommandFailure::Run(error.to_string()))
}

/// The columns of the file, and the width of those that the table has, too.
const COLUMNS: [(&str, usize); 16] = [
    ("graph", 38),
    ("latency_us", 11),
    ("ranks", 9),
    ("nodes", 0),
    ("efficiency", 11),
    ("half_began_ms", 14),
    ("worked_ms", 10),
    ("detected_ms", 12),
    ("known_ms", 10),
    ("asks", 0),
    ("refusals", 0),
    ("lifelines", 0),
    ("with_tasks", 0),
    ("acknowledgements", 0),
    ("ends", 0),
    ("tasks_sent", 11),
];

/// A line of the table.
fn line(cells: impl Iterator<Item = String>) -> String {
    let shown = cells.zip(COLUMNS).filter(|(_, (_, width))| *width > 0);
    let padded = shown.map(|(cell, (_, width))| match width {
        38 => format!("{cell:<width$}"),
        _ => format!("{cell:>width$}"),
    });
    padded.collect::<String>() + "\n"
}

/// The cells of the columns.
fn cells(graph: &LifelineGraph, latency_us: f64, outcome: &RanksOutcome) -> Vec<String> {
    let ms = |ns: f64| figures(ns / 1e6);
    let messages = outcome.messages;
    let counts = [
        messages.asks,
        messages.refusals,
        messages.lifelines,
        messages.tasks,
        messages.acknowledgements,
        messages.ends,
        outcome.sent,
    ];
    let first = [
        graph.name.to_owned(),
        figures(latency_us),
        outcome.ranks.to_string(),
        outcome.tasks.to_string(),
        figures(outcome.efficiency()),
        outcome.half_began_ns.map_or("never".into(), ms),
        ms(outcome.worked_ns),
        ms(outcome.detected_ns),
        ms(outcome.time_ns),
    ];
    first
        .into_iter()
        .chain(counts.map(|n| n.to_string()))
        .collect()
}

/// The efficiency of a bag by number of ranks, graph of lifelines and network.
pub(super) fn ranks(plan: &CheckedArgs, out: &Folder) -> Result<(), CommandFailure> {
    let counts = plan.ranks.as_deref().unwrap_or(&RANKS);
    let node_ns = plan.grain_ns.unwrap_or(NODE_NS);
    let names = COLUMNS.map(|(name, _)| name);
    let mut csv = Csv::new(&names);
    let title = format!(
        "a bag with about {EACH} nodes a rank, {} ms each\n",
        node_ns / 1e6
    );
    let mut text = title + &line(names.iter().map(ToString::to_string));
    let mut curves = Vec::new();
    let runs = GRAPHS.len() * plan.latencies_us.len() * counts.len();
    let mut progress = SimulationBar::new("ranks", runs);
    for graph in &GRAPHS {
        for &latency_us in &plan.latencies_us {
            let mut points = Vec::new();
            for &count in counts {
                let settings = graph.ranks(count, latency_us * 1e3);
                let outcome = simulate(plan.seed, node_ns, &settings, count)?;
                progress.step();
                let cells = cells(graph, latency_us, &outcome);
                text.push_str(&line(cells.iter().cloned()));
                csv.push(cells);
                points.push((count as f64, outcome.efficiency()));
            }
            curves.push(Curve {
                name: format!("{}, {latency_us} µs", graph.name),
                points,
            });
        }
    }
    drop(progress);
    show(format_args!("{text}"))?;
    let axes = Axes {
        title: "a bag on simulated ranks: work over ranks × time",
        x: "ranks",
        y: "efficiency",
        log: (true, false),
    };
    out.write("ranks", &csv, &[("", plot::lines(axes, &curves))])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_have_as_many_children_as_they_should() {
        let nodes = 100_000;
        let sum: u64 = (0..nodes).map(|node| children(hash(node))).sum();
        let mean = sum as f64 / nodes as f64;
        assert!((mean - CHILDREN).abs() < 0.1, "{mean}");
        for each in [1_u64 << 16, 1 << 20, 1 << 26] {
            let expected = ROOTS as f64 * CHILDREN.powi(depth(each) as i32);
            assert!(expected > each as f64 / 2.0 && expected < each as f64 * 2.0);
        }
    }
}
