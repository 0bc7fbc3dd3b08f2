//! `cargo xtask downstream`: programs and libraries from crates.io that use Rayon, tested first
//! with stock Rayon, then with our rayon-core.
//!
//! Everything happens under `target/downstream`, a folder for each package; what was built is
//! removed again.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::registry::{self, CORE, Lack};
use super::suite::CORE_VERSION;
use crate::Result;
use crate::cargo::tool;
use crate::cargo::workspace::Workspace;
use crate::report::{CheckStep, TestCounts};
use crate::suite::programs::{self, FailedTest, TestOutcome};

/// A package whose tests run code of Rayon's.
pub(super) struct Package {
    pub(super) name: &'static str,
    pub(super) version: &'static str,
    pub(super) kind: &'static str,
    /// For `cargo test`.
    pub(super) words: &'static [&'static str],
    /// For each test program.
    pub(super) choice: &'static [&'static str],
    /// Of the compiler. More than none costs more time than it saves, but for tests that compute
    /// much.
    pub(super) opt_level: &'static str,
}

/// Each ships its tests and their data. With `--prove` each shows how many of its tests need a
/// pool.
pub(super) const PACKAGES: [Package; 7] = [
    Package {
        name: "jwalk",
        version: "0.8.1",
        kind: "search: walks folders",
        words: &["--lib", "--tests"],
        choice: &[],
        opt_level: "0",
    },
    Package {
        name: "nucleo",
        version: "0.5.0",
        kind: "search: fuzzy matching for editors",
        words: &["--lib", "--tests"],
        choice: &[],
        opt_level: "0",
    },
    Package {
        name: "tokei",
        version: "15.0.0",
        kind: "tool: analyses source files",
        words: &[],
        choice: &[],
        opt_level: "0",
    },
    Package {
        name: "indexmap",
        version: "2.14.0",
        kind: "iterators: ordered hash tables",
        words: &["--lib", "--tests", "--features", "rayon"],
        choice: &[],
        opt_level: "0",
    },
    Package {
        name: "shipyard",
        version: "0.11.5",
        kind: "games: systems of entities in parallel",
        words: &["--lib", "--tests"],
        choice: &[],
        opt_level: "0",
    },
    Package {
        name: "mtpng",
        version: "0.4.1",
        kind: "compression: PNG",
        words: &["--lib", "--tests"],
        choice: &[],
        opt_level: "0",
    },
    Package {
        name: "rdst",
        version: "0.20.14",
        kind: "sorting: radix sort",
        words: &["--lib", "--tests"],
        // A test takes up to a minute; these types stand for the others.
        choice: &[
            "--skip", "16", "--skip", "i32", "--skip", "64", "--skip", "128", "--skip", "size",
            "--skip", "low_mem",
        ],
        opt_level: "1",
    },
];

/// Where a package's tests run.
pub(super) struct PackageCopy<'a> {
    pub(super) workspace: &'a Workspace,
    pub(super) package: &'a Package,
    /// The copy of its sources.
    pub(super) source: PathBuf,
    pub(super) target: PathBuf,
}

/// A package with both of its outcomes.
struct ComparedPackage {
    package: &'static Package,
    stock: TestOutcome,
    ours: TestOutcome,
    /// Tests that fail where no pool can be built.
    parallel: Option<u64>,
}

pub(crate) fn check(
    workspace: &Workspace,
    step: &mut CheckStep,
    only: Option<&str>,
    prove: bool,
) -> Result<()> {
    let core = super::core_folder(workspace)?;
    let mut rows = Vec::new();
    let is_here = |name| PACKAGES.iter().any(|package| package.name == name);
    if let Some(name) = only.filter(|name| !is_here(*name)) {
        return Err(format!("{name} is tested with `--iter` alone"));
    }
    for package in &PACKAGES {
        if only.is_some_and(|name| name != package.name) {
            continue;
        }
        println!(
            "\n== {} {} ({})",
            package.name, package.version, package.kind
        );
        match both(workspace, package, &core, prove) {
            Ok(row) => {
                judge(&row, step);
                rows.push(row);
            }
            Err(Lack::Offline(reason)) => step.skip(format!("{}: {reason}", package.name)),
            Err(Lack::Broken(reason)) => step.fail(format!("{}: {reason}", package.name)),
        }
    }
    println!();
    for line in table(&rows) {
        println!("{line}");
    }
    Ok(())
}

