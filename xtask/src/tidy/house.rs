//! The house as numbers: what a reader of a crate meets. Printed by each run of tidy.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::finding::Finding;
use super::imports::Imports;
use super::rooms::{Rooms, circles_of_rooms, circles_within};
use crate::reading::{RustFile, is_for_tests};

/// Types whose methods are counted, and how many each may have.
const GODS: [(&str, usize); 2] = [("Worker", 30), ("Registry", 25)];
/// The files that say what a kind of pool is, and what stands in for a worker of one.
const TOLD: [&str; 2] = ["/workers/pool_kind.rs", "/sleep/spares.rs"];
/// A line with this and one of [`ASKS`] asks for what stands in for a worker.
const VARIANT: &str = "StandIn::";
const ASKS: [&str; 4] = ["==", "!=", "=>", "matches!"];
/// By this word a line is left out for loom.
const LEFT_OUT: &str = "not(loom)";
/// The door at which it is decided what is loom's.
const DOOR: &str = "/machine/prim";
/// By this word a line asks whether the pool's threads are in this process, whatever its kind.
const FORKED: &str = "is_left_behind()";
/// The files of the kinds themselves, and those that make pools of settings.
const OF_KINDS: [&str; 7] = [
    "/workers/pool_kind.rs",
    "/workers/replayed.rs",
    "/worker/adopted.rs",
    "/worker/caller_runs.rs",
    "/arena/",
    "/sleep/spares.rs",
    "/pool/builder",
];
/// Definitions of a name from which on it is counted.
const MANY: usize = 3;
/// As many names of types may be defined so often, in all crates: one more is a finding. It falls
/// to the number there is whenever some have got names of their own.
pub(crate) const OFTEN_MAX: usize = 9;
/// So many of them are told, the most frequent first.
const TOLD_NAMES: usize = 12;

/// A crate's house in numbers, with a line for each circle.
pub(crate) fn told(
    name: &str,
    entries: usize,
    files: usize,
    rooms: Option<&Rooms>,
    imports: &Imports,
) -> Vec<String> {
    let within = circles_within(imports);
    let between = circles_of_rooms(imports);
    let sizes: Vec<String> = within.iter().map(|one| one.len().to_string()).collect();
    let sizes = match sizes.is_empty() {
        true => "none".to_owned(),
        false => sizes.join(", "),
    };
    let up = rooms.map_or_else(
        || "no table of rooms".to_owned(),
        |rooms| {
            let inversions = rooms.inversions(imports);
            let names: usize = inversions.values().map(|names| names.len()).sum();
            format!("{} imports that run up ({names} names)", inversions.len())
        },
    );
    let mut lines = vec![format!(
        "{name}: {entries} entries at src, {files} files, {} imports between them; {up}; files of circles between entries: {}; of circles within one: {sizes}",
        imports.len(),
        between.iter().map(BTreeSet::len).sum::<usize>(),
    )];
    let list = |what: &str, circle: &[&str]| format!("  circle {what}: {}", circle.join(" "));
    lines.extend(between.iter().map(|one| {
        let one: Vec<&str> = one.iter().map(String::as_str).collect();
        list("between", &one)
    }));
    lines.extend(within.iter().map(|one| {
        let one: Vec<&str> = one.iter().copied().collect();
        list("within", &one)
    }));
    lines
}

/// The methods of the types that know too much, and the places left out for loom.
pub(crate) fn of_roving(sources: &[RustFile]) -> String {
    let product = || sources.iter().filter(|source| !is_for_tests(&source.path));
    let methods = GODS.map(|(name, _)| {
        let counts: Vec<usize> = product().map(|source| methods(source, name)).collect();
        let files = counts.iter().filter(|count| **count > 0).count();
        format!(
            "{} methods of `{name}` in {files} files",
            counts.iter().sum::<usize>()
        )
    });
    let left_out = sources.iter().flat_map(|source| &source.code);
    let left_out = left_out.filter(|code| code.contains(LEFT_OUT));
    let others = outside_of_kinds(sources).flat_map(|source| &source.code);
    format!(
        "{}; {} times `not(loom)`; {} lines outside the kinds of pool ask which it is, and {} whether its threads are in another process",
        methods.join("; "),
        left_out.count(),
        asking(sources).len(),
        others.filter(|code| code.contains(FORKED)).count()
    )
}

