//! Weakens one ordering, or breaks one step, at a time and requires the named loom test to fail.
//!
//! One build serves all mutants: under `--cfg loom`, `ord("name", …)` and `mutant("name")` ask the
//! environment variable `ROVING_MUTANT` whether it is the ordering, or the step, in question. That
//! the tests pass without a mutant is what the check `loom` has found.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use crate::Result;
use crate::cargo::tool;
use crate::cargo::watchdog::{self, Limits, ProgramEnd};
use crate::cargo::workspace::Workspace;
use crate::mutants::loom;
use crate::reading::{self, RustFile};
use crate::report::{CheckReport, CheckStep};

/// Below each crate's folder.
const LIST: &str = "mutants.txt";
const VARIABLE: &str = "ROVING_MUTANT";
/// How a source names an ordering, and a step.
const MARKS: [&str; 2] = ["ord(\"", "mutant(\""];
/// A mutant that makes its test run for longer than this, on a busy machine too, was not killed.
const LIMITS: Limits = Limits {
    silent: Duration::from_secs(900),
    whole: Duration::from_secs(900),
    group: false,
};

/// One line of the list.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Mutant {
    name: String,
    test: String,
}

/// The loom tests, and then the mutants that they must find.
pub(crate) fn verb(workspace: &Workspace, report: &mut CheckReport) {
    report.step("loom", |step| loom::check(workspace, step));
    report.step("mutants", |step| check(workspace, step));
}

pub(crate) fn check(workspace: &Workspace, step: &mut CheckStep) -> Result<()> {
    for (package, program) in loom::build(workspace, step)? {
        check_package(workspace, package, &program, step)?;
    }
    Ok(())
}

fn check_package(
    workspace: &Workspace,
    package: &str,
    program: &Path,
    step: &mut CheckStep,
) -> Result<()> {
    let folder = workspace.root.join("crates").join(package);
    let list = std::fs::read_to_string(folder.join(LIST))
        .map_err(|error| format!("{package}/{LIST}: {error}"))?;
    let mutants = parse(&list)?;
    let mut used = BTreeSet::new();
    for path in reading::files(&folder.join("src"), &["rs"]) {
        let source = RustFile::read(&path)?;
        used.extend(names(&source));
    }
    for complaint in compare(&mutants, &used) {
        step.fail(complaint);
    }
    let tests = listed(program)?;
    println!("{:32} {:48} {:>8}", "mutant", "loom test", "");
    for mutant in &mutants {
        let test = match resolve(&mutant.test, &tests) {
            Ok(test) => test,
            Err(complaint) => {
                step.counts.failed += 1;
                step.fail(format!("{}: {complaint}", mutant.name));
                continue;
            }
        };
        let end = run(program, &test, &mutant.name)?;
        let word = if end == ProgramEnd::Failure {
            "killed"
        } else {
            "SURVIVED"
        };
        println!("{:32} {:48} {word:>8}", mutant.name, mutant.test);
        if end == ProgramEnd::Failure {
            step.counts.passed += 1;
        } else {
            step.counts.failed += 1;
            step.fail(format!(
                "{} survived {} ({end:?})",
                mutant.name, mutant.test
            ));
        }
    }
    Ok(())
}

fn parse(text: &str) -> Result<Vec<Mutant>> {
    let pairs = loom::pairs(LIST, "name  loom_test_name", text)?;
    let mutants: Vec<Mutant> = pairs
        .into_iter()
        .map(|(_, [name, test])| Mutant {
            name: name.into(),
            test: test.into(),
        })
        .collect();
    Ok(mutants)
}

/// The names in `ord("name", …)` and `mutant("name")`, outside comments.
fn names(source: &RustFile) -> Vec<String> {
    let mut found = Vec::new();
    for (code, raw) in source.code.iter().zip(&source.raw) {
        for mark in MARKS {
            for (at, _) in code.match_indices(mark) {
                let word = code[..at]
                    .chars()
                    .next_back()
                    .is_none_or(|c| !c.is_alphanumeric() && c != '_');
                let rest = &raw[at + mark.len()..];
                if let (true, Some(end)) = (word, rest.find('"')) {
                    found.push(rest[..end].to_owned());
                }
            }
        }
    }
    found
}

