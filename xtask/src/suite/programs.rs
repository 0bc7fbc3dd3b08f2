//! Test programs of other people's packages: build them, run each within limits, count, and name
//! the test that hangs or ends its program.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde_json::Value;

use crate::Result;
use crate::cargo::tally::CargoTally;
use crate::cargo::tool;
use crate::cargo::watchdog::{self, Limits, ProgramEnd, WatchedOutput};
use crate::report::{CheckStep, TestCounts};

/// No test of Rayon or of the packages downstream is silent for so long, even on a busy machine.
const RUN: Limits = Limits {
    silent: Duration::from_secs(600),
    whole: Duration::from_secs(3600),
    group: true,
};
/// One test alone, after its program hung or died.
const ALONE: Limits = Limits {
    silent: Duration::from_secs(300),
    whole: Duration::from_secs(600),
    group: true,
};
/// A build that hangs, and no other, meets these limits: each crate that is built is told, and
/// beside other programs a build of minutes has taken an hour.
const BUILD: Limits = Limits {
    silent: Duration::from_secs(3600),
    whole: Duration::from_secs(6 * 3600),
    group: false,
};
/// After so many tests that hang alone, the rest of their program is not tried.
const HANGS_MAX: usize = 3;

/// A built test program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TestProgram {
    /// Its root file, from its package.
    pub(crate) name: String,
    /// Folder of its package.
    pub(crate) folder: PathBuf,
    path: PathBuf,
}

impl TestProgram {
    /// Whether it belongs to the package in this folder.
    pub(crate) fn is_in(&self, folder: &Path) -> bool {
        self.folder == folder
    }
}

/// A test that did not pass.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FailedTest {
    pub(crate) test: String,
    pub(crate) why: &'static str,
}

/// The outcome of a program, or of several.
#[derive(Clone, Debug, Default)]
pub(crate) struct TestOutcome {
    pub(crate) counts: TestCounts,
    pub(crate) failures: Vec<FailedTest>,
    pub(crate) took: Duration,
}

impl TestOutcome {
    pub(crate) fn add(&mut self, other: TestOutcome) {
        self.counts.add(other.counts);
        self.failures.extend(other.failures);
        self.took += other.took;
    }

    fn fails(&mut self, test: &str, why: &'static str) {
        self.counts.failed += 1;
        self.failures.push(FailedTest {
            test: test.to_owned(),
            why,
        });
    }

    /// Puts counts and failures into a step.
    pub(crate) fn judge(&self, part: &str, step: &mut CheckStep) {
        step.counts.add(self.counts);
        for FailedTest { test, why } in &self.failures {
            step.fail(format!("{part}: {test} {why}"));
        }
        if self.counts.passed == 0 {
            step.fail(format!("{part}: no test passed"));
        }
    }
}

/// A line about the time and the counts.
pub(crate) fn told(outcome: &TestOutcome) -> String {
    let TestCounts {
        passed,
        failed,
        skipped,
    } = outcome.counts;
    let seconds = outcome.took.as_secs_f64();
    format!("{passed:5} passed {failed:4} failed {skipped:4} ignored {seconds:7.1} s")
}

/// Runs `cargo test --no-run` as the command says, and gives what it built, and what cargo said.
///
/// A patch that cargo does not use is an error: the tests would prove nothing.
pub(crate) fn build(command: &mut Command) -> Result<(Vec<TestProgram>, Vec<String>)> {
    command.args(["--no-run", "--message-format=json-render-diagnostics"]);
    let seen = watchdog::run(command, BUILD, false)?;
    if let Some(line) = unused_patch(seen.lines()) {
        return Err(line);
    }
    if seen.end != ProgramEnd::Success {
        for line in &seen.err {
            println!("{line}");
        }
        return Err(unbuilt(&tool::shown(command), &seen));
    }
    let programs: Vec<TestProgram> = seen.out.iter().filter_map(|line| program(line)).collect();
    if programs.is_empty() {
        return Err("cargo built no test program".into());
    }
    Ok((programs, seen.err))
}

/// Why that command has built nothing, and what to do.
fn unbuilt(command: &str, seen: &WatchedOutput) -> String {
    if let Some(how) = seen.end.overdue() {
        return format!(
            "`{command}` {how}, so it was ended as one that hangs; what it has built is kept: run it \
             by itself, then this again"
        );
    }
    let mut errors = seen.err.iter().filter(|line| line.starts_with("error"));
    let reason = errors.next().cloned().or_else(|| {
        let status = seen.status.map(|status| status.to_string());
        status.map(|status| format!("it ended with {status} and gave no reason"))
    });
    format!("`{command}` does not build: {}", reason.unwrap_or_default())
}

