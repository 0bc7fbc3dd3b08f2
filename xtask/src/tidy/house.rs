//! The house as numbers: what a reader of a crate meets. Printed by each run of tidy.

use std::collections::{BTreeMap, BTreeSet};

use super::imports::Imports;
use super::rooms::{Rooms, circles_of_rooms, circles_within};
use crate::reading::{Source, is_for_tests};

/// Types whose methods are counted.
const GODS: [&str; 2] = ["Worker", "Registry"];
/// By these words a line of `roving` asks what kind of pool it is about. A kind that is told to do
/// something is not asked.
const KINDS: [&str; 5] = [
    ".caller_runs()",
    ".makes_do()",
    "kind.schedule()",
    "stand_in ==",
    "stand_in !=",
];
/// By this word a line asks whether the pool's threads are in this process, whatever its kind.
const FORKED: &str = "is_left_behind()";
/// The files of the kinds themselves, and those that make pools of settings.
const OF_KINDS: [&str; 7] = [
    "/workers/kind.rs",
    "/workers/replayed.rs",
    "/worker/adopted.rs",
    "/worker/caller_runs.rs",
    "/arena/",
    "/sleep/spares.rs",
    "/pool/builder",
];
/// Definitions of a name from which on it is counted.
const MANY: usize = 3;

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
pub(crate) fn of_roving(sources: &[Source]) -> String {
    let product = || sources.iter().filter(|source| !is_for_tests(&source.path));
    let methods = GODS.map(|name| {
        let counts: Vec<usize> = product().map(|source| methods(source, name)).collect();
        let files = counts.iter().filter(|count| **count > 0).count();
        format!(
            "{} methods of `{name}` in {files} files",
            counts.iter().sum::<usize>()
        )
    });
    let left_out = product().flat_map(|source| &source.code);
    let left_out = left_out.filter(|code| code.contains("cfg(not(loom))"));
    let asking = product().filter(|source| {
        let path = source.path.to_string_lossy().replace('\\', "/");
        !OF_KINDS.iter().any(|kind| path.contains(kind))
    });
    let asking: Vec<&String> = asking.flat_map(|source| &source.code).collect();
    let with = |words: &[&str]| {
        let has_one = |code: &&&String| words.iter().any(|word| code.contains(word));
        asking.iter().filter(has_one).count()
    };
    format!(
        "{}; {} times `cfg(not(loom))`; {} lines outside the kinds of pool ask which it is, and {} whether its threads are in another process",
        methods.join("; "),
        left_out.count(),
        with(&KINDS),
        with(&[FORKED])
    )
}

/// The functions in the `impl` blocks of a type itself in a file, by the indentation of `rustfmt`.
fn methods(source: &Source, name: &str) -> usize {
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
pub(crate) fn often_defined<'s>(sources: impl Iterator<Item = &'s Source>) -> Vec<(String, usize)> {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn source(text: &str) -> Source {
        Source::new("src/a.rs".into(), text)
    }

    #[test]
    fn methods_and_places_are_counted() {
        let text = "#[cfg(not(loom))]\nimpl Worker {\n    pub(crate) fn a(&self) {\n        self.kind.makes_do();\n        fn in_it() {}\n    }\n    fn b() {}\n}\n\
            impl Sleeper for Worker {\n    fn c(&self) {}\n}\nimpl Workers {\n    fn d() {}\n}\nimpl<'s> Registry {\n    fn e() {}\n}\n";
        let told = of_roving(&[source(text)]);
        let expected = "2 methods of `Worker` in 1 files; 1 methods of `Registry` in 1 files; 1 times `cfg(not(loom))`; 1 lines outside the kinds of pool ask which it is, and 0 whether its threads are in another process";
        assert_eq!(told, expected);
    }

    #[test]
    fn names_that_are_defined_thrice_are_counted() {
        let text = "struct Once;\npub enum Thrice {}\n#[cfg(test)]\nmod tests {\n    struct Once;\n    struct Once;\n}\n";
        let other = "struct Thrice<T>(T);\npub(crate) trait Thrice {}\n";
        let found = often_defined([source(text), source(other)].iter());
        assert_eq!(found, [("Thrice".to_owned(), 3)]);
    }
}
