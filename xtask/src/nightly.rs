//! ThreadSanitizer and Miri, where a nightly toolchain has what they need.

use std::process::Command;

use crate::cargo_test::Tally;
use crate::report::Step;
use crate::workspace::Workspace;
use crate::{Result, features, tool};

/// Integration tests with this in their name start compilers or other programs: not for sanitizers.
const OUTSIDE: [&str; 2] = ["compile_fail", "process"];

/// Runs the tests of `crates/roving` under ThreadSanitizer, the standard library included, without
/// any suppression.
pub(crate) fn tsan(workspace: &Workspace, step: &mut Step) -> Result<()> {
    if !has(step, "rust-src") {
        return Ok(());
    }
    let triple = host()?;
    let mut command = nightly(
        workspace,
        &["test", "-p", "roving", "-Zbuild-std", "--target", &triple],
    );
    command.args(["--features", &features::INTEGRATIONS.join(",")]);
    for target in tests(workspace) {
        command.args(["--test", &target]);
    }
    command
        .args(["--lib", "--no-fail-fast"])
        .env(
            "RUSTFLAGS",
            "-Zsanitizer=thread --cfg roving_tsan -Cunsafe-allow-abi-mismatch=sanitizer",
        )
        .env("TSAN_OPTIONS", "halt_on_error=0 second_deadlock_stack=1")
        .env("CARGO_TARGET_DIR", workspace.target.join("tsan"));
    let seen = tool::watch(&mut command)?;
    Tally::read(&seen.lines).judge(&seen, step);
    let reports = seen
        .lines
        .iter()
        .filter(|line| line.contains("WARNING: ThreadSanitizer"))
        .count();
    if reports > 0 {
        step.fail(format!("{reports} reports of ThreadSanitizer"));
    }
    Ok(())
}

/// Runs the unit tests whose name holds `filter` under Miri with tree borrows.
pub(crate) fn miri(workspace: &Workspace, step: &mut Step, filter: &str) -> Result<()> {
    if !has(step, "miri") || !has(step, "rust-src") {
        return Ok(());
    }
    let mut command = nightly(
        workspace,
        &["miri", "test", "-p", "roving", "--lib", filter],
    );
    command
        .env(
            "MIRIFLAGS",
            "-Zmiri-tree-borrows -Zmiri-strict-provenance -Zmiri-disable-isolation",
        )
        .env("CARGO_TARGET_DIR", workspace.target.join("miri"));
    if std::env::var_os("PROPTEST_CASES").is_none() {
        // Miri is some thousand times slower; four programs take it two minutes.
        command.env("PROPTEST_CASES", "4");
    }
    let seen = tool::watch(&mut command)?;
    Tally::read(&seen.lines).judge(&seen, step);
    Ok(())
}

/// Whether the nightly toolchain has this component; if not, the check is skipped.
fn has(step: &mut Step, component: &str) -> bool {
    let listed = Command::new("rustup")
        .args(["component", "list", "--toolchain", "nightly", "--installed"])
        .output()
        .map(|out| String::from_utf8_lossy(&out.stdout).into_owned())
        .unwrap_or_default();
    let found = listed.lines().any(|line| line.starts_with(component));
    if !found {
        step.skip(format!(
            "nightly has no {component}: rustup toolchain install nightly --component {component}"
        ));
    }
    found
}

fn nightly(workspace: &Workspace, words: &[&str]) -> Command {
    let mut command = Command::new("rustup");
    command
        .args(["run", "nightly", "cargo"])
        .args(words)
        .current_dir(&workspace.root);
    // What the stable cargo that runs us has set must not reach the other one.
    for name in ["CARGO", "RUSTC", "RUSTDOC", "RUSTUP_TOOLCHAIN"] {
        command.env_remove(name);
    }
    command
}

fn host() -> Result<String> {
    let text = tool::output(Command::new("rustup").args(["run", "nightly", "rustc", "-vV"]))?;
    let line = text.lines().find_map(|line| line.strip_prefix("host: "));
    line.map(str::to_owned)
        .ok_or_else(|| "rustc -vV names no host".into())
}

fn tests(workspace: &Workspace) -> Vec<String> {
    let targets = workspace
        .package("roving")
        .map(|package| package.targets.clone());
    let tests = targets
        .unwrap_or_default()
        .into_iter()
        .filter(|target| target.kind == "test");
    let inside = tests.filter(|target| !OUTSIDE.iter().any(|word| target.name.contains(word)));
    inside.map(|target| target.name).collect()
}