/// Finds cargo's warning about a patch without effect.
pub(crate) fn unused_patch<'a>(mut lines: impl Iterator<Item = &'a String>) -> Option<String> {
    lines
        .find(|line| line.contains("was not used in the crate graph"))
        .map(|line| line.trim().to_owned())
}

/// A message of cargo about a test program.
fn program(line: &str) -> Option<TestProgram> {
    let value: Value = serde_json::from_str(line).ok()?;
    if value["reason"] != "compiler-artifact" || value["profile"]["test"] != true {
        return None;
    }
    let folder = Path::new(value["manifest_path"].as_str()?).parent()?;
    let file = Path::new(value["target"]["src_path"].as_str()?);
    let name = file.strip_prefix(folder).unwrap_or(file);
    Some(TestProgram {
        name: name.to_string_lossy().replace('\\', "/"),
        folder: folder.to_owned(),
        path: PathBuf::from(value["executable"].as_str()?),
    })
}

/// Runs a program with these words for libtest. Tests that were not finished when it hung or died
/// are run again, each alone, so that the one to blame has a name.
pub(crate) fn run(program: &TestProgram, words: &[&str], show: bool) -> Result<TestOutcome> {
    run_within(program, words, show, [RUN, ALONE])
}

/// The limits are those of the whole program, and of one test alone.
fn run_within(
    program: &TestProgram,
    words: &[&str],
    show: bool,
    [whole, alone]: [Limits; 2],
) -> Result<TestOutcome> {
    let seen = watchdog::run(&mut command(program, words), whole, show)?;
    let results = Results::read(&seen.out);
    let mut outcome = results.outcome(&seen);
    if results.ended {
        return Ok(outcome);
    }
    println!("{}: {}", program.name, ending(&seen));
    let finished: BTreeSet<&str> = results.finished().collect();
    let listed = listed(program, words)?;
    let open: Vec<&String> = listed
        .iter()
        .filter(|test| !finished.contains(test.as_str()))
        .collect();
    if open.is_empty() {
        outcome.fails(&program.name, "ended without a result after its last test");
    }
    let mut hangs = 0;
    for test in open {
        if hangs == HANGS_MAX {
            outcome.fails(test, "was not tried: too many others hang");
            continue;
        }
        let mut words = words.to_vec();
        words.extend(["--exact", test]);
        let seen = watchdog::run(&mut command(program, &words), alone, show)?;
        let results = Results::read(&seen.out);
        if results.ended {
            outcome.add(results.outcome(&seen));
        } else if seen.hung() {
            hangs += 1;
            outcome.fails(test, "hangs");
        } else {
            outcome.fails(test, "ended its program");
        }
    }
    Ok(outcome)
}

/// The program as cargo would start it.
pub(crate) fn command(program: &TestProgram, words: &[&str]) -> Command {
    let mut command = Command::new(&program.path);
    command
        .args(words)
        .current_dir(&program.folder)
        .env("CARGO_MANIFEST_DIR", &program.folder);
    command
}

fn ending(seen: &WatchedOutput) -> String {
    match (seen.end.overdue(), seen.end) {
        (Some(how), _) => format!("{how}: ended"),
        (None, ProgramEnd::Success) => "left without a result".into(),
        (None, _) => format!(
            "died; its last words: {}",
            seen.err.last().map(String::as_str).unwrap_or("none")
        ),
    }
}

/// The names of the tests that these words choose; none where the program is not one of libtest.
fn listed(program: &TestProgram, words: &[&str]) -> Result<Vec<String>> {
    let words = [words, &["--list", "--format", "terse"]].concat();
    let seen = watchdog::run(&mut command(program, &words), ALONE, false)?;
    let names = seen
        .out
        .iter()
        .filter_map(|line| line.strip_suffix(": test"));
    Ok(names.map(str::to_owned).collect())
}

/// The documentation tests of a package, as the command says.
pub(crate) fn run_docs(command: &mut Command, show: bool) -> Result<TestOutcome> {
    let seen = watchdog::run(command, RUN, show)?;
    if let Some(line) = unused_patch(seen.lines()) {
        return Err(line);
    }
    let results = Results::read(&seen.out);
    let mut outcome = results.outcome(&seen);
    if !results.ended {
        let slow: Vec<&str> = results.slow().collect();
        for test in &slow {
            outcome.fails(test, "hangs");
        }
        if slow.is_empty() {
            let error = seen.err.iter().find(|line| line.starts_with("error"));
            outcome.fails(
                error.map_or("the documentation", |line| line),
                "ended without a result",
            );
        }
    }
    Ok(outcome)
}

