//! Every check that takes too long for each run of the tests, as one command.
//! `docs/results/deep.csv` keeps what each of them came to when it was last run.

use crate::cargo::workspace::Workspace;
use crate::cargo::{features, lint};
use crate::instruments::{emulated, miri, nightly, valgrind};
use crate::mutants::{code, loom, orderings};
use crate::report::{CheckReport, CheckStep};
use crate::results::last_runs::LastRuns;
use crate::shipping::{publish, semver, targets};
use crate::suite::{self, fuzz, torture};
use crate::{Result, rayon};

/// Below the root.
const TABLE: &str = "docs/results/deep.csv";
const HEAD: &str = "date,commit_date,check,outcome,passed,failed,ignored,left_out,seconds";
/// How long the random programs run.
const TORTURE_MINUTES: f64 = 60.0;

/// Its name, and what it does.
type Check = (&'static str, fn(&Workspace, &mut CheckStep) -> Result<()>);

const CHECKS: [Check; 25] = [
    ("all-cases", suite::all_cases),
    ("plain", suite::plain),
    ("release", suite::release),
    ("rustdoc", |workspace, step| {
        let features = features::buildable(workspace);
        lint::rustdoc(workspace, step, &["--workspace", "--features", &features])
    }),
    ("loom", loom::check),
    ("mutants", orderings::check),
    ("code-mutants", |workspace, step| {
        code::check(workspace, step, code::PLAN)
    }),
    ("outside", rayon::outside),
    ("rayon-suite", |workspace, step| {
        rayon::suite(workspace, step, false)
    }),
    ("iter-suite", |workspace, step| {
        rayon::iter_suite(workspace, step)
    }),
    ("windows", |workspace, step| {
        targets::cross(workspace, step, "x86_64-pc-windows-gnu", false)
    }),
    ("macos", |workspace, step| {
        targets::cross(workspace, step, "aarch64-apple-darwin", false)
    }),
    ("targets", |workspace, step| {
        targets::targets(workspace, step, false, &targets::TARGETS)
    }),
    ("msrv", |workspace, step| {
        targets::msrv(workspace, step, false)
    }),
    ("fuzz", |workspace, step| {
        fuzz::check(workspace, step, fuzz::INPUTS)
    }),
    ("valgrind", valgrind::check),
    ("aarch64", |workspace, step| {
        emulated::check(workspace, step, false, &emulated::PACKAGES)
    }),
    ("miri", |workspace, step| {
        miri::whole(workspace, step, &miri::SeedPlan::default())
    }),
    ("asan", |workspace, step| {
        nightly::sanitize(workspace, step, &nightly::ADDRESS, &[])
    }),
    ("tsan", |workspace, step| {
        nightly::sanitize(workspace, step, &nightly::THREAD, &[])
    }),
    ("torture", |workspace, step| {
        torture::check(workspace, step, TORTURE_MINUTES)
    }),
    ("package", publish::check),
    ("semver", semver::check),
    ("downstream", |workspace, step| {
        rayon::downstream(workspace, step, None, false)
    }),
    ("iter-downstream", |workspace, step| {
        rayon::renamed(workspace, step, None)
    }),
];

/// The names that `--only` accepts.
pub(crate) fn names() -> [&'static str; CHECKS.len()] {
    CHECKS.map(|(name, _)| name)
}

/// All of them, or one. The table is written after each, so that an end halfway loses nothing.
pub(crate) fn all(
    workspace: &Workspace,
    report: &mut CheckReport,
    only: Option<&str>,
) -> Result<()> {
    for (name, check) in CHECKS {
        if only.is_some_and(|only| only != name) {
            continue;
        }
        report.step(name, |step| check(workspace, step));
        let row = format!("{name},{}", report.last());
        table(workspace).put(workspace, &row)?;
    }
    Ok(())
}

/// The table of the last run of each check.
fn table(workspace: &Workspace) -> LastRuns {
    LastRuns::at(workspace, TABLE, HEAD, 2..3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_that_is_kept_names_checks_that_there_are() {
        let table = table(&Workspace::find().unwrap());
        assert_eq!(table.wrong_lines(), [""; 0]);
        for key in table.keys() {
            assert!(names().contains(&key.as_str()), "{key}");
        }
    }
}
