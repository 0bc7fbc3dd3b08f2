//! The model-checked tests of the runtime and of the crates on it, and the canaries that show that
//! the model checker is on.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::Result;
use crate::cargo::tally::{CargoTally, is_warning};
use crate::cargo::tool;
use crate::cargo::workspace::Workspace;
use crate::report::CheckStep;

/// The crates with such tests.
pub(crate) const PACKAGES: [&str; 5] = [
    "roving",
    "roving-flow",
    "roving-dist",
    "roving-gpu",
    "roving-omp",
];
/// Test names with this in them are loom tests.
pub(crate) const PREFIX: &str = "loom_";
/// Below each crate's folder: how many executions each test explores at least.
const FLOORS: &str = "loom.txt";
/// The tests that must fail have this in their names.
pub(crate) const CANARY: &str = "canary";

pub(crate) fn check(workspace: &Workspace, step: &mut CheckStep) -> Result<()> {
    for (package, program) in build(workspace, step)? {
        canary(workspace, &program, step)?;
        let mut command = Command::new(&program);
        command
            .args([PREFIX, "--nocapture", "--skip", CANARY])
            .args(ALONE)
            .current_dir(&workspace.root);
        let seen = tool::watch(&mut command)?;
        CargoTally::read(&seen.lines).judge(&seen, step);
        let explored = explored(&seen.lines);
        let all: u64 = explored.values().sum();
        println!("{package}: {all} executions explored");
        let path = workspace.root.join("crates").join(package).join(FLOORS);
        let text = std::fs::read_to_string(&path)
            .map_err(|error| format!("{package}/{FLOORS}: {error}"))?;
        for complaint in too_few(&explored, &floors(&text)?) {
            step.fail(complaint);
        }
    }
    Ok(())
}

/// Reads the number of executions of each test from the output of `prim::explore`.
pub(crate) fn explored(lines: &[String]) -> BTreeMap<String, u64> {
    let said = lines
        .iter()
        .filter_map(|line| line.split_once("explored ").map(|(_, said)| said));
    let mut found = BTreeMap::new();
    for said in said {
        if let Some((test, count)) = said.split_once(' ')
            && let Ok(count) = count.trim().parse::<u64>()
        {
            let name = test.rsplit("::").next().unwrap_or(test);
            *found.entry(name.to_owned()).or_default() += count;
        }
    }
    found
}

/// Lines of two words, each with its place in the file; `#` starts a comment.
pub(crate) fn pairs<'t>(
    file: &str,
    expected: &str,
    text: &'t str,
) -> Result<Vec<(String, [&'t str; 2])>> {
    let mut pairs = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let place = format!("{file}:{}", index + 1);
        let line = line.split('#').next().unwrap_or_default();
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            [] => {}
            [first, second] => pairs.push((place, [first, second])),
            _ => return Err(format!("{place}: expected `{expected}`")),
        }
    }
    Ok(pairs)
}

fn floors(text: &str) -> Result<BTreeMap<String, u64>> {
    let mut floors = BTreeMap::new();
    for (place, [test, floor]) in pairs(FLOORS, "loom_test_name  floor", text)? {
        let floor = floor
            .parse()
            .map_err(|_| format!("{place}: {floor:?} is no number of executions"))?;
        floors.insert(test.to_owned(), floor);
    }
    Ok(floors)
}

/// A test that explores less than it did has been weakened, whatever else it says.
fn too_few(explored: &BTreeMap<String, u64>, floors: &BTreeMap<String, u64>) -> Vec<String> {
    let mut found = Vec::new();
    for (test, floor) in floors {
        let count = explored.get(test).copied().unwrap_or_default();
        if count < *floor {
            found.push(format!(
                "{test} explored {count} executions, not {floor} or more"
            ));
        }
    }
    let bare = explored.keys().filter(|test| !floors.contains_key(*test));
    found.extend(bare.map(|test| format!("{FLOORS} has no floor for {test}")));
    found
}

/// For loom a part of each crate but `roving` is left out: that some of the rest is unused is no
/// news. The canaries are in the same program as the tests.
pub(crate) const FLAGS: &str = "--cfg loom --cfg roving_canary -A dead_code -A unused_imports";
/// The model checker maps and unmaps the stacks of threads all the time: two tests of one process
/// would wait for each other at that, and take longer than one after the other.
pub(crate) const ALONE: [&str; 2] = ["--test-threads", "1"];
/// The model checker, and what it calls at each step.
const EXPLORERS: [&str; 4] = ["loom", "generator", "scoped-tls", "tracing"];

