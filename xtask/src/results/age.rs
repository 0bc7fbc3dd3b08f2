//! Which results are older than the last change of what they measure.
//!
//! `docs/results/commits.csv` names the commit on which each file was measured; `cargo xtask bench`
//! writes it. Whether that is old, git says: a result is older when a line of code, and not of a
//! comment nor of a module of tests, has changed since in the folders that it measures. What this
//! cannot see: whether the change matters to the figure, and a change of a rival, a compiler or a
//! machine. Without the history nothing is said.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::process::Command;

use crate::Result;
use crate::cargo::workspace::Workspace;

/// The list of commits, in the folder of results.
const COMMITS: &str = "docs/results/commits.csv";
/// The table that is marked.
const TABLE: &str = "docs/results/README.md";
/// Its head, and that of the last section.
const HEAD: &str = "file,commit,date,subject";
const SECTION: &str = "\n## Age of the rows\n";
/// The mark behind the name of a row.
const OLDER: &str = ", older";
/// Lines of code, for git: the first thing in them begins no comment.
const CODE: &str = "^[[:space:]]*[^/[:space:]]";

/// Modules of tests alone, `tests.rs` and `loom_tests.rs` among them, are in no program: for git.
const NO_TESTS: &str = ":(exclude)*tests.rs";

/// The folders that are measured by files whose names begin with a word; the longest word decides.
const MEASURED: [(&str, &[&str]); 14] = [
    ("", &["crates/roving/src"]),
    ("iter", &["crates/roving/src", "crates/roving-iter/src"]),
    ("uts-serial", &["crates/roving-lab/src/workloads/uts"]),
    ("networks", &["crates/roving/src", "crates/roving-flow/src"]),
    ("duals", &["crates/roving/src", "crates/roving-gpu/src"]),
    (
        "dist",
        &[
            "crates/roving/src",
            "crates/roving-flow/src",
            "crates/roving-dist/src",
        ],
    ),
    ("dist-uts", &["crates/roving/src", "crates/roving-dist/src"]),
    (
        "dist-model",
        &["crates/roving-dist/src", "crates/roving-model/src"],
    ),
    ("rayon", &["crates/roving/src", "crates/rayon-core/src"]),
    ("readme", &["crates/roving/src", "crates/rayon-core/src"]),
    ("model", &["crates/roving-model/src"]),
    (
        "torture",
        &[
            "crates/roving/src",
            "crates/roving-flow/src",
            "crates/roving-torture/src",
        ],
    ),
    ("deep", &["crates/roving/src", "crates/roving-flow/src"]),
    ("openmp", &["crates/roving/src", "crates/roving-omp/src"]),
];

/// Where a file was measured.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Measured {
    commit: String,
    date: String,
    subject: String,
}

/// The commits of all files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Ages(BTreeMap<String, Measured>);

impl Ages {
    /// Reads the list. A subject has no comma and no quote.
    pub(crate) fn parse(text: &str) -> Result<Ages> {
        let mut lines = text.lines();
        if lines.next() != Some(HEAD) {
            return Err(format!("{COMMITS} does not begin with `{HEAD}`"));
        }
        let mut found = BTreeMap::new();
        for line in lines {
            let fields: Vec<&str> = line.split(',').collect();
            let [file, commit, date, subject] = fields[..] else {
                return Err(format!("{COMMITS}: `{line}` has not four fields"));
            };
            let [commit, date, subject] = [commit, date, subject].map(str::to_owned);
            let measured = Measured {
                commit,
                date,
                subject,
            };
            found.insert(file.to_owned(), measured);
        }
        Ok(Ages(found))
    }

    fn text(&self) -> String {
        let mut text = format!("{HEAD}\n");
        for (file, one) in &self.0 {
            let _ = writeln!(text, "{file},{},{},{}", one.commit, one.date, one.subject);
        }
        text
    }

    /// The files of results that the list does not have, and those that are no more.
    pub(crate) fn differences(&self, files: &[String]) -> Vec<String> {
        let missing = files.iter().filter(|file| !self.0.contains_key(*file));
        let missing = missing
            .map(|file| format!("{COMMITS} does not say on which commit {file} was measured"));
        let gone = self.0.keys().filter(|file| !files.contains(file));
        let gone = gone.map(|file| format!("{COMMITS} names {file}, which is not there"));
        missing.chain(gone).collect()
    }
}

