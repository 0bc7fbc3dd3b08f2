//! The checks of `cargo xtask test`, in order, and those too small for a file of their own.

pub(crate) mod beside;
pub(crate) mod deep;
mod setup;
mod unchanged;

use crate::cargo::lint::{plain, rustdoc};
use crate::cargo::tally::CargoTally;
use crate::cargo::workspace::{Package, Workspace};
use crate::cargo::{features, tool};
use crate::instruments::{ceilings, miri};
use crate::mutants::{loom, orderings};
use crate::report::{CheckReport, CheckStep};
use crate::shipping::publish::PUBLISHED;
use crate::shipping::targets::{TARGETS, targets};
use crate::suite;
use crate::{Result, docs, rayon, results, tidy};
use beside::{CheckOptions, SideChecks};

/// One check of `all`; the flag says that nothing may be installed.
type Check = (
    &'static str,
    fn(&Workspace, &mut CheckStep, bool) -> Result<()>,
);

/// Everything that CI requires. What takes longer is in `deep`, or the whole of it is.
const CHECKS: [Check; 16] = [
    ("setup", setup::prepare),
    ("build", |workspace, step, _| suite::build(workspace, step)),
    ("fmt", |workspace, step, _| fmt(workspace, step)),
    ("tidy", |workspace, step, _| tidy::check(workspace, step)),
    ("test", |workspace, step, _| suite::check(workspace, step)),
    ("rustdoc", |workspace, step, _| pages(workspace, step)),
    ("docs", |workspace, step, _| docs::check(workspace, step)),
    ("commands", |workspace, step, _| {
        docs::commands(workspace, step)
    }),
    ("rayon-core", |workspace, step, _| {
        rayon::core(workspace, step)
    }),
    ("loom", |workspace, step, _| loom::check(workspace, step)),
    ("mutants", |workspace, step, _| {
        orderings::check(workspace, step)
    }),
    ("miri", miri::quick),
    ("faults", |workspace, step, _| faults(workspace, step)),
    ("ceilings", |workspace, step, _| {
        ceilings::check(workspace, step, ceilings::Write::No)
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

/// Of these, the ones whose outcome depends on files and tools alone, and which take long: they run
/// only where something has changed.
const REPEATABLE: [&str; 4] = ["miri", "loom", "mutants", "ceilings"];

/// All of them, or those that are named.
pub(crate) fn all(
    workspace: &Workspace,
    report: &mut CheckReport,
    options: CheckOptions,
    only: &[String],
) {
    let run = |report: &mut CheckReport,
               name,
               check: fn(&Workspace, &mut CheckStep, bool) -> Result<()>| {
        let check = |step: &mut CheckStep| check(workspace, step, options.no_install);
        report.step(name, |step| {
            match !options.anew && REPEATABLE.contains(&name) {
                true => unchanged::once(workspace, name, step, check),
                false => check(step),
            }
        });
    };
    if !only.is_empty() {
        let named = |name: &str| only.iter().any(|only| only == name);
        for (name, check) in CHECKS.into_iter().filter(|(name, _)| named(name)) {
            run(report, name, check);
        }
        return;
    }
    // The first one installs what the others need, and the second uses all cores by itself.
    let (first, others) = CHECKS.split_at(2);
    for (name, check) in first {
        run(report, name, *check);
    }
    let beside = SideChecks::start(workspace, &BESIDE, options);
    for (name, check) in others.iter().filter(|(name, _)| !BESIDE.contains(name)) {
        run(report, name, *check);
    }
    let told = beside.and_then(SideChecks::end);
    match told {
        Ok(told) => report.hear(told),
        Err(why) => report.step("beside", |_| Err(why)),
    }
}

/// `test` as CI calls it: a new process without standard input, colours or prompts.
pub(crate) fn clean(workspace: &Workspace, no_install: bool) -> Result<bool> {
    let mut command = workspace.cargo(&["xtask", "test", "--anew"]);
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
fn faults(workspace: &Workspace, step: &mut CheckStep) -> Result<()> {
    let mut command = workspace.cargo(&["test", "-p", "roving", "--test", "faults"]);
    command
        .env("RUSTFLAGS", "--cfg roving_faults")
        .env("CARGO_TARGET_DIR", workspace.target.join("faults"));
    let seen = tool::watch(&mut command)?;
    CargoTally::read(&seen.lines).judge(&seen, step);
    Ok(())
}

/// The pages of what is published. For those of all other packages, every package that these need
/// would be compiled once more, for rustdoc: that is in `deep`.
fn pages(workspace: &Workspace, step: &mut CheckStep) -> Result<()> {
    let is_published = |package: &&Package| PUBLISHED.contains(&package.name.as_str());
    let features = features::buildable_of(workspace.packages.iter().filter(is_published));
    let packages = PUBLISHED.iter().flat_map(|name| ["-p", name]);
    let words: Vec<&str> = packages.chain(["--features", &features]).collect();
    rustdoc(workspace, step, &words)
}

/// The formatting of this workspace and of those beside it.
fn fmt(workspace: &Workspace, step: &mut CheckStep) -> Result<()> {
    let outside = rayon::outside_workspaces(workspace)?;
    for one in std::iter::once(workspace).chain(&outside) {
        plain(one, step, &["fmt", "--all", "--check"])?;
    }
    Ok(())
}

fn deny(workspace: &Workspace, step: &mut CheckStep) -> Result<()> {
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

/// The lab's benchmarks, in a release build.
pub(crate) fn bench(workspace: &Workspace, step: &mut CheckStep, words: &[String]) -> Result<()> {
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

/// The rows of the first page measured again, and its figures as they are then.
pub(crate) fn bench_readme(workspace: &Workspace, step: &mut CheckStep) -> Result<()> {
    results::readme(workspace, step)?;
    tidy::refresh_figures(workspace)
}
