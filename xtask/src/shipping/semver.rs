//! The public interface of the published crates, compared with that of the last commit that is
//! tagged: what would break programs is a failure then. While no commit is tagged, nothing has been
//! promised to anybody: the crates are compared with where this work left `main`, and what breaks
//! programs is told and counted as left out.

use std::process::Command;

use crate::Result;
use crate::cargo::workspace::Workspace;
use crate::cargo::{features, tool};
use crate::report::CheckStep;
use crate::shipping::publish;

const TOOL: &str = "cargo-semver-checks";
/// In the tool's output when it has compared, and found what breaks programs.
const BREAKS: &str = "semver requires new";

/// The commit to compare with.
#[derive(Debug, PartialEq, Eq)]
enum Baseline {
    Tag(String),
    Untagged(String),
}

pub(crate) fn check(workspace: &Workspace, step: &mut CheckStep) -> Result<()> {
    if !tool::works(TOOL, &["semver-checks", "--version"]) {
        let mut install = workspace.cargo(&["install", TOOL, "--locked"]);
        install.env("CARGO_TARGET_DIR", workspace.target.join("semver-tool"));
        // Its own profile optimizes some 300 crates as one, for minutes of work once.
        install.envs([
            ("CARGO_PROFILE_RELEASE_LTO", "false"),
            ("CARGO_PROFILE_RELEASE_OPT_LEVEL", "0"),
            ("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "16"),
        ]);
        let _ = tool::watch(&mut install);
    }
    if !tool::works(TOOL, &["semver-checks", "--version"]) {
        step.skip(format!(
            "{TOOL} does not install: cargo install {TOOL} --locked"
        ));
        return Ok(());
    }
    let baseline = baseline(&|words| git(workspace, words))?;
    let (commit, is_tagged) = match &baseline {
        Baseline::Tag(tag) => (tag, true),
        Baseline::Untagged(commit) => {
            println!("no commit is tagged: compared with {commit}, where nothing was promised");
            (commit, false)
        }
    };
    for name in publish::PUBLISHED {
        let there = format!("{commit}:crates/{name}/Cargo.toml");
        if git(workspace, &["cat-file", "-e", &there]).is_none() {
            println!("{name} is new since {commit}");
            continue;
        }
        let mut command = workspace.cargo(&["semver-checks", "--baseline-rev", commit]);
        command.args(["-p", name, "--default-features"]);
        // Also what is there with a feature has been promised.
        if let Some(package) = workspace.packages.iter().find(|one| one.name == name) {
            command.args(["--features", &features::buildable_within(package)]);
        }
        command.env("CARGO_TARGET_DIR", workspace.target.join("semver"));
        let seen = tool::watch(&mut command)?;
        let breaks = seen.lines.iter().any(|line| line.contains(BREAKS));
        match (seen.ok, breaks, is_tagged) {
            (true, ..) => step.counts.passed += 1,
            (false, true, false) => step.skip(format!(
                "{name} breaks programs written for {commit}, which no tag promised them"
            )),
            (false, true, true) => {
                step.fail(format!("{name} breaks programs written for {commit}"));
            }
            (false, false, _) => step.fail(format!("{name} could not be compared")),
        }
    }
    Ok(())
}

/// Asks git; `None` if it fails.
fn git(workspace: &Workspace, words: &[&str]) -> Option<String> {
    let mut command = Command::new("git");
    let seen = tool::quiet(command.args(words).current_dir(&workspace.root)).ok()?;
    seen.ok.then(|| seen.lines.join("\n"))
}

/// The last tag; without one, the commit where this branch left `main`; on `main`, the one before.
fn baseline(git: &dyn Fn(&[&str]) -> Option<String>) -> Result<Baseline> {
    if let Some(tag) = git(&["describe", "--tags", "--abbrev=0"]) {
        return Ok(Baseline::Tag(tag));
    }
    let head = git(&["rev-parse", "HEAD"]).ok_or("git knows no commit here")?;
    let left = git(&["merge-base", "HEAD", "main"]).filter(|left| *left != head);
    let before = || git(&["rev-parse", "HEAD~1"]);
    let commit = left.or_else(before).ok_or("there is nothing before HEAD")?;
    Ok(Baseline::Untagged(commit))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A repository in which these commands succeed with that output.
    fn found(answers: &[(&str, &str)]) -> Result<Baseline> {
        baseline(&|words| {
            let asked = words.join(" ");
            let answer = answers.iter().find(|(words, _)| *words == asked);
            answer.map(|(_, output)| (*output).to_owned())
        })
    }

    #[test]
    fn a_tag_comes_before_the_merge_base_and_that_before_the_parent() {
        let tag = ("describe --tags --abbrev=0", "v0.1.0");
        let head = ("rev-parse HEAD", "a");
        let base = ("merge-base HEAD main", "b");
        let parent = ("rev-parse HEAD~1", "c");
        let untagged = |commit: &str| Ok(Baseline::Untagged(commit.to_owned()));
        let tagged = Ok(Baseline::Tag("v0.1.0".to_owned()));
        assert_eq!(found(&[tag, head, base, parent]), tagged);
        assert_eq!(found(&[head, base, parent]), untagged("b"));
        let on_main = ("merge-base HEAD main", "a");
        assert_eq!(found(&[head, on_main, parent]), untagged("c"));
        assert!(found(&[head, on_main]).is_err());
    }
}
