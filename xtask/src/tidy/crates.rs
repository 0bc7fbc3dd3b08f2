//! The crates and their arrows: ARCHITECTURE.md against what cargo says.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::finding::Finding;
use crate::cargo::workspace::Workspace;
use crate::reading::code_spans;

/// Runtimes that only the lab may name.
const RIVALS: [&str; 10] = [
    "rayon",
    "chili",
    "forte",
    "tokio",
    "async-executor",
    "bevy_tasks",
    "orx-parallel",
    "may",
    "smol",
    "crossbeam-deque",
];
/// The package that compares.
const LAB: &str = "roving-lab";
/// Programs that are about one of them: two for Rayon, which run on whichever `rayon-core` they are
/// built with, and the examples, of which one is a web server on tokio.
const USERS: [(&str, &str); 3] = [
    ("rayon-bench", "rayon"),
    ("rayon-drop-in", "rayon"),
    ("roving-examples", "tokio"),
];
/// The heading in ARCHITECTURE.md below which the table of crates stands.
const HEADING: &str = "## Crates";

/// Name → the packages of this repository that it needs.
type Arrows = BTreeMap<String, BTreeSet<String>>;

pub(crate) fn check(workspace: &Workspace, path: &Path, page: &str) -> Vec<Finding> {
    let written = written(page);
    if written.is_empty() {
        return vec![Finding::new(
            path,
            1,
            format!("no table of crates under `{HEADING}`"),
        )];
    }
    let mut found = compare(path, &written, &real(workspace));
    for package in workspace
        .packages
        .iter()
        .filter(|package| package.name != LAB)
    {
        for need in package
            .needs
            .iter()
            .filter(|need| RIVALS.contains(&need.name.as_str()))
            .filter(|need| !USERS.contains(&(package.name.as_str(), need.name.as_str())))
        {
            let text = format!(
                "{} needs {}: only {LAB} may name rivals",
                package.name, need.name
            );
            found.push(Finding::new(&package.dir.join("Cargo.toml"), 1, text));
        }
    }
    found
}

fn compare(path: &Path, written: &Arrows, real: &Arrows) -> Vec<Finding> {
    let mut found = Vec::new();
    let mut say = |text: String| found.push(Finding::new(path, 1, text));
    for (name, needs) in real {
        match written.get(name) {
            None => say(format!(
                "`{name}` is a crate of this workspace and not in the table"
            )),
            Some(told) if told != needs => {
                say(format!(
                    "`{name}` needs {needs:?} by its manifest, {told:?} by the table"
                ));
            }
            Some(_) => {}
        }
    }
    for name in written.keys().filter(|name| !real.contains_key(*name)) {
        say(format!(
            "`{name}` is in the table and not a crate of this workspace"
        ));
    }
    found
}

/// The dependencies by the manifests, without those that only tests need.
fn real(workspace: &Workspace) -> Arrows {
    let ours: BTreeSet<&str> = workspace
        .packages
        .iter()
        .map(|package| package.name.as_str())
        .collect();
    let mut arrows = Arrows::new();
    for package in &workspace.packages {
        let needs = package
            .needs
            .iter()
            .filter(|need| !need.dev && ours.contains(need.name.as_str()));
        arrows.insert(
            package.name.clone(),
            needs.map(|need| need.name.clone()).collect(),
        );
    }
    arrows
}

/// Rows `| [name] | what | [needs] |`, names in backticks.
fn written(page: &str) -> Arrows {
    let mut arrows = Arrows::new();
    let lines = page
        .lines()
        .skip_while(|line| line.trim() != HEADING)
        .skip(1);
    for line in lines.take_while(|line| !line.starts_with("## ")) {
        let cells: Vec<&str> = line.trim().trim_matches('|').split('|').collect();
        let (Some(first), Some(last)) = (cells.first(), cells.get(2)) else {
            continue;
        };
        let &[name, ..] = &code_spans(first)[..] else {
            continue;
        };
        arrows.insert(
            name.to_owned(),
            code_spans(last).into_iter().map(str::to_owned).collect(),
        );
    }
    arrows
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cargo::workspace::{Need, Package};

    const PAGE: &str = "# A\n## Crates\n| crate | what | needs |\n|---|---|---|\n\
        | `roving` | runtime | nothing of ours |\n| `roving-lab` | lab | `roving` |\n## More\n| `x` | y | `z` |\n";

    fn package(name: &str, needs: &[(&str, bool)]) -> Package {
        let needs = needs.iter().map(|(name, dev)| Need {
            name: (*name).into(),
            dev: *dev,
        });
        Package {
            name: name.into(),
            needs: needs.collect(),
            ..Package::default()
        }
    }

    fn found(packages: Vec<Package>) -> Vec<String> {
        let workspace = Workspace {
            packages,
            ..Workspace::default()
        };
        let found = check(&workspace, Path::new("A.md"), PAGE);
        found.into_iter().map(|finding| finding.text).collect()
    }

    #[test]
    fn a_true_table_is_clean() {
        let lab = package(
            "roving-lab",
            &[("roving", false), ("rayon", false), ("clap", false)],
        );
        assert!(found(vec![package("roving", &[("roving-lab", true)]), lab]).is_empty());
    }

    #[test]
    fn a_missing_a_wrong_and_a_stale_row_are_found() {
        let lab = || package("roving-lab", &[("roving", false)]);
        assert!(found(vec![package("roving", &[])])[0].contains("not a crate"));
        let more = vec![package("roving", &[]), lab(), package("roving-flow", &[])];
        assert!(found(more)[0].contains("not in the table"));
        let wrong = vec![package("roving", &[("roving-lab", false)]), lab()];
        assert!(found(wrong)[0].contains("by its manifest"));
    }

    #[test]
    fn only_the_lab_names_rivals() {
        let lab = package("roving-lab", &[("roving", false)]);
        let text = found(vec![package("roving", &[("rayon", true)]), lab]);
        assert_eq!(
            text,
            ["roving needs rayon: only roving-lab may name rivals"]
        );
    }

    #[test]
    fn programs_for_rayon_name_rayon_only() {
        let lab = || package("roving-lab", &[("roving", false)]);
        let user = |needs: &[(&str, bool)]| {
            let user = package("rayon-bench", needs);
            let found = found(vec![package("roving", &[]), lab(), user]);
            found.into_iter().filter(|text| text.contains("rivals"))
        };
        assert_eq!(user(&[("rayon", false)]).count(), 0);
        assert_eq!(user(&[("rayon", false), ("chili", false)]).count(), 1);
    }

    #[test]
    fn a_page_without_a_table_is_found() {
        let workspace = Workspace::default();
        assert_eq!(check(&workspace, Path::new("A.md"), "# A\n").len(), 1);
    }
}
