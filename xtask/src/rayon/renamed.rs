//! `cargo xtask downstream --iter`: programs and libraries from crates.io that use Rayon, tested
//! first with stock Rayon, then with `roving-iter` under Rayon's name.
//!
//! Only their manifests are changed, as our pages tell people to do. Those of the drop-in, and ten
//! more; half of them are to compile and to pass. `docs/results/iter-downstream.csv` keeps what
//! each came to when it was last run.

use super::downstream::{PACKAGES, Package, PackageCopy};
use super::registry::{self, Lack};
use crate::Result;
use crate::cargo::workspace::Workspace;
use crate::report::CheckStep;
use crate::results::last_runs::LastRuns;
use crate::suite::programs::{self, FailedTest, TestOutcome};

/// The packages besides those of the drop-in.
const MORE: [Package; 10] = [
    more("boomphf", "0.6.0", "hashing: minimal perfect", &["--lib"]),
    more("kmedoids", "0.5.5", "clustering: by medoids", &["--lib"]),
    more(
        "clustering",
        "0.2.2",
        "clustering: k-means",
        &["--lib", "--features", "parallel"],
    ),
    more("imagequant", "4.4.1", "pictures: palettes", &["--lib"]),
    more(
        "fid-rs",
        "0.2.0",
        "search: succinct bit vectors",
        &["--lib"],
    ),
    more(
        "jpeg-decoder",
        "0.3.2",
        "pictures: JPEG",
        // Its other tests read pictures that do not come with it.
        &["--lib"],
    ),
    more(
        "average",
        "0.17.0",
        "statistics: one pass",
        &["--lib", "--features", "rayon"],
    ),
    more(
        "hdbscan",
        "0.12.0",
        "clustering: by density",
        &["--tests", "--features", "parallel"],
    ),
    more(
        "bracket-pathfinding",
        "0.8.7",
        "games: paths",
        &["--lib", "--features", "threaded"],
    ),
    more("minimax", "0.6.0", "games: search of moves", &["--lib"]),
];

const fn more(
    name: &'static str,
    version: &'static str,
    kind: &'static str,
    words: &'static [&'static str],
) -> Package {
    Package {
        name,
        version,
        kind,
        words,
        choice: &[],
        opt_level: "1",
    }
}

/// Those that do not compile or pass, and what they want. One that does by now is to be taken out.
const LACKING: [(&str, &str); 4] = [
    ("nucleo", PLUMBING),
    ("indexmap", PLUMBING),
    ("shipyard", PLUMBING),
    ("boomphf", PLUMBING),
];
const PLUMBING: &str = "`rayon::iter::plumbing` for iterators of its own";

const TABLE: &str = "docs/results/iter-downstream.csv";
const HEAD: &str = "date,commit_date,package,version,kind,\
                    stock_passed,stock_failed,passed,failed,verdict";

/// A row for each package.
fn kept(workspace: &Workspace) -> LastRuns {
    LastRuns::at(workspace, TABLE, HEAD, 2..3)
}

/// The row of a package, without its dates.
fn row(package: &Package, stock: &TestOutcome, ours: &Result<TestOutcome>, told: &str) -> String {
    let counts =
        |outcome: &TestOutcome| format!("{},{}", outcome.counts.passed, outcome.counts.failed);
    let Package {
        name,
        version,
        kind,
        ..
    } = package;
    let (stock, ours) = (
        counts(stock),
        ours.as_ref().map_or("0,0".to_owned(), counts),
    );
    // Fields of this table are not quoted.
    let told = told.replace(',', ";");
    format!("{name},{version},{kind},{stock},{ours},{told}")
}

/// The names that `--only` takes.
pub(crate) fn names() -> Vec<&'static str> {
    all().map(|package| package.name).collect()
}

fn all() -> impl Iterator<Item = &'static Package> {
    PACKAGES.iter().chain(&MORE)
}

