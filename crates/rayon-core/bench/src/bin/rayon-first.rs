//! The smallest program: one `par_iter`. Prints the nanoseconds from the start of `main` to its
//! result, and the bytes that the process held at most.
#![forbid(unsafe_code)]

#[path = "../first.rs"]
mod first;

use std::process::ExitCode;
use std::time::Instant;

fn main() -> ExitCode {
    match first::first(Instant::now()) {
        Ok(line) => {
            println!("{line}");
            ExitCode::SUCCESS
        }
        Err(why) => {
            eprintln!("rayon-first: {why}");
            ExitCode::FAILURE
        }
    }
}
