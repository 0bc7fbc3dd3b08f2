//! Programs that attack the runtime for minutes or hours. What came of them lies in `docs/results`.

use crate::Result;
use crate::cargo::tool;
use crate::cargo::workspace::Workspace;
use crate::report::CheckStep;

/// The programs, optimised, for as long as is said. What they found is kept.
pub(crate) fn check(workspace: &Workspace, step: &mut CheckStep, minutes: f64) -> Result<()> {
    let mut command = workspace.cargo(&["run", "--profile", "torture", "-p", "roving-torture"]);
    command.args(["--", "all", "--minutes", &minutes.to_string()]);
    let out = workspace.root.join("docs/results");
    let seen = tool::watch(command.arg("--out").arg(out))?;
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