/// A type of `roving` that has grown too large; each line that asks what kind of pool it is about,
/// for a kind is told what has happened or what is to be done, and does it its way; and each that
/// is left out for loom.
pub(crate) fn check(sources: &[RustFile]) -> Vec<Finding> {
    let product = || sources.iter().filter(|source| !is_for_tests(&source.path));
    let grown = GODS.into_iter().filter_map(|(name, most)| {
        let count = |source: &&RustFile| methods(source, name);
        let count_all: usize = product().map(|source| count(&source)).sum();
        let largest = product().max_by_key(count).filter(|_| count_all > most)?;
        let text = format!(
            "`{name}` has {count_all} methods, and may have {most}: which part does one belong to?"
        );
        Some(Finding::new(&largest.path, 1, text))
    });
    let asking = asking(sources).into_iter().map(|(source, line)| {
        let text = "asks what kind of pool it is: the kind is told, and decides where it stands";
        Finding::new(&source.path, line + 1, text)
    });
    let rest = sources.iter().filter(|source| !is_one_of(source, &[DOOR]));
    let left_out = rest.flat_map(|source| {
        let code = source.code.iter().enumerate();
        let lines = code.filter(|(_, code)| code.contains(LEFT_OUT));
        let text = "left out for loom: what differs there is decided in `machine/prim.rs`";
        lines.map(move |(line, _)| Finding::new(&source.path, line + 1, text))
    });
    grown.chain(asking).chain(left_out).collect()
}

/// The files of a library in which no kind of pool has its place.
fn outside_of_kinds(sources: &[RustFile]) -> impl Iterator<Item = &RustFile> {
    let product = sources.iter().filter(|source| !is_for_tests(&source.path));
    product.filter(|source| !is_one_of(source, &OF_KINDS))
}

fn is_one_of(source: &RustFile, files: &[&str]) -> bool {
    let path = source.path.to_string_lossy().replace('\\', "/");
    files.iter().any(|file| path.contains(file))
}

/// The lines outside of the kinds of pool that ask which it is, each with its index: those that
/// compare it, and those that call a function of a kind which takes nothing and answers yes or no.
fn asking(sources: &[RustFile]) -> Vec<(&RustFile, usize)> {
    let kinds = sources.iter().filter(|source| is_one_of(source, &TOLD));
    let questions: Vec<String> = kinds
        .flat_map(|source| &source.code)
        .filter_map(|code| {
            let (head, _) = code.split_once("self) -> bool")?;
            let name = head.split_once("fn ")?.1.split('(').next()?;
            Some(format!(".{name}()"))
        })
        .collect();
    let asks = |code: &str| {
        let compares = code.contains(VARIANT) && ASKS.iter().any(|word| code.contains(word));
        compares
            || questions
                .iter()
                .any(|question| code.contains(question.as_str()))
    };
    let mut found = Vec::new();
    for source in outside_of_kinds(sources) {
        let lines = source.code.iter().zip(source.test_lines()).enumerate();
        let asking = lines.filter(|(_, (code, is_test))| !is_test && asks(code));
        found.extend(asking.map(|(line, _)| (source, line)));
    }
    found
}

/// The functions in the `impl` blocks of a type itself in a file, by the indentation of `rustfmt`.
fn methods(source: &RustFile, name: &str) -> usize {
    let mut inside = false;
    let mut count = 0;
    for code in &source.code {
        if code.starts_with("impl") {
            let head = code.trim_end().trim_end_matches('{').trim_end();
            let is_own = !head.contains(" for ");
            inside = is_own && head.rsplit(' ').next() == Some(name);
        } else if code.starts_with('}') {
            inside = false;
        } else if inside && code.starts_with("    ") && !code.starts_with("     ") {
            count += usize::from(code.contains("fn ") && code.contains('('));
        }
    }
    count
}

/// The names of types that are defined often, in all crates, each with its count.
pub(crate) fn often_defined<'s>(
    sources: impl Iterator<Item = &'s RustFile>,
) -> Vec<(String, usize)> {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for source in sources.filter(|source| !is_for_tests(&source.path)) {
        let tests = source.test_lines();
        for (code, _) in source
            .code
            .iter()
            .zip(tests)
            .filter(|(_, is_test)| !is_test)
        {
            let words: Vec<&str> = code.split_whitespace().collect();
            for pair in words.windows(2) {
                if ["struct", "enum", "trait", "union"].contains(&pair[0]) {
                    let end = pair[1].find(|letter: char| !letter.is_alphanumeric());
                    let name = &pair[1][..end.unwrap_or(pair[1].len())];
                    *counts.entry(name.to_owned()).or_default() += 1;
                }
            }
        }
    }
    let mut often: Vec<(String, usize)> = counts.into_iter().collect();
    often.retain(|(name, count)| *count >= MANY && !name.is_empty());
    often.sort_by_key(|(name, count)| (std::cmp::Reverse(*count), name.clone()));
    often
}

