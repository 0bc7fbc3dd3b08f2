//! `chain`: very many processes in a row, and a few tokens that pass all of them. Shows what a
//! process costs: to make, to run, and to hold in memory.

use roving_flow::{In, Network, Out};

use super::builder::Builder;
use super::found::Found;
use super::params::{Param, read, require_processes};
use super::{Entry, Program};
use crate::input::{BadInput, Failure};
use crate::workloads::{Answer, Kind};

pub(super) const ENTRY: Entry = Entry {
    kind: Kind {
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
    parse: |input| Ok(Box::new(Chain::parse(input)?)),
};

/// How many processes in a row, and how many tokens.
#[derive(Debug)]
pub(crate) struct Chain {
    processes: u64,
    tokens: u64,
    capacity: u64,
    found: Found,
}

impl Chain {
    pub(crate) fn parse(input: &str) -> Result<Chain, BadInput> {
        let mut chain = Chain {
            processes: 1_000_000,
            tokens: 1,
            capacity: 1,
            found: Found::default(),
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
        network.process("first", first, move |mut out: Out<u64>| async move {
            for token in 0..tokens {
                if out.send(token).await.is_err() {
                    break;
                }
            }
        });
        for _ in 0..self.processes {
            // A name of its own for each would cost more than the process.
            let (out, next) = network.bounded::<u64>("link", capacity);
            network.process("link", (held, out), |(input, out): (In<u64>, Out<u64>)| {
                link(input, out)
            });
            held = next;
        }
        network.first("last", held, move |mut input: In<u64>| async move {
            let (mut sum, mut count) = (0, 0);
            while let Some(token) = input.recv().await {
                sum += token;
                count += 1;
            }
            self.found.set(Answer([sum, count, 0]), None);
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

impl Program for Chain {
    fn input(&self) -> String {
        let Chain {
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

    fn answer(&self) -> Answer {
        self.found.answer()
    }

    fn serial(&self) -> Result<Answer, Failure> {
        let mut counts = vec![0u64; self.processes as usize];
        let mut sum = 0;
        for token in 0..self.tokens {
            counts.iter_mut().for_each(|count| *count += 1);
            sum += counts.iter().sum::<u64>() / (token + 1) + token;
        }
        Ok(Answer([sum, self.tokens, 0]))
    }

    fn expected(&self) -> Option<Answer> {
        let first = self.tokens * (self.tokens - 1) / 2;
        Some(Answer([
            first + self.tokens * self.processes,
            self.tokens,
            0,
        ]))
    }

    fn items(&self, _: &Answer) -> u64 {
        self.processes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inputs_are_read_back_and_the_loop_gives_what_is_expected() {
        let chain = Chain::parse("7,tokens=3,capacity=2").unwrap();
        assert_eq!(chain.input(), Chain::parse(&chain.input()).unwrap().input());
        assert_eq!(chain.serial().unwrap(), Answer([3 + 21, 3, 0]));
        assert_eq!(chain.expected(), Some(chain.serial().unwrap()));
        assert!(Chain::parse("0").is_err());
        if cfg!(target_os = "linux") {
            let line = Chain::parse("processes=4e9").unwrap_err().to_string();
            assert!(
                line.contains("MiB") && line.contains("take chain 1e6"),
                "{line}"
            );
        }
    }
}
