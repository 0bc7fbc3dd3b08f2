//! A program of tasks with two sides: what it has to tell and to do.

use std::time::Duration;

use roving::Pool;
use roving_gpu::Devices;

use super::pace::WorkPace;
use crate::io::input::CommandFailure;
use crate::workloads::{ListedJob, ListedProgram, RunAnswer, TimedAnswer};

/// One program with its parameters.
pub(crate) trait DualProgram: Send + Sync {
    /// The input in the shortest words that are read back.
    fn input(&self) -> String;
    /// Makes ready for all runs: what is computed with.
    fn prepare(&mut self) -> Result<(), CommandFailure> {
        Ok(())
    }
    /// Runs on this thread, by the CPU sides alone, and keeps the result to compare later runs
    /// with. Returns the time of the computation.
    fn serial(&mut self) -> Duration;
    /// One run in tasks. Gives the time from the first task until the results are on the host.
    fn run(&self, place: &PoolAndDevices<'_>) -> Result<TimedAnswer, CommandFailure>;
    /// The expected answer of a run, after a serial run.
    fn expected(&self) -> RunAnswer;
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

/// The pool and the devices that a program runs on, and how fast they are said to be.
pub(crate) struct PoolAndDevices<'a> {
    /// The workers.
    pub(crate) pool: &'a Pool,
    /// The devices.
    pub(crate) devices: &'a Devices,
    /// How fast the CPU sides are said to be.
    pub(crate) pace: WorkPace,
    /// How fast a simulated device is said to be, for work that nobody knows before.
    pub(crate) device_pace: WorkPace,
}

/// A kind of program.
pub(super) type DualEntry = ListedProgram<dyn DualProgram>;
/// A program with its kind.
pub(crate) type DualJob = ListedJob<dyn DualProgram>;
