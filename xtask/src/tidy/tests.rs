//! A small repository on disk, broken in one place at a time: each of the rules about pages and
//! results must see it where `cargo xtask tidy` calls it.

use std::path::{Path, PathBuf};

use super::check_quoted;
use crate::cargo::workspace::{Package, Workspace};

/// A sound repository: of everything that these rules read, a little.
const SOUND: [(&str, &str); 7] = [
    ("README.md", "# A\n\n`join` takes 13.3 ns.\n"),
    (
        "docs/faq.md",
        "# Q\n\n### Does it block?\n\nNo, see the [limits](../README.md#limits).\n",
    ),
    ("docs/results/README.md", "# Results\n\n99.9 ns\n"),
    (
        "docs/items.md",
        "# Items\n\n## roving\n\n| item | what it is |\n|---|---|\n| `join` | A. |\n",
    ),
    (
        "docs/results/joins.csv",
        "kind,what,value\nmeasurement,\"a join, alone\",13.34\n",
    ),
    (
        "docs/results/commits.csv",
        "file,commit,date,subject\njoins.csv,abc,2026-11-20,A commit\n",
    ),
    (
        "crates/roving/src/lib.rs",
        "//! A.\nmod join;\npub use join::join;\n",
    ),
];

/// A copy of the sound repository in which one file has another text; it goes when it is dropped.
struct Copy(PathBuf);

impl Copy {
    fn with(name: &str, changed: &str, text: &str) -> Copy {
        let folder = format!("roving-tidy-{}-{name}", std::process::id());
        let root = std::env::temp_dir().join(folder);
        for (path, sound) in SOUND {
            let at = root.join(path);
            std::fs::create_dir_all(at.parent().expect("a folder")).expect("a place to write");
            let text = if path == changed { text } else { sound };
            std::fs::write(at, text).expect("a file");
        }
        Copy(root)
    }

    fn findings(&self) -> Vec<String> {
        let root = &self.0;
        let roving = Package {
            name: "roving".into(),
            dir: root.join("crates/roving"),
            ..Package::default()
        };
        let workspace = Workspace {
            root: root.clone(),
            packages: vec![roving],
            ..Workspace::default()
        };
        let pages = crate::reading::files(root, &["md"]);
        let found = check_quoted(&workspace, &pages).expect("it can be read");
        let short = |path: &Path| workspace.short(path);
        let line = |one: super::finding::Finding| {
            format!("{}:{}: {}", short(&one.path), one.line, one.text)
        };
        found.into_iter().map(line).collect()
    }
}

impl Drop for Copy {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn a_sound_repository_has_no_finding() {
    let found = Copy::with("sound", "", "").findings();
    assert!(found.is_empty(), "{found:?}");
}

#[test]
fn each_break_is_one_finding_at_its_place() {
    let breaks: [(&str, &str, &str, &[&str]); 6] = [
        (
            "number",
            "README.md",
            "# A\n\n`join` takes 13.4 ns.\n",
            &["README.md:3: `13.4 ns` is in no file of docs/results"],
        ),
        (
            "result",
            "docs/results/joins.csv",
            "kind,what,value\nmeasurement,\"a join, alone\",15\n",
            &["README.md:3: `13.3 ns` is in no file of docs/results"],
        ),
        (
            "item",
            "crates/roving/src/lib.rs",
            "//! A.\nmod join;\npub use join::{join, scope};\n",
            &[
                "crates/roving/src/lib.rs:1: no page names the public item `scope`",
                "docs/items.md:1: the item `scope` of `roving` has no row",
            ],
        ),
        (
            "sentence",
            "docs/items.md",
            "# Items\n\n## roving\n\n| `join` | B. |\n",
            &["docs/items.md:5: the sentence about `join` is not that of its documentation"],
        ),
        (
            "denial",
            "docs/faq.md",
            "# Q\n\n### Does it block?\n\nNo, see [the page](../README.md).\n",
            &["docs/faq.md:3: the answer to `Does it block?` says no and does not link the limits"],
        ),
        (
            "commit",
            "docs/results/commits.csv",
            "file,commit,date,subject\n",
            &[
                "docs/results/commits.csv:1: docs/results/commits.csv does not say on which commit joins.csv was measured",
            ],
        ),
    ];
    for (name, path, text, says) in breaks {
        assert_eq!(Copy::with(name, path, text).findings(), says, "{name}");
    }
}
