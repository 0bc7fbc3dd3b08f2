//! The shape of a network, the same on every rank: its names, its channels' ends, and where each
//! process runs.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::OnceLock;
use std::time::Duration;

use roving_flow::raw::Side;
use roving_partition::{Graph, KWay, Partitioner, Problem};
use serde::{Deserialize, Serialize};

use super::error::Ended;
use super::rebalance::Rebalance;
use super::snapshot::Ends;

/// A channel, as it was built.
#[derive(Clone, Hash)]
pub(super) struct Channel {
    pub(super) name: String,
    pub(super) token: &'static str,
    pub(super) capacity: Option<usize>,
    pub(super) producer: Option<u32>,
    pub(super) consumer: Option<u32>,
    /// Its weight when processes are spread over ranks.
    pub(super) weight: u64,
    /// Its channels in a rank's network: that of the producer, and that of the consumer. Two if a
    /// process at one of its ends can move.
    pub(super) halves: (u32, u32),
}

/// A process, as it was built.
#[derive(Clone, Hash)]
pub(super) struct Process {
    pub(super) name: String,
    pub(super) weight: u64,
    pub(super) pin: Option<usize>,
    pub(super) is_movable: bool,
}

/// A rank's message about its network before the network runs.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(super) struct Hello {
    hash: u64,
    processes: u64,
    channels: u64,
    invalid: Option<String>,
    /// Where each process runs; rank 0 decides.
    pub(super) ranks: Vec<u32>,
}

/// The channels of a process.
#[derive(Clone, Default)]
struct Ports {
    inputs: Vec<u32>,
    outputs: Vec<u32>,
}

/// The whole network.
#[derive(Clone)]
pub(super) struct Shape {
    processes: Vec<Process>,
    channels: Vec<Channel>,
    ranks: Vec<u32>,
    /// The channel that each channel of a rank's network is.
    places: Vec<u32>,
    rebalance: Option<Rebalance>,
    has_checkpoints: bool,
    /// By process; made when the first one is asked for.
    ports: OnceLock<Vec<Ports>>,
}

impl Shape {
    pub(super) fn new(processes: Vec<Process>, channels: Vec<Channel>) -> Shape {
        let ranks = vec![0; processes.len()];
        Shape {
            places: (0..channels.len() as u32).collect(),
            processes,
            channels,
            ranks,
            rebalance: None,
            has_checkpoints: false,
            ports: OnceLock::new(),
        }
    }

    pub(super) fn set_checkpoints(&mut self) {
        self.has_checkpoints = true;
    }

    /// A process that is not movable, if there is one.
    pub(super) fn not_movable(&self) -> Option<&str> {
        let process = self.processes.iter().find(|one| !one.is_movable)?;
        Some(&process.name)
    }

    /// The network in words, the same on any number of ranks.
    pub(super) fn words(&self) -> String {
        let mut hasher = DefaultHasher::new();
        for process in &self.processes {
            process.name.hash(&mut hasher);
        }
        for channel in &self.channels {
            let weight = 0;
            Channel {
                weight,
                ..channel.clone()
            }
            .hash(&mut hasher);
        }
        format!(
            "a network of {} processes and {} channels ({:016x})",
            self.processes.len(),
            self.channels.len(),
            hasher.finish()
        )
    }

    pub(super) fn set_rebalance(&mut self, rebalance: Rebalance) {
        self.rebalance = Some(rebalance);
    }

    pub(super) fn rebalance(&self) -> Option<&Rebalance> {
        self.rebalance.as_ref()
    }

    /// Whether that channel of that rank's network counts what the producer sends on a channel.
    pub(super) fn is_sent_at(&self, channel: u32, place: usize, rank: usize) -> bool {
        let is_half = self.channels[channel as usize].halves.0 as usize == place;
        is_half && (self.is_split(channel) || self.way(channel).is_some_and(|way| way.0 == rank))
    }

    /// Adds a channel, the next one by number, and the next one in a rank's network.
    pub(super) fn add_channel(&mut self, mut channel: Channel) {
        let place = self.places.len() as u32;
        channel.halves = (place, place);
        self.places.push(self.channels.len() as u32);
        self.channels.push(channel);
    }

    /// The next channel in a rank's network is the half of this one at that end.
    pub(super) fn split(&mut self, channel: u32, side: Side) {
        let place = self.places.len() as u32;
        self.places.push(channel);
        let halves = &mut self.channels[channel as usize].halves;
        match side {
            Side::Producer => halves.0 = place,
            Side::Consumer => halves.1 = place,
        }
    }

    /// The channel that a channel of a rank's network is.
    pub(super) fn at(&self, place: usize) -> Option<u32> {
        self.places.get(place).copied()
    }

    /// Whether a process at an end of that channel can move.
    pub(super) fn is_split(&self, channel: u32) -> bool {
        let halves = self.channels[channel as usize].halves;
        halves.0 != halves.1
    }

