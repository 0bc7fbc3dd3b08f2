//! Every shared word stands in the list of `docs/guarantees.md`, with who touches it and how it is
//! tested.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::finding::Finding;
use crate::mutants::loom;
use crate::reading::{RustFile, code_spans};

/// The page's heading above the lists; below it, one heading for each crate.
const HEADING: &str = "## Every shared word";
/// The descriptions of words about which the model checker has nothing to say: whatever a thread
/// reads there is right, one thread alone looks, or another system than Rust changes them.
const WITHOUT_LOOM: [&str; 7] = [
    "a figure",
    "a hint",
    "a request",
    "set once",
    "one thread",
    "the system's",
    "not Rust's",
];

/// A row: the file below the crate's `src`, the words, and what the last cell says.
struct SharedWordRow<'t> {
    line: usize,
    file: String,
    words: Vec<&'t str>,
    test: &'t str,
}

/// The atomics that a header of C++ declares: fields as `Type::field`, all others by name.
pub(super) fn declared_in_header(text: &str) -> BTreeSet<String> {
    let mut of = "";
    let mut found = BTreeSet::new();
    for line in text.lines() {
        let code = line.trim_start();
        let head = ["class ", "struct "]
            .iter()
            .find_map(|kind| code.strip_prefix(kind));
        if let Some(name) = head {
            of = word(name);
        } else if line.starts_with('}') {
            of = "";
        }
        // Neither what is borrowed nor a parameter.
        if let Some((_, declared)) = code.split_once("std::atomic<")
            && let Some((_, name)) = declared.rsplit_once("> ")
            && code.ends_with(';')
            && !name.starts_with(['&', '*'])
        {
            found.insert(match (of, word(name)) {
                ("", name) => name.to_owned(),
                (of, name) => format!("{of}::{name}"),
            });
        }
    }
    found
}

/// The atomics that a file declares, outside of its tests: fields as `Type::field`, the other types
/// and statics by name.
pub(super) fn declared(source: &RustFile) -> BTreeSet<String> {
    let tests = source.test_lines();
    let mut found = BTreeSet::new();
    // The struct whose fields these lines are, and the depth of its braces.
    let mut fields: Option<(String, usize)> = None;
    let mut depth = 0_usize;
    for (number, code) in source.code.iter().enumerate() {
        let text = code.trim();
        let opened = code.matches('{').count();
        let closed = code.matches('}').count();
        if !tests[number] {
            let of_struct = text.split_once("struct ").map(|(_, rest)| rest);
            if let Some(rest) = of_struct {
                let name = word(rest);
                let body = &rest[name.len()..];
                match body.find(['(', '{']) {
                    Some(at) if body[at..].starts_with('(') && is_atomic(&body[at..]) => {
                        found.insert(name.to_owned());
                    }
                    Some(at) if body[at..].starts_with('{') && closed < opened => {
                        fields = Some((name.to_owned(), depth));
                    }
                    _ => {}
                }
            } else if let Some((_, rest)) = text.split_once("static ")
                && let Some((name, kind)) = rest.split_once(": ")
                && is_atomic(kind.split(" = ").next().unwrap_or_default())
            {
                found.insert(name.trim_start_matches("mut ").to_owned());
            } else if let Some((of, _)) = &fields
                && let Some((name, kind)) = text.split_once(": ")
                && is_atomic(kind)
            {
                let name = name.rsplit([' ', '(', '$']).next().unwrap_or(name);
                found.insert(format!("{of}::{name}"));
            }
        }
        depth = (depth + opened).saturating_sub(closed);
        if fields.as_ref().is_some_and(|(_, of)| depth <= *of) && closed > 0 {
            fields = None;
        }
    }
    found
}

fn word(text: &str) -> &str {
    let end = text.find(|c: char| !c.is_alphanumeric() && c != '_');
    &text[..end.unwrap_or(text.len())]
}

/// Whether a type has an atomic in it. What is only borrowed is declared somewhere else.
fn is_atomic(kind: &str) -> bool {
    let kind = kind
        .trim_start_matches(['(', ' '])
        .trim_start_matches("pub(crate) ");
    let owned = !kind.starts_with(['&', '*']);
    let named = kind.match_indices("Atomic").any(|(at, _)| {
        let name = word(&kind[at..]);
        name != "Atomic" && !kind[at + name.len()..].starts_with("::")
    });
    owned && named
}

/// The rows of each crate's list.
fn rows(page: &str) -> BTreeMap<&str, Vec<SharedWordRow<'_>>> {
    let mut found: BTreeMap<&str, Vec<SharedWordRow<'_>>> = BTreeMap::new();
    let (mut inside, mut package) = (false, None);
    for (number, line) in page.lines().enumerate() {
        if line.starts_with("## ") {
            inside = line == HEADING;
        } else if let Some(name) = line.strip_prefix("### ") {
            package = inside.then(|| name.trim_matches('`'));
        }
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        if let (true, Some(package), [file, words, _, test]) = (inside, package, &cells[..])
            && let [file] = code_spans(file)[..]
        {
            found.entry(package).or_default().push(SharedWordRow {
                line: number + 1,
                file: file.to_owned(),
                words: code_spans(words),
                test,
            });
        }
    }
    found
}

