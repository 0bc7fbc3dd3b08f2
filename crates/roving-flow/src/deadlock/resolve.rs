//! The decision about processes that wait for each other only.

use super::graph::{Edge, Graph};
use crate::channel::Handle;
use crate::channel::shared::{ChannelWait, GrownChannel, NetworkFailure, Shared};
use crate::channel::words::{ChannelEnd, UNBOUNDED};
use crate::machine::prim::{Ordering, lock};

/// Channels that have grown, and whose writers are to be woken. With no lock, because a waker that
/// is somebody else's may run anything.
#[derive(Default)]
#[must_use]
pub(super) struct Grown {
    channels: Vec<Handle>,
    /// Where no channel helps: how the network is to fail.
    failure: Option<NetworkFailure>,
}

impl Grown {
    /// Makes a channel larger.
    pub(super) fn grow(&mut self, shared: &Shared, growth: GrownChannel) {
        let channels = shared.channels();
        let Some(words) = channels.get(growth.channel as usize) else {
            return;
        };
        lock(&shared.growths).push(growth);
        words.set_capacity(growth.to);
        self.channels.push(words.clone());
    }

    /// Whether nothing has grown, and the network is to fail, if no process can go on.
    pub(super) fn is_hopeless(&self) -> bool {
        self.channels.is_empty() && self.failure.is_some()
    }

    /// No process can go on: the network fails.
    pub(super) fn fail(mut self, shared: &Shared) -> Grown {
        if let Some(failure) = self.failure.take() {
            shared.stop_by_processes(failure);
        }
        self
    }

    /// Wakes who waits for room.
    pub(super) fn wake(self) {
        for words in self.channels {
            words.wake(ChannelEnd::Writer);
        }
    }
}

/// Lets the processes of `graph` go on, which are thought to wait for each other only. None when
/// that is not so, or not any more. Where no channel can grow, what is returned says so: it is for
/// the caller to know whether others can go on.
///
/// By one thread at a time.
pub(super) fn resolve(shared: &Shared, graph: &Graph) -> Option<Grown> {
    if graph.stuck().len() != graph.len() {
        return None;
    }
    // The second reading. Nobody but these could change what they wait for.
    if Graph::of(shared, graph.processes.iter().copied()) != *graph {
        return None;
    }
    // Ordering: Relaxed; written before the network ran.
    let limit = shared.capacity_max.load(Ordering::Relaxed);
    let mut grown = Grown::default();
    for verdict in verdicts(graph, limit) {
        let failure = match verdict {
            Verdict::Grow(growth) => {
                grown.grow(shared, growth);
                continue;
            }
            Verdict::Deadlock(cycle) => NetworkFailure::Deadlock(cycle),
            Verdict::Full(cycle, limit) => NetworkFailure::Full(cycle, limit),
        };
        let _first = grown.failure.get_or_insert(failure);
    }
    Some(grown)
}

/// A decision about processes that wait for each other only.
pub(crate) enum Verdict {
    Grow(GrownChannel),
    /// Nothing helps.
    Deadlock(Vec<ChannelWait>),
    /// A larger channel would help, and none may be.
    Full(Vec<ChannelWait>, u32),
}

/// One for each cycle that must be opened; `graph` has processes that wait for each other only.
pub(super) fn verdicts(graph: &Graph, limit: u32) -> Vec<Verdict> {
    let sinks = Components::of(graph).sinks(graph);
    let verdicts = sinks
        .iter()
        .map(|component| verdict(graph, component, limit));
    verdicts.collect()
}

/// Of processes each of which waits, perhaps by way of others, for all of these and for no other.
fn verdict(graph: &Graph, component: &[usize], limit: u32) -> Verdict {
    let waits = component.iter().flat_map(|&place| graph.waits(place));
    let full: Vec<&Edge> = waits
        .filter(|edge| edge.wait.end == ChannelEnd::Writer)
        .collect();
    let smallest = full
        .iter()
        .filter(|edge| edge.capacity < limit.min(UNBOUNDED - 1))
        .min_by_key(|edge| (edge.capacity, edge.wait.channel));
    match smallest {
        Some(edge) => Verdict::Grow(GrownChannel {
            channel: edge.wait.channel,
            from: edge.capacity,
            to: edge
                .capacity
                .saturating_mul(2)
                .min(limit)
                .min(UNBOUNDED - 1),
        }),
        None if full.is_empty() => Verdict::Deadlock(cycle(graph, component)),
        None => Verdict::Full(cycle(graph, component), limit),
    }
}

/// The place of whom that wait is for: in the graph, because nothing in it can go on.
fn target(graph: &Graph, edge: &Edge) -> usize {
    graph
        .place(edge.target)
        .expect("whoever waits for others is not stuck")
}

/// A cycle of waits within a component.
fn cycle(graph: &Graph, component: &[usize]) -> Vec<ChannelWait> {
    let mut order: Vec<usize> = Vec::new();
    let mut at = component[0];
    loop {
        if let Some(start) = order.iter().position(|&one| one == at) {
            let waits = order[start..]
                .iter()
                .map(|&place| graph.waits(place)[0].wait);
            return waits.collect();
        }
        order.push(at);
        at = target(graph, &graph.waits(at)[0]);
    }
}

/// The strongly connected components of a graph in which each process waits for others of it only,
/// by Tarjan's algorithm.
struct Components {
    /// The component of each place.
    of: Vec<usize>,
    members: Vec<Vec<usize>>,
}

const UNSEEN: usize = usize::MAX;

impl Components {
    fn of(graph: &Graph) -> Components {
        let count = graph.len();
        let mut found = Components {
            of: vec![UNSEEN; count],
            members: Vec::new(),
        };
        let mut number = vec![UNSEEN; count];
        let mut low = vec![0; count];
        let mut next = 0;
        let mut open = Vec::new();
        // A place, and how many of its waits have been followed.
        let mut path: Vec<(usize, usize)> = Vec::new();
        for start in 0..count {
            if number[start] == UNSEEN {
                path.push((start, 0));
            }
            while let Some((place, followed)) = path.pop() {
                if followed == 0 {
                    number[place] = next;
                    low[place] = next;
                    next += 1;
                    open.push(place);
                } else {
                    let last = target(graph, &graph.waits(place)[followed - 1]);
                    if found.of[last] == UNSEEN {
                        low[place] = low[place].min(low[last]);
                    }
                }
                let waits = graph.waits(place);
                if let Some(edge) = waits.get(followed) {
                    path.push((place, followed + 1));
                    let to = target(graph, edge);
                    if number[to] == UNSEEN {
                        path.push((to, 0));
                    }
                } else if low[place] == number[place] {
                    found.close(place, &mut open);
                }
            }
        }
        found
    }

    /// All that were opened since `place` are one component.
    fn close(&mut self, place: usize, open: &mut Vec<usize>) {
        let mut members = Vec::new();
        while let Some(one) = open.pop() {
            self.of[one] = self.members.len();
            members.push(one);
            if one == place {
                break;
            }
        }
        members.reverse();
        self.members.push(members);
    }

    /// Those that wait for no other component.
    fn sinks(&self, graph: &Graph) -> Vec<Vec<usize>> {
        let stays = |place: &usize| {
            let mut waits = graph.waits(*place).iter();
            waits.all(|edge| self.of[target(graph, edge)] == self.of[*place])
        };
        let members = self.members.iter();
        let sinks = members.filter(|members| members.iter().all(stays));
        sinks.cloned().collect()
    }
}
