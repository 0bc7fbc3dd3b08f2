//! Programs that attack the runtime for minutes or hours. What came of them lies in `docs/results`.

use std::path::Path;

use crate::report::Step;
use crate::workspace::Workspace;
use crate::{Result, tool};

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

/// The programs for as long as is said. What they found is kept.
pub(crate) fn long(workspace: &Workspace, step: &mut Step, minutes: f64) -> Result<()> {
    let minutes = minutes.to_string();
    let results = workspace.root.join("docs/results");
    programs(workspace, step, &["--minutes", &minutes], &results)
}