/// The results that libtest printed, test by test.
#[derive(Debug, Default, PartialEq, Eq)]
struct Results {
    lines: Vec<(String, TestVerdict)>,
    /// Tests that were still running after a minute.
    warned: Vec<String>,
    /// Its last line was seen.
    ended: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TestVerdict {
    Passed,
    Failed,
    Ignored,
}

impl Results {
    fn read(out: &[String]) -> Self {
        let mut results = Results::default();
        for line in out {
            if line.starts_with("test result: ") {
                results.ended = true;
            } else if let Some(rest) = line.strip_prefix("test ") {
                if let Some(name) = rest
                    .split(" has been running for over ")
                    .nth(0)
                    .filter(|name| name.len() < rest.len())
                {
                    results.warned.push(name.to_owned());
                } else if let Some((name, word)) = rest.rsplit_once(" ... ") {
                    results
                        .lines
                        .extend(verdict(word).map(|verdict| (plain(name), verdict)));
                }
            }
        }
        results
    }

    fn finished(&self) -> impl Iterator<Item = &str> {
        self.lines.iter().map(|(name, _)| name.as_str())
    }

    /// Tests that ran for over a minute and have no result.
    fn slow(&self) -> impl Iterator<Item = &str> {
        let open = |name: &&String| !self.finished().any(|done| done == *name);
        self.warned.iter().filter(open).map(String::as_str)
    }

