//! Who waits for whom, as it was read at one time.

use std::collections::HashMap;

use super::Wait;
use crate::channel::words::{Count, End, Words};
use crate::shared::Shared;
use crate::word::Word;

/// A wait, with whom it is for, and the counts of the channel that it is at.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Edge {
    pub(super) wait: Wait,
    /// No process of the network when that end is held outside.
    pub(super) target: u32,
    pub(super) capacity: u32,
    sent: Count,
    taken: Count,
}

/// A part of the graph of waits: processes, and the waits of each. A process without a wait can go
/// on, or waits for something else.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Graph {
    pub(super) processes: Vec<u32>,
    /// Where the waits of each begin, and the end of the last.
    starts: Vec<usize>,
    edges: Vec<Edge>,
}

/// The wait of that process at that end, if it is suspended there.
fn edge(process: u32, words: &Words, end: End) -> Option<Edge> {
    let waits = words.process(end) == process && words.is_process_waiting(end);
    let edge = Edge {
        wait: Wait {
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
    /// Of these processes.
    pub(super) fn of(shared: &Shared, processes: impl Iterator<Item = u32>) -> Graph {
        let mut graph = Graph {
            starts: vec![0],
            ..Graph::default()
        };
        for process in processes {
            graph.processes.push(process);
            match shared.control(process).word() {
                Word::One(op) => graph.edges.extend(edge(process, op.words(), op.end)),
                Word::Many => graph.add_many(shared, process),
                Word::Runs | Word::Ended | Word::Outside => {}
            }
            graph.starts.push(graph.edges.len());
        }
        graph
    }

    /// All waits of a process that waits for any of several channels.
    fn add_many(&mut self, shared: &Shared, process: u32) {
        for words in shared.channels().iter() {
            for end in [End::Reader, End::Writer] {
                self.edges.extend(edge(process, words, end));
            }
        }
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
            graph.starts.push(graph.edges.len());
        }
        graph
    }

    pub(super) fn waits(&self, place: usize) -> &[Edge] {
        &self.edges[self.starts[place]..self.starts[place + 1]]
    }

    pub(super) fn len(&self) -> usize {
        self.processes.len()
    }

    pub(super) fn has_writers(&self) -> bool {
        self.edges.iter().any(|edge| edge.wait.end == End::Writer)
    }

    /// Where each process is in this graph.
    pub(super) fn places(&self) -> HashMap<u32, usize> {
        let places = self.processes.iter().enumerate();
        places.map(|(place, &process)| (process, place)).collect()
    }

    /// The places of the processes from which no wait leads to one that can go on, here or outside
    /// of this graph.
    pub(super) fn stuck(&self) -> Vec<usize> {
        let places = self.places();
        let mut waiters = vec![Vec::new(); self.len()];
        let mut goes_on = vec![false; self.len()];
        let mut queue = Vec::new();
        for (place, goes_on) in goes_on.iter_mut().enumerate() {
            let mut may = self.waits(place).is_empty();
            for edge in self.waits(place) {
                match places.get(&edge.target) {
                    Some(&target) => waiters[target].push(place),
                    None => may = true,
                }
            }
            if may {
                *goes_on = true;
                queue.push(place);
            }
        }
        while let Some(place) = queue.pop() {
            for &waiter in &waiters[place] {
                if !std::mem::replace(&mut goes_on[waiter], true) {
                    queue.push(waiter);
                }
            }
        }
        (0..self.len()).filter(|&place| !goes_on[place]).collect()
    }
}
