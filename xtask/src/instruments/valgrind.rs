//! Valgrind's check of memory, on the small tests of the runtime.
//!
//! Its two checks of threads, drd and helgrind, are of no use here: the locks of Rust's standard
//! library are atomics and futexes, which they do not see, so they report an error for each access
//! under a `std::sync::Mutex` of the simplest program. ThreadSanitizer and loom do that work.

use crate::Result;
use crate::cargo::tally::CargoTally;
use crate::cargo::tool;
use crate::cargo::workspace::Workspace;
use crate::report::CheckStep;

/// Test programs of `crates/roving` that end within a minute on an emulated processor.
const SMALL: [&str; 8] = [
    "blocking",
    "builder",
    "panics",
    "panics_in_drop",
    "pool",
    "task_placed",
    "task_wakers",
    "task_woken",
];

pub(crate) fn check(workspace: &Workspace, step: &mut CheckStep) -> Result<()> {
    if !tool::works("valgrind", &["--version"]) {
        step.skip("valgrind is not installed: apt-get install valgrind");
        return Ok(());
    }
    let mut command = workspace.cargo(&["test", "-p", "roving"]);
    for test in SMALL {
        command.args(["--test", test]);
    }
    let words =
        "valgrind --quiet --error-exitcode=99 --leak-check=full --errors-for-leak-kinds=definite";
    command
        .args(["--", "--test-threads=1"])
        // A report names lines.
        .env("CARGO_PROFILE_TEST_DEBUG", "line-tables-only")
        .env(runner_variable()?, words);
    let seen = tool::watch(&mut command)?;
    CargoTally::read(&seen.lines).judge(&seen, step);
    Ok(())
}

/// The variable that tells cargo by what to run programs for this machine.
fn runner_variable() -> Result<String> {
    let triple = tool::host(&mut tool::rustc())?;
    let triple = triple.replace('-', "_").to_uppercase();
    Ok(format!("CARGO_TARGET_{triple}_RUNNER"))
}
