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
//! | `cli/launch/termination.rs` | handles a signal, and sends one |
//! | `duals/math/real.rs` | calls a matrix product that takes pointers |
//! | `workloads/uts/sha_ni.rs` | calls a function with target features from one without |
//! | `workloads/part.rs` | rejoins neighbouring parts of a slice |
//! | `workloads/simd.rs` | calls a function with target features from one without |
//! | `repro/ladder/stack.rs` | keeps tasks as pointers without their types, as Wool does |
//! | `rivals` | casts and keeps references as the rivals' own types demand |
//!
//! # What is built
//!
//! `run` and `list` always. The rest stands behind features, so that the first answer comes soon;
//! `cli/absent.rs` says how what is left out is built.
#![deny(unsafe_code)]
#![cfg_attr(
    not(feature = "rivals"),
    allow(
        dead_code,
        unused_imports,
        reason = "much of it serves the comparisons only"
    )
)]

#[cfg(feature = "rivals")]
mod bench;
mod cli;
#[cfg(feature = "rivals")]
mod compare;
#[cfg(feature = "dist")]
mod dist;
#[cfg(feature = "gpu")]
mod duals;
mod forms;
mod io;
mod job;
mod machine;
#[cfg(feature = "rivals")]
mod model;
mod networks;
#[cfg(feature = "rivals")]
mod repro;
#[cfg(feature = "rivals")]
mod rivals;
#[cfg(feature = "rivals")]
mod shapes;
#[cfg(feature = "rivals")]
mod sleepers;
mod timing;
#[cfg(feature = "top")]
mod top;
mod workloads;

use std::process::ExitCode;

fn main() -> ExitCode {
    match cli::main() {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.print(),
    }
}
