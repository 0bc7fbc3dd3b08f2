//! `scatter-gather`: a centre hands a message to each of its workers, waits for all the answers,
//! and begins again. The shape of one MapReduce after another; with little work a message it shows
//! what that costs.

use std::time::{Duration, Instant};

use roving_flow::{In, Network, Out};
use serde::{Deserialize, Serialize};

use super::builder::Builder;
use super::found::FoundAnswer;
use super::params::{Param, read, take_work};
use super::work::{mixed, turns_in, work};
use super::{NetworkEntry, NetworkProgram};
use crate::io::input::{BadInput, CommandFailure};
use crate::workloads::stress::LeafWork;
use crate::workloads::{RunAnswer, WorkloadKind};

pub(super) const ENTRY: NetworkEntry = NetworkEntry {
    kind: WorkloadKind {
        name: "scatter-gather",
        about: "a centre that hands work to its processes and waits for all, again and again",
        inputs: &[
            ("10us", "50 processes, 10 µs a message, 400 rounds"),
            ("0us", "no work, 4,000 rounds"),
            ("1us", "1 µs a message, 4,000 rounds"),
            ("100us", "100 µs a message, 40 rounds"),
            (
                "uneven",
                "10 µs a message in the mean, half of all in the first process; 4,000 rounds",
            ),
        ],
        params: "processes=1 to 1e5, messages=1 to 1e5 for each in a round, work=TIME (1ns to 1s) or \
                 turns of a loop (0 to 1e9), rounds=1 to 1e9, uneven=0 or 1: each process does half as much as the one before",
        items: "messages",
        figures: &["checksum"],
        serial: "the same work in a loop",
    },
    parse: |input| Ok(Box::new(Scatter::parse(input)?)),
};

/// How many processes, messages for each and rounds; and the work of each message.
#[derive(Debug)]
pub(crate) struct Scatter {
    pub(crate) processes: u64,
    pub(crate) messages: u64,
    pub(crate) rounds: u64,
    /// 1 if each process does half as much as the one before, and all together as much as
    /// otherwise.
    uneven: u64,
    work: LeafWork,
    pub(crate) turns: u64,
    found: FoundAnswer,
}

impl Scatter {
    /// Reads a named input or parameters.
    pub(crate) fn parse(input: &str) -> Result<Scatter, BadInput> {
        let named = match input {
            "0us" => "work=0,rounds=4000",
            "1us" => "work=1us,rounds=4000",
            "10us" => "work=10us,rounds=400",
            "100us" => "work=100us,rounds=40",
            "uneven" => "work=10us,rounds=4000,uneven=1",
            other => other,
        };
        let mut scatter = Scatter {
            processes: 50,
            messages: 1,
            rounds: 400,
            uneven: 0,
            work: LeafWork::Nanos(10_000),
            turns: 0,
            found: FoundAnswer::default(),
        };
        let rest = take_work("scatter-gather", named, &mut scatter.work)?;
        let params = &mut [
            Param::new("processes", 1..=100_000, &mut scatter.processes),
            Param::new("messages", 1..=100_000, &mut scatter.messages),
            Param::new("rounds", 1..=1_000_000_000, &mut scatter.rounds),
            Param::new("uneven", 0..=1, &mut scatter.uneven),
        ];
        if !rest.is_empty() {
            read("scatter-gather", &rest, params)?;
        }
        scatter.turns = match scatter.work {
            LeafWork::Turns(turns) => turns,
            LeafWork::Nanos(nanos) => turns_in(nanos),
        };
        Ok(scatter)
    }

    /// Whether the work was given as a time, for which each run measures the turns.
    #[cfg(feature = "dist")]
    pub(crate) fn is_timed(&self) -> bool {
        matches!(self.work, LeafWork::Nanos(_))
    }

    /// Messages to the processes; as many come back.
    pub(crate) fn total(&self) -> u64 {
        self.rounds * self.processes * self.messages
    }

    /// The work of one message of that process.
    fn turns_of(&self, place: u64) -> u64 {
        match self.uneven {
            0 => self.turns,
            _ => (self.turns * self.processes) >> (place + 1).min(63),
        }
    }

    /// The processes and channels of one run, on any number of ranks.
    pub(crate) fn weave_in<'env>(&'env self, network: &mut impl Builder<'env>) {
        self.found.clear();
        let capacity = self.capacity();
        let (mut outs, mut inputs) = (Vec::new(), Vec::new());
        for place in 0..self.processes {
            let (out, input) = network.bounded::<u64>(format_args!("to {place}"), capacity);
            let (reply, replies) = network.bounded::<u64>(format_args!("from {place}"), capacity);
            let (name, ports) = (format!("serve {place}"), (input, reply));
            let turns = self.turns_of(place);
            match network.may_move() {
                true => network.movable(name, ports, (), move |(), ports| serve_one(turns, ports)),
                false => network.process(name, ports, move |(input, out)| serve(turns, input, out)),
            }
            outs.push(out);
            inputs.push(replies);
        }
        let ports = (outs, inputs);
        if network.may_move() {
            network.first_movable(
                "centre",
                ports,
                CentreProgress::default(),
                |rounds, ports| next_round(self, rounds, ports),
            );
            return;
        }
        network.first("centre", ports, move |(outs, inputs)| async move {
            let start = Instant::now();
            if let Some(sum) = centre(self, outs, inputs).await {
                let answer = RunAnswer([sum, 0, 0]);
                self.found.set(answer, Some(start.elapsed()));
            }
        });
    }

    /// How many messages wait in a channel at most: all of a round.
    fn capacity(&self) -> usize {
        self.messages as usize
    }
}

