//! Everything that attacks the runtime: programs that run long, model checkers, sanitizers, another
//! processor. What came of it lies in `docs/results`.

use std::path::Path;

use crate::report::{Report, Step};
use crate::workspace::Workspace;
use crate::{Result, emulated, loom, mutants, nightly, tool, valgrind};

/// The checks of one call, below `docs/results`.
const CHECKS: &str = "torture-checks.csv";

/// The programs for some minutes. What they found is written below `target`.
pub(crate) fn quick(workspace: &Workspace, step: &mut Step) -> Result<()> {
    let out = workspace.target.join("torture-quick");
    programs(workspace, step, &["--quick"], &out)
}

/// The programs of `roving-torture`. What they found is written to a folder.
fn programs(workspace: &Workspace, step: &mut Step, length: &[&str], out: &Path) -> Result<()> {
    let mut command = workspace.cargo(&["run", "--profile", "torture", "-p", "roving-torture"]);
    command.args(["--", "all", "--out"]).arg(out).args(length);
    let seen = tool::watch(&mut command)?;
    let broken: Vec<&String> = seen
        .lines
        .iter()
        .filter(|line| line.contains(": broken: "))
        .collect();
    for line in &broken {
        step.fail((*line).clone());
    }
    if !seen.ok && broken.is_empty() {
        step.fail("the programs did not end as they should");
    }
    Ok(())
}

/// The programs, and every check that takes too long for each run of the tests.
pub(crate) fn all(workspace: &Workspace, report: &mut Report, minutes: f64) -> Result<()> {
    let results = workspace.root.join("docs/results");
    report.step("programs", |step| {
        let minutes = minutes.to_string();
        programs(workspace, step, &["--minutes", &minutes], &results)
    });
    report.step("loom", |step| loom::check(workspace, step));
    report.step("mutants", |step| mutants::check(workspace, step));
    report.step("asan", |step| {
        nightly::sanitize(workspace, step, &nightly::ADDRESS, &[])
    });
    report.step("tsan", |step| {
        nightly::sanitize(workspace, step, &nightly::THREAD, &[])
    });
    report.step("valgrind", |step| valgrind::check(workspace, step));
    report.step("aarch64", |step| {
        emulated::check(workspace, step, false, &emulated::PACKAGES)
    });
    report.step("miri", |step| nightly::miri(workspace, step, "stack"));
    let path = results.join(CHECKS);
    std::fs::write(&path, report.csv()).map_err(|error| format!("{}: {error}", path.display()))
}
