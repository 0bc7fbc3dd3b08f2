//! The `roving` command: workloads that check their own answers, and the measuring of them.
//!
//! `roving` alone searches the UTS tree T3 in parallel and says how fast that was;
//! `roving list` shows what else can be run. See the crate's README.
#![deny(unsafe_code)] // allowed, with the reason beside it, in: workloads::uts::sha_ni

mod cli;
mod fork_join;
mod input;
mod measure;
mod memory;
mod report;
mod run;
mod workloads;

use std::process::ExitCode;

fn main() -> ExitCode {
    match cli::main() {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.print(),
    }
}
