//! The tests of the workspace: built and linted once, with every optional feature that can be built
//! here; then, without them, those that are about their absence.
//!
//! Test programs run some at a time, since many of them wait for most of their time: for ranks, for
//! child processes, for threads that are to fall asleep.

pub(crate) mod fuzz;
pub(crate) mod programs;
pub(crate) mod torture;

use std::collections::VecDeque;
use std::fs;
use std::num::NonZero;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use serde_json::Value;

use crate::Result;
use crate::cargo::tally::{CargoTally, is_warning};
use crate::cargo::watchdog::{self, Limits, ProgramEnd, WatchedOutput};
use crate::cargo::workspace::{BuildTarget, Workspace};
use crate::cargo::{features, lint, tool};
use crate::report::CheckStep;
use programs::TestProgram;

/// No test is silent for so long, even on a busy machine: those that might hang end themselves, and
/// say so, after five minutes.
const LIMITS: Limits = Limits {
    silent: Duration::from_secs(900),
    whole: Duration::from_secs(3600),
    group: true,
};
/// How many of the slowest programs are named at the end.
const SLOWEST: usize = 12;
/// Words of a source that does another thing where a feature is off.
const ABSENCE: [&str; 2] = ["cfg!(feature", "not(feature"];

/// One program, and what came of it.
struct RanProgram {
    name: String,
    seen: Result<WatchedOutput>,
}

impl RanProgram {
    /// Seconds of processors; by the clock, where the system does not tell those.
    fn cost(&self) -> f64 {
        let cost = |seen: &WatchedOutput| seen.used.unwrap_or(seen.took.as_secs_f64());
        self.seen.as_ref().map_or(0.0, cost)
    }
}

/// All tests with all features, the documentation's among them; then those about absent features.
pub(crate) fn check(workspace: &Workspace, step: &mut CheckStep) -> Result<()> {
    if !features::has_vulkan() {
        step.skip("no software driver of Vulkan (mesa-vulkan-drivers): its tests find no device");
    }
    if !features::has_mpi() {
        step.skip("no MPI (libopenmpi-dev, openmpi-bin, libclang-dev, clang): ranks are threads");
    }
    if !tool::works("c++", &["--version"]) {
        step.skip("no C++ compiler (g++): the fake CUDA driver has no kernels");
    }
    let with = features::buildable(workspace);
    tests_and_docs(workspace, step, &all_features(&with))?;
    absence(workspace, step)
}

/// The words for cargo that mean the tests with all features.
fn all_features(features: &str) -> [&str; 4] {
    ["test", "--workspace", "--features", features]
}

/// Builds the programs of [`check`], and runs none.
pub(crate) fn build(workspace: &Workspace, step: &mut CheckStep) -> Result<()> {
    let with = features::buildable(workspace);
    built(workspace, step, &all_features(&with)).map(drop)
}

/// Tests that by themselves try a part of their cases try all of them where this variable is set.
const ALL_CASES: &str = "ROVING_DEEP";

/// All tests with all features and with all their cases.
pub(crate) fn all_cases(workspace: &Workspace, step: &mut CheckStep) -> Result<()> {
    let with = features::buildable(workspace);
    run(workspace, step, &all_features(&with), &[(ALL_CASES, "1")])
}

/// Tests without any optional feature, and those of the whole lab without devices and ranks.
pub(crate) fn plain(workspace: &Workspace, step: &mut CheckStep) -> Result<()> {
    tests_and_docs(workspace, step, &["test", "--workspace"])?;
    let lab = ["test", "-p", "roving-lab", "--features", features::LAB];
    run(workspace, step, &lab, &[])
}

/// The libraries' tests as a release build has them, without debug assertions: misuse has the same
/// outcome there, and so has everything else.
pub(crate) fn release(workspace: &Workspace, step: &mut CheckStep) -> Result<()> {
    let libraries = [
        "roving",
        "roving-flow",
        "roving-dist",
        "roving-gpu",
        "roving-iter",
        "roving-omp",
        "roving-c",
    ];
    let packages = libraries.iter().flat_map(|name| ["-p", name]);
    let words: Vec<&str> = ["test", "--release"].into_iter().chain(packages).collect();
    run(workspace, step, &words, &[])
}

/// The tests of that call of cargo, and then those in the documentation.
fn tests_and_docs(workspace: &Workspace, step: &mut CheckStep, words: &[&str]) -> Result<()> {
    run(workspace, step, words, &[])?;
    let mut docs = workspace.cargo(words);
    docs.args(["--doc", "--no-fail-fast"]);
    let seen = tool::watch(lint::linted(&mut docs))?;
    CargoTally::read(&seen.lines).judge(&seen, step);
    Ok(())
}

