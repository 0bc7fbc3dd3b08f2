//! Bytes and text that come in from outside, as many times as one likes: the tests whose names
//! begin with `fuzz_`.
//!
//! `cargo test` runs each with some hundred inputs.

use crate::Result;
use crate::cargo::tally::CargoTally;
use crate::cargo::tool;
use crate::cargo::workspace::Workspace;
use crate::report::CheckStep;

/// The crates with such tests, which part of each, and the features that some of them take.
const PACKAGES: [(&str, &str, &str); 4] = [
    ("roving", "--lib", ""),
    ("roving-dist", "--lib", ""),
    ("roving-gpu", "--lib", ""),
    ("roving-lab", "--bins", "top"),
];
/// Inputs of each test, unless told otherwise.
pub(crate) const INPUTS: u32 = 1_000_000;

pub(crate) fn check(workspace: &Workspace, step: &mut CheckStep, inputs: u32) -> Result<()> {
    for (package, part, features) in PACKAGES {
        let mut command = workspace.cargo(&["test", "--release", "-p", package]);
        command.args(["--features", features, part, "fuzz_"]);
        command.env("PROPTEST_CASES", inputs.to_string());
        let seen = tool::watch(&mut command)?;
        CargoTally::read(&seen.lines).judge(&seen, step);
    }
    Ok(())
}
