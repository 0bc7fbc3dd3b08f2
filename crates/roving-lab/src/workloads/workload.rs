//! A program that is run: its words, its parameters, its answer and the evidence for that.

use std::time::Duration;

use roving::task::{Scope, Task};

use crate::forms::fork_join::ForkJoin;
use crate::forms::tasks::BranchOrder;
use crate::io::input::BadInput;

/// The native stack of a thread that runs a workload which says nothing else.
pub(crate) const PLAIN_STACK_BYTES: usize = 16 << 20;

/// The answer of a run: up to three figures, named by [`Workload::figures`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct RunAnswer(pub(crate) [u64; 3]);

/// One run: its time, without starting or entering the pool, and its answer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TimedAnswer {
    /// From the first spawn, or task, until all is done.
    pub(crate) time: Duration,
    /// The answer.
    pub(crate) answer: RunAnswer,
}

/// The evidence by which an answer was verified.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Evidence {
    /// A figure that others published.
    Published,
    /// The definition of the result, as for a sorted array.
    Definition,
    /// A serial run of the same code.
    Serial,
}

impl Evidence {
    /// The word in tables and in JSON.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Evidence::Published => "published",
            Evidence::Definition => "definition",
            Evidence::Serial => "serial",
        }
    }

    /// The evidence as a sentence, for people.
    pub(crate) fn sentence(self) -> &'static str {
        match self {
            Evidence::Published => "equal to the published figures",
            Evidence::Definition => "as the definition of the result demands",
            Evidence::Serial => "equal to a serial run",
        }
    }
}

/// One program with its parameters.
///
/// A run is `prepare` (not timed), `run` (timed), `answer` (not timed).
pub(crate) trait Workload: Send + Sized {
    /// The word on the command line.
    const NAME: &'static str;
    /// One line for `roving list`.
    const ABOUT: &'static str;
    /// Named inputs: name, and what it stands for. The first is the default.
    const INPUTS: &'static [(&'static str, &'static str)];
    /// How parameters are written, when no named input fits.
    const PARAMS: &'static str;
    /// The name of the items, in the plural: `nodes`.
    const ITEMS: &'static str;
    /// The names of the figures of an answer; as many as it has.
    const FIGURES: &'static [&'static str];
    /// A description of the serial run.
    const SERIAL: &'static str = "the same code with plain calls";

    /// Reads a named input or parameters.
    fn parse(input: &str) -> Result<Self, BadInput>;
    /// The input in the shortest words that `parse` reads.
    fn input(&self) -> String;
    /// The native stack that one thread may need.
    fn stack_bytes(&self) -> usize {
        PLAIN_STACK_BYTES
    }
    /// Makes ready for a run.
    fn prepare(&mut self) {}
    /// Whether the workload cannot be timed and checked in one run. If so, only runs with proof
    /// `on` give a new answer, and their times mean nothing.
    fn set_proof(&mut self, _on: bool) -> bool {
        false
    }
    /// The run.
    fn run<C: ForkJoin>(&mut self, cx: &mut C);
    /// The run as one async task, which makes others in the order `O`.
    fn task<'scope, O: BranchOrder>(
        &'scope mut self,
        scope: Scope<'scope>,
    ) -> impl Task<()> + 'scope;
    /// The run that all speed-ups divide by.
    fn run_serial(&mut self);
    /// The answer of the last run.
    fn answer(&self) -> RunAnswer;
    /// The expected answer and its evidence, where it is known without a run.
    fn expected(&self) -> Option<(RunAnswer, Evidence)> {
        None
    }
    /// The leading figures by the definition of the result, where the others can only be compared
    /// with a serial run.
    fn demanded(&self) -> Vec<u64> {
        Vec::new()
    }
    /// Further lines for the table: name and value. May run something.
    fn notes(&mut self) -> Vec<(&'static str, String)> {
        Vec::new()
    }
    /// How many items an answer stands for.
    fn items(&self, answer: &RunAnswer) -> u64;
}

/// The description of a workload, the same for all its jobs: its constants, as a value.
#[derive(Debug)]
pub(crate) struct WorkloadKind {
    /// See [`Workload::NAME`].
    pub(crate) name: &'static str,
    /// See [`Workload::ABOUT`].
    pub(crate) about: &'static str,
    /// See [`Workload::INPUTS`].
    pub(crate) inputs: &'static [(&'static str, &'static str)],
    /// See [`Workload::PARAMS`].
    pub(crate) params: &'static str,
    /// See [`Workload::ITEMS`].
    pub(crate) items: &'static str,
    /// See [`Workload::FIGURES`].
    pub(crate) figures: &'static [&'static str],
    /// See [`Workload::SERIAL`].
    pub(crate) serial: &'static str,
}

/// Reads `key=value,key=value`; a bare word is the value of `first`. Unknown keys are errors.
pub(crate) fn parse_params<'a>(
    workload: &str,
    keys: &[&'static str],
    input: &'a str,
) -> Result<Vec<(&'static str, &'a str)>, BadInput> {
    let known = || format!("parameters among {}", keys.join(", "));
    let remedy = format!("`roving list` shows the inputs of {workload}");
    let mut params: Vec<(&'static str, &str)> = Vec::new();
    for (place, part) in input.split(',').map(str::trim).enumerate() {
        let (key, value) = match part.split_once('=') {
            Some((key, value)) => (key.trim(), value.trim()),
            None if place == 0 => (keys[0], part),
            None => {
                return Err(BadInput::new(
                    format!("{workload} input"),
                    input,
                    known(),
                    remedy,
                ));
            }
        };
        let Some(key) = keys.iter().find(|known| **known == key) else {
            return Err(BadInput::new(
                format!("{workload} parameter"),
                key,
                known(),
                remedy,
            ));
        };
        if params.iter().any(|(seen, _)| seen == key) {
            let subject = format!("{workload} parameter");
            return Err(BadInput::new(
                subject,
                key,
                "each parameter once",
                "remove one",
            ));
        }
        params.push((key, value));
    }
    Ok(params)
}