/// A program of ours as the tests have built it: with the same features, and with a small test
/// beside it, for which cargo takes the tests' own dependencies into account.
pub(crate) fn binary(workspace: &Workspace, name: &str) -> Result<PathBuf> {
    let with = features::buildable(workspace);
    let words = [
        "build",
        "--workspace",
        "--bin",
        name,
        "--test",
        "smoke",
        "--features",
        &with,
    ];
    let mut command = workspace.cargo(&words);
    command.arg("--message-format=json-render-diagnostics");
    let text = tool::output(lint::linted(&mut command))?;
    let is_it =
        |value: &Value| value["target"]["name"] == name && value["target"]["kind"][0] == "bin";
    let messages = text
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok());
    let message = messages.into_iter().find(is_it);
    let path = message.and_then(|value: Value| value["executable"].as_str().map(PathBuf::from));
    path.ok_or_else(|| format!("cargo built no program `{name}`"))
}

/// The tests of the packages that have features, without them: those inside each library, and the
/// programs whose source asks whether a feature is on. Where diagnostics can be left out, they are.
fn absence(workspace: &Workspace, step: &mut CheckStep) -> Result<()> {
    let mut asking = 0;
    for (silent, without) in [(false, &[][..]), (true, &["--no-default-features"])] {
        let mut words = [&["test", "--lib"], without].concat();
        for package in &workspace.packages {
            let has_some = silent || features::optional(package).next().is_some();
            if features::can_be_silent(package) != silent || !has_some {
                continue;
            }
            words.extend(["-p", &package.name]);
            for target in package
                .targets
                .iter()
                .filter(|t| t.kind == "test" && !t.has_condition)
            {
                if asks(target)? {
                    words.extend(["--test", &target.name]);
                    asking += 1;
                }
            }
        }
        run(workspace, step, &words, &[])?;
    }
    if asking == 0 {
        step.fail("no test asks whether a feature is on");
    }
    Ok(())
}

/// Whether a test program asks whether a feature is on.
fn asks(target: &BuildTarget) -> Result<bool> {
    let text = fs::read_to_string(&target.file)
        .map_err(|error| format!("{}: {error}", target.file.display()))?;
    Ok(ABSENCE.iter().any(|words| text.contains(words)))
}

/// Builds the test programs of that call of cargo, with the lints.
fn built(workspace: &Workspace, step: &mut CheckStep, words: &[&str]) -> Result<Vec<TestProgram>> {
    let mut command = workspace.cargo(words);
    println!("$ {}", tool::shown(&command));
    let (programs, said) = programs::build(lint::linted(&mut command))?;
    let warnings: Vec<&String> = said.iter().filter(|line| is_warning(line)).collect();
    if let Some(first) = warnings.first() {
        println!("{}", said.join("\n"));
        step.fail(format!("{} warnings; the first: {first}", warnings.len()));
    }
    let number = programs.len();
    println!("{number} test programs are built");
    Ok(programs)
}

/// Builds the test programs of that call of cargo, and runs them.
fn run(
    workspace: &Workspace,
    step: &mut CheckStep,
    words: &[&str],
    with: &[(&str, &str)],
) -> Result<()> {
    let programs = built(workspace, step, words)?;
    let mut ran = in_lanes(workspace, programs, with);
    for RanProgram { name, seen } in &ran {
        match seen {
            Ok(seen) => judge(name, seen, step),
            Err(message) => step.fail(format!("{name}: {message}")),
        }
    }
    ran.sort_by(|one, other| other.cost().total_cmp(&one.cost()));
    println!("the slowest, by the seconds of processors that they used:");
    for one in ran.iter().take(SLOWEST) {
        let took = one
            .seen
            .as_ref()
            .map_or(0.0, |seen| seen.took.as_secs_f64());
        println!(
            "{:7.1} s {took:7.1} s by the clock  {}",
            one.cost(),
            one.name
        );
    }
    Ok(())
}

/// Runs the programs, one more at a time than there are processors.
fn in_lanes(
    workspace: &Workspace,
    programs: Vec<TestProgram>,
    with: &[(&str, &str)],
) -> Vec<RanProgram> {
    let lanes = 1 + thread::available_parallelism().map_or(1, NonZero::get);
    let (queue, all) = (Mutex::new(VecDeque::from(programs)), Mutex::new(Vec::new()));
    let next = || {
        let mut queue = queue.lock().unwrap_or_else(PoisonError::into_inner);
        queue.pop_front()
    };
    thread::scope(|scope| {
        for _ in 0..lanes {
            scope.spawn(|| {
                while let Some(program) = next() {
                    let ran = one(workspace, &program, with);
                    say(&ran);
                    let mut all = all.lock().unwrap_or_else(PoisonError::into_inner);
                    all.push(ran);
                }
            });
        }
    });
    all.into_inner().unwrap_or_else(PoisonError::into_inner)
}