pub(crate) fn check(workspace: &Workspace, step: &mut CheckStep, only: Option<&str>) -> Result<()> {
    let (mut passed, mut tried) = (0, 0);
    let mut table = Vec::new();
    for package in all().filter(|one| only.is_none_or(|name| name == one.name)) {
        let Package {
            name,
            version,
            kind,
            ..
        } = package;
        println!("\n== {name} {version} ({kind})");
        let (stock, ours) = match both(workspace, package) {
            Ok(both) => both,
            Err(Lack::Offline(reason)) => {
                step.skip(format!("{name}: {reason}"));
                continue;
            }
            Err(Lack::Broken(reason)) => {
                step.fail(format!("{name}: {reason}"));
                continue;
            }
        };
        tried += 1;
        let verdict = verdict(&stock, &ours);
        let lacks = LACKING
            .iter()
            .find(|lacks| lacks.0 == *name)
            .map(|lacks| lacks.1);
        let told = match (&verdict, lacks) {
            (Ok(()), None) => "passes".to_owned(),
            (Ok(()), Some(_)) => {
                step.fail(format!(
                    "{name} compiles and passes by now: take it off the list"
                ));
                "passes".to_owned()
            }
            (Err(_), Some(lacks)) => format!("lacks {lacks}"),
            (Err(why), None) => {
                step.fail(format!("{name}: {why}"));
                why.clone()
            }
        };
        kept(workspace).put(workspace, &row(package, &stock, &ours, &told))?;
        if verdict.is_ok() {
            passed += 1;
            step.counts.passed += ours.map_or(0, |outcome| outcome.counts.passed);
        }
        table.push(format!("{:30}{kind:40}{told}", format!("{name} {version}")));
    }
    println!();
    table.iter().for_each(|line| println!("{line}"));
    println!("{passed} of {tried} packages compile and pass with `roving-iter` as their `rayon`");
    if only.is_none() && 2 * passed < tried {
        step.fail("fewer than half of the packages compile and pass");
    }
    remove(workspace)
}

fn remove(workspace: &Workspace) -> Result<()> {
    let target = workspace.target.join("downstream/renamed/target");
    match target.exists() {
        true => std::fs::remove_dir_all(&target)
            .map_err(|error| format!("{}: {error}", target.display())),
        false => Ok(()),
    }
}

/// The outcome of the tests with stock Rayon, and with ours, if they compile.
fn both(
    workspace: &Workspace,
    package: &'static Package,
) -> std::result::Result<(TestOutcome, Result<TestOutcome>), Lack> {
    let root = workspace.target.join("downstream/renamed");
    let folder = root.join(package.name);
    // Something with a library must come first.
    let wanted = [
        ("rayon", super::suite::RAYON_VERSION),
        (package.name, package.version),
    ];
    let found = registry::fetch(workspace, &folder.join("fetch"), &wanted)?;
    let place = PackageCopy {
        workspace,
        package,
        source: folder.join("source"),
        // Shared, for they need much of the same.
        target: root.join("target"),
    };
    place.copy(&found[1])?;
    registry::online_or_cached(workspace, &place.source)?;
    let stock = place.outcome(None)?;
    println!("stock {}", programs::told(&stock));

    let path = place.source.join("Cargo.toml");
    let iter = workspace.root.join("crates/roving-iter");
    let manifest = renamed(&registry::read(&path)?, &iter.display().to_string());
    let manifest = manifest.ok_or_else(|| format!("{} does not name rayon", package.name))?;
    registry::write(&path, &manifest)?;
    registry::online_or_cached(workspace, &place.source)?;
    let ours = place.outcome(None);
    match &ours {
        Ok(ours) => println!("ours  {}", programs::told(ours)),
        Err(why) => println!("ours  {why}"),
    }
    Ok((stock, ours))
}

/// The manifest with `roving-iter` in rayon's place: `package` and a path instead of the version,
/// and no features. In a manifest as crates.io has it, where each dependency is a table.
fn renamed(manifest: &str, path: &str) -> Option<String> {
    let mut text = String::new();
    let (mut is_inside, mut is_found, mut is_list) = (false, false, false);
    for line in manifest.lines() {
        if line.starts_with('[') {
            is_inside = line.ends_with("dependencies.rayon]");
        }
        let is_features = is_inside && (line.starts_with("features") || is_list);
        is_list = is_features && !line.ends_with(']');
        if is_inside && line.starts_with("version") {
            is_found = true;
            text += &format!("package = \"roving-iter\"\npath = '{path}'\n");
        } else if !(is_features || is_inside && line.starts_with("default-features")) {
            text.push_str(line);
            text.push('\n');
        }
    }
    is_found.then_some(text)
}

