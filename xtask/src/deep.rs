//! Every check that takes too long for each run of the tests, as one command.
//! `docs/results/deep.csv` keeps what each of them came to when it was last run.

use std::path::Path;
use std::process::Command;

use crate::report::{Report, Step};
use crate::workspace::Workspace;
use crate::{
    Result, checks, code_mutants, emulated, fuzz, loom, miri, mutants, nightly, publish, rayon,
    semver, suite, tool, torture, valgrind,
};

/// Below the root.
const TABLE: &str = "docs/results/deep.csv";
const HEAD: &str = "date,commit_date,check,outcome,passed,failed,ignored,left_out,seconds";
/// How long the random programs run.
const TORTURE_MINUTES: f64 = 60.0;

/// Its name, and what it does.
type Check = (&'static str, fn(&Workspace, &mut Step) -> Result<()>);

const CHECKS: [Check; 22] = [
    ("all-cases", suite::all_cases),
    ("plain", suite::plain),
    ("loom", loom::check),
    ("mutants", mutants::check),
    ("code-mutants", |workspace, step| {
        code_mutants::check(workspace, step, code_mutants::PLAN)
    }),
    ("outside", rayon::outside),
    ("rayon-suite", |workspace, step| {
        rayon::suite(workspace, step, false)
    }),
    ("iter-suite", |workspace, step| {
        rayon::iter_suite(workspace, step)
    }),
    ("windows", |workspace, step| {
        checks::cross(workspace, step, "x86_64-pc-windows-gnu", false)
    }),
    ("macos", |workspace, step| {
        checks::cross(workspace, step, "aarch64-apple-darwin", false)
    }),
    ("targets", |workspace, step| {
        checks::targets(workspace, step, false, &checks::TARGETS)
    }),
    ("msrv", |workspace, step| {
        checks::msrv(workspace, step, false)
    }),
    ("fuzz", |workspace, step| {
        fuzz::check(workspace, step, fuzz::INPUTS)
    }),
    ("valgrind", valgrind::check),
    ("aarch64", |workspace, step| {
        emulated::check(workspace, step, false, &emulated::PACKAGES)
    }),
    ("miri", |workspace, step| {
        miri::whole(workspace, step, miri::SEEDS, None)
    }),
    ("asan", |workspace, step| {
        nightly::sanitize(workspace, step, &nightly::ADDRESS, &[])
    }),
    ("tsan", |workspace, step| {
        nightly::sanitize(workspace, step, &nightly::THREAD, &[])
    }),
    ("torture", |workspace, step| {
        torture::long(workspace, step, TORTURE_MINUTES)
    }),
    ("package", publish::check),
    ("semver", semver::check),
    ("downstream", |workspace, step| {
        rayon::downstream(workspace, step, None, false)
    }),
];

/// The names that `--only` accepts.
pub(crate) fn names() -> [&'static str; CHECKS.len()] {
    CHECKS.map(|(name, _)| name)
}

/// All of them, or one. The table is written after each, so that an end halfway loses nothing.
pub(crate) fn all(workspace: &Workspace, report: &mut Report, only: Option<&str>) -> Result<()> {
    let path = workspace.root.join(TABLE);
    for (name, check) in CHECKS {
        if only.is_some_and(|only| only != name) {
            continue;
        }
        report.step(name, |step| check(workspace, step));
        keep(&path, &dates(workspace)?, name, &report.last())?;
    }
    Ok(())
}

/// Today's date and that of the commit, as the first two fields of a row.
fn dates(workspace: &Workspace) -> Result<String> {
    let mut commit = Command::new("git");
    commit
        .args(["log", "-1", "--format=%cs"])
        .current_dir(&workspace.root);
    let today = tool::output(Command::new("date").args(["-u", "+%Y-%m-%d"]))?;
    Ok(format!(
        "{},{}",
        today.trim(),
        tool::output(&mut commit)?.trim()
    ))
}

/// Puts the row of a check in the place of its last one.
fn keep(path: &Path, dates: &str, name: &str, row: &str) -> Result<()> {
    let before = std::fs::read_to_string(path).unwrap_or_default();
    let after = with(&before, name, &format!("{dates},{name},{row}"));
    std::fs::write(path, after).map_err(|error| format!("{}: {error}", path.display()))
}

fn with(table: &str, name: &str, row: &str) -> String {
    let mut rows: Vec<&str> = table.lines().skip(1).collect();
    let is_its = |line: &&str| line.split(',').nth(2) == Some(name);
    match rows.iter().position(is_its) {
        Some(place) => rows[place] = row,
        None => rows.push(row),
    }
    format!("{HEAD}\n{}\n", rows.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_takes_the_place_of_its_last_one() {
        let table = with("", "loom", "2026-01-02,2026-01-01,loom,ok,5,0,0,0,1.0");
        let table = with(&table, "miri", "2026-01-02,2026-01-01,miri,ok,7,0,0,0,9.0");
        let table = with(
            &table,
            "loom",
            "2026-02-02,2026-02-01,loom,FAILED,4,1,0,0,1.5",
        );
        let lines: Vec<&str> = table.lines().collect();
        assert_eq!(lines.len(), 3);
        assert_eq!(lines[0], HEAD);
        assert!(lines[1].contains("loom,FAILED") && lines[2].contains("miri,ok"));
    }

    #[test]
    fn the_table_that_is_kept_names_checks_that_there_are() {
        let workspace = Workspace::find().unwrap();
        let table = std::fs::read_to_string(workspace.root.join(TABLE)).unwrap();
        let fields = HEAD.split(',').count();
        for line in table.lines().skip(1) {
            let name = line.split(',').nth(2).unwrap_or_default();
            assert!(names().contains(&name), "{line}");
            assert_eq!(line.split(',').count(), fields, "{line}");
        }
    }
}
