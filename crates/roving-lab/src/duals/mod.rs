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
pub(crate) mod mandelbrot;
mod math;
mod matmul;
mod nbody;
pub(crate) mod pace;
mod picture;
mod pipeline;
mod plain;
mod program;
mod report;
pub(crate) mod run;
pub(crate) mod setup;
mod square;
mod steps;
#[cfg(test)]
mod tests;
mod tiles;
pub(crate) mod words;

pub(crate) use self::catalogue::{has, kinds};
pub(crate) use self::plain::{dual_fib, dual_flat};
pub(crate) use self::program::{DualJob, DualProgram, PoolAndDevices};