/// Whether all passes, but for what fails with stock Rayon as well.
fn verdict(stock: &TestOutcome, ours: &Result<TestOutcome>) -> Result<()> {
    let ours = ours.as_ref().map_err(Clone::clone)?;
    let known = |failure: &FailedTest| stock.failures.iter().any(|one| one.test == failure.test);
    if let Some(failure) = ours.failures.iter().find(|failure| !known(failure)) {
        return Err(format!("{} {}", failure.test, failure.why));
    }
    let total = |outcome: &TestOutcome| {
        let counts = outcome.counts;
        counts.passed + counts.failed + counts.skipped
    };
    match (ours.counts.passed, total(ours) == total(stock)) {
        (0, _) => Err("no test passed".to_owned()),
        (_, false) => Err(format!(
            "{} tests, {} with stock Rayon",
            total(ours),
            total(stock)
        )),
        (_, true) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::TestCounts;

    #[test]
    fn a_dependency_is_renamed_wherever_it_stands() {
        let manifest = "[dependencies.rayon]\nversion = \"1.5\"\nfeatures = [\n    \"web\",\n]\n\
                        optional = true\n\n[dependencies.rand]\nversion = \"0.9\"\n\n\
                        [target.'cfg(unix)'.dev-dependencies.rayon]\nversion = \"1\"\n\
                        default-features = false\n";
        let expected = "[dependencies.rayon]\npackage = \"roving-iter\"\npath = '/iter'\n\
                        optional = true\n\n[dependencies.rand]\nversion = \"0.9\"\n\n\
                        [target.'cfg(unix)'.dev-dependencies.rayon]\n\
                        package = \"roving-iter\"\npath = '/iter'\n";
        assert_eq!(renamed(manifest, "/iter").as_deref(), Some(expected));
        let other = "[dependencies.rayon-core]\nversion = \"1\"\n";
        assert_eq!(renamed(other, "/iter"), None);
    }

    #[test]
    fn what_fails_with_stock_rayon_too_is_no_fault() {
        let outcome = |passed, failed: &[&str]| TestOutcome {
            counts: TestCounts {
                passed,
                failed: failed.len() as u64,
                skipped: 0,
            },
            failures: failed
                .iter()
                .map(|test| FailedTest {
                    test: (*test).to_owned(),
                    why: "failed",
                })
                .collect(),
            ..TestOutcome::default()
        };
        let stock = outcome(3, &["a"]);
        assert!(verdict(&stock, &Ok(outcome(3, &["a"]))).is_ok());
        assert_eq!(
            verdict(&stock, &Ok(outcome(3, &["b"]))).unwrap_err(),
            "b failed"
        );
        assert!(
            verdict(&stock, &Ok(outcome(3, &[])))
                .unwrap_err()
                .contains("3 tests, 4")
        );
        assert!(verdict(&outcome(0, &[]), &Ok(outcome(0, &[]))).is_err());
        assert_eq!(
            verdict(&stock, &Err("does not build".into())).unwrap_err(),
            "does not build"
        );
    }

    #[test]
    fn the_table_has_each_package_with_all_its_fields() {
        let table = kept(&Workspace::find().unwrap());
        assert!(table.wrong_lines().is_empty(), "{:?}", table.wrong_lines());
        let (mut there, mut wanted) = (table.keys(), names());
        there.sort_unstable();
        wanted.sort_unstable();
        assert_eq!(there, wanted);
        let outcome = TestOutcome::default();
        let told = row(&MORE[0], &outcome, &Err("no".into()), "a, b");
        assert_eq!(told, "boomphf,0.6.0,hashing: minimal perfect,0,0,0,0,a; b");
    }

    #[test]
    fn each_package_stands_once_and_those_that_lack_something_are_there() {
        let mut names = names();
        assert!(LACKING.iter().all(|(name, _)| names.contains(name)));
        names.sort_unstable();
        let count = names.len();
        names.dedup();
        assert_eq!(names.len(), count);
    }
}
