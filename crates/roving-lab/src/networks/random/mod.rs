//! `random`: Nornir's random networks. Each message of the source carries work that is divided
//! among the ways to the sink; the greater the division, the more messages, and the less work in
//! each.
//!
//! A process reads one message from each forward edge, works for the sum of them, and divides the
//! sum among its own forward edges. Then it writes to its back edges and reads from them: that
//! carries no work, and holds a part of the network together, so that it cannot run ahead.

pub(crate) mod graph;

use std::sync::OnceLock;

use roving_flow::{In, Network, Out};

use self::graph::RandomGraph;
use super::builder::Builder;
use super::found::FoundAnswer;
use super::params::{Param, read};
use super::work::{mixed, share, turns_in, work};
use super::{NetworkEntry, NetworkProgram};
use crate::io::input::{BadInput, CommandFailure};
use crate::workloads::{RunAnswer, WorkloadKind};

pub(super) const ENTRY: NetworkEntry = NetworkEntry {
    kind: WorkloadKind {
        name: "random",
        about: "a random network that divides the work of each message among its ways",
        inputs: &[
            (
                "B",
                "213 processes, 333 channels, 13 cycles, work division 1,000",
            ),
            (
                "A",
                "239 processes, 364 channels, no cycle, work division 1,000",
            ),
        ],
        params: "A or B, division=1 to 1e6, work_ms=1 to 60000 of work that is divided, messages=1 to 1e9 \
                 (as many as the division), capacity=1 to 1e6 messages a channel",
        items: "messages",
        figures: &["collected", "turns", "checksum"],
        serial: "node after node, message after message",
    },
    parse: |input| Ok(Box::new(RandomNetwork::parse(input)?)),
};

/// One of the two networks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PaperNetwork {
    /// 239 nodes, 364 edges, no cycle.
    A,
    /// 213 nodes, 333 edges, 13 cycles.
    B,
}

impl PaperNetwork {
    /// The word on the command line.
    pub(crate) fn name(self) -> &'static str {
        match self {
            PaperNetwork::A => "A",
            PaperNetwork::B => "B",
        }
    }

    /// The network; always the same one.
    pub(crate) fn graph(self) -> &'static RandomGraph {
        static GRAPHS: [OnceLock<RandomGraph>; 2] = [OnceLock::new(), OnceLock::new()];
        match self {
            PaperNetwork::A => GRAPHS[0].get_or_init(|| RandomGraph::random(239, 364, 0, 2009)),
            PaperNetwork::B => GRAPHS[1].get_or_init(|| RandomGraph::random(213, 333, 13, 2009)),
        }
    }
}

/// A network, and the messages through it.
#[derive(Debug)]
pub(crate) struct RandomNetwork {
    shape: PaperNetwork,
    division: u64,
    work_ms: u64,
    /// 0: as many as the division.
    messages: u64,
    capacity: u64,
    /// Of one message.
    pub(crate) turns: u64,
    found: FoundAnswer,
}

impl RandomNetwork {
    /// Reads a network's name and parameters.
    pub(crate) fn parse(input: &str) -> Result<RandomNetwork, BadInput> {
        let (first, rest) = input.split_once(',').unwrap_or((input, ""));
        let (shape, rest) = match first.trim() {
            "A" => (PaperNetwork::A, rest),
            "B" => (PaperNetwork::B, rest),
            other if other.contains('=') => (PaperNetwork::B, input),
            _ => {
                let remedy = "write B,division=1000";
                return Err(BadInput::new(
                    "random network",
                    input,
                    "A or B first",
                    remedy,
                ));
            }
        };
        let mut random = RandomNetwork {
            shape,
            division: 1000,
            work_ms: 50,
            messages: 0,
            capacity: 16,
            turns: 0,
            found: FoundAnswer::default(),
        };
        let params = &mut [
            Param::new("division", 1..=1_000_000, &mut random.division),
            Param::new("work_ms", 1..=60_000, &mut random.work_ms),
            Param::new("messages", 0..=1_000_000_000, &mut random.messages),
            Param::new("capacity", 1..=1_000_000, &mut random.capacity),
        ];
        if !rest.is_empty() {
            read("random", rest, params)?;
        }
        random.turns = turns_in(random.work_ms * 1_000_000) / random.division;
        Ok(random)
    }