    pub(super) fn set_movable(&mut self, process: u32) {
        self.processes[process as usize].is_movable = true;
    }

    /// The channels by which a process sends.
    pub(super) fn outputs(&self, process: u32) -> &[u32] {
        &self.ports_of(process).outputs
    }

    /// The channels by which a process receives.
    pub(super) fn inputs(&self, process: u32) -> &[u32] {
        &self.ports_of(process).inputs
    }

    /// The channels of a process, when the network has been built.
    fn ports_of(&self, process: u32) -> &Ports {
        let ports = self.ports.get_or_init(|| {
            let mut ports = vec![Ports::default(); self.processes.len()];
            for (number, channel) in (0..).zip(&self.channels) {
                if let Some(producer) = channel.producer {
                    ports[producer as usize].outputs.push(number);
                }
                if let Some(consumer) = channel.consumer {
                    ports[consumer as usize].inputs.push(number);
                }
            }
            ports
        });
        &ports[process as usize]
    }

    /// A copy of the shape with the processes on these ranks.
    pub(super) fn with_ranks(&self, ranks: Vec<u32>) -> Shape {
        Shape {
            ranks,
            ..self.clone()
        }
    }

    /// Where each process runs.
    pub(super) fn ranks(&self) -> &[u32] {
        &self.ranks
    }

    /// Adds a process, and returns its number.
    pub(super) fn add_process(&mut self, process: Process) -> u32 {
        self.processes.push(process);
        self.ranks.push(0);
        self.processes.len() as u32 - 1
    }

    /// That process has that end of a channel. False when there is no such channel.
    pub(super) fn give_port(&mut self, channel: usize, side: Side, process: u32) -> bool {
        let number = self.at(channel).map(|number| number as usize);
        let Some(channel) = number.and_then(|number| self.channels.get_mut(number)) else {
            return false;
        };
        match side {
            Side::Producer => channel.producer = Some(process),
            Side::Consumer => channel.consumer = Some(process),
        }
        true
    }

    /// Has the processes of that name be on that rank. Whether there is one.
    pub(super) fn pin(&mut self, name: &str, rank: usize) -> bool {
        let named = self.processes.iter_mut().filter(|one| one.name == name);
        named.map(|one| one.pin = Some(rank)).count() > 0
    }

    /// Has the processes of that name weigh so much. Whether there is one.
    pub(super) fn weight(&mut self, name: &str, weight: u64) -> bool {
        let named = self.processes.iter_mut().filter(|one| one.name == name);
        named.map(|one| one.weight = weight).count() > 0
    }

    /// Weighs processes by the time that each took, where it is known, and channels by their
    /// messages, as measured in the same network. Otherwise says what is wrong.
    pub(super) fn weigh(&mut self, busy: &[Option<Duration>], messages: &[u64]) -> Option<String> {
        let (processes, channels) = (busy.len(), messages.len());
        let same = processes == self.processes.len() && channels == self.channels.len();
        if !same {
            return Some(format!(
                "a report of {processes} processes and {channels} channels, where the network has {} and \
                 {}: give that of the same network, when it has been built",
                self.processes.len(),
                self.channels.len()
            ));
        }
        for (process, busy) in self.processes.iter_mut().zip(busy) {
            if let Some(busy) = busy {
                process.weight = busy.as_nanos() as u64 + 1;
            }
        }
        for (channel, messages) in self.channels.iter_mut().zip(messages) {
            channel.weight = messages + 1;
        }
        None
    }

    pub(super) fn process(&self, process: u32) -> &str {
        &self.processes[process as usize].name
    }

    pub(super) fn channel(&self, channel: u32) -> &str {
        &self.channels[channel as usize].name
    }

    pub(super) fn processes(&self) -> &[Process] {
        &self.processes
    }

    pub(super) fn channels(&self) -> &[Channel] {
        &self.channels
    }

    /// Where a process runs.
    pub(super) fn rank_of(&self, process: u32) -> usize {
        self.ranks[process as usize] as usize
    }

    /// The processes of a channel, if both ends belong to one.
    pub(super) fn ends(&self, channel: u32) -> Option<Ends> {
        let channel = self.channels.get(channel as usize)?;
        Some(Ends {
            producer: channel.producer?,
            consumer: channel.consumer?,
        })
    }

    /// The ranks of a channel's producer and consumer.
    pub(super) fn way(&self, channel: u32) -> Option<(usize, usize)> {
        let Ends { producer, consumer } = self.ends(channel)?;
        Some((self.rank_of(producer), self.rank_of(consumer)))
    }

