//! The graph of which process waits for which, as it was read at one time.

use crate::channel::Handle;
use crate::channel::shared::{ChannelWait, Shared};
use crate::channel::statement::Statement;
use crate::channel::words::{ChannelEnd, Count, Words};

/// A wait, with whom it is for, and the counts of the channel that it is at.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Edge {
    pub(super) wait: ChannelWait,
    /// No process of the network when that end is held outside.
    pub(super) target: u32,
    pub(super) capacity: u32,
    pub(super) sent: Count,
    pub(super) taken: Count,
}

/// A part of the graph of waits: processes, and the waits of each. A process without a wait can go
/// on, or waits for something else.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Graph {
    /// In order.
    pub(super) processes: Vec<u32>,
    /// Where the waits of each begin, and the end of the last.
    starts: Vec<u32>,
    edges: Vec<Edge>,
    /// One of these processes runs, or is about to: it may have been given any port meanwhile.
    pub(super) goes_on: bool,
}

/// The wait of that process at that end, if it is suspended there.
fn edge(process: u32, words: &Words, end: ChannelEnd) -> Option<Edge> {
    let waits = words.is_process_waiting(end, process);
    let edge = Edge {
        wait: ChannelWait {
            process,
            channel: words.index() as u32,
            end,
        },
        target: words.process(end.other()),
        capacity: words.capacity(),
        sent: words.sent(),
        taken: words.taken(),
    };
    (waits && !words.is_ready(end)).then_some(edge)
}

impl Graph {
    /// Of these processes, which are in order.
    pub(super) fn of(shared: &Shared, processes: impl Iterator<Item = u32>) -> Graph {
        let mut graph = Graph {
            starts: vec![0],
            ..Graph::default()
        };
        // While this is held, the channels that processes wait at are there.
        let channels = shared.channels();
        for process in processes {
            graph.processes.push(process);
            let start = graph.edges.len();
            let word = shared.control(process).word.get();
            match word {
                Statement::One(op) => graph.edges.extend(edge(process, op.words(), op.end)),
                Statement::Many => graph.add_many(&channels, process),
                Statement::Runs | Statement::Ended | Statement::Outside => {}
            }
            let has_none = graph.edges.len() == start;
            graph.goes_on |= has_none && !matches!(word, Statement::Ended | Statement::Outside);
            graph.starts.push(graph.edges.len() as u32);
        }
        graph
    }

    /// All waits of a process that waits for any of several channels; none when one of them has
    /// something for it already, by which it goes on, whatever the others say.
    fn add_many(&mut self, channels: &[Handle], process: u32) {
        let start = self.edges.len();
        for words in channels {
            for end in [ChannelEnd::Reader, ChannelEnd::Writer] {
                if words.is_process_due(end, process) {
                    self.edges.truncate(start);
                    return;
                }
                self.edges.extend(edge(process, words, end));
            }
        }
    }

    /// Of waits that were read elsewhere, ordered by process.
    pub(super) fn of_edges(edges: Vec<Edge>) -> Graph {
        let mut graph = Graph::default();
        for (at, edge) in edges.iter().enumerate() {
            if graph.processes.last() != Some(&edge.wait.process) {
                graph.processes.push(edge.wait.process);
                graph.starts.push(at as u32);
            }
        }
        graph.starts.push(edges.len() as u32);
        graph.edges = edges;
        graph
    }

    pub(super) fn edges(&self) -> &[Edge] {
        &self.edges
    }

    pub(super) fn of_all(shared: &Shared) -> Graph {
        Graph::of(shared, 0..shared.controls().len() as u32)
    }

    /// The part with the processes at these places only.
    pub(super) fn only(&self, places: &[usize]) -> Graph {
        let mut graph = Graph {
            starts: vec![0],
            ..Graph::default()
        };
        for &place in places {
            graph.processes.push(self.processes[place]);
            graph.edges.extend_from_slice(self.waits(place));
            graph.starts.push(graph.edges.len() as u32);
        }
        graph
    }

    pub(super) fn waits(&self, place: usize) -> &[Edge] {
        &self.edges[self.starts[place] as usize..self.starts[place + 1] as usize]
    }

    pub(super) fn len(&self) -> usize {
        self.processes.len()
    }

    pub(super) fn has_writers(&self) -> bool {
        self.edges
            .iter()
            .any(|edge| edge.wait.end == ChannelEnd::Writer)
    }

    /// Where that process is in this graph.
    pub(super) fn place(&self, process: u32) -> Option<usize> {
        // In a graph of all, each is where its number says.
        match self.processes.get(process as usize) {
            Some(&one) if one == process => Some(process as usize),
            _ => self.processes.binary_search(&process).ok(),
        }
    }

    /// The places of those that wait for each place, one after the other, and where they begin.
    fn waiters(&self) -> (Vec<u32>, Vec<u32>) {
        let targets = || self.edges.iter().filter_map(|edge| self.place(edge.target));
        let mut starts = vec![0_u32; self.len() + 1];
        targets().for_each(|target| starts[target] += 1);
        let mut sum = 0;
        for start in &mut starts {
            sum += *start;
            *start = sum;
        }
        let mut waiters = vec![0; sum as usize];
        for place in 0..self.len() {
            for edge in self.waits(place) {
                if let Some(target) = self.place(edge.target) {
                    starts[target] -= 1;
                    waiters[starts[target] as usize] = place as u32;
                }
            }
        }
        (waiters, starts)
    }

    /// The places of the processes from which no wait leads to one that can go on, here or outside
    /// of this graph.
    pub(super) fn stuck(&self) -> Vec<usize> {
        let (waiters, starts) = self.waiters();
        let mut goes_on = vec![false; self.len()];
        let mut queue = Vec::new();
        for (place, goes_on) in goes_on.iter_mut().enumerate() {
            let waits = self.waits(place);
            let leads_out = |edge: &Edge| self.place(edge.target).is_none();
            if waits.is_empty() || waits.iter().any(leads_out) {
                *goes_on = true;
                queue.push(place);
            }
        }
        while let Some(place) = queue.pop() {
            for &waiter in &waiters[starts[place] as usize..starts[place + 1] as usize] {
                if !std::mem::replace(&mut goes_on[waiter as usize], true) {
                    queue.push(waiter as usize);
                }
            }
        }
        (0..self.len()).filter(|&place| !goes_on[place]).collect()
    }
}
