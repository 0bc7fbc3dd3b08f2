//! The workspaces beside the root one. Two packages with one `links` key cannot stand in one
//! workspace, so the drop-in, and what is built with it, have workspaces of their own; they get the
//! same checks.

use std::path::Path;

use super::registry;
use crate::Result;
use crate::cargo::tally::CargoTally;
use crate::cargo::workspace::Workspace;
use crate::cargo::{lint, tool};
use crate::report::CheckStep;

/// The folders that the root manifest leaves out, each of them a workspace.
pub(crate) fn workspaces(workspace: &Workspace) -> Result<Vec<Workspace>> {
    let path = workspace.root.join("Cargo.toml");
    let folders = excluded(&registry::read(&path)?);
    if folders.is_empty() {
        return Err(format!("{} excludes no folder", path.display()));
    }
    let found = folders.iter().map(|folder| {
        let root = workspace.root.join(folder);
        Workspace {
            target: root.join("target"),
            root,
            packages: Vec::new(),
        }
    });
    Ok(found.collect())
}

/// Lints, tests and documentation of the drop-in.
pub(crate) fn core(workspace: &Workspace, step: &mut CheckStep) -> Result<()> {
    let core = super::core_folder(workspace)?;
    let mut all = workspaces(workspace)?;
    all.retain(|one| one.root == core);
    check_these(workspace, step, &all)
}

/// Lints, tests and documentation of each of them. The drop-in must have tests.
pub(crate) fn check(workspace: &Workspace, step: &mut CheckStep) -> Result<()> {
    check_these(workspace, step, &workspaces(workspace)?)
}

fn check_these(workspace: &Workspace, step: &mut CheckStep, all: &[Workspace]) -> Result<()> {
    let core = super::core_folder(workspace)?;
    if !all.iter().any(|one| one.root == core) {
        step.fail(format!("{} is not checked", workspace.short(&core)));
    }
    for one in all {
        let name = workspace.short(&one.root);
        println!("\n{name}");
        let mut own = CheckStep::default();
        lint::lint(
            one,
            &mut own,
            &["--workspace", "--all-targets", "--all-features"],
        )?;
        if has_tests(&one.root)? {
            let mut command = one.cargo(&["test", "--workspace", "--no-fail-fast"]);
            let seen = tool::watch(&mut command)?;
            CargoTally::read(&seen.lines).judge(&seen, &mut own);
        } else if one.root == core {
            own.fail("has no test");
        }
        lint::rustdoc(one, &mut own, &["--workspace", "--all-features"])?;
        step.counts.add(own.counts);
        for complaint in own.complaints {
            step.fail(format!("{name}: {complaint}"));
        }
    }
    Ok(())
}

fn has_tests(folder: &Path) -> Result<bool> {
    for file in crate::reading::files(folder, &["rs"]) {
        if registry::read(&file)?.contains("#[test]") {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The list behind `exclude =` in a manifest.
fn excluded(manifest: &str) -> Vec<String> {
    let list = manifest
        .split("\nexclude = [")
        .nth(1)
        .and_then(|rest| rest.split(']').next());
    let words = list.unwrap_or_default().split('"').skip(1).step_by(2);
    words.map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_excluded_folders_are_read() {
        let manifest = "[workspace]\nmembers = [\"a\"]\nexclude = [\n    \"crates/b\",\n    \"c\",\n]\nother = [\"d\"]\n";
        assert_eq!(excluded(manifest), ["crates/b", "c"]);
        assert!(excluded("[workspace]\nmembers = [\"a\"]\n").is_empty());
    }

    #[test]
    fn the_drop_in_is_a_workspace_of_its_own() {
        let workspace = Workspace::find().unwrap();
        let core = super::super::core_folder(&workspace).unwrap();
        assert!(
            workspaces(&workspace)
                .unwrap()
                .iter()
                .any(|one| one.root == core)
        );
    }
}