/// The names that are defined often, in one line.
pub(crate) fn told_often(often: &[(String, usize)]) -> String {
    let most = often.iter().take(TOLD_NAMES);
    let most: Vec<String> = most
        .map(|(name, count)| format!("{name} {count}"))
        .collect();
    let rest = if often.len() > most.len() { " …" } else { "" };
    format!(
        "{} names of types are defined three times or more: {}{rest}",
        often.len(),
        most.join(", ")
    )
}

/// More names that are defined often than may be.
pub(crate) fn check_often(path: &Path, often: &[(String, usize)], most: usize) -> Option<Finding> {
    let told = told_often(often);
    let text = format!("{told}; at most {most} may be: which is each of them?");
    (often.len() > most).then(|| Finding::new(path, 1, text))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(text: &str) -> RustFile {
        RustFile::new("src/a.rs".into(), text)
    }

    #[test]
    fn kinds_are_told_and_not_asked() {
        let at = |path: &str, text| RustFile::new(path.into(), text);
        let kinds = "trait PoolKind {\n    fn makes_do(&self) -> bool {\n        true\n    }\n    fn close(&self, pool: &Registry) -> bool;\n}\n";
        let good = at("src/workers/pool_kind.rs", kinds);
        assert_eq!(check(&[good]), []);
        let asks = "fn f() {\n    pool.kind.close(pool);\n    if pool.kind.makes_do() {}\n    let own = with(StandIn::Nobody);\n    own == StandIn::Nobody;\n}\n";
        let bad = [
            at("src/workers/pool_kind.rs", kinds),
            at("src/workers/thread_loop.rs", asks),
            at("src/workers/sleep/spares.rs", asks),
        ];
        let lines: Vec<usize> = check(&bad).iter().map(|found| found.line).collect();
        assert_eq!(lines, [3, 5]);
    }

    #[test]
    fn a_type_with_too_many_methods_is_found() {
        let with = |count: usize| {
            let methods: String = (0..count)
                .map(|n| format!("    fn f{n}() {{}}\n"))
                .collect();
            source(&format!("impl Registry {{\n{methods}}}\n"))
        };
        assert_eq!(check(&[with(25)]), []);
        assert_eq!(check(&[with(25), with(1)]).len(), 1);
    }

    #[test]
    fn what_is_left_out_for_loom_is_found_but_at_the_door() {
        let text = "fn f() {}\n#[cfg(all(test, not(loom)))]\nmod tests;\n";
        let at = |path: &str| RustFile::new(path.into(), text);
        assert_eq!(check(&[at("src/machine/prim.rs")]), []);
        let found = check(&[at("src/workers/mod.rs")]);
        let lines: Vec<usize> = found.iter().map(|found| found.line).collect();
        assert_eq!(lines, [2]);
    }

    #[test]
    fn methods_and_places_are_counted() {
        let text = "#[cfg(not(loom))]\nimpl Worker {\n    pub(crate) fn a(&self) {\n        own == StandIn::Nobody;\n        fn in_it() {}\n    }\n    fn b() {}\n}\n\
            impl Sleeper for Worker {\n    fn c(&self) {}\n}\nimpl Workers {\n    fn d() {}\n}\nimpl<'s> Registry {\n    fn e() {}\n}\n";
        let told = of_roving(&[source(text)]);
        let expected = "2 methods of `Worker` in 1 files; 1 methods of `Registry` in 1 files; 1 times `not(loom)`; 1 lines outside the kinds of pool ask which it is, and 0 whether its threads are in another process";
        assert_eq!(told, expected);
    }

    #[test]
    fn names_that_are_defined_thrice_are_counted() {
        let text = "struct Once;\npub enum Thrice {}\n#[cfg(test)]\nmod tests {\n    struct Once;\n    struct Once;\n}\n";
        let other = "struct Thrice<T>(T);\npub(crate) trait Thrice {}\n";
        let found = often_defined([source(text), source(other)].iter());
        assert_eq!(found, [("Thrice".to_owned(), 3)]);
    }

    #[test]
    fn one_name_more_that_is_defined_often_is_found() {
        let often = |names: &[&str]| -> Vec<(String, usize)> {
            names
                .iter()
                .map(|name| ((*name).to_owned(), MANY))
                .collect()
        };
        let path = Path::new("house.rs");
        assert_eq!(check_often(path, &often(&["Entry", "State"]), 2), None);
        let found = check_often(path, &often(&["Entry", "Kind", "State"]), 2);
        let text = "3 names of types are defined three times or more: Entry 3, Kind 3, State 3; at most 2 may be: which is each of them?";
        assert_eq!(found, Some(Finding::new(path, 1, text)));
    }
}
