//! Tables of what checks that take long came to when each was last run, in `docs/results`.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::PathBuf;
use std::process::Command;

use crate::Result;
use crate::cargo::tool;
use crate::cargo::workspace::Workspace;

/// A table of which a row begins with two dates, that of the run and that of its commit.
pub(crate) struct LastRuns {
    path: PathBuf,
    head: &'static str,
    /// The fields that say what was run: each may stand there once.
    key: Range<usize>,
}

impl LastRuns {
    /// The table at that path below the root.
    pub(crate) fn at(
        workspace: &Workspace,
        path: &str,
        head: &'static str,
        key: Range<usize>,
    ) -> LastRuns {
        let path = workspace.root.join(path);
        LastRuns { path, head, key }
    }

    /// Puts a row in the place of its last one. It comes without its dates.
    pub(crate) fn put(&self, workspace: &Workspace, row: &str) -> Result<()> {
        let row = format!("{},{row}", dates(workspace)?);
        std::fs::write(&self.path, self.with(&self.text(), &row))
            .map_err(|error| format!("{}: {error}", self.path.display()))
    }

    /// The fields of each run, by those that name it.
    pub(crate) fn runs(&self) -> BTreeMap<String, Vec<String>> {
        let text = self.text();
        let fields = |row: &str| row.split(',').map(str::to_owned).collect();
        let runs = self.rows(&text).map(|row| (self.key_of(row), fields(row)));
        runs.collect()
    }

    fn text(&self) -> String {
        std::fs::read_to_string(&self.path).unwrap_or_default()
    }

    fn rows<'t>(&self, text: &'t str) -> impl Iterator<Item = &'t str> {
        text.lines().skip(1)
    }

    fn key_of(&self, row: &str) -> String {
        let fields: Vec<&str> = row.split(',').collect();
        fields.get(self.key.clone()).unwrap_or_default().join(",")
    }

    fn with(&self, text: &str, row: &str) -> String {
        let mut rows: Vec<&str> = self.rows(text).collect();
        let key = self.key_of(row);
        match rows.iter().position(|other| self.key_of(other) == key) {
            Some(place) => rows[place] = row,
            None => rows.push(row),
        }
        format!("{}\n{}\n", self.head, rows.join("\n"))
    }

    /// Lines that do not have the fields of the first one.
    #[cfg(test)]
    pub(crate) fn wrong_lines(&self) -> Vec<String> {
        let fields = self.head.split(',').count();
        let text = self.text();
        let wrong = |line: &&str| line.split(',').count() != fields;
        text.lines().filter(wrong).map(str::to_owned).collect()
    }

    /// The fields of each row that say which it is.
    #[cfg(test)]
    pub(crate) fn keys(&self) -> Vec<String> {
        let text = self.text();
        self.rows(&text).map(|row| self.key_of(row)).collect()
    }
}

/// Today's date and that of the commit, as the first two fields of a row.
fn dates(workspace: &Workspace) -> Result<String> {
    let mut commit = Command::new("git");
    commit
        .args(["log", "-1", "--format=%cs"])
        .current_dir(&workspace.root);
    let today = tool::output(Command::new("date").args(["-u", "+%Y-%m-%d"]))?;
    let commit = tool::output(&mut commit)?;
    Ok(format!("{},{}", today.trim(), commit.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_takes_the_place_of_its_last_one() {
        let kept = LastRuns {
            path: PathBuf::new(),
            head: "date,commit_date,check,seed,outcome",
            key: 2..4,
        };
        let table = kept.with("", "2026-01-02,2026-01-01,loom,1,ok");
        let table = kept.with(&table, "2026-01-02,2026-01-01,loom,2,ok");
        let table = kept.with(&table, "2026-02-02,2026-02-01,loom,1,FAILED");
        let lines: Vec<&str> = table.lines().collect();
        assert_eq!(
            lines,
            [
                kept.head,
                "2026-02-02,2026-02-01,loom,1,FAILED",
                "2026-01-02,2026-01-01,loom,2,ok"
            ]
        );
    }
}