    /// Creates this rank's message; `ranks` is the number of ranks.
    pub(super) fn hello(&self, rank: usize, ranks: usize, invalid: Option<String>) -> Hello {
        let mut hasher = DefaultHasher::new();
        // Measured weights differ between ranks, and count on rank 0 only.
        for process in &self.processes {
            (&process.name, process.pin, process.is_movable).hash(&mut hasher);
        }
        for channel in &self.channels {
            let weight = 0;
            Channel {
                weight,
                ..channel.clone()
            }
            .hash(&mut hasher);
        }
        self.rebalance.map(|one| one.words()).hash(&mut hasher);
        self.has_checkpoints.hash(&mut hasher);
        let mut hello = Hello {
            hash: hasher.finish(),
            processes: self.processes.len() as u64,
            channels: self.channels.len() as u64,
            invalid,
            ranks: Vec::new(),
        };
        if rank == 0 && hello.invalid.is_none() {
            match self.assign(ranks) {
                Ok(ranks) => hello.ranks = ranks,
                Err(reason) => hello.invalid = Some(reason),
            }
        }
        hello
    }

    /// Takes over what rank 0 has decided, if all have built the same.
    pub(super) fn agree(&mut self, hellos: &[Hello]) -> Result<(), Ended> {
        if let Some(reason) = hellos.iter().find_map(|hello| hello.invalid.clone()) {
            return Err(Ended::Invalid(reason));
        }
        let first = &hellos[0];
        for (rank, hello) in hellos.iter().enumerate() {
            if (hello.hash, hello.processes, hello.channels)
                != (first.hash, first.processes, first.channels)
            {
                return Err(Ended::Invalid(format!(
                    "rank {rank} has built another network than rank 0: {} processes and {} channels, \
                     where there are {} and {}; names, ports, capacities, pins, checkpoints and what is rebalanced \
                     must be the same: build it without looking at the rank",
                    hello.processes, hello.channels, first.processes, first.channels
                )));
            }
        }
        self.ranks.clone_from(&first.ranks);
        Ok(())
    }

    /// Spreads the processes over so many ranks: about as much weight on each, and as little as
    /// possible between them.
    fn assign(&self, ranks: usize) -> Result<Vec<u32>, String> {
        let mut graph = Graph::builder();
        for process in &self.processes {
            let vertex = graph.vertex(process.weight);
            if let Some(pin) = process.pin {
                graph.pin(vertex, pin);
            }
        }
        for channel in &self.channels {
            if let (Some(producer), Some(consumer)) = (channel.producer, channel.consumer) {
                graph.edge(producer as usize, consumer as usize, channel.weight);
            }
        }
        let graph = graph.build().map_err(|error| error.to_string())?;
        let problem = Problem::new(&graph, ranks).map_err(|error| error.to_string())?;
        Ok(KWay::default().partition(&problem).into_parts())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chain(pins: &[Option<usize>]) -> Shape {
        let process = |(at, &pin): (usize, &Option<usize>)| Process {
            name: format!("p{at}"),
            weight: 1,
            pin,
            is_movable: false,
        };
        let channel = |at: usize| Channel {
            name: format!("c{at}"),
            token: "u8",
            capacity: Some(1),
            producer: Some(at as u32),
            consumer: Some(at as u32 + 1),
            weight: 1,
            halves: (at as u32, at as u32),
        };
        let processes = pins.iter().enumerate().map(process).collect();
        Shape::new(
            processes,
            (1..pins.len()).map(|at| channel(at - 1)).collect(),
        )
    }

    #[test]
    fn a_chain_is_cut_once_and_pins_are_kept() {
        let ranks = chain(&[Some(1), None, None, None]).assign(2).unwrap();
        assert_eq!(ranks, [1, 1, 0, 0]);
    }

    #[test]
    fn a_heavy_process_is_alone() {
        let mut shape = chain(&[None, None, None, None]);
        shape.processes[3].weight = 3;
        let ranks = shape.assign(2).unwrap();
        assert_eq!([ranks[0], ranks[1], ranks[2]], [1 - ranks[3]; 3]);
    }

    #[test]
    fn another_network_is_seen_with_its_rank() {
        let (shape, other) = (chain(&[None; 3]), chain(&[None; 4]));
        let same = [0, 1].map(|rank| shape.hello(rank, 2, None));
        assert_eq!(chain(&[None; 3]).agree(&same), Ok(()));
        let hellos = [shape.hello(0, 2, None), other.hello(1, 2, None)];
        let Err(Ended::Invalid(text)) = chain(&[None; 3]).agree(&hellos) else {
            panic!("two networks were taken for one");
        };
        assert!(
            text.starts_with("rank 1 has built another network"),
            "{text}"
        );
        let mut renamed = chain(&[None; 3]);
        renamed.channels[0].name.push('!');
        assert!(
            chain(&[None; 3])
                .agree(&[same[0].clone(), renamed.hello(1, 2, None)])
                .is_err()
        );
    }

    #[test]
    fn more_ranks_than_processes_are_no_harm() {
        let ranks = chain(&[None; 2]).assign(4).unwrap();
        assert!(ranks.len() == 2 && ranks.iter().all(|&rank| rank < 4));
    }
}