    /// How many messages the source sends on each of its ways.
    pub(crate) fn rounds(&self) -> u64 {
        match self.messages {
            0 => self.division,
            messages => messages,
        }
    }

    /// Makes the processes and channels of one run. Each process adds its part to what is found on
    /// its rank; [`NetworkProgram::check`] reads what the sink found.
    pub(crate) fn weave_in<'env>(&'env self, network: &mut impl Builder<'env>) {
        self.found.clear();
        let graph = self.shape.graph();
        let mut ports: Vec<Ports> = (0..graph.nodes).map(|_| Ports::default()).collect();
        let capacity = self.capacity as usize;
        for (from, to) in &graph.forward {
            let (out, input) = network.bounded(format_args!("{from} to {to}"), capacity);
            ports[*from].1.push(out);
            ports[*to].0.push(input);
        }
        for (from, to) in &graph.back {
            let (out, input) = network.bounded(format_args!("{from} back to {to}"), capacity);
            ports[*from].3.push(out);
            ports[*to].2.push(input);
        }
        let sink = ports.pop().expect("there is a sink");
        for (node, ports) in ports.into_iter().enumerate() {
            if node == 0 {
                let (rounds, turns) = (self.rounds(), self.turns);
                network.process(
                    "source",
                    ports.1,
                    move |mut outs: Vec<Out<u64>>| async move {
                        for _ in 0..rounds {
                            if divide(turns, &mut outs).await.is_none() {
                                break;
                            }
                        }
                    },
                );
            } else {
                let found = &self.found;
                let ends = (ports.0, ports.1, ports.2, ports.3);
                network.process(format_args!("node {node}"), ends, move |ports: Ports| {
                    between(node, found, ports)
                });
            }
        }
        network.first("sink", sink.0, move |mut inputs: Vec<In<u64>>| async move {
            let mut collected = 0;
            while let Some(turns) = gather(&mut inputs).await {
                collected += turns;
            }
            self.found.add([collected, 0, 0]);
        });
    }

    /// How many messages pass all channels of the network.
    pub(crate) fn traffic(&self) -> u64 {
        self.rounds() * self.shape.graph().edges() as u64
    }
}

/// The ports of a process that is neither source nor sink.
type Ports = (Vec<In<u64>>, Vec<Out<u64>>, Vec<In<u64>>, Vec<Out<u64>>);

/// Divides `whole` among the forward edges. None when nobody reads them.
async fn divide(whole: u64, outs: &mut [Out<u64>]) -> Option<()> {
    let parts = outs.len();
    for (place, out) in outs.iter_mut().enumerate() {
        out.send(share(whole, place, parts)).await.ok()?;
    }
    Some(())
}

/// The sum of one message from each edge. None when there are no more.
async fn gather(inputs: &mut [In<u64>]) -> Option<u64> {
    let mut sum = 0;
    for input in inputs {
        sum += input.recv().await?;
    }
    Some(sum)
}

/// One round of a process: the work it did, and its digest after it.
async fn round(digest: u64, ports: &mut Ports) -> Option<(u64, u64)> {
    let (inputs, outs, back_inputs, back_outs) = ports;
    let turns = gather(inputs).await?;
    let worked = work(turns, digest);
    divide(turns, outs).await?;
    for out in back_outs {
        out.send(worked).await.ok()?;
    }
    let mut digest = worked;
    for input in back_inputs {
        digest = mixed(digest, input.recv().await?);
    }
    Some((turns, digest))
}

