//! A program that is a network: what it has to tell and to do.

use std::time::Duration;

use roving_flow::Network;

use crate::io::input::CommandFailure;
use crate::workloads::{ListedJob, ListedProgram, RunAnswer};

/// One program with its parameters.
///
/// A run is `weave`, which makes the processes; then the network runs; then `answer`, `span` and
/// `check`.
pub(crate) trait NetworkProgram: Send + Sync {
    /// The input in the shortest words that are read back.
    fn input(&self) -> String;
    /// Makes ready for all runs: files, random numbers.
    fn prepare(&mut self) -> Result<(), CommandFailure> {
        Ok(())
    }
    /// Removes what the last run of `who` left outside: `network`, `serial` or a rival. Not timed.
    fn ready(&self, _who: &str) {}
    /// Makes the processes and channels of one run.
    fn weave<'env>(&'env self, network: &mut Network<'env>);
    /// The answer of the network's last run.
    fn answer(&self) -> RunAnswer;
    /// The time of the last run, where one process measures it: making and ending the others is not
    /// part of it then.
    fn span(&self) -> Option<Duration> {
        None
    }
    /// Computes the answer serially.
    fn serial(&self) -> Result<RunAnswer, CommandFailure>;
    /// The expected answer, where it is known without a run.
    fn expected(&self) -> Option<RunAnswer> {
        None
    }
    /// Checks a part of the result that an answer of three figures cannot hold, after a run of the
    /// network and a serial one.
    fn check(&self) -> Result<(), String> {
        Ok(())
    }
    /// How many items an answer stands for.
    fn items(&self, answer: &RunAnswer) -> u64;
}

/// A kind of program.
pub(crate) type NetworkEntry = ListedProgram<dyn NetworkProgram>;
/// A program with its kind.
pub(crate) type NetworkJob = ListedJob<dyn NetworkProgram>;
