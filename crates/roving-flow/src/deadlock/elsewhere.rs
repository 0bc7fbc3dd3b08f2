//! Waits in a network whose other parts are elsewhere: the local part, for a process that puts all
//! parts together.

use super::graph::{Edge, Graph};
use super::resolve::{self, Grown, Verdict};
use crate::channel::OUTSIDE;
use crate::channel::shared::{ChannelWait, GrownChannel, Shared};
use crate::channel::words::Count;

/// A channel that a suspended process waits for; a process that waits for any of several channels
/// has several.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Waiting {
    pub(crate) wait: ChannelWait,
    /// The process at the other end, if it is one of the same network.
    pub(crate) target: Option<u32>,
    pub(crate) capacity: u32,
    pub(crate) sent: u64,
    pub(crate) taken: u64,
}

impl Waiting {
    fn of(edge: &Edge) -> Waiting {
        Waiting {
            wait: edge.wait,
            target: (edge.target != OUTSIDE).then_some(edge.target),
            capacity: edge.capacity,
            sent: edge.sent.number(),
            taken: edge.taken.number(),
        }
    }

    fn edge(&self) -> Edge {
        Edge {
            wait: self.wait,
            target: self.target.unwrap_or(OUTSIDE),
            capacity: self.capacity,
            sent: Count::default(),
            taken: Count::default(),
        }
    }
}

/// All waits of the processes that are suspended, ordered by process.
pub(crate) fn waits(shared: &Shared) -> Vec<Waiting> {
    let graph = Graph::of_all(shared);
    graph.edges().iter().map(Waiting::of).collect()
}

/// Of these waits, which are ordered by process, those of processes that wait for each other only.
pub(crate) fn stuck(waits: &[Waiting]) -> Vec<Waiting> {
    let graph = Graph::of_edges(waits.iter().map(Waiting::edge).collect());
    let places = graph.stuck();
    let processes: Vec<u32> = places.iter().map(|&place| graph.processes[place]).collect();
    let is_stuck = |one: &&Waiting| processes.binary_search(&one.wait.process).is_ok();
    waits.iter().filter(is_stuck).copied().collect()
}

/// Decides about processes that wait for each other only: see [`stuck`].
pub(crate) fn verdicts_of(stuck: &[Waiting], limit: u32) -> Vec<Verdict> {
    let graph = Graph::of_edges(stuck.iter().map(Waiting::edge).collect());
    resolve::verdicts(&graph, limit)
}

/// Makes a channel of this network larger, if it still has the capacity that it is to grow from.
pub(crate) fn grow(shared: &Shared, growth: GrownChannel) {
    let channels = shared.channels();
    let capacity = channels
        .get(growth.channel as usize)
        .map(|words| words.capacity());
    drop(channels);
    if capacity == Some(growth.from) {
        let mut grown = Grown::default();
        grown.grow(shared, growth);
        grown.wake();
    }
}