    fn outcome(&self, seen: &WatchedOutput) -> TestOutcome {
        let mut outcome = TestOutcome {
            took: seen.took,
            ..TestOutcome::default()
        };
        for (name, verdict) in &self.lines {
            match verdict {
                TestVerdict::Passed => outcome.counts.passed += 1,
                TestVerdict::Ignored => outcome.counts.skipped += 1,
                TestVerdict::Failed => outcome.fails(name, "failed"),
            }
        }
        if self.ended {
            // The sums of libtest itself; lines may have been broken by what a test wrote.
            outcome.counts = CargoTally::read(&seen.out).sum();
            let unnamed = outcome
                .counts
                .failed
                .saturating_sub(outcome.failures.len() as u64);
            outcome.failures.extend((0..unnamed).map(|_| FailedTest {
                test: "a test without a name".into(),
                why: "failed",
            }));
        }
        outcome
    }
}

fn verdict(word: &str) -> Option<TestVerdict> {
    match word.split([' ', ',', '(']).next()? {
        "ok" => Some(TestVerdict::Passed),
        "FAILED" => Some(TestVerdict::Failed),
        "ignored" => Some(TestVerdict::Ignored),
        _ => None,
    }
}

/// The name as `--list` gives it.
fn plain(name: &str) -> String {
    name.strip_suffix(" - should panic")
        .unwrap_or(name)
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<String> {
        text.lines().map(str::to_owned).collect()
    }

    fn seen(text: &str, end: ProgramEnd) -> WatchedOutput {
        WatchedOutput {
            end,
            out: lines(text),
            err: Vec::new(),
            took: Duration::ZERO,
            used: None,
            status: None,
        }
    }

    fn counts(passed: u64, failed: u64, skipped: u64) -> TestCounts {
        TestCounts {
            passed,
            failed,
            skipped,
        }
    }

    const WHOLE: &str = "running 4 tests\ntest a ... ok\ntest b - should panic ... ok\n\
        test c ... ignored, helper\ntest d ... FAILED\n\nfailures:\n    d\n\n\
        test result: FAILED. 2 passed; 1 failed; 1 ignored; 0 measured; 0 filtered out; finished in 1s";

    #[test]
    fn a_whole_run_is_counted() {
        let results = Results::read(&lines(WHOLE));
        assert!(results.ended);
        assert_eq!(results.finished().collect::<Vec<_>>(), ["a", "b", "c", "d"]);
        let outcome = results.outcome(&seen(WHOLE, ProgramEnd::Failure));
        assert_eq!(outcome.counts, counts(2, 1, 1));
        assert_eq!(outcome.failures[0].test, "d");
        let mut step = CheckStep::default();
        outcome.judge("part", &mut step);
        assert_eq!(step.complaints, ["part: d failed"]);
    }

    #[test]
    fn a_run_cut_short_names_the_test_that_is_open() {
        let text = "running 3 tests\ntest a ... ok\n\
            test b has been running for over 60 seconds\n\
            test c has been running for over 60 seconds\ntest c ... ok\ntest d ... ";
        let results = Results::read(&lines(text));
        assert!(!results.ended);
        assert_eq!(results.slow().collect::<Vec<_>>(), ["b"]);
        let outcome = results.outcome(&seen(text, ProgramEnd::Silent(Duration::ZERO)));
        assert_eq!(outcome.counts, counts(2, 0, 0));
    }

    /// Speaks as libtest does. Its test `b` hangs, `c` ends the program, `d` only hangs beside `b`.
    #[cfg(unix)]
    const FAKE: &str = "
        case \"$*\" in
            *--list*) printf 'a: test\\nb: test\\nc: test\\nd: test\\n' ;;
            *'--exact b') sleep 600 ;;
            *'--exact c') exit 3 ;;
            *'--exact d') echo 'test d ... ok'
                echo 'test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured' ;;
            *) echo 'test a ... ok'; sleep 600 ;;
        esac";

    #[cfg(unix)]
    #[test]
    fn tests_that_hang_or_end_their_program_are_told_apart() {
        let program = TestProgram {
            name: "fake".into(),
            folder: ".".into(),
            path: "sh".into(),
        };
        let run = |silent_s: u64| {
            let limits = Limits {
                silent: Duration::from_secs(silent_s),
                whole: Duration::from_secs(600),
                group: true,
            };
            run_within(&program, &["-c", FAKE, "fake"], false, [limits; 2]).unwrap()
        };
        // Where one had no core before it came to speak, all get more time.
        let mut tried = [3, 60].into_iter().map(run);
        let outcome = tried.find(|outcome| outcome.counts == counts(2, 2, 0));
        let outcome = outcome.expect("two pass and two fail");
        let failures = outcome.failures.iter();
        let told: Vec<_> = failures
            .map(|failure| (failure.test.as_str(), failure.why))
            .collect();
        assert_eq!(told, [("b", "hangs"), ("c", "ended its program")]);
    }

    #[test]
    fn a_build_that_fails_says_what_was_run_and_why() {
        let mut built = seen("", ProgramEnd::TooLong(Duration::from_secs(7)));
        let told = unbuilt("cargo test --no-run", &built);
        assert!(told.starts_with("`cargo test --no-run` still ran after 7 s"));
        assert!(told.contains("run it by itself"), "{told}");
        built.end = ProgramEnd::Failure;
        built.err = lines("warning: a\nerror: b\nerror: c");
        let told = unbuilt("cargo", &built);
        assert_eq!(told, "`cargo` does not build: error: b");
    }

    #[test]
    fn a_part_in_which_nothing_passed_fails() {
        let mut step = CheckStep::default();
        TestOutcome::default().judge("empty", &mut step);
        assert_eq!(step.complaints, ["empty: no test passed"]);
    }

    #[test]
    fn a_failure_whose_line_was_broken_is_still_named() {
        let text =
            "test a ... noise\ntest result: FAILED. 0 passed; 1 failed; 0 ignored; 0 measured";
        let outcome = Results::read(&lines(text)).outcome(&seen(text, ProgramEnd::Failure));
        assert_eq!(outcome.counts.failed, 1);
        assert_eq!(outcome.failures.len(), 1);
    }

    #[test]
    fn only_test_programs_are_taken_from_the_messages() {
        let message = |test: bool| {
            serde_json::json!({
                "reason": "compiler-artifact", "manifest_path": "/p/Cargo.toml",
                "target": {"src_path": "/p/tests/a.rs"}, "profile": {"test": test},
                "executable": "/t/a-1",
            })
            .to_string()
        };
        let found = program(&message(true)).unwrap();
        assert_eq!(found.name, "tests/a.rs");
        assert_eq!(found.folder, Path::new("/p"));
        assert_eq!(program(&message(false)), None);
        assert_eq!(program("   Compiling p v1.0.0"), None);
    }

    #[test]
    fn a_patch_without_effect_is_seen() {
        let text = lines(
            "   Compiling x\nwarning: patch `rayon-core v1.13.0 (/r)` was not used in the crate graph",
        );
        assert!(
            unused_patch(text.iter())
                .unwrap()
                .starts_with("warning: patch")
        );
        assert_eq!(unused_patch(lines("warning: unused").iter()), None);
    }
}
