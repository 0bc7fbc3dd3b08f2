//! Programs that attack the runtime for minutes or hours. What came of them lies in `docs/results`.

use std::path::Path;
use std::process::Command;

use crate::cargo::tool;
use crate::cargo::workspace::Workspace;
use crate::report::CheckStep;
use crate::{Result, suite};

/// The words of `quick`: random programs, for a quarter of a minute. A test has all the rows, each
/// a little.
const QUICK: [&str; 4] = ["programs", "--quick", "--minutes", "0.25"];

/// Random programs for some seconds, as the tests have built them: not optimised, with all
/// assertions. What they found is written below `target`.
pub(crate) fn quick(workspace: &Workspace, step: &mut CheckStep) -> Result<()> {
    let out = workspace.target.join("torture-quick");
    let mut command = Command::new(suite::binary(workspace, "torture")?);
    command.current_dir(&workspace.root);
    judge(command.args(QUICK), step, &out)
}

fn judge(command: &mut Command, step: &mut CheckStep, out: &Path) -> Result<()> {
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

/// The programs, optimised, for as long as is said. What they found is kept.
pub(crate) fn long(workspace: &Workspace, step: &mut CheckStep, minutes: f64) -> Result<()> {
    let minutes = minutes.to_string();
    let mut command = workspace.cargo(&["run", "--profile", "torture", "-p", "roving-torture"]);
    command.args(["--", "all", "--minutes", &minutes]);
    judge(&mut command, step, &workspace.root.join("docs/results"))
}
