//! The functions that a compiler's code calls, and those that programs call by name.
//!
//! Their names, parameters and results are those that `gcc -fopenmp -S` shows, and those of the
//! OpenMP specification. None of them unwinds: what is Rust in a backtrace ends there.

mod control;
mod critical;
mod device;
mod fortran;
mod locks;
mod loops;
mod memory;
mod missing;
mod parallel;
mod sections;
mod target;
mod tasks;
mod teams;
