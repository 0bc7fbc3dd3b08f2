//! Programs written as networks of processes that talk through channels: Nornir's, a pipeline that
//! a user would write, and a chain of a million. Each checks its own answer against a serial run.

pub(crate) mod builder;
pub(crate) mod chain;
pub(crate) mod compress;
mod found;
pub(crate) mod h264;
pub(crate) mod kmeans;
pub(crate) mod params;
mod picture;
pub(crate) mod placement;
mod program;
pub(crate) mod random;
pub(crate) mod report;
pub(crate) mod ring;
pub(crate) mod run;
pub(crate) mod scatter;
#[cfg(test)]
mod tests;
pub(crate) mod work;

pub(crate) use self::program::{NetworkEntry, NetworkJob, NetworkProgram};
use crate::io::input::{BadInput, CommandFailure};
use crate::workloads::RunAnswer;

/// All of them, in the order of `roving list`.
pub(crate) static CATALOGUE: [NetworkEntry; 7] = [
    ring::ENTRY,
    scatter::ENTRY,
    kmeans::ENTRY,
    h264::ENTRY,
    random::ENTRY,
    chain::ENTRY,
    compress::ENTRY,
];

impl NetworkJob {
    /// The kind of program of that name.
    pub(crate) fn find(name: &str) -> Option<&'static NetworkEntry> {
        CATALOGUE.iter().find(|entry| entry.kind.name == name)
    }

    /// The program `name` on `input`, or on its default input, ready to run.
    pub(crate) fn parse(name: &str, input: Option<&str>) -> Result<NetworkJob, CommandFailure> {
        let entry = NetworkJob::find(name).ok_or_else(|| unknown(name))?;
        let mut job = entry.job(input)?;
        job.program.prepare()?;
        Ok(job)
    }

    /// Holds `found` against what is known, else against `serial`.
    pub(crate) fn verify(&self, found: RunAnswer, serial: RunAnswer) -> Result<(), String> {
        let want = self.program.expected().unwrap_or(serial);
        if found != want {
            let named = |answer: &RunAnswer| {
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
