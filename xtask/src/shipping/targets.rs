//! Other systems, and the oldest Rust: everything compiles there, and tests pass with that.

use std::process::Command;

use crate::cargo::lint::plain;
use crate::cargo::tally::CargoTally;
use crate::cargo::workspace::Workspace;
use crate::cargo::{features, tool};
use crate::report::CheckStep;
use crate::shipping::publish;
use crate::{Result, rayon};

/// Everything compiles for another system.
pub(crate) fn cross(
    workspace: &Workspace,
    step: &mut CheckStep,
    triple: &str,
    no_install: bool,
) -> Result<()> {
    if !may_build_for(triple, step, no_install)? {
        return Ok(());
    }
    let words = ["check", "--workspace", "--all-targets", "--target", triple];
    let lab = ["--features", features::LAB];
    plain(workspace, step, &[&words[..], &lab].concat())?;
    for outside in rayon::outside_workspaces(workspace)? {
        plain(&outside, step, &words)?;
    }
    Ok(())
}

/// Systems and processors that the runtime is compiled for and nothing here runs. The first is the
/// least like this one: another system, and another way to look after threads.
pub(crate) const TARGETS: [&str; 8] = [
    "x86_64-pc-windows-gnu",
    "aarch64-unknown-linux-gnu",
    "armv7-unknown-linux-gnueabihf",
    "i686-unknown-linux-gnu",
    "wasm32-unknown-unknown",
    "wasm32-wasip1",
    "x86_64-pc-windows-msvc",
    "x86_64-unknown-freebsd",
];

/// The runtime alone compiles for each of them.
pub(crate) fn targets(
    workspace: &Workspace,
    step: &mut CheckStep,
    no_install: bool,
    triples: &[&str],
) -> Result<()> {
    for triple in triples {
        if may_build_for(triple, step, no_install)? {
            plain(
                workspace,
                step,
                &["check", "-p", "roving", "--target", triple],
            )?;
        }
    }
    Ok(())
}

/// Whether the `rust-std` of another system is here or can be had; if not, the check is skipped.
pub(crate) fn may_build_for(triple: &str, step: &mut CheckStep, no_install: bool) -> Result<bool> {
    if !has_target(triple)? && !no_install && tool::works("rustup", &["--version"]) {
        let _ = tool::watch(Command::new("rustup").args(["target", "add", triple]));
    }
    let found = has_target(triple)?;
    if !found {
        step.skip(format!(
            "rust-std for {triple} is not here: rustup target add {triple}"
        ));
    }
    Ok(found)
}

fn has_target(triple: &str) -> Result<bool> {
    let words = ["--print", "target-libdir", "--target", triple];
    let dir = tool::output(tool::rustc().args(words))?;
    Ok(std::path::Path::new(dir.trim()).is_dir())
}

/// The words to test the crates whose tests the oldest Rust runs: what those of the others need is
/// newer. Here `proptest` says so too, and compiles all the same. Left out are a test that calls
/// cargo itself, and one that starts threads in an exit handler, where that Rust's own library
/// panics.
const TEST: &str = "test --ignore-rust-version --lib --tests -p roving -p roving-flow -p roving-iter \
    -- --skip a_library_is_unloaded_a_hundred_times \
    --skip an_exit_handler_of_the_process_can_use_pools";

/// The oldest Rust that the manifests promise, where that toolchain is here or can be had.
pub(crate) fn msrv(workspace: &Workspace, step: &mut CheckStep, no_install: bool) -> Result<()> {
    let manifest = std::fs::read_to_string(workspace.root.join("Cargo.toml"))
        .map_err(|error| format!("Cargo.toml: {error}"))?;
    let version = manifest
        .lines()
        .find_map(|line| line.strip_prefix("rust-version = "))
        .map(|value| value.trim_matches('"').to_owned())
        .ok_or("Cargo.toml names no rust-version")?;
    if toolchain(&version).is_none() && !no_install && tool::works("rustup", &["--version"]) {
        let words = [
            "toolchain",
            "install",
            &version,
            "--profile",
            "minimal",
            "--no-self-update",
        ];
        let _ = tool::watch(Command::new("rustup").args(words));
    }
    let Some(toolchain) = toolchain(&version) else {
        step.skip(format!(
            "Rust {version} is not here: rustup toolchain install {version}"
        ));
        return Ok(());
    };
    let ours: Vec<_> = publish::PUBLISHED
        .iter()
        .flat_map(|name| ["-p", name])
        .collect();
    // The crates behind the device features of `roving-gpu` ask for a newer one.
    let features = features::INTEGRATIONS.join(",");
    let of_root = [vec!["check"], ours, vec!["--features", &features]].concat();
    let tests = TEST.split_whitespace().collect();
    let outside = rayon::outside_workspaces(workspace)?;
    let outside = outside
        .iter()
        .map(|one| (one, vec!["check", "--workspace"]));
    let inside = [(workspace, of_root), (workspace, tests)];
    for (one, words) in inside.into_iter().chain(outside) {
        let mut command = Command::new("rustup");
        command.args(["run", &toolchain, "cargo"]);
        command
            .args(&words)
            .current_dir(&one.root)
            .env("CARGO_TARGET_DIR", workspace.target.join("msrv"));
        // Its lints are old ones: only errors count.
        let seen = tool::watch(&mut command)?;
        step.counts.add(CargoTally::read(&seen.lines).sum());
        if !seen.ok {
            let name = workspace.short(&one.root);
            step.fail(format!(
                "{name}: `cargo {}` fails with Rust {version}",
                words.join(" ")
            ));
        }
    }
    Ok(())
}

/// The installed toolchain of that Rust, by the name under which it runs.
fn toolchain(version: &str) -> Option<String> {
    let output = Command::new("rustup").args(["toolchain", "list"]).output();
    let listed = String::from_utf8_lossy(&output.ok()?.stdout).into_owned();
    let name = named(&listed, version)?;
    tool::works("rustup", &["run", &name, "cargo", "--version"]).then_some(name)
}

/// The name that rustup lists for a Rust: of that very version, or else of a patch release of it,
/// which rustup runs by its full name only.
fn named(listed: &str, version: &str) -> Option<String> {
    let names = || {
        let lines = listed.lines();
        lines.filter_map(|line| line.split_whitespace().next())
    };
    let begins = |with: String| names().find(|name| name.starts_with(&with));
    let found = begins(format!("{version}-")).or_else(|| begins(format!("{version}.")));
    found.map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_toolchain_is_known_by_the_name_that_runs_it() {
        let listed = "stable-x86_64-unknown-linux-gnu (active, default)\n\
            1.8.1-x86_64-unknown-linux-gnu\n\
            1.88.0-x86_64-unknown-linux-gnu\n\
            nightly-x86_64-unknown-linux-gnu\n";
        let patch = Some("1.88.0-x86_64-unknown-linux-gnu".to_owned());
        assert_eq!(named(listed, "1.88"), patch);
        assert_eq!(named(listed, "1.88.0"), patch);
        let both = format!("{listed}1.88-x86_64-unknown-linux-gnu\n");
        let own = Some("1.88-x86_64-unknown-linux-gnu".to_owned());
        assert_eq!(named(&both, "1.88"), own);
        for absent in ["1.8.0", "1.9", "88", "1.880"] {
            assert_eq!(named(listed, absent), None, "{absent}");
        }
    }
}
