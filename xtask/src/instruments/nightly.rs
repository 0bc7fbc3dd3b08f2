//! Sanitizers, and what else of a nightly toolchain the checks need.

use std::process::Command;

use crate::Result;
use crate::cargo::tally::CargoTally;
use crate::cargo::workspace::Workspace;
use crate::cargo::{features, tool};
use crate::report::CheckStep;

/// Integration tests with this in their name start compilers or other programs: not for sanitizers,
/// emulators and Miri.
pub(crate) const OUTSIDE: [&str; 4] = ["compile_fail", "launch", "mpi", "process"];

/// A sanitizer, and its switches.
pub(crate) struct Sanitizer {
    /// As the compiler calls it; its folder too.
    name: &'static str,
    title: &'static str,
    /// The flag by which the sources know it, and further flags of the compiler.
    flags: &'static str,
    options: (&'static str, &'static str),
    /// The standard library has to be built with it.
    builds_std: bool,
}

pub(crate) const THREAD: Sanitizer = Sanitizer {
    name: "thread",
    title: "ThreadSanitizer",
    flags: "--cfg roving_tsan -Cunsafe-allow-abi-mismatch=sanitizer",
    options: ("TSAN_OPTIONS", "halt_on_error=0 second_deadlock_stack=1"),
    builds_std: true,
};

/// With its search for leaks.
pub(crate) const ADDRESS: Sanitizer = Sanitizer {
    name: "address",
    title: "AddressSanitizer",
    flags: "--cfg roving_asan",
    options: ("ASAN_OPTIONS", "detect_leaks=1"),
    builds_std: false,
};

/// The crates whose tests run under sanitizers.
pub(crate) const SANITIZED: [&str; 4] = ["roving", "roving-flow", "roving-gpu", "roving-dist"];

/// Runs the tests of those crates, or only some, under a sanitizer, without any suppression.
pub(crate) fn sanitize(
    workspace: &Workspace,
    step: &mut CheckStep,
    sanitizer: &Sanitizer,
    only: &[String],
) -> Result<()> {
    if !has(step, "rust-src") {
        return Ok(());
    }
    let triple = tool::host(Command::new("rustup").args(["run", "nightly", "rustc"]))?;
    let chosen = |package: &&str| only.is_empty() || only.iter().any(|name| name == package);
    for package in SANITIZED.into_iter().filter(chosen) {
        let mut command = cargo(workspace, &["test", "-p", package, "--target", &triple]);
        if sanitizer.builds_std {
            command.arg("-Zbuild-std");
        }
        if package == "roving" {
            command.args(["--features", &features::INTEGRATIONS.join(",")]);
        }
        for target in tests(workspace, package) {
            command.args(["--test", &target]);
        }
        let (variable, options) = sanitizer.options;
        let flags = format!("-Zsanitizer={} {}", sanitizer.name, sanitizer.flags);
        command
            .args(["--lib", "--no-fail-fast"])
            .env("RUSTFLAGS", flags)
            .env(variable, options)
            .env("CARGO_INCREMENTAL", "0")
            .env("CARGO_PROFILE_TEST_DEBUG", "line-tables-only")
            // ThreadSanitizer follows 65,536 nested calls; without inlining, deep tests make more.
            .env("CARGO_PROFILE_TEST_OPT_LEVEL", "1")
            .env("CARGO_TARGET_DIR", workspace.target.join(sanitizer.name));
        let seen = tool::watch(&mut command)?;
        CargoTally::read(&seen.lines).judge(&seen, step);
        let title = sanitizer.title;
        let is_report = |line: &&String| {
            line.contains(&format!("WARNING: {title}"))
                || line.contains("ERROR: LeakSanitizer")
                || line.contains(&format!("ERROR: {title}"))
        };
        let reports = seen.lines.iter().filter(is_report).count();
        if reports > 0 {
            step.fail(format!("{package}: {reports} reports of {title}"));
        }
    }
    if only.is_empty() {
        pairs(workspace, step, sanitizer, &triple)?;
    }
    Ok(())
}

/// Minutes for the programs in which each two features meet.
const PAIRS_MINUTES: &str = "10";

/// Runs these programs under a sanitizer. A report ends the process that runs one, which is a
/// failure with a name.
fn pairs(
    workspace: &Workspace,
    step: &mut CheckStep,
    sanitizer: &Sanitizer,
    triple: &str,
) -> Result<()> {
    let words = ["run", "--profile", "torture", "-p", "roving-torture"];
    let mut command = cargo(workspace, &words);
    command.args(["--target", triple]);
    if sanitizer.builds_std {
        command.arg("-Zbuild-std");
    }
    let (variable, options) = sanitizer.options;
    let flags = format!("-Zsanitizer={} {}", sanitizer.name, sanitizer.flags);
    command
        .args(["--", "pairs", "--minutes", PAIRS_MINUTES])
        .env("RUSTFLAGS", flags)
        .env(
            variable,
            options.replace("halt_on_error=0", "halt_on_error=1"),
        )
        .env("CARGO_TARGET_DIR", workspace.target.join(sanitizer.name));
    let seen = tool::watch(&mut command)?;
    for line in seen.lines.iter().filter(|line| line.contains(": broken: ")) {
        step.fail(line.clone());
    }
    if !seen.ok {
        step.fail(format!("pairs under {} failed", sanitizer.title));
    }
    Ok(())
}

/// Adds these components to the nightly toolchain, and that itself where there is none. Without a
/// network nothing comes of it, and [`has`] says so.
pub(crate) fn add(components: &[&str]) {
    if components.iter().all(|component| is_here(component)) || !tool::works("rustup", &["-V"]) {
        return;
    }
    let mut command = Command::new("rustup");
    if is_here("rustc") {
        // As old as it is: an update would change what all later checks run on.
        command.args(["component", "add", "--toolchain", "nightly"]);
        command.args(components);
    } else {
        command.args(["toolchain", "install", "nightly", "--no-self-update"]);
        command.args(["--profile", "minimal", "--component", &components.join(",")]);
    }
    let _ = tool::watch(&mut command);
}

/// Whether the nightly toolchain has this component.
fn is_here(component: &str) -> bool {
    let listed = Command::new("rustup")
        .args(["component", "list", "--toolchain", "nightly", "--installed"])
        .output()
        .map(|out| String::from_utf8_lossy(&out.stdout).into_owned())
        .unwrap_or_default();
    listed.lines().any(|line| line.starts_with(component))
}

/// Whether the nightly toolchain has this component; if not, the check is skipped.
pub(crate) fn has(step: &mut CheckStep, component: &str) -> bool {
    let found = is_here(component);
    if !found {
        step.skip(format!(
            "nightly has no {component}: rustup toolchain install nightly --component {component}"
        ));
    }
    found
}

/// `cargo` of that toolchain with these words, in the root.
pub(crate) fn cargo(workspace: &Workspace, words: &[&str]) -> Command {
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

/// The integration tests of a crate that start no other program.
pub(crate) fn tests(workspace: &Workspace, package: &str) -> Vec<String> {
    let targets = workspace
        .package(package)
        .map(|package| package.targets.clone());
    let tests = targets
        .unwrap_or_default()
        .into_iter()
        .filter(|target| target.kind == "test");
    let inside = tests.filter(|target| !OUTSIDE.iter().any(|word| target.name.contains(word)));
    inside.map(|target| target.name).collect()
}
