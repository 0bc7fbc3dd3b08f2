//! The `roving` command: workloads that check their own answers, and the measuring of them.
//!
//! `roving` alone searches the UTS tree T3 in parallel and says how fast that was;
//! `roving list` shows what else can be run. See the crate's README.
//!
//! # What may be unsafe
//!
//! | module | reason |
//! |---|---|
//! | `duals/kernels/mod.rs` | kernels in CUDA C++ are taken as they are |
//! | `duals/math/real.rs` | calls a matrix product that takes pointers |
//! | `workloads/uts/sha_ni.rs` | calls a function with target features from one without |
//! | `workloads/part.rs` | rejoins neighbouring parts of a slice |
//! | `workloads/simd.rs` | calls a function with target features from one without |
//! | `repro/ladder/stack.rs` | keeps tasks as pointers without their types, as Wool does |
//! | `rivals` | casts and keeps references as the rivals' own types demand |
#![deny(unsafe_code)]

mod bench;
mod cli;
mod compare;
mod dist;
mod duals;
mod fork_join;
mod input;
mod measure;
mod memory;
mod model;
mod networks;
mod out;
mod plot;
mod report;
mod repro;
mod rivals;
mod run;
mod tasks;
mod top;
mod workloads;

use std::process::ExitCode;

fn main() -> ExitCode {
    match cli::main() {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.print(),
    }
}