/// The answer to the `number`-th message of a run.
pub(crate) fn reply(turns: u64, number: u64) -> u64 {
    work(turns, number)
}

/// One process: works for each message.
async fn serve(turns: u64, mut input: In<u64>, mut out: Out<u64>) {
    while let Some(number) = input.recv().await {
        if out.send(reply(turns, number)).await.is_err() {
            break;
        }
    }
}

/// One message of a process that may move before the next one.
async fn serve_one(
    turns: u64,
    (mut input, mut out): (In<u64>, Out<u64>),
) -> Option<((), (In<u64>, Out<u64>))> {
    let number = input.recv().await?;
    out.send(reply(turns, number)).await.ok()?;
    Some(((), (input, out)))
}

/// The progress of the centre.
#[derive(Clone, Copy, Default, Serialize, Deserialize)]
struct CentreProgress {
    done: u64,
    /// Of the next message.
    number: u64,
    sum: u64,
}

/// The ports of the centre.
type Ends = (Vec<Out<u64>>, Vec<In<u64>>);

/// The centre. None when a process has ended before its time.
async fn centre(program: &Scatter, outs: Vec<Out<u64>>, inputs: Vec<In<u64>>) -> Option<u64> {
    let (mut rounds, mut ends) = (CentreProgress::default(), (outs, inputs));
    while rounds.done < program.rounds {
        rounds = round(program, rounds, &mut ends).await?;
    }
    Some(rounds.sum)
}

/// The next round of the centre, after which it may move.
async fn next_round(
    program: &Scatter,
    rounds: CentreProgress,
    mut ends: Ends,
) -> Option<(CentreProgress, Ends)> {
    if rounds.done == program.rounds {
        program.found.set(RunAnswer([rounds.sum, 0, 0]), None);
        return None;
    }
    let rounds = round(program, rounds, &mut ends).await?;
    Some((rounds, ends))
}

/// One round of the centre.
async fn round(
    program: &Scatter,
    mut rounds: CentreProgress,
    (outs, inputs): &mut Ends,
) -> Option<CentreProgress> {
    for out in outs {
        for _ in 0..program.messages {
            out.send(rounds.number).await.ok()?;
            rounds.number += 1;
        }
    }
    for input in inputs {
        for _ in 0..program.messages {
            rounds.sum = mixed(rounds.sum, input.recv().await?);
        }
    }
    rounds.done += 1;
    Some(rounds)
}

impl NetworkProgram for Scatter {
    fn input(&self) -> String {
        let Scatter {
            processes,
            messages,
            rounds,
            uneven,
            ..
        } = self;
        let work = self.work.text();
        let uneven = if *uneven > 0 { ",uneven=1" } else { "" };
        format!("work={work},processes={processes},messages={messages},rounds={rounds}{uneven}")
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
        let replies = (0..self.total()).map(|number| {
            let place = number / self.messages % self.processes;
            reply(self.turns_of(place), number)
        });
        Ok(RunAnswer([replies.fold(0, mixed), 0, 0]))
    }

    fn items(&self, _: &RunAnswer) -> u64 {
        self.total()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inputs_are_read_back() {
        for input in [
            "10us",
            "0us",
            "1us",
            "100us",
            "uneven",
            "3,messages=2,work=7,rounds=5",
        ] {
            let scatter = Scatter::parse(input).unwrap();
            let again = Scatter::parse(&scatter.input()).unwrap();
            assert_eq!(scatter.input(), again.input());
        }
        let small = Scatter::parse("3,messages=2,work=7,rounds=5").unwrap();
        assert_eq!((small.total(), small.turns), (30, 7));
        let uneven = Scatter::parse("8,work=80,rounds=1,uneven=1").unwrap();
        let turns = [0, 1, 2, 7].map(|place| uneven.turns_of(place));
        assert_eq!(turns, [320, 160, 80, 2]);
        for bad in ["work=2s", "uneven=2", "processes=0", "work=1us,rounds=none"] {
            assert!(Scatter::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn the_checksum_sees_the_order_and_the_work() {
        let sum = |input: &str| Scatter::parse(input).unwrap().serial().unwrap();
        assert_eq!(sum("3,work=7,rounds=2"), sum("3,work=7,rounds=2"));
        assert_ne!(sum("3,work=7,rounds=2"), sum("3,work=8,rounds=2"));
        assert_ne!(sum("3,work=7,rounds=2"), sum("3,work=7,rounds=3"));
    }
}