/// The words that files declare, by the file's path below `src` or `include`.
pub(super) type Declared = BTreeMap<String, BTreeSet<String>>;

/// Compares the list of one crate with what its files declare, both ways, and its tests with those
/// that exist.
pub(super) fn check(
    path: &Path,
    page: &str,
    package: &str,
    declared: &Declared,
    functions: &BTreeSet<String>,
) -> Vec<Finding> {
    let rows = rows(page).remove(package).unwrap_or_default();
    let mut found = Vec::new();
    let mut listed = BTreeSet::new();
    for row in &rows {
        let does_without = WITHOUT_LOOM.iter().any(|start| row.test.starts_with(start));
        let tests = code_spans(row.test);
        if !does_without && !tests.iter().any(|test| test.starts_with(loom::PREFIX)) {
            let text = format!(
                "{}: names no loom test, and does not begin with one of {WITHOUT_LOOM:?}",
                row.file
            );
            found.push(Finding::new(path, row.line, text));
        }
        for test in tests {
            if !functions.contains(test) {
                let text = format!("there is no test `{test}`");
                found.push(Finding::new(path, row.line, text));
            }
        }
        let of_file = declared.get(&row.file);
        for word in &row.words {
            if !of_file.is_some_and(|words| words.contains(*word)) {
                let text = format!("`{}` of {package} declares no atomic `{word}`", row.file);
                found.push(Finding::new(path, row.line, text));
            }
            listed.insert((row.file.clone(), (*word).to_owned()));
        }
    }
    for (file, words) in declared {
        for word in words {
            if !listed.contains(&(file.clone(), word.clone())) {
                let text = format!("no row of {package} names the atomic `{word}` of `{file}`");
                found.push(Finding::new(path, 1, text));
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const CODE: &str = "
pub(crate) struct Word(AtomicUsize);
struct Lent(&'static AtomicUsize);
struct Wire(pub(crate) *const AtomicUsize);
static ON: AtomicBool = AtomicBool::new(false);
struct Two {
    /// AtomicU64
    pub(crate) one: Padded<AtomicU64>,
    other: &'static AtomicU64,
    plain: u64,
}
fn new() -> Two {
    Two { one: AtomicU64::new(0) }
}
fn read(counter: &AtomicU64) {}
#[cfg(test)]
mod tests {
    struct Seen(AtomicUsize);
}
";

    fn found(list: &str) -> Vec<String> {
        let source = RustFile::new("a.rs".into(), CODE);
        let page = format!("# Page\n{HEADING}\n### `roving`\n{list}");
        let functions = ["loom_a".to_owned(), "plain".to_owned()].into();
        let declared = [("a.rs".to_owned(), declared(&source))].into();
        let path = Path::new("page.md");
        let found = check(path, &page, "roving", &declared, &functions);
        found.into_iter().map(|finding| finding.text).collect()
    }

    #[test]
    fn the_atomics_of_a_file_are_found() {
        let source = RustFile::new("a.rs".into(), CODE);
        let declared: Vec<String> = declared(&source).into_iter().collect();
        assert_eq!(declared, ["ON", "Two::one", "Word"]);
    }

    #[test]
    fn the_atomics_of_a_header_are_found() {
        let text = "class one : public two {\n    std::atomic<stage> stage_{stage::none};\n\
                    \x20   bool has() { return stage_.load(std::memory_order_relaxed); }\n};\n\
                    void f(std::atomic<int> &lent);\nstd::atomic<bool> on_{false};\n";
        let found: Vec<String> = declared_in_header(text).into_iter().collect();
        assert_eq!(found, ["on_", "one::stage_"]);
    }

    #[test]
    fn list_and_files_are_compared_both_ways() {
        let whole =
            "| `a.rs` | `Word`, `Two::one` | all | `loom_a` |\n| `a.rs` | `ON` | all | a hint |\n";
        assert!(found(whole).is_empty(), "{:?}", found(whole));
        let missing = found("| `a.rs` | `Word`, `Two::one` | all | `loom_a` |\n");
        assert!(missing[0].contains("no row of roving names the atomic `ON`"));
        let gone = found(&format!("{whole}| `a.rs` | `Gone` | all | `loom_a` |\n"));
        assert!(gone[0].contains("declares no atomic `Gone`"));
        let file = found(&format!("{whole}| `b.rs` | `Word` | all | `loom_a` |\n"));
        assert!(file[0].contains("`b.rs` of roving declares no atomic `Word`"));
    }

    #[test]
    fn a_row_names_a_test_that_exists() {
        let rest = "| `a.rs` | `Two::one`, `ON` | all | a figure |\n";
        let row = |test: &str| found(&format!("{rest}| `a.rs` | `Word` | all | {test} |\n"));
        assert!(row("`loom_a`").is_empty());
        assert!(row("`loom_b`")[0].contains("no test `loom_b`"));
        assert!(row("some")[0].contains("names no loom test"));
        assert!(row("`plain`")[0].contains("names no loom test"));
        assert!(row("a request: `plain`").is_empty());
    }
}
