//! Tests in a process of their own: this program again, with one test that does nothing otherwise.
#![allow(dead_code, reason = "each test program uses its own part of it")]

use std::env;
use std::process::{Command, Output};

use crate::common::{this_program, watched};

const ROLE: &str = "ROVING_TEST_ROLE";

/// This program again, to run the test of that name.
pub(crate) fn child(role: &str) -> Command {
    let mut command = this_program();
    command.args(["--exact", role, "--nocapture", "--test-threads=1"]);
    command.env(ROLE, role);
    command
        .env_remove("ROVING_WATCH")
        .env_remove("ROVING_WORKERS");
    command
}

/// Whether the calling test is to play that role.
pub(crate) fn is_child(role: &str) -> bool {
    env::var(ROLE).is_ok_and(|found| found == role)
}

/// Runs a child to its end, at which its test has passed.
pub(crate) fn passed(child: &mut Command) -> Output {
    let output = watched(|| child.output().unwrap());
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{child:?}: {output:?}");
    assert!(text.contains("1 passed"), "{child:?} has not run: {text}");
    output
}
