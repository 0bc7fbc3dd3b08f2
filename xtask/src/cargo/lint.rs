//! Single cargo commands in which a warning is an error, and the lints of a build.

use std::path::Path;
use std::process::Command;

use crate::Result;
use crate::cargo::tally::is_warning;
use crate::cargo::tool;
use crate::cargo::workspace::Workspace;
use crate::report::CheckStep;

/// Lints these packages with these features; each warning is an error.
pub(crate) fn lint(workspace: &Workspace, step: &mut CheckStep, of: &[&str]) -> Result<()> {
    let deny = ["--", "-D", "warnings"];
    plain(workspace, step, &[&["clippy"], of, &deny].concat())
}

/// Has clippy compile the crates of a workspace, so that a build tells the lints as well. Clippy by
/// itself would have all other packages compiled once more, for its own use. What is built so and
/// what is not lie in one folder side by side.
pub(crate) fn linted(command: &mut Command) -> &mut Command {
    let cargo = command.get_program().to_owned();
    // A toolchain has both in one folder; those who call it by names in the path have both there.
    let driver = Path::new(&cargo).with_file_name("clippy-driver");
    command.env("RUSTC_WORKSPACE_WRAPPER", driver)
}

/// One cargo command that must succeed without a warning.
pub(crate) fn plain(workspace: &Workspace, step: &mut CheckStep, words: &[&str]) -> Result<()> {
    judge(&tool::watch(&mut workspace.cargo(words))?, step);
    Ok(())
}

fn judge(seen: &tool::ToolOutput, step: &mut CheckStep) {
    if let Some(line) = seen.lines.iter().find(|line| is_warning(line)) {
        step.fail(line.clone());
    }
    if !seen.ok {
        let error = seen.lines.iter().find(|line| line.starts_with("error"));
        step.fail(
            error
                .cloned()
                .unwrap_or_else(|| "ended with an error".into()),
        );
    }
}

/// The public pages of these packages without a warning; then, so that no link to a private item is
/// stale, all their pages.
pub(crate) fn rustdoc(workspace: &Workspace, step: &mut CheckStep, of: &[&str]) -> Result<()> {
    let words = [&["doc", "--no-deps"][..], of].concat();
    let mut command = workspace.cargo(&words);
    command.env("RUSTDOCFLAGS", "-D warnings");
    judge(&tool::watch(&mut command)?, step);
    let mut command = workspace.cargo(&words);
    command.arg("--document-private-items");
    let seen = tool::watch(&mut command)?;
    for line in seen.lines.iter().filter(|line| is_stale_link(line)) {
        step.fail(line.clone());
    }
    if !seen.ok {
        step.fail("rustdoc failed on private items");
    }
    Ok(())
}

/// A warning of rustdoc about private pages, but for the two that say that a name of a function is
/// also that of its private module: the public page has no such module.
fn is_stale_link(line: &str) -> bool {
    let counted = line.contains("generated") && line.contains("warning");
    is_warning(line) && !line.contains(" is both a") && !counted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stale_links_are_told_from_double_names() {
        assert!(is_stale_link("warning: unresolved link to `gone`"));
        assert!(!is_stale_link(
            "warning: `join` is both a function and a module"
        ));
        assert!(!is_stale_link(
            "warning: `roving` (lib doc) generated 6 warnings"
        ));
    }

    /// If cargo took no notice of the other compiler, no lint would be told, and no check would
    /// fail.
    #[test]
    fn a_build_tells_lints() {
        let folder = std::env::temp_dir().join(format!("roving-lint-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("there is room");
        let source = "pub fn is_none(of: &str) -> bool { of.len() == 0 }\n";
        let manifest =
            "[package]\nname = \"linted\"\nedition = \"2024\"\n[lib]\npath = \"lib.rs\"\n";
        for (name, text) in [("lib.rs", source), ("Cargo.toml", manifest)] {
            std::fs::write(folder.join(name), text).expect("there is room");
        }
        let mut command = Workspace::find().expect("we are in it").cargo(&["build"]);
        command.current_dir(&folder);
        command.env("CARGO_TARGET_DIR", folder.join("target"));
        let seen = tool::quiet(linted(&mut command)).expect("cargo starts");
        let _ = std::fs::remove_dir_all(&folder);
        let told = seen.lines.iter().any(|line| line.contains("len_zero"));
        assert!(seen.ok && told, "{:?}", seen.lines);
    }
}
