//! Checks that are not run again while nothing that they read has changed: their outcome depends on
//! files and tools alone, on no clock and no scheduler of the system.
//!
//! The outcome of such a check stands in the target folder, so a clean clone has none. It is
//! written only if the check passed whole, and only if the files were the same before it and after
//! it.

use std::fs;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::PathBuf;
use std::process::Command;

use crate::Result;
use crate::cargo::tool;
use crate::cargo::workspace::Workspace;
use crate::report::CheckStep;

/// Below the target folder: a file for each check.
const FOLDER: &str = "unchanged";
/// The pages are read by none of these checks.
const PAGES: [&str; 2] = ["docs/", ".md"];
/// The programs that build and run them. One that is missing is the same while it stays so.
const TOOLS: [&[&str]; 5] = [
    &["rustc", "-vV"],
    &["rustc", "+nightly", "-vV"],
    &["valgrind", "--version"],
    &["c++", "--version"],
    &["uname", "-srm"],
];
/// Variables that change what is built or run.
const VARIABLES: [&str; 7] = [
    "RUSTFLAGS",
    "CARGO_BUILD",
    "CARGO_ENCODED_RUSTFLAGS",
    "CARGO_PROFILE",
    "LOOM",
    "MIRIFLAGS",
    "ROVING",
];

/// Runs the check, unless it has passed on the same files and tools: then the step says so.
pub(crate) fn once(
    workspace: &Workspace,
    name: &str,
    step: &mut CheckStep,
    check: impl FnOnce(&mut CheckStep) -> Result<()>,
) -> Result<()> {
    let path = workspace.target.join(FOLDER).join(name);
    once_for(path, || inputs(workspace), step, check)
}

fn once_for(
    path: PathBuf,
    inputs: impl Fn() -> Option<String>,
    step: &mut CheckStep,
    check: impl FnOnce(&mut CheckStep) -> Result<()>,
) -> Result<()> {
    let before = inputs();
    let last = fs::read_to_string(&path).unwrap_or_default();
    if let Some((passed, when)) = before.as_deref().and_then(|inputs| passed(&last, inputs)) {
        step.keep(passed, when);
        return Ok(());
    }
    // A check that fails halfway has passed on nothing.
    let _ = fs::remove_file(&path);
    check(step)?;
    let is_whole = step.complaints.is_empty() && step.skips.is_empty();
    let Some(inputs) = before.filter(|before| is_whole && inputs().as_ref() == Some(before)) else {
        return Ok(());
    };
    let when = tool::output(Command::new("date").args(["-u", "+%F at %R UTC"]))?;
    let told = format!("{inputs}\n{}\n{}\n", step.counts.passed, when.trim());
    // Where it cannot be written, the check runs again the next time.
    let _ = path.parent().map(fs::create_dir_all);
    let _ = fs::write(path, told);
    Ok(())
}

/// How many tests passed on these inputs, and when.
fn passed<'t>(told: &'t str, inputs: &str) -> Option<(u64, &'t str)> {
    let mut lines = told.lines();
    let is_same = lines.next()? == inputs;
    let passed = lines.next()?.parse().ok()?;
    Some((passed, lines.next()?)).filter(|_| is_same)
}

/// A number for all files of the repository but its pages, for the tools and for the variables;
/// none where git does not say which files there are.
fn inputs(workspace: &Workspace) -> Option<String> {
    let mut git = Command::new("git");
    git.args(["ls-files", "-z", "--cached", "--others"])
        .args(["--exclude-standard"])
        .current_dir(&workspace.root);
    let files = tool::output(&mut git).ok()?;
    let mut sum = DefaultHasher::new();
    for file in files.split('\0').filter(|file| !is_page(file)) {
        let text = fs::read(workspace.root.join(file));
        (file, text.ok()).hash(&mut sum);
    }
    for words in TOOLS {
        let mut command = Command::new(words[0]);
        tool::output(command.args(&words[1..])).hash(&mut sum);
    }
    let is_one = |name: &str| VARIABLES.iter().any(|begin| name.starts_with(begin));
    let mut variables: Vec<_> = std::env::vars_os().collect();
    variables.retain(|(name, _)| name.to_str().is_some_and(is_one));
    variables.sort();
    variables.hash(&mut sum);
    Some(format!("{:016x}", sum.finish()))
}

fn is_page(file: &str) -> bool {
    let [folder, ending] = PAGES;
    file.starts_with(folder) || file.ends_with(ending)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs a check of three tests with that file and those inputs.
    fn run(
        path: &std::path::Path,
        inputs: &str,
        ends: fn(&mut CheckStep) -> Result<()>,
    ) -> CheckStep {
        let mut step = CheckStep::default();
        let check = |step: &mut CheckStep| {
            step.counts.passed = 3;
            ends(step)
        };
        let same = || Some(inputs.to_owned()).filter(|inputs| inputs != "unknown");
        let _ = once_for(path.to_owned(), same, &mut step, check);
        step
    }

    #[test]
    fn a_check_is_kept_only_if_it_passed_whole_on_the_same() {
        let folder = std::env::temp_dir().join(format!("roving-unchanged-{}", std::process::id()));
        let path = folder.join("below").join("loom");
        let fine = |_: &mut CheckStep| Ok(());
        let was_kept = |inputs| {
            let step = run(&path, inputs, |_| Ok(()));
            assert_eq!(step.kept.is_some(), step.counts.passed == 0);
            step.kept.map(|(passed, _)| passed)
        };
        assert_eq!(was_kept("a"), None);
        assert_eq!(was_kept("a"), Some(3));
        assert_eq!(was_kept("b"), None, "other files");
        assert_eq!(was_kept("a"), None, "only the last run is known");
        for ends in [
            |step: &mut CheckStep| {
                step.fail("a test");
                Ok(())
            },
            |step: &mut CheckStep| {
                step.skip("no nightly");
                Ok(())
            },
            |_: &mut CheckStep| Err("no such program".into()),
        ] {
            run(&path, "c", ends);
            assert_eq!(was_kept("c"), None);
            run(&path, "d", fine);
        }
        assert_eq!(was_kept("unknown"), None);
        assert_eq!(was_kept("unknown"), None);
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn files_that_change_meanwhile_are_not_kept() {
        let folder = std::env::temp_dir().join(format!("roving-meanwhile-{}", std::process::id()));
        let asked = std::cell::Cell::new(0);
        let inputs = || {
            asked.set(asked.get() + 1);
            Some(asked.get().to_string())
        };
        once_for(
            folder.join("loom"),
            inputs,
            &mut CheckStep::default(),
            |_| Ok(()),
        )
        .unwrap();
        assert_eq!(asked.get(), 2);
        assert!(!folder.exists());
    }

    #[test]
    fn this_repository_has_inputs_which_pages_are_not() {
        let workspace = Workspace::find().unwrap();
        assert_eq!(inputs(&workspace), inputs(&workspace));
        assert!(inputs(&workspace).is_some());
        assert!(is_page("docs/results/loops.csv") && is_page("crates/roving/README.md"));
        assert!(!is_page("crates/roving/loom.txt") && !is_page("Cargo.lock"));
    }
}
