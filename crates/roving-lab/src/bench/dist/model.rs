//! The row about ranks that nobody has: how a bag would do on up to a million of them.

use crate::bench::Scale;
use crate::bench::record::RowRecord;
use crate::io::input::{CommandFailure, grouped};
use crate::model::ranks::{GRAPHS, NODE_NS, simulate};

/// Simulated ranks; fewer with `--quick`.
const RANKS: [usize; 4] = [1 << 10, 1 << 14, 1 << 17, 1 << 20];
const RANKS_QUICK: [usize; 2] = [1 << 10, 1 << 12];
/// The graphs of [`GRAPHS`] that are of use.
const OF_USE: usize = 5;
/// How long a message is under way, and on a slow network.
const LATENCIES_NS: [f64; 2] = [1e3, 50e3];

/// For each number of ranks and each way to find tasks, work over ranks × time; for the way that
/// `roving-dist` goes, also what it takes to begin and to end.
pub(in crate::bench) fn model(scale: &Scale) -> Result<RowRecord, CommandFailure> {
    let mut record = RowRecord::default();
    let counts: &[usize] = if scale.quick { &RANKS_QUICK } else { &RANKS };
    for &count in counts {
        let ranks = grouped(count as u64);
        for (place, graph) in GRAPHS[..OF_USE].iter().enumerate() {
            let latencies = if place == 0 { 2 } else { 1 };
            for latency_ns in &LATENCIES_NS[..latencies] {
                let settings = graph.ranks(count, *latency_ns);
                let outcome = simulate(1, NODE_NS, &settings, count)?;
                let of = format!(
                    "{ranks} simulated ranks, {}, {} µs a message",
                    graph.name,
                    latency_ns / 1e3
                );
                let mut single =
                    |what, unit, value| record.single(&format!("{of}: {what}"), unit, value);
                single("efficiency", "", outcome.efficiency());
                single(
                    "messages of a rank",
                    "",
                    outcome.messages.all() as f64 / count as f64,
                );
                if place > 0 {
                    continue;
                }
                if let Some(half_ns) = outcome.half_began_ns {
                    single("until half of them had run a node", "ms", half_ns / 1e6);
                }
                let detection_ns = outcome.detected_ns - outcome.worked_ns;
                single(
                    "from the last node's end until rank 0 knew",
                    "ms",
                    detection_ns / 1e6,
                );
                let news_ns = outcome.time_ns - outcome.detected_ns;
                single("from then until all knew", "ms", news_ns / 1e6);
            }
        }
    }
    Ok(record)
}