/// Tests one package with stock Rayon, and with ours.
fn both(
    workspace: &Workspace,
    package: &'static Package,
    core: &Path,
    prove: bool,
) -> std::result::Result<ComparedPackage, Lack> {
    let folder = workspace.target.join("downstream").join(package.name);
    let wanted = [(CORE, CORE_VERSION), (package.name, package.version)];
    let found = registry::fetch(workspace, &folder.join("fetch"), &wanted)?;
    let place = PackageCopy {
        workspace,
        package,
        source: folder.join("source"),
        target: folder.join("target"),
    };
    place.copy(&found[1])?;
    registry::online_or_cached(workspace, &place.source)?;
    place.update()?;
    let stock = place.run("stock", None)?;
    let ours = place.run("ours", Some(core))?;
    let parallel = match prove {
        true => Some(place.prove(&stock, &found[0], &folder.join("no-pool"))?),
        false => None,
    };
    let gone = std::fs::remove_dir_all(&place.target);
    gone.map_err(|error| format!("{}: {error}", place.target.display()))?;
    Ok(ComparedPackage {
        package,
        stock,
        ours,
        parallel,
    })
}

impl PackageCopy<'_> {
    pub(super) fn copy(&self, from: &Path) -> Result<()> {
        registry::copy(from, &self.source)?;
        let path = self.source.join("Cargo.toml");
        let mut manifest = registry::read(&path)?;
        // It lies below our workspace, and is none of it.
        if !manifest.lines().any(|line| line.starts_with("[workspace")) {
            manifest.push_str("\n[workspace]\n");
        }
        registry::write(&path, &manifest)
    }

    /// The lock file that the package came with is kept, but for the version that we stand in for.
    fn update(&self) -> Result<()> {
        let mut words = vec!["update", "-p", CORE, "--precise", CORE_VERSION];
        let mut seen = tool::quiet(&mut self.cargo(&words))?;
        if !seen.ok {
            words.push("--offline");
            seen = tool::quiet(&mut self.cargo(&words))?;
        }
        if seen.ok {
            return Ok(());
        }
        let error = seen.lines.iter().find(|line| line.starts_with("error"));
        Err(error
            .cloned()
            .unwrap_or_else(|| "cargo update failed".into()))
    }

    /// Builds and runs the tests with one rayon-core, and says what came of it.
    fn run(&self, with: &str, core: Option<&Path>) -> Result<TestOutcome> {
        let outcome = self.outcome(core)?;
        for FailedTest { test, why } in &outcome.failures {
            println!("{with}: {test} {why}");
        }
        println!("{with:6}{}", programs::told(&outcome));
        Ok(outcome)
    }

    /// The outcome of all test programs; each failure names its program.
    pub(super) fn outcome(&self, core: Option<&Path>) -> Result<TestOutcome> {
        let mut command = self.cargo(&["test"]);
        command.args(self.package.words);
        if let Some(core) = core {
            registry::require_patch(self.workspace, &self.source, core)?;
            command.args(registry::patch(core));
        }
        let mut outcome = TestOutcome::default();
        for program in &programs::build(&mut command)?.0 {
            let mut one = programs::run(program, self.package.choice, false)?;
            for failure in &mut one.failures {
                failure.test = format!("{}: {}", program.name, failure.test);
            }
            outcome.add(one);
        }
        Ok(outcome)
    }

    /// The number of tests that pass with stock Rayon, and fail with one that cannot build a pool.
    fn prove(&self, stock: &TestOutcome, from: &Path, core: &Path) -> Result<u64> {
        registry::copy(from, core)?;
        let path = core.join("src/registry.rs");
        registry::write(&path, &poolless(&registry::read(&path)?)?)?;
        let none = self.outcome(Some(core))?;
        Ok(only_there(&none, stock).count() as u64)
    }

    fn cargo(&self, words: &[&str]) -> Command {
        let mut command = self.workspace.cargo(words);
        command
            .current_dir(&self.source)
            .env("CARGO_TARGET_DIR", &self.target);
        // Little to write; assertions stay.
        for profile in ["DEV", "TEST"] {
            command
                .env(format!("CARGO_PROFILE_{profile}_DEBUG"), "none")
                .env(
                    format!("CARGO_PROFILE_{profile}_OPT_LEVEL"),
                    self.package.opt_level,
                );
        }
        command
    }
}

/// rayon-core's source of pools, so changed that none can be built.
fn poolless(text: &str) -> Result<String> {
    let head = text.find("pub(super) fn new<S>(");
    let body = head.and_then(|head| Some(head + text[head..].find("\n    {\n")?));
    let body = body.ok_or("this command no longer finds where rayon-core builds its pools")?;
    let (before, after) = text.split_at(body);
    let after = &after["\n    {\n".len()..];
    Ok(format!(
        "{before}\n    {{\n        if true {{\n            panic!(\"no pool can be built\");\n        }}\n{after}"
    ))
}