fn one(workspace: &Workspace, program: &TestProgram, with: &[(&str, &str)]) -> RanProgram {
    let mut command = programs::command(program, &[]);
    command.envs(with.iter().copied());
    // Without lines a backtrace tells little, and each child of `fork` that panics, as many are to
    // do, reads all symbols anew: seven times what such a test takes without.
    command.env("RUST_BACKTRACE", "0");
    // Mesa warns where it has no such folder.
    if std::env::var_os("XDG_RUNTIME_DIR").is_none() {
        command.env("XDG_RUNTIME_DIR", std::env::temp_dir());
    }
    let folder = workspace.short(&program.folder);
    RanProgram {
        name: format!("{folder}/{}", program.name),
        seen: watchdog::run(&mut command, LIMITS, false),
    }
}

/// One line for what went well, all lines for what did not.
fn say(ran: &RanProgram) {
    let name = &ran.name;
    let text = match &ran.seen {
        Err(message) => format!("FAILED  {name}: {message}"),
        Ok(seen) => {
            let mut own = CheckStep::default();
            judge(name, seen, &mut own);
            let mut text = String::new();
            if !own.complaints.is_empty() {
                for line in seen.lines() {
                    text += line;
                    text.push('\n');
                }
            }
            let (counts, seconds) = (own.counts, seen.took.as_secs_f64());
            let verdict = match own.complaints.as_slice() {
                [] => "ok",
                _ => "FAILED",
            };
            let (passed, failed, ignored) = (counts.passed, counts.failed, counts.skipped);
            text + &format!(
                "{verdict:8}{name}: {passed} passed, {failed} failed, {ignored} ignored, {seconds:.1} s"
            )
        }
    };
    // In one call, so that the lanes do not mix.
    println!("{text}");
}

/// Puts into the step what came of a program: failed tests by name, a hang, an end without a
/// result, no test.
fn judge(name: &str, seen: &WatchedOutput, step: &mut CheckStep) {
    let tally = CargoTally::read(&seen.out);
    let sum = tally.sum();
    step.counts.add(sum);
    let has_ended = tally.groups.iter().any(|group| group.ended);
    if sum.failed > 0 {
        let failed = tally.failed.join(", ");
        step.fail(format!("{name}: {} failed: {failed}", sum.failed));
    } else if !has_ended || seen.end != ProgramEnd::Success {
        let how = seen.end.overdue().unwrap_or_else(|| {
            let status = seen.status.map(|status| format!(" ({status})"));
            format!("ended without a result{}", status.unwrap_or_default())
        });
        let words = seen.err.last().map(|line| format!(": {line}"));
        step.fail(format!("{name} {how}{}", words.unwrap_or_default()));
    } else if sum.passed + sum.skipped == 0 {
        step.fail(format!("{name} ran no test"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complaints(out: &str, end: ProgramEnd) -> Vec<String> {
        let seen = WatchedOutput {
            end,
            out: out.lines().map(str::to_owned).collect(),
            err: vec!["last words".into()],
            took: Duration::ZERO,
            used: None,
            status: None,
        };
        let mut step = CheckStep::default();
        judge("p", &seen, &mut step);
        step.complaints.to_vec()
    }

    #[test]
    fn a_program_is_right_only_with_a_result_and_a_test() {
        let result = |passed, failed| {
            format!("test result: x. {passed} passed; {failed} failed; 0 ignored; 0 measured")
        };
        assert!(complaints(&result(3, 0), ProgramEnd::Success).is_empty());
        assert_eq!(
            complaints(&result(0, 0), ProgramEnd::Success),
            ["p ran no test"]
        );
        let failed = format!("test a ... FAILED\n{}", result(1, 1));
        assert_eq!(complaints(&failed, ProgramEnd::Failure), ["p: 1 failed: a"]);
        for (out, end) in [
            ("test a ... ok", ProgramEnd::Failure),
            ("test a ... ok", ProgramEnd::Success),
            (&result(1, 0), ProgramEnd::Failure),
            ("", ProgramEnd::Silent(Duration::ZERO)),
        ] {
            let found = complaints(out, end);
            assert!(found[0].contains("last words"), "{found:?}");
        }
    }

    #[test]
    fn tests_about_absent_features_are_found() {
        let workspace = Workspace::find().unwrap();
        let asking = |package: &str| {
            let targets = &workspace.package(package).unwrap().targets;
            let tests = targets.iter().filter(|target| target.kind == "test");
            let asking = tests.filter(|target| asks(target).unwrap());
            asking.map(|target| target.name.clone()).collect::<Vec<_>>()
        };
        assert!(asking("roving-dist").contains(&"launch".to_owned()));
        assert_eq!(asking("roving"), ["diagnostics_process"]);
    }
}