/// Builds the libraries' tests for loom, and returns the program of each package.
pub(crate) fn build(
    workspace: &Workspace,
    step: &mut CheckStep,
) -> Result<Vec<(&'static str, PathBuf)>> {
    let mut command = command(workspace, &PACKAGES);
    command.arg("--message-format=json-render-diagnostics");
    let seen = tool::quiet(&mut command)?;
    let mut built = BTreeMap::new();
    for line in &seen.lines {
        match serde_json::from_str::<Value>(line) {
            Ok(value) => {
                let is_test = value["profile"]["test"] == true;
                let name = value["target"]["name"].as_str();
                if let (true, Some(name), Some(path)) =
                    (is_test, name, value["executable"].as_str())
                {
                    built.insert(name.replace('_', "-"), PathBuf::from(path));
                }
            }
            Err(_) => {
                println!("{line}");
                if is_warning(line) {
                    step.fail(line.clone());
                }
            }
        }
    }
    let program = |package| {
        let path = built.get(package).cloned();
        let path = path.ok_or_else(|| format!("the loom tests of {package} did not compile"))?;
        Ok((package, path))
    };
    PACKAGES.into_iter().map(program).collect()
}

/// The command that builds the tests of these libraries for loom, in a folder of their own:
/// `RUSTFLAGS="--cfg loom" cargo test -p roving --lib --features roving/loom`. Those of several
/// packages by one command, for which cargo builds what they need with the same features, once. Of
/// all packages only those that explore are optimised: the rest would take longer to build than it
/// runs.
pub(crate) fn command(workspace: &Workspace, packages: &[&str]) -> Command {
    let mut command = workspace.cargo(&["test", "--no-run", "--lib"]);
    for explorer in EXPLORERS {
        let level = format!("profile.test.package.{explorer}.opt-level=3");
        command.args(["--config", &level]);
    }
    for package in packages {
        let feature = format!("{package}/loom");
        command.args(["-p", package, "--features", &feature]);
    }
    command
        .env("RUSTFLAGS", FLAGS)
        .env("CARGO_TARGET_DIR", workspace.target.join("loom"))
        .env("CARGO_PROFILE_TEST_DEBUG", "none");
    command
}

/// A test with a bug that only a model checker sees: if it passes, the others prove nothing.
fn canary(workspace: &Workspace, program: &Path, step: &mut CheckStep) -> Result<()> {
    let mut command = Command::new(program);
    command.arg(CANARY).current_dir(&workspace.root);
    let seen = tool::quiet(&mut command)?;
    match verdict(&CargoTally::read(&seen.lines)) {
        Ok(number) => {
            println!("{number} canaries failed, as they must");
            step.counts.passed += number;
        }
        Err(reason) => step.fail(reason),
    }
    Ok(())
}

/// The number of canaries, all of which failed.
fn verdict(tally: &CargoTally) -> std::result::Result<u64, String> {
    let sum = tally.sum();
    if sum.passed > 0 {
        Err(format!(
            "{} canaries passed: the model checker is off",
            sum.passed
        ))
    } else if sum.failed == 0 {
        Err("there is no canary: a test with `canary` in its name, under cfg(roving_canary)".into())
    } else {
        Ok(sum.failed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tally(passed: u64, failed: u64) -> CargoTally {
        let line =
            format!("test result: x. {passed} passed; {failed} failed; 0 ignored; 0 measured");
        CargoTally::read(&[line])
    }

    #[test]
    fn a_test_that_explores_too_little_or_has_no_floor_is_named() {
        let lines = [
            "explored stack::loom_a 7",
            "explored task::loom_b 9",
            "other",
        ];
        let explored = explored(&lines.map(String::from));
        let floors = |text| floors(text).unwrap();
        assert!(too_few(&explored, &floors("loom_a 7\nloom_b 5 # words\n")).is_empty());
        let few = too_few(&explored, &floors("loom_a 8\nloom_c 1\n"));
        assert_eq!(few.len(), 3, "{few:?}");
        assert!(few[0].contains("explored 7 executions, not 8"));
        assert!(few[1].contains("loom_c explored 0"));
        assert!(few[2].contains("no floor for loom_b"));
    }

    #[test]
    fn a_floor_is_a_number() {
        assert!(floors("loom_a many\n").unwrap_err().contains("loom.txt:1"));
        assert!(floors("loom_a\n").is_err());
    }

    #[test]
    fn a_canary_must_exist_and_fail() {
        assert_eq!(verdict(&tally(0, 2)), Ok(2));
        assert!(verdict(&tally(0, 0)).unwrap_err().contains("no canary"));
        assert!(
            verdict(&tally(1, 1))
                .unwrap_err()
                .contains("model checker is off")
        );
    }
}
