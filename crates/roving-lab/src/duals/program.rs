//! A program of tasks with two sides: what it has to tell and to do.

use std::time::Duration;

use roving::Pool;
use roving_gpu::Devices;

use super::pace::Pace;
use crate::input::{BadInput, Failure};
use crate::workloads::{Answer, Kind};

/// One program with its parameters.
pub(crate) trait Program: Send + Sync {
    /// The input in the shortest words that are read back.
    fn input(&self) -> String;
    /// Makes ready for all runs: what is computed with.
    fn prepare(&mut self) -> Result<(), Failure> {
        Ok(())
    }
    /// Runs on this thread, by the CPU sides alone, and keeps the result to compare later runs
    /// with. Returns the time of the computation.
    fn serial(&mut self) -> Duration;
    /// One run in tasks. Gives the time from the first task until the results are on the host.
    fn run(&self, place: &Place<'_>) -> Result<Ran, Failure>;
    /// The expected answer of a run, after a serial run.
    fn expected(&self) -> Answer;
    /// How much work all tasks with two sides are together, in the unit by which they declare it;
    /// after a serial run.
    fn work(&self) -> f64;
    /// Whether each task knows its work before it runs.
    fn declares(&self) -> bool {
        true
    }
    /// How many tasks with two sides a run has.
    fn tasks(&self) -> u64;
    /// How many items an answer stands for.
    fn items(&self) -> u64;
}

/// Where a program runs.
pub(crate) struct Place<'a> {
    /// The workers.
    pub(crate) pool: &'a Pool,
    /// The devices.
    pub(crate) devices: &'a Devices,
    /// How fast the CPU sides are said to be.
    pub(crate) pace: Pace,
    /// How fast a simulated device is said to be, for work that nobody knows before.
    pub(crate) device_pace: Pace,
}

/// The outcome of one run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ran {
    /// From the first task until the results are on the host.
    pub(crate) time: Duration,
    /// The answer.
    pub(crate) answer: Answer,
}

/// A kind of program.
pub(crate) struct Entry {
    /// The description.
    pub(crate) kind: Kind,
    /// Reads a named input or parameters.
    pub(super) parse: fn(&str) -> Result<Box<dyn Program>, BadInput>,
}
