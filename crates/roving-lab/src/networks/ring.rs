//! `ring`: one token goes round a ring of processes. Nothing but messages, so it shows what a hop
//! costs: a send, a switch to the next process, a receive.

use std::hint::black_box;
use std::time::{Duration, Instant};

use roving_flow::{In, Network, Out};

use super::builder::Builder;
use super::found::FoundAnswer;
use super::params::{Param, read, require_processes};
use super::{NetworkEntry, NetworkProgram};
use crate::io::input::{BadInput, CommandFailure};
use crate::workloads::{RunAnswer, WorkloadKind};

pub(super) const ENTRY: NetworkEntry = NetworkEntry {
    kind: WorkloadKind {
        name: "ring",
        about: "a token that goes round a ring of processes",
        inputs: &[
            (
                "paper",
                "1,000 processes, 1,000 rounds, as in Nornir's Table 1",
            ),
            ("small", "1,000 processes, 20 rounds"),
        ],
        params: "processes=1 to 1e6, rounds=1 to 1e6, capacity=1 to 1e6 tokens a channel",
        items: "hops",
        figures: &["hops"],
        serial: "the token passed along an array of mailboxes",
    },
    parse: |input| Ok(Box::new(Ring::parse(input)?)),
};

/// Processes, and how often the token passes all of them.
#[derive(Debug)]
pub(crate) struct Ring {
    pub(crate) processes: u64,
    pub(crate) rounds: u64,
    pub(crate) capacity: u64,
    found: FoundAnswer,
}

impl Ring {
    /// Reads a named input or parameters.
    pub(crate) fn parse(input: &str) -> Result<Ring, BadInput> {
        let named = match input {
            "paper" => "processes=1000",
            "small" => "rounds=20",
            other => other,
        };
        let mut ring = Ring {
            processes: 1000,
            rounds: 1000,
            capacity: 1,
            found: FoundAnswer::default(),
        };
        let params = &mut [
            Param::new("processes", 1..=1_000_000, &mut ring.processes),
            Param::new("rounds", 1..=1_000_000, &mut ring.rounds),
            Param::new("capacity", 1..=1_000_000, &mut ring.capacity),
        ];
        read("ring", named, params)?;
        require_processes("ring", input, ring.processes, "take ring paper")?;
        Ok(ring)
    }

    /// The processes and channels of one run, on any number of ranks.
    pub(crate) fn weave_in<'env>(&'env self, network: &mut impl Builder<'env>) {
        self.found.clear();
        let capacity = self.capacity as usize;
        let (first, mut held) = network.bounded::<u64>("hop 0", capacity);
        for place in 1..self.processes {
            let (out, next) = network.bounded::<u64>(format_args!("hop {place}"), capacity);
            let (name, ports) = (format!("forward {place}"), (held, out));
            match network.may_move() {
                true => network.movable(name, ports, (), |(), ports| forward_one(ports)),
                false => network.process(name, ports, |(input, out)| forward(input, out)),
            }
            held = next;
        }
        if network.may_move() {
            network.first_movable("start", (held, first), (0, 0), |at, ports| {
                self.send_round(at, ports)
            });
            return;
        }
        network.first(
            "start",
            (held, first),
            move |(mut input, mut out): (In<u64>, Out<u64>)| async move {
                let start = Instant::now();
                let mut hops = 0;
                for _ in 0..self.rounds {
                    if out.send(hops + 1).await.is_err() {
                        return;
                    }
                    match input.recv().await {
                        Some(token) => hops = token,
                        None => return,
                    }
                }
                let answer = RunAnswer([hops, 0, 0]);
                self.found.set(answer, Some(start.elapsed()));
            },
        );
    }

    /// One round of the first process: how many there were, and the hops so far.
    async fn send_round(
        &self,
        (round, hops): (u64, u64),
        (mut input, mut out): (In<u64>, Out<u64>),
    ) -> Option<((u64, u64), (In<u64>, Out<u64>))> {
        if round == self.rounds {
            self.found.set(RunAnswer([hops, 0, 0]), None);
            return None;
        }
        out.send(hops + 1).await.ok()?;
        let hops = input.recv().await?;
        Some(((round + 1, hops), (input, out)))
    }

    /// How often the token is passed on.
    pub(crate) fn hops(&self) -> u64 {
        self.processes * self.rounds
    }
}

/// Every process but the first: counts the hop and passes the token on.
async fn forward(mut input: In<u64>, mut out: Out<u64>) {
    while let Some(hops) = input.recv().await {
        if out.send(hops + 1).await.is_err() {
            break;
        }
    }
}

/// One token of a process that may move before the next one.
async fn forward_one(
    (mut input, mut out): (In<u64>, Out<u64>),
) -> Option<((), (In<u64>, Out<u64>))> {
    let hops = input.recv().await?;
    out.send(hops + 1).await.ok()?;
    Some(((), (input, out)))
}

impl NetworkProgram for Ring {
    fn input(&self) -> String {
        let Ring {
            processes,
            rounds,
            capacity,
            ..
        } = self;
        format!("processes={processes},rounds={rounds},capacity={capacity}")
    }

    fn weave<'env>(&'env self, network: &mut Network<'env>) {
        self.weave_in(network);
    }

    fn answer(&self) -> RunAnswer {
        self.found.answer()
    }

    fn span(&self) -> Option<Duration> {
        self.found.span()
    }

    fn serial(&self) -> Result<RunAnswer, CommandFailure> {
        let mut boxes = vec![0u64; self.processes as usize];
        let mut hops = 0;
        for _ in 0..self.rounds {
            for held in &mut boxes {
                // Else the whole ring is one addition.
                *held = black_box(hops + 1);
                hops = *held;
            }
        }
        Ok(RunAnswer([hops, 0, 0]))
    }

    fn expected(&self) -> Option<RunAnswer> {
        Some(RunAnswer([self.hops(), 0, 0]))
    }

    fn items(&self, answer: &RunAnswer) -> u64 {
        answer.0[0]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inputs_are_read_back() {
        for input in ["paper", "small", "7", "rounds=3,processes=2,capacity=9"] {
            let ring = Ring::parse(input).unwrap();
            let again = Ring::parse(&ring.input()).unwrap();
            assert_eq!(ring.input(), again.input());
        }
        assert_eq!(Ring::parse("paper").unwrap().hops(), 1_000_000);
        assert!(Ring::parse("processes=0").is_err());
    }

    #[test]
    fn serially_the_token_counts_all_hops() {
        let ring = Ring::parse("7,rounds=3").unwrap();
        assert_eq!(ring.serial().unwrap(), RunAnswer([21, 0, 0]));
    }
}