/// The folders that a file measures.
fn folders(file: &str) -> &'static [&'static str] {
    let fits = MEASURED.iter().filter(|(word, _)| file.starts_with(word));
    let longest = fits.max_by_key(|(word, _)| word.len());
    longest.map_or(&[], |one| one.1)
}

/// Whether the history reaches back to where results were measured.
fn git(workspace: &Workspace, words: &[&str]) -> Option<String> {
    let mut command = Command::new("git");
    command.arg("-C").arg(&workspace.root).args(words);
    let output = command
        .output()
        .ok()
        .filter(|output| output.status.success())?;
    let said = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    Some(said)
}

/// The last change of code in what a file measures, since it was measured: none if there is none,
/// and nothing at all where the history is cut off. A result whose commit is not in the history
/// counts as older.
fn changed(workspace: &Workspace, file: &str, measured: &Measured) -> Option<Option<String>> {
    let commit = measured.commit.split(' ').next().unwrap_or_default();
    if git(workspace, &["merge-base", "--is-ancestor", commit, "HEAD"]).is_none() {
        // A branch that was rebased after it was measured; or a history that was cut off.
        let shallow = git(workspace, &["rev-parse", "--is-shallow-repository"])?;
        return (shallow == "false").then(|| Some("its commit is not in the history".to_owned()));
    }
    let range = format!("{commit}..HEAD");
    let code = format!("-G{CODE}");
    let mut words = vec!["log", "-1", "--format=%h of %as: %s", &code, &range, "--"];
    words.extend(folders(file));
    words.push(NO_TESTS);
    let last = git(workspace, &words)?;
    Some((!last.is_empty()).then_some(last))
}

/// Marks the rows of the table that are older than what they measure, and says of all files where
/// they were measured.
pub(crate) fn mark(workspace: &Workspace) -> Result<()> {
    let path = workspace.root.join(TABLE);
    let read = |path: &std::path::Path| {
        std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
    };
    let ages = Ages::parse(&read(&workspace.root.join(COMMITS))?)?;
    let mut changes = BTreeMap::new();
    for (file, measured) in &ages.0 {
        let Some(change) = changed(workspace, file, measured) else {
            println!(
                "the history does not reach back to {}: rows are not marked",
                measured.commit
            );
            return Ok(());
        };
        changes.insert(file.clone(), change);
    }
    let older = changes.values().flatten().count();
    println!(
        "{older} of {} results are older than what they measure",
        changes.len()
    );
    let page = marked(&read(&path)?, &ages, &changes);
    std::fs::write(&path, page).map_err(|error| format!("{}: {error}", path.display()))
}

/// The page with its marks, and its last section.
fn marked(page: &str, ages: &Ages, changes: &BTreeMap<String, Option<String>>) -> String {
    let body = page.split(SECTION).next().unwrap_or(page);
    let is_older = |name: &str| matches!(changes.get(&format!("{name}.csv")), Some(Some(_)));
    let mut text = String::new();
    for line in body.lines() {
        let line = line.replace(&format!("){OLDER} |"), ") |");
        let name = line
            .strip_suffix(") |")
            .and_then(|line| line.rsplit_once("](#"))
            .map(|(_, name)| name.to_owned());
        match name {
            Some(name) if is_older(&name) => {
                text.push_str(line.trim_end_matches(" |"));
                text.push_str(OLDER);
                text.push_str(" |");
            }
            _ => text.push_str(&line),
        }
        text.push('\n');
    }
    let text = text.trim_end().to_owned();
    let mut text = text + "\n" + SECTION;
    text.push_str(
        "\nA row is *older* when code that it measures has changed since it was measured: a change that may not matter to it.\n\
         `cargo xtask figures` computes this from the history.\n\n\
         | file | measured on | last change of what it measures since |\n|---|---|---|\n",
    );
    for (file, one) in &ages.0 {
        let change = changes.get(file).cloned().flatten();
        let change = change.unwrap_or_else(|| "none".into());
        let Measured {
            commit,
            date,
            subject,
        } = one;
        let _ = writeln!(
            text,
            "| {file} | {commit} of {date}: {subject} | {change} |"
        );
    }
    text.replace("<", "&lt;").replace("&lt;!--", "<!--")
}