/// Lists the mutants that stand only in the list, only in the sources, or twice.
fn compare(mutants: &[Mutant], used: &BTreeSet<String>) -> Vec<String> {
    let mut found = Vec::new();
    let mut seen = BTreeSet::new();
    for Mutant { name, test } in mutants {
        if !seen.insert((name.clone(), test.clone())) {
            found.push(format!("{LIST} names {name} with {test} twice"));
        }
        if !used.contains(name) {
            found.push(format!(
                "{LIST} names {name}, but no source has ord(\"{name}\", …) or mutant(\"{name}\")"
            ));
        }
    }
    for name in used {
        if !mutants.iter().any(|mutant| &mutant.name == name) {
            found.push(format!(
                "{name}, of an ord(…) or mutant(…), is not in {LIST}: no test is known to need it"
            ));
        }
    }
    found
}

/// All tests of the program, by full name.
fn listed(program: &Path) -> Result<Vec<String>> {
    let text = tool::output(Command::new(program).args(["--list", "--format", "terse"]))?;
    Ok(text
        .lines()
        .filter_map(|line| line.strip_suffix(": test"))
        .map(str::to_owned)
        .collect())
}

/// The one test with this name; the list may leave out the modules.
fn resolve(name: &str, tests: &[String]) -> Result<String> {
    let tail = format!("::{name}");
    let mut found = tests
        .iter()
        .filter(|test| *test == name || test.ends_with(&tail));
    match (found.next(), found.next()) {
        (Some(test), None) if test.contains(loom::PREFIX) => Ok(test.clone()),
        (Some(test), None) => Err(format!("{test} is not a loom test")),
        (None, _) => Err(format!("there is no test {name}")),
        (Some(one), Some(two)) => Err(format!("{name} could be {one} or {two}")),
    }
}

fn run(program: &Path, test: &str, mutant: &str) -> Result<ProgramEnd> {
    let mut command = Command::new(program);
    command.args(["--exact", test]).args(loom::ALONE);
    command.env(VARIABLE, mutant);
    Ok(watchdog::run(&mut command, LIMITS, false)?.end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_read_and_checked() {
        let mutants = parse("# words\nclaim  loom_claim\n\nwake   loom_wake # why\n").unwrap();
        assert_eq!(
            mutants[1],
            Mutant {
                name: "wake".into(),
                test: "loom_wake".into()
            }
        );
        assert_eq!(parse("# nothing\n"), Ok(Vec::new()));
        assert!(parse("claim\n").unwrap_err().contains(":1:"));
    }

    #[test]
    fn names_stand_in_code_only() {
        let text = "// ord(\"comment\", Release)\nx.store(1, ord(\"real\", Release));\nword(\"other\");\nif mutant(\"step\") {}\n";
        assert_eq!(names(&RustFile::new("a.rs".into(), text)), ["real", "step"]);
    }

    #[test]
    fn both_sides_must_agree() {
        let mutants = parse("a loom_a\nb loom_b\n").unwrap();
        let used = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        assert!(compare(&mutants, &used(&["a", "b"])).is_empty());
        assert!(compare(&mutants, &used(&["a"]))[0].contains("no source has ord(\"b\""));
        assert!(compare(&mutants, &used(&["a", "b", "c"]))[0].contains("is not in"));
        let twice = parse("a loom_a\na loom_a\n").unwrap();
        assert!(compare(&twice, &used(&["a"]))[0].contains("twice"));
    }

    #[test]
    fn a_test_name_must_mean_one_loom_test() {
        let tests: Vec<String> = ["x::loom_a", "y::loom_b", "z::loom_b", "x::plain"]
            .map(String::from)
            .into();
        assert_eq!(resolve("loom_a", &tests), Ok("x::loom_a".into()));
        assert_eq!(resolve("y::loom_b", &tests), Ok("y::loom_b".into()));
        for bad in ["loom_b", "loom_c", "plain"] {
            assert!(resolve(bad, &tests).is_err(), "{bad}");
        }
    }
}
