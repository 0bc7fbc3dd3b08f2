//! Programs that attack Roving for as long as one lets them, and say what held.
//!
//! # What may be unsafe, and why
//!
//! Unsafe code is denied but in these modules; each says in its comments what it relies on.
//!
//! | module | reason |
//! |---|---|
//! | `heap` | an allocator that counts |
//! | `stops` | a signal that stops threads |
#![deny(unsafe_code)]

mod census;
mod cli;
mod deep;
mod dog;
#[allow(unsafe_code)]
mod heap;
mod idle;
mod memory;
mod pairs;
mod panics;
mod pools;
mod programs;
mod random;
mod report;
mod row;
#[allow(unsafe_code, reason = "listed above")]
mod stops;
mod system;

use std::process::ExitCode;

#[global_allocator]
static HEAP: heap::Counting = heap::Counting;

fn main() -> ExitCode {
    cli::main()
}