/// The tests that fail in one outcome, and not in the other.
fn only_there<'a>(
    one: &'a TestOutcome,
    other: &'a TestOutcome,
) -> impl Iterator<Item = &'a FailedTest> {
    let known = |failure: &FailedTest| other.failures.iter().any(|one| one.test == failure.test);
    one.failures.iter().filter(move |failure| !known(failure))
}

/// Judges a program: only tests that fail with ours and not with stock Rayon count.
fn judge(row: &ComparedPackage, step: &mut CheckStep) {
    let name = row.package.name;
    let total = |outcome: &TestOutcome| {
        let counts = outcome.counts;
        counts.passed + counts.failed + counts.skipped
    };
    let mut counts = TestCounts {
        failed: 0,
        ..row.ours.counts
    };
    for failure in only_there(&row.ours, &row.stock) {
        step.fail(format!("{name}: {} {}", failure.test, failure.why));
        counts.failed += 1;
    }
    let shared = row.ours.counts.failed - counts.failed;
    if shared > 0 {
        println!("{name}: {shared} tests fail with stock Rayon too");
        counts.skipped += shared;
    }
    step.counts.add(counts);
    if row.ours.counts.passed == 0 {
        step.fail(format!("{name}: no test passed"));
    }
    if total(&row.ours) != total(&row.stock) {
        let (ours, stock) = (total(&row.ours), total(&row.stock));
        step.fail(format!(
            "{name}: {ours} tests with ours, {stock} with stock Rayon"
        ));
    }
    if row.parallel == Some(0) {
        step.fail(format!("{name}: no test needs a pool: it proves nothing"));
    }
}

fn table(rows: &[ComparedPackage]) -> Vec<String> {
    let mut lines = Vec::new();
    for row in rows {
        let package = format!("{} {}", row.package.name, row.package.version);
        let need = row.parallel.map(|tests| format!(", {tests} need a pool"));
        let kind = row.package.kind;
        lines.push(format!("{package:20}{kind}{}", need.unwrap_or_default()));
        lines.push(format!("{:12}stock {}", "", programs::told(&row.stock)));
        lines.push(format!("{:12}ours  {}", "", programs::told(&row.ours)));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(passed: u64, failed: &[&str]) -> TestOutcome {
        let failures = failed.iter().map(|test| FailedTest {
            test: (*test).to_owned(),
            why: "failed",
        });
        TestOutcome {
            counts: TestCounts {
                passed,
                failed: failed.len() as u64,
                skipped: 0,
            },
            failures: failures.collect(),
            ..TestOutcome::default()
        }
    }

    fn judged(stock: TestOutcome, ours: TestOutcome, parallel: Option<u64>) -> CheckStep {
        let mut step = CheckStep::default();
        let row = ComparedPackage {
            package: &PACKAGES[0],
            stock,
            ours,
            parallel,
        };
        judge(&row, &mut step);
        step
    }

    #[test]
    fn what_fails_with_stock_too_is_not_ours() {
        let step = judged(outcome(3, &["a"]), outcome(3, &["a"]), Some(2));
        assert!(step.complaints.is_empty());
        assert_eq!((step.counts.passed, step.counts.skipped), (3, 1));
        let step = judged(outcome(3, &["a"]), outcome(3, &["b"]), None);
        assert_eq!(step.complaints, ["jwalk: b failed"]);
        assert_eq!(step.counts.failed, 1);
    }

    #[test]
    fn tests_that_vanish_or_prove_nothing_are_found() {
        let step = judged(outcome(4, &[]), outcome(3, &[]), None);
        assert!(step.complaints[0].contains("3 tests with ours, 4"));
        let step = judged(outcome(0, &[]), outcome(0, &[]), None);
        assert_eq!(step.complaints, ["jwalk: no test passed"]);
        let step = judged(outcome(1, &[]), outcome(1, &[]), Some(0));
        assert!(step.complaints[0].contains("proves nothing"));
    }

    #[test]
    fn pools_are_taken_away_in_one_place() {
        let text = "impl R {\n    pub(super) fn new<S>(\n        b: B,\n    ) -> R\n    where\n        S: T,\n    {\n        start()\n    }\n}\n";
        let changed = poolless(text).unwrap();
        assert!(changed.contains("    {\n        if true {\n            panic!"));
        assert!(changed.contains("        }\n        start()\n"));
        assert!(poolless("fn other() {}").is_err());
    }

    #[test]
    fn each_package_stands_once_in_the_table() {
        let mut names = PACKAGES.map(|package| package.name).to_vec();
        let length = names.len();
        names.sort_unstable();
        names.dedup();
        assert!(names.len() == length && length >= 6);
    }
}
