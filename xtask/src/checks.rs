//! The checks of `cargo xtask test`, in order, and those too small for a file of their own.

use std::process::Command;

use crate::beside::Beside;
use crate::cargo_test::{Tally, is_warning};
use crate::report::{Report, Step};
use crate::workspace::Workspace;
use crate::{
    Result, ceilings, docs, features, loom, miri, mutants, publish, rayon, results, setup, suite,
    tidy, tool, torture,
};

/// One check of `all`; the flag says that nothing may be installed.
type Check = (&'static str, fn(&Workspace, &mut Step, bool) -> Result<()>);

/// Everything that CI requires. What takes longer is in `deep`, or the whole of it is.
const CHECKS: [Check; 17] = [
    ("setup", setup::prepare),
    ("fmt", |workspace, step, _| fmt(workspace, step)),
    ("tidy", |workspace, step, _| tidy::check(workspace, step)),
    ("clippy", |workspace, step, _| clippy(workspace, step)),
    ("test", |workspace, step, _| suite::check(workspace, step)),
    ("rustdoc", |workspace, step, _| {
        let features = features::buildable(workspace);
        rustdoc(workspace, step, &["--features", &features])
    }),
    ("docs", |workspace, step, _| docs::check(workspace, step)),
    ("commands", |workspace, step, _| {
        docs::commands(workspace, step)
    }),
    ("rayon-core", |workspace, step, _| {
        rayon::core(workspace, step)
    }),
    ("loom", |workspace, step, _| loom::check(workspace, step)),
    ("mutants", |workspace, step, _| {
        mutants::check(workspace, step)
    }),
    ("miri", miri::quick),
    ("faults", |workspace, step, _| faults(workspace, step)),
    ("ceilings", |workspace, step, _| {
        ceilings::check(workspace, step, ceilings::Write::No)
    }),
    ("torture", |workspace, step, _| {
        torture::quick(workspace, step)
    }),
    ("targets", |workspace, step, no_install| {
        targets(workspace, step, no_install, &TARGETS[..1])
    }),
    ("deny", |workspace, step, _| deny(workspace, step)),
];

/// Names for `--only`.
pub(crate) fn names() -> [&'static str; CHECKS.len()] {
    CHECKS.map(|(name, _)| name)
}

/// Of these, the ones that build in folders of their own: they run beside the others, in this
/// order, and mostly use one core. The pages' commands are not among them: they build programs that
/// tests start, with other features.
const BESIDE: [&str; 6] = [
    "miri",
    "loom",
    "mutants",
    "faults",
    "ceilings",
    "rayon-core",
];

/// All of them, or those that are named.
pub(crate) fn all(workspace: &Workspace, report: &mut Report, no_install: bool, only: &[String]) {
    let run = |report: &mut Report, name, check: fn(&Workspace, &mut Step, bool) -> Result<()>| {
        report.step(name, |step| check(workspace, step, no_install));
    };
    if !only.is_empty() {
        let named = |name: &str| only.iter().any(|only| only == name);
        for (name, check) in CHECKS.into_iter().filter(|(name, _)| named(name)) {
            run(report, name, check);
        }
        return;
    }
    // The first one installs what the others need.
    let ((first, prepare), others) = (CHECKS[0], &CHECKS[1..]);
    run(report, first, prepare);
    let beside = Beside::start(workspace, &BESIDE, no_install);
    for (name, check) in others.iter().filter(|(name, _)| !BESIDE.contains(name)) {
        run(report, name, *check);
    }
    let told = beside.and_then(Beside::end);
    match told {
        Ok(told) => report.hear(told),
        Err(why) => report.step("beside", |_| Err(why)),
    }
}

/// `test` as CI calls it: a new process without standard input, colours or prompts.
pub(crate) fn clean(workspace: &Workspace, no_install: bool) -> Result<bool> {
    let mut command = workspace.cargo(&["xtask", "test"]);
    if no_install {
        command.arg("--no-install");
    }
    command
        .env("CI", "true")
        .env("CARGO_TERM_COLOR", "never")
        .env_remove("RUSTFLAGS");
    Ok(tool::watch(&mut command)?.ok)
}

/// The runtime where the system refuses what it is asked for, by a plan: a build of its own.
fn faults(workspace: &Workspace, step: &mut Step) -> Result<()> {
    let mut command = workspace.cargo(&["test", "-p", "roving", "--test", "faults"]);
    command
        .env("RUSTFLAGS", "--cfg roving_faults")
        .env("CARGO_TARGET_DIR", workspace.target.join("faults"));
    let seen = tool::watch(&mut command)?;
    Tally::read(&seen.lines).judge(&seen, step);
    Ok(())
}

/// The formatting of this workspace and of those beside it.
fn fmt(workspace: &Workspace, step: &mut Step) -> Result<()> {
    let outside = rayon::outside_workspaces(workspace)?;
    for one in std::iter::once(workspace).chain(&outside) {
        plain(one, step, &["fmt", "--all", "--check"])?;
    }
    Ok(())
}

/// Lints with all features that can be built here; then, without them, the libraries and programs
/// of the crates that have some. Their tests without them are left to `deep`.
fn clippy(workspace: &Workspace, step: &mut Step) -> Result<()> {
    let features = features::buildable(workspace);
    lint(
        workspace,
        step,
        &["--workspace", "--all-targets", "--features", &features],
    )?;
    let mut bare = vec!["--lib", "--bins"];
    for package in &workspace.packages {
        if features::optional(package).next().is_some() {
            bare.extend(["-p", &package.name]);
        }
    }
    lint(workspace, step, &bare)
}

/// Lints these packages with these features; each warning is an error.
pub(crate) fn lint(workspace: &Workspace, step: &mut Step, of: &[&str]) -> Result<()> {
    let deny = ["--", "-D", "warnings"];
    plain(workspace, step, &[&["clippy"], of, &deny].concat())
}

/// One cargo command that must succeed without a warning.
pub(crate) fn plain(workspace: &Workspace, step: &mut Step, words: &[&str]) -> Result<()> {
    judge(&tool::watch(&mut workspace.cargo(words))?, step);
    Ok(())
}

fn judge(seen: &tool::Seen, step: &mut Step) {
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

/// The public pages without a warning; then, so that no link to a private item is stale, all pages.
pub(crate) fn rustdoc(workspace: &Workspace, step: &mut Step, features: &[&str]) -> Result<()> {
    let words = [&["doc", "--workspace", "--no-deps"][..], features].concat();
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

fn deny(workspace: &Workspace, step: &mut Step) -> Result<()> {
    if !tool::works("cargo-deny", &["--version"]) {
        step.skip(
            "cargo-deny is not installed, and to install it takes minutes: cargo install --locked cargo-deny",
        );
        return Ok(());
    }
    let mut command = workspace.cargo(&["deny", "check", "licenses", "bans", "sources"]);
    let seen = tool::watch(&mut command)?;
    if !seen.ok {
        step.fail("cargo deny found something");
    }
    Ok(())
}

/// Everything compiles for another system.
pub(crate) fn cross(
    workspace: &Workspace,
    step: &mut Step,
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
    step: &mut Step,
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
pub(crate) fn may_build_for(triple: &str, step: &mut Step, no_install: bool) -> Result<bool> {
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

/// The oldest Rust that the manifests promise, where that toolchain is here or can be had.
pub(crate) fn msrv(workspace: &Workspace, step: &mut Step, no_install: bool) -> Result<()> {
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
    let of_root = [ours, vec!["--features", &features]].concat();
    let outside = rayon::outside_workspaces(workspace)?;
    let outside = outside.iter().map(|one| (one, vec!["--workspace"]));
    for (one, words) in std::iter::once((workspace, of_root)).chain(outside) {
        let mut command = Command::new("rustup");
        command.args(["run", &toolchain, "cargo", "check"]);
        command
            .args(words)
            .current_dir(&one.root)
            .env("CARGO_TARGET_DIR", workspace.target.join("msrv"));
        // Its lints are old ones: only errors count.
        let seen = tool::watch(&mut command)?;
        if !seen.ok {
            let name = workspace.short(&one.root);
            step.fail(format!("{name} does not compile with Rust {version}"));
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

/// The lab's benchmarks, in a release build.
pub(crate) fn bench(workspace: &Workspace, step: &mut Step, words: &[String]) -> Result<()> {
    let mut command = workspace.cargo(&["run", "--profile", "measure", "--features", "rivals"]);
    command.args(["--", "bench"]);
    command.args(words);
    if !tool::watch(&mut command)?.ok {
        step.fail("`roving bench` failed");
        return Ok(());
    }
    results::note(workspace)?;
    results::mark(workspace)?;
    tidy::refresh_figures(workspace)
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
}