/// A process between source and sink.
async fn between(node: usize, found: &FoundAnswer, mut ports: Ports) {
    let (mut turns, mut digest) = (0, node as u64);
    while let Some((more, worked)) = round(digest, &mut ports).await {
        turns += more;
        digest = worked;
    }
    found.add([0, turns, digest]);
}

impl NetworkProgram for RandomNetwork {
    fn input(&self) -> String {
        let RandomNetwork {
            division,
            work_ms,
            messages,
            capacity,
            ..
        } = self;
        let shape = self.shape.name();
        format!(
            "{shape},division={division},work_ms={work_ms},messages={messages},capacity={capacity}"
        )
    }

    fn weave<'env>(&'env self, network: &mut Network<'env>) {
        self.weave_in(network);
    }

    fn answer(&self) -> RunAnswer {
        self.found.answer()
    }

    fn serial(&self) -> Result<RunAnswer, CommandFailure> {
        let graph = self.shape.graph();
        let sink = graph.nodes - 1;
        let mut outs = vec![Vec::new(); graph.nodes];
        for (from, to) in &graph.forward {
            outs[*from].push(*to);
        }
        let mut digests: Vec<u64> = (0..graph.nodes as u64).collect();
        let mut held = vec![0; graph.nodes];
        let (mut collected, mut total) = (0, 0);
        for _ in 0..self.rounds() {
            held.fill(0);
            held[0] = self.turns;
            for node in 0..sink {
                if node > 0 {
                    digests[node] = work(held[node], digests[node]);
                    total += held[node];
                }
                for (place, to) in outs[node].iter().enumerate() {
                    held[*to] += share(held[node], place, outs[node].len());
                }
            }
            collected += held[sink];
            let sent: Vec<u64> = graph.back.iter().map(|edge| digests[edge.0]).collect();
            for (edge, word) in graph.back.iter().zip(sent) {
                digests[edge.1] = mixed(digests[edge.1], word);
            }
        }
        let sum = digests[1..sink].iter().copied().fold(0, u64::wrapping_add);
        Ok(RunAnswer([collected, total, sum]))
    }

    fn check(&self) -> Result<(), String> {
        let (collected, sent) = (self.found.answer().0[0], self.rounds() * self.turns);
        if collected == sent {
            return Ok(());
        }
        Err(format!(
            "the sink collected {collected} of the {sent} turns that the source sent"
        ))
    }

    fn items(&self, _: &RunAnswer) -> u64 {
        self.traffic()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_networks_have_the_counts_of_the_paper() {
        for (shape, nodes, edges, cycles) in [
            (PaperNetwork::A, 239, 364, 0),
            (PaperNetwork::B, 213, 333, 13),
        ] {
            let graph = shape.graph();
            assert_eq!(
                (graph.nodes, graph.edges(), graph.back.len()),
                (nodes, edges, cycles)
            );
        }
    }

    #[test]
    fn inputs_are_read_back() {
        for input in [
            "A",
            "B",
            "A,division=10,work_ms=3",
            "B,messages=7,capacity=1",
            "division=9",
        ] {
            let random = RandomNetwork::parse(input).unwrap();
            assert_eq!(
                random.input(),
                RandomNetwork::parse(&random.input()).unwrap().input()
            );
        }
        assert_eq!(
            RandomNetwork::parse("B,division=90000").unwrap().rounds(),
            90_000
        );
        assert_eq!(RandomNetwork::parse("B,messages=2").unwrap().traffic(), 666);
        for bad in ["C", "", "A,B", "A,division=0"] {
            assert!(RandomNetwork::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn all_work_is_collected() {
        for input in ["A,division=20,work_ms=1", "B,division=20,work_ms=1"] {
            let random = RandomNetwork::parse(input).unwrap();
            let RunAnswer([collected, turns, _]) = random.serial().unwrap();
            assert_eq!(collected, 20 * random.turns);
            assert!(turns > collected, "each unit meets more than one node");
        }
    }
}
