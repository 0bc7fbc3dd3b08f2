//! Programs of tasks with two sides. Each decides nothing: whether a task runs on the CPU or on a
//! device is left to `roving-gpu`. Each checks its own answer against a serial run.
//!
//! # Kernels
//!
//! What the programs launch; `kernels/` has each as WGSL, as CUDA, and for the simulated device.
//! Matrices and pictures are stored by rows. The last argument is always one value of 32-bit words.
//!
//! | kernel | arguments | what it does |
//! |---|---|---|
//! | `gemm` (f32, f64) | read a (m × k), read b (k × n), update c (m × n), `[m, n, k, 0]` | c += a · b |
//! | `gemm_nt` (f32, f64) | read a (m × k), read b (n × k), update c (m × n), `[m, n, k, 0]` | c -= a · bᵀ |
//! | `trsm` (f32, f64) | read l (n × n, lower), update a (m × n), `[m, n, 0, 0]` | the X with X · lᵀ = a takes the place of a |
//! | `nbody` | read bodies i (n × (x, y, z, mass), f32), read bodies j (m × 4), update forces i (n × (x, y, z, 0)), `[n, m, softening² as f32, 0]` | forces i += Σ mass_j · d / (\|d\|² + softening²)^1.5, d = j - i |
//! | `mandelbrot` | write counts (width × height, u32), `[x0, y0, step as f32, width, height, iterations_max, 0, 0]` | how many z = z² + c stay within \|z\|² ≤ 4, c = (x0 + column · step, y0 + row · step) |
//! | `filter` | read source (width × height, RGBA in a u32, red lowest), write target, `[width, height, radius, threshold]` | each channel is (Σ w · value + W / 2) / W in whole numbers, over the square of that radius with edges repeated, w = max(0, threshold - \|luma - luma of the middle\|), luma = (red + 2 · green + blue) / 4, W = Σ w; alpha stays |

mod catalogue;
mod cholesky;
mod event;
mod kernels;
mod mandelbrot;
mod math;
mod matmul;
mod nbody;
pub(crate) mod pace;
mod picture;
mod pipeline;
mod plain;
mod report;
pub(crate) mod run;
pub(crate) mod setup;
mod steps;
#[cfg(test)]
mod tests;
mod tiles;
pub(crate) mod words;

use std::time::Duration;

use roving::Pool;
use roving_gpu::Devices;

pub(crate) use self::catalogue::{Job, has, kinds};
use self::pace::Pace;
pub(crate) use self::plain::{dual_fib, dual_flat};
use crate::input::Failure;
use crate::workloads::Answer;

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