/// Notes the commit for every file of results that differs from it: these have just been measured.
pub(crate) fn note(workspace: &Workspace) -> Result<()> {
    let path = workspace.root.join(COMMITS);
    let text = std::fs::read_to_string(&path).map_err(|error| error.to_string())?;
    let mut ages = Ages::parse(&text)?;
    let status = git(workspace, &["status", "--porcelain"]);
    let last = git(workspace, &["log", "-1", "--format=%h%n%as%n%s"]);
    let Some((status, last)) = status.zip(last) else {
        println!("there is no history: {COMMITS} is left as it is");
        return Ok(());
    };
    let mut fields = last.lines();
    let mut field = || fields.next().unwrap_or_default().replace([',', '"'], "");
    let (commit, date, subject) = (field(), field(), field());
    let names: Vec<&str> = status.lines().filter_map(|line| line.get(3..)).collect();
    let in_results = |name: &str| name.starts_with("docs/results/") || name == "README.md";
    let dirty = names.iter().any(|name| !in_results(name));
    let commit = if dirty {
        format!("{commit} with changes")
    } else {
        commit
    };
    for name in names {
        let file = name.strip_prefix("docs/results/");
        if let Some(file) = file.filter(|file| file.ends_with(".csv") && *file != "commits.csv") {
            let measured = Measured {
                commit: commit.clone(),
                date: date.clone(),
                subject: subject.clone(),
            };
            ages.0.insert(file.to_owned(), measured);
        }
    }
    std::fs::write(&path, ages.text()).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIST: &str = "file,commit,date,subject\nfib-1.csv,abc,2026-11-20,A commit\n\
        wake.csv,def with changes,2026-11-21,Another\n";

    #[test]
    fn the_list_is_read_and_written() {
        let ages = Ages::parse(LIST).unwrap();
        assert_eq!(ages.text(), LIST);
        assert!(Ages::parse("a,b\n").is_err());
        assert!(Ages::parse(&format!("{HEAD}\nfib-1.csv,abc\n")).is_err());
        let files = ["fib-1.csv".to_owned(), "joins.csv".to_owned()];
        let found = ages.differences(&files);
        assert!(
            found.len() == 2 && found[0].contains("joins.csv") && found[1].contains("wake.csv")
        );
    }

    #[test]
    fn rows_are_marked_by_what_has_changed_and_marks_go_again() {
        let page =
            "# Results\n| a | 1 × |  | [fib-1](#fib-1) |\n| b | 2 | [wake](#wake) |\n\n## fib-1\n";
        let ages = Ages::parse(LIST).unwrap();
        let change = |what: Option<&str>| what.map(str::to_owned);
        let both = |one, other| {
            BTreeMap::from([
                ("fib-1.csv".to_owned(), change(one)),
                ("wake.csv".to_owned(), change(other)),
            ])
        };
        let now = marked(page, &ages, &both(Some("123 of 2026-11-22: more"), None));
        assert!(now.contains("| a | 1 × |  | [fib-1](#fib-1), older |\n| b | 2 | [wake](#wake) |"));
        assert!(
            now.contains("| fib-1.csv | abc of 2026-11-20: A commit | 123 of 2026-11-22: more |")
        );
        assert!(now.contains("| wake.csv | def with changes of 2026-11-21: Another | none |"));
        let later = marked(&now, &ages, &both(None, None));
        assert!(later.starts_with(page.trim_end()) && !later.contains(OLDER));
        assert_eq!(later.matches(SECTION).count(), 1);
        assert_eq!(marked(&later, &ages, &both(None, None)), later);
    }

    #[test]
    fn what_a_file_measures_is_found_by_the_longest_word() {
        assert_eq!(folders("fib-1.csv"), ["crates/roving/src"]);
        assert_eq!(
            folders("uts-serial.csv"),
            ["crates/roving-lab/src/workloads/uts"]
        );
        assert!(folders("networks-ring.csv").contains(&"crates/roving-flow/src"));
        assert!(!folders("dist-uts.csv").contains(&"crates/roving-flow/src"));
        assert!(folders("model.csv") == ["crates/roving-model/src"]);
    }

    #[test]
    fn folders_that_are_measured_exist() {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        for folder in MEASURED.iter().flat_map(|one| one.1) {
            assert!(root.join(folder).is_dir(), "{folder}");
        }
    }
}
