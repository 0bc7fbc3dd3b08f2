//! Programs written as networks of processes that talk through channels: Nornir's, a pipeline that
//! a user would write, and a chain of a million. Each checks its own answer against a serial run.

pub(crate) mod builder;
mod chain;
pub(crate) mod compress;
mod found;
mod h264;
pub(crate) mod kmeans;
pub(crate) mod params;
mod picture;
pub(crate) mod placement;
pub(crate) mod random;
pub(crate) mod report;
pub(crate) mod ring;
pub(crate) mod run;
pub(crate) mod scatter;
#[cfg(test)]
mod tests;
pub(crate) mod work;

use std::time::Duration;

use roving_flow::Network;

use crate::input::{BadInput, Failure};
use crate::workloads::{Answer, Kind};

/// One program with its parameters.
///
/// A run is `weave`, which makes the processes; then the network runs; then `answer`, `span` and
/// `check`.
pub(crate) trait Program: Send + Sync {
    /// The input in the shortest words that are read back.
    fn input(&self) -> String;
    /// Makes ready for all runs: files, random numbers.
    fn prepare(&mut self) -> Result<(), Failure> {
        Ok(())
    }
    /// Removes what the last run of `who` left outside: `network`, `serial` or a rival. Not timed.
    fn ready(&self, _who: &str) {}
    /// Makes the processes and channels of one run.
    fn weave<'env>(&'env self, network: &mut Network<'env>);
    /// The answer of the network's last run.
    fn answer(&self) -> Answer;
    /// The time of the last run, where one process measures it: making and ending the others is not
    /// part of it then.
    fn span(&self) -> Option<Duration> {
        None
    }
    /// Computes the answer serially.
    fn serial(&self) -> Result<Answer, Failure>;
    /// The expected answer, where it is known without a run.
    fn expected(&self) -> Option<Answer> {
        None
    }
    /// Checks a part of the result that an answer of three figures cannot hold, after a run of the
    /// network and a serial one.
    fn check(&self) -> Result<(), String> {
        Ok(())
    }
    /// How many items an answer stands for.
    fn items(&self, answer: &Answer) -> u64;
}

/// A kind of program.
pub(crate) struct Entry {
    /// The description.
    pub(crate) kind: Kind,
    parse: fn(&str) -> Result<Box<dyn Program>, BadInput>,
}

/// All of them, in the order of `roving list`.
pub(crate) static CATALOGUE: [Entry; 7] = [
    ring::ENTRY,
    scatter::ENTRY,
    kmeans::ENTRY,
    h264::ENTRY,
    random::ENTRY,
    chain::ENTRY,
    compress::ENTRY,
];

/// A program with its kind.
pub(crate) struct Job {
    /// The description, the same for all inputs.
    pub(crate) kind: &'static Kind,
    /// The program.
    pub(crate) program: Box<dyn Program>,
}

impl Job {
    /// The kind of program of that name.
    pub(crate) fn find(name: &str) -> Option<&'static Entry> {
        CATALOGUE.iter().find(|entry| entry.kind.name == name)
    }

    /// The program `name` on `input`, or on its default input, ready to run.
    pub(crate) fn parse(name: &str, input: Option<&str>) -> Result<Job, Failure> {
        let entry = Job::find(name).ok_or_else(|| unknown(name))?;
        let input = input.unwrap_or(entry.kind.inputs[0].0);
        let mut program = (entry.parse)(input)?;
        program.prepare()?;
        Ok(Job {
            kind: &entry.kind,
            program,
        })
    }

    /// Holds `found` against what is known, else against `serial`.
    pub(crate) fn verify(&self, found: Answer, serial: Answer) -> Result<(), String> {
        let want = self.program.expected().unwrap_or(serial);
        if found != want {
            let named = |answer: &Answer| {
                let pairs = self.kind.figures.iter().zip(answer.0);
                let pairs = pairs.map(|(name, figure)| format!("{name} {figure}"));
                pairs.collect::<Vec<_>>().join(", ")
            };
            let (name, input) = (self.kind.name, self.program.input());
            let (found, want) = (named(&found), named(&want));
            return Err(format!(
                "{name} {input} found {found}, but right are {want}"
            ));
        }
        self.program.check()
    }
}

fn unknown(name: &str) -> BadInput {
    let names: Vec<_> = CATALOGUE.iter().map(|entry| entry.kind.name).collect();
    let allowed = format!("one of {}", names.join(", "));
    BadInput::new(
        "network",
        name,
        allowed,
        "`roving list` shows them with their inputs",
    )
}
