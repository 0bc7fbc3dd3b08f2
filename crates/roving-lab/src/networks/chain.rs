//! `chain`: very many processes in a row, and a few tokens that pass all of them. Shows what a
//! process costs: to make, to run, and to hold in memory.

use roving_flow::{In, Network, Out};

use super::builder::Builder;
use super::found::FoundAnswer;
use super::params::{Param, read, require_processes};
use super::{NetworkEntry, NetworkProgram};
use crate::io::input::{BadInput, CommandFailure};
use crate::workloads::{RunAnswer, WorkloadKind};

pub(super) const ENTRY: NetworkEntry = NetworkEntry {
    kind: WorkloadKind {
        name: "chain",
        about: "very many processes in a row, and a few tokens through all of them",
        inputs: &[
            ("1e6", "1,000,000 processes, one token"),
            ("1e5", "100,000 processes, one token"),
        ],
        params: "processes=1 to 4e9, tokens=1 to 1e9, capacity=1 to 1e6 tokens a channel",
        items: "processes",
        figures: &["sum", "tokens"],
        serial: "one loop over an array of counters a token",
    },
    parse: |input| Ok(Box::new(ProcessChain::parse(input)?)),
};

/// How many processes in a row, and how many tokens.
#[derive(Debug)]
pub(crate) struct ProcessChain {
    processes: u64,
    tokens: u64,
    capacity: u64,
    found: FoundAnswer,
}

impl ProcessChain {
    pub(crate) fn parse(input: &str) -> Result<ProcessChain, BadInput> {
        let mut chain = ProcessChain {
            processes: 1_000_000,
            tokens: 1,
            capacity: 1,
            found: FoundAnswer::default(),
        };
        let params = &mut [
            Param::new("processes", 1..=4_000_000_000, &mut chain.processes),
            Param::new("tokens", 1..=1_000_000_000, &mut chain.tokens),
            Param::new("capacity", 1..=1_000_000, &mut chain.capacity),
        ];
        read("chain", input, params)?;
        require_processes("chain", input, chain.processes, "take chain 1e6")?;
        Ok(chain)
    }

    /// Makes the processes and channels of one run.
    pub(crate) fn weave_in<'env>(&'env self, network: &mut impl Builder<'env>) {
        self.found.clear();
        let capacity = self.capacity as usize;
        let (first, mut held) = network.bounded::<u64>("link", capacity);
        let tokens = self.tokens;
        network.movable(
            "first",
            first,
            0,
            move |token, mut out: Out<u64>| async move {
                if token == tokens {
                    return None;
                }
                out.send(token).await.ok()?;
                Some((token + 1, out))
            },
        );
        for _ in 0..self.processes {
            // A name of its own for each would cost more than the process.
            let (out, next) = network.bounded::<u64>("link", capacity);
            let ports = (held, out);
            match network.may_move() {
                true => network.movable("link", ports, (), |(), ports| link_one(ports)),
                false => network.process("link", ports, |(input, out)| link(input, out)),
            }
            held = next;
        }
        network.first_movable("last", held, (0, 0), move |(sum, count), mut input| {
            // Counts when there are no more.
            self.found.set(RunAnswer([sum, count, 0]), None);
            async move {
                let token: u64 = input.recv().await?;
                Some(((sum + token, count + 1), input))
            }
        });
    }
}

/// A process within the chain: adds one to each token.
async fn link(mut input: In<u64>, mut out: Out<u64>) {
    while let Some(token) = input.recv().await {
        if out.send(token + 1).await.is_err() {
            break;
        }
    }
}

/// One token of a process that may move before the next one.
async fn link_one((mut input, mut out): (In<u64>, Out<u64>)) -> Option<((), (In<u64>, Out<u64>))> {
    out.send(input.recv().await? + 1).await.ok()?;
    Some(((), (input, out)))
}

impl NetworkProgram for ProcessChain {
    fn input(&self) -> String {
        let ProcessChain {
            processes,
            tokens,
            capacity,
            ..
        } = self;
        format!("processes={processes},tokens={tokens},capacity={capacity}")
    }

    fn weave<'env>(&'env self, network: &mut Network<'env>) {
        self.weave_in(network);
    }

    fn answer(&self) -> RunAnswer {
        self.found.answer()
    }

    fn serial(&self) -> Result<RunAnswer, CommandFailure> {
        let mut counts = vec![0u64; self.processes as usize];
        let mut sum = 0;
        for token in 0..self.tokens {
            counts.iter_mut().for_each(|count| *count += 1);
            sum += counts.iter().sum::<u64>() / (token + 1) + token;
        }
        Ok(RunAnswer([sum, self.tokens, 0]))
    }

    fn expected(&self) -> Option<RunAnswer> {
        let first = self.tokens * (self.tokens - 1) / 2;
        Some(RunAnswer([
            first + self.tokens * self.processes,
            self.tokens,
            0,
        ]))
    }

    fn items(&self, _: &RunAnswer) -> u64 {
        self.processes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inputs_are_read_back_and_the_loop_gives_what_is_expected() {
        let chain = ProcessChain::parse("7,tokens=3,capacity=2").unwrap();
        assert_eq!(
            chain.input(),
            ProcessChain::parse(&chain.input()).unwrap().input()
        );
        assert_eq!(chain.serial().unwrap(), RunAnswer([3 + 21, 3, 0]));
        assert_eq!(chain.expected(), Some(chain.serial().unwrap()));
        assert!(ProcessChain::parse("0").is_err());
        if cfg!(target_os = "linux") {
            let line = ProcessChain::parse("processes=4e9")
                .unwrap_err()
                .to_string();
            assert!(
                line.contains("MiB") && line.contains("take chain 1e6"),
                "{line}"
            );
        }
    }
}
