//! Each public item and method of a published crate has an example that runs.
//!
//! An *example* is a code block of a documentation comment that `cargo test` runs: not one that is
//! text, or must not compile, or is only compiled. An item is covered by an example of its own, by
//! one of its file that names it, or as a type by one of a function that returns it; a method by
//! one of its own, or by one of its type that calls it or, for that of a trait, has its own. Both
//! are also covered by an example on the page of a module that exports the item.
//!
//! What this cannot see: an item that a macro makes, and one that shares the name of a public item
//! without being one.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::finding::Finding;
use super::quoted;
use crate::reading::RustFile;

/// The words that follow `pub ` in the declaration of an item.
const KINDS: [&str; 6] = ["fn", "struct", "enum", "trait", "type", "const"];
/// The words that may stand between `pub ` and the name of a function.
const QUALIFIERS: [&str; 4] = ["const unsafe fn", "const fn", "async fn", "unsafe fn"];

/// A public item or method, with its own examples.
struct PublicItem<'s> {
    source: &'s RustFile,
    line: usize,
    name: String,
    /// The type of a method.
    of: Option<String>,
    examples: String,
    /// The type that a function returns.
    returns: String,
    is_hidden: bool,
}

/// An inherent `impl` or a trait, in which methods stand.
struct MethodOwner {
    name: String,
    is_trait: bool,
    is_hidden: bool,
}

/// The items and methods without an example, of the crate whose sources are below `folder`.
pub(crate) fn check(folder: &Path, sources: &[RustFile]) -> Vec<Finding> {
    let public = public(folder, sources);
    let all: Vec<PublicItem<'_>> = sources.iter().flat_map(told).collect();
    let mut of_type: BTreeMap<&str, String> = BTreeMap::new();
    let mut of_file: BTreeMap<&Path, String> = BTreeMap::new();
    for one in &all {
        let name = one.of.as_ref().unwrap_or(&one.name);
        of_type.entry(name).or_default().push_str(&one.examples);
        let file = of_file.entry(&one.source.path).or_default();
        file.push_str(&one.examples);
    }
    for source in sources {
        let front = examples(&front(source));
        of_file.entry(&source.path).or_default().push_str(&front);
    }
    let shown = all.iter().filter(|one| !one.examples.is_empty());
    let returned: String = shown.map(|one| one.returns.as_str()).collect();
    let mut found = Vec::new();
    for one in &all {
        let top = one.of.as_ref().unwrap_or(&one.name);
        if one.is_hidden || !public.items.contains(top) || !one.examples.is_empty() {
            continue;
        }
        let page = public.pages.get(top).map_or("", String::as_str);
        let (is_covered, what) = match &one.of {
            Some(of) => (
                calls(&of_type[of.as_str()], &one.name) || calls(page, &one.name),
                format!("`{of}::{}`", one.name),
            ),
            None => (
                names(&of_file[one.source.path.as_path()], &one.name)
                    || names(&returned, &one.name)
                    || names(page, &one.name),
                format!("`{}`", one.name),
            ),
        };
        if !is_covered {
            let text = format!("{what} has no example that runs");
            found.push(Finding::new(&one.source.path, one.line, text));
        }
    }
    let bare = public.modules.iter().filter_map(|path| {
        let source = sources.iter().find(|source| source.path == *path)?;
        let is_bare = examples(&front(source)).is_empty();
        is_bare.then(|| Finding::new(path, 1, "the module's page has no example that runs"))
    });
    found.extend(bare);
    found
}

/// The names that a program can reach.
#[derive(Default)]
struct Public {
    items: BTreeSet<String>,
    /// The items with their modules: `join`, `task::fork`.
    paths: BTreeSet<String>,
    modules: Vec<PathBuf>,
    /// The examples on the pages of the modules that export an item.
    pages: BTreeMap<String, String>,
}

/// The public items of a crate, each with its module: `join`, `task::fork`.
pub(crate) fn paths(folder: &Path, sources: &[RustFile]) -> BTreeSet<String> {
    public(folder, sources).paths
}

/// The names that the root and its public modules export, and those modules. A module is public
/// where it is declared `pub mod`, or where a public module uses it from a private one.
fn public(folder: &Path, sources: &[RustFile]) -> Public {
    let mut public = Public::default();
    let mut open = vec![(folder.join("lib.rs"), folder.to_owned(), String::new())];
    while let Some((path, below, module)) = open.pop() {
        let Some(source) = sources.iter().find(|source| source.path == path) else {
            continue;
        };
        let exported = quoted::exported_paths(&source.raw.join("\n"));
        let mut names: BTreeSet<String> = exported.keys().cloned().collect();
        for (name, from) in &exported {
            let place = from
                .iter()
                .fold(below.clone(), |folder, part| folder.join(part));
            if from
                .last()
                .is_some_and(|last| is_declared(&place, last, sources))
            {
                let inside = format!("{module}{name}::");
                let files = files_of(&place).map(|path| (path, place.clone(), inside.clone()));
                open.extend(files);
            }
        }
        if below != folder {
            let own = told(source).into_iter();
            let own = own.filter(|one| one.of.is_none() && !one.is_hidden);
            names.extend(own.map(|one| one.name));
            public.modules.push(path);
            let page = examples(&front(source));
            for name in &names {
                let pages = public.pages.entry(name.clone()).or_default();
                pages.push_str(&page);
            }
        }
        let path = |name: &String| format!("{module}{name}");
        public.paths.extend(names.iter().map(path));
        public.items.extend(names);
    }
    public
}

/// The two files in which a module can stand.
fn files_of(place: &Path) -> [PathBuf; 2] {
    [place.with_extension("rs"), place.join("mod.rs")]
}

/// Whether the module above declares one of that name to be public.
fn is_declared(place: &Path, name: &str, sources: &[RustFile]) -> bool {
    let above = place.parent().unwrap_or(Path::new(""));
    let [file, folder] = files_of(above);
    let declaring = [file, folder, above.join("lib.rs")];
    let line = format!("pub mod {name};");
    let mut above = sources.iter().filter(|one| declaring.contains(&one.path));
    above.any(|source| source.code.iter().any(|code| code.trim() == line))
}

/// The public items and methods of a file, by the indentation that `rustfmt` gives them.
fn told(source: &RustFile) -> Vec<PublicItem<'_>> {
    let tests = source.test_lines();
    let mut found = Vec::new();
    let mut docs: Vec<&str> = Vec::new();
    let mut is_hidden = false;
    let mut of: Option<MethodOwner> = None;
    let mut in_attribute = false;
    for (at, raw) in source.raw.iter().enumerate() {
        let code = source.code[at].as_str();
        let text = raw.trim_start();
        if let Some(doc) = text.strip_prefix("///") {
            docs.push(doc);
            continue;
        }
        if in_attribute || text.starts_with("#[") {
            in_attribute = !text.trim_end().ends_with(']');
            is_hidden |= text.contains("doc(hidden)");
            continue;
        }
        if text.starts_with("//") {
            continue;
        }
        let is_top = !code.starts_with(' ') && !code.is_empty();
        let declared = match (&of, is_top) {
            (_, true) => declared(code, "pub ").map(|name| (name, None)),
            (Some(of), false) if indented(code) => {
                is_hidden |= of.is_hidden;
                let before = if of.is_trait { "" } else { "pub " };
                let is_method = code.contains("fn ");
                let name = declared(code.trim_start(), before).filter(|_| is_method);
                name.map(|name| (name, Some(of.name.clone())))
            }
            _ => None,
        };
        if is_top {
            let owner = owner(source, at);
            of = owner.map(|of| MethodOwner { is_hidden, ..of });
        }
        if let (Some((name, of)), false) = (declared, tests[at]) {
            found.push(PublicItem {
                source,
                line: at + 1,
                name,
                of,
                examples: examples(&docs),
                returns: returns(source, at),
                is_hidden,
            });
        }
        if !text.is_empty() {
            docs.clear();
            is_hidden = false;
        }
    }
    found
}

/// One level below an `impl` or a trait.
fn indented(code: &str) -> bool {
    code.starts_with("    ") && !code.starts_with("     ")
}

/// The name that a line declares after `before`.
fn declared(code: &str, before: &str) -> Option<String> {
    let rest = code.strip_prefix(before)?;
    let kinds = QUALIFIERS.iter().chain(&KINDS);
    let rest = kinds
        .into_iter()
        .find_map(|kind| rest.strip_prefix(kind)?.strip_prefix(' '))?;
    let name: String = rest.chars().take_while(|c| is_of_a_name(*c)).collect();
    (!name.is_empty()).then_some(name)
}

fn is_of_a_name(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_'
}

/// The type of an inherent `impl`, or the trait, that opens at a line.
fn owner(source: &RustFile, at: usize) -> Option<MethodOwner> {
    let code = &source.code[at];
    let owner = |name, is_trait| MethodOwner {
        name,
        is_trait,
        is_hidden: false,
    };
    if code.starts_with("pub trait ") {
        return declared(code, "pub ").map(|name| owner(name, true));
    }
    let rest = code.strip_prefix("impl")?;
    let head: String = source.code[at..].iter().take(8).cloned().collect();
    let head = head.split('{').next().unwrap_or_default();
    if head.contains(" for ") {
        return None;
    }
    let mut depth = 0_i32;
    let from = rest.find(|letter| {
        depth += match letter {
            '<' => 1,
            '>' => -1,
            _ => 0,
        };
        depth == 0 && letter == ' '
    })?;
    let path = rest[from + 1..].split(['<', ' ', '{']).next()?;
    let name = path.rsplit("::").next()?;
    Some(owner(name.to_owned(), false))
}

/// The type that a function returns which is declared at a line.
fn returns(source: &RustFile, at: usize) -> String {
    let head: Vec<&str> = source.code[at..]
        .iter()
        .take(16)
        .map(|c| c.trim())
        .collect();
    let head = head.join(" ");
    let head = head.split([';', '{']).next().unwrap_or_default();
    let head = head.split(" where ").next().unwrap_or_default();
    let returned = head.rsplit_once(") -> ").map(|(_, returned)| returned);
    returned.map_or_else(String::new, |name| format!("{name}\n"))
}

/// The documentation of the file itself.
fn front(source: &RustFile) -> Vec<&str> {
    let lines = source.raw.iter();
    lines.filter_map(|line| line.strip_prefix("//!")).collect()
}

/// The code of the examples in a documentation, as one text.
fn examples(docs: &[&str]) -> String {
    let mut found = String::new();
    let mut open: Option<bool> = None;
    for line in docs {
        match (line.trim().strip_prefix("```"), open) {
            (Some(info), None) => open = Some(runs(info)),
            (Some(_), Some(_)) => open = None,
            (None, Some(true)) => found.extend([line, "\n"]),
            (None, _) => {}
        }
    }
    found
}

/// Whether `cargo test` runs a block with that beginning.
fn runs(info: &str) -> bool {
    let mut words = info.split(',').map(str::trim);
    words.all(|word| matches!(word, "" | "rust" | "should_panic"))
}

/// Whether an example calls a method, by `.name` or `::name`, or has its own for a trait.
fn calls(examples: &str, name: &str) -> bool {
    let before = [".", "::", "fn "];
    let is_call = |start: &str| {
        let called = format!("{start}{name}");
        let mut rests = examples.match_indices(&called);
        rests.any(|(at, _)| {
            let rest = &examples[at + called.len()..];
            !rest.starts_with(is_of_a_name)
        })
    };
    before.into_iter().any(is_call)
}

/// Whether an example has the name as a word.
fn names(examples: &str, name: &str) -> bool {
    let mut words = examples.split(|letter| !is_of_a_name(letter));
    words.any(|word| word == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(files: &[(&str, &str)]) -> Vec<String> {
        let sources: Vec<RustFile> = files
            .iter()
            .map(|(path, text)| RustFile::new(Path::new("src").join(path), text))
            .collect();
        let found = check(Path::new("src"), &sources);
        found.iter().map(ToString::to_string).collect()
    }

    const ROOT: &str =
        "mod a;\npub mod b;\n#[doc(hidden)]\npub mod c;\npub use a::{Joined, Pool, join};\n";
    const FRONT: &str = "//! ```\n//! use x::b::One;\n//! ```\n";

    #[test]
    fn items_with_examples_are_clean() {
        let item = "/// ```\n/// join();\n/// ```\n#[inline]\npub fn join() -> Joined<u8> {}\npub struct Joined;\n\
            /// ```\n/// Pool::new().run::<u8>();\n/// ```\npub struct Pool;\n\
            impl<T: Into<u8>> Pool {\n    pub fn new() {}\n    pub const fn run(&self) {}\n\
            \x20   #[doc(hidden)]\n    pub fn raw(&self) {}\n    fn own(&self) {}\n}\n\
            #[doc(hidden)]\nimpl Pool {\n    pub fn rawer(&self) {}\n}\n\
            impl Clone for Pool {\n    fn clone(&self) {}\n}\npub struct Private;\n";
        let other = format!("{FRONT}pub struct One;\n");
        let all = [
            ("lib.rs", ROOT),
            ("a.rs", item),
            ("b.rs", &other),
            ("c.rs", "pub fn f() {}"),
        ];
        assert_eq!(found(&all), Vec::<String>::new());
        let sources = all.map(|(path, text)| RustFile::new(Path::new("src").join(path), text));
        let paths: Vec<String> = paths(Path::new("src"), &sources).into_iter().collect();
        assert_eq!(paths, ["Joined", "Pool", "b", "b::One", "join"]);
    }

    #[test]
    fn a_public_module_may_stand_in_a_private_one() {
        let root = "mod room;\npub use room::{b, one::one};\n";
        let room = "mod one;\npub mod b;\n";
        let all = [
            ("lib.rs", root),
            ("room/mod.rs", room),
            ("room/one.rs", "fn two() {}\n"),
            ("room/one/one.rs", "pub fn hidden() {}\n"),
            ("room/b.rs", "//! Text.\npub struct Two;\n"),
        ];
        let sources = all.map(|(path, text)| RustFile::new(Path::new("src").join(path), text));
        let paths: Vec<String> = paths(Path::new("src"), &sources).into_iter().collect();
        assert_eq!(paths, ["b", "b::Two", "one"]);
        let expected = [
            "src/room/b.rs:2: `Two` has no example that runs",
            "src/room/b.rs:1: the module's page has no example that runs",
        ];
        assert_eq!(found(&all), expected);
    }

    #[test]
    fn items_methods_and_modules_without_are_found() {
        let item = "/// ```text\n/// join();\n/// ```\npub fn join() -> Joined {}\npub struct Joined;\n\
            /// ```no_run\n/// Pool::new();\n/// ```\npub struct Pool;\n\
            impl Pool {\n    /// ```\n    /// Pool::newer();\n    /// ```\n    pub fn newer() {}\n\
            \x20   pub fn new() {}\n}\n";
        let other = "//! Text.\npub trait One {\n    fn all(&self);\n}\n";
        let all = [("lib.rs", ROOT), ("a.rs", item), ("b.rs", other)];
        let found = found(&all);
        let expected = [
            "src/a.rs:4: `join` has no example that runs",
            "src/a.rs:5: `Joined` has no example that runs",
            "src/a.rs:15: `Pool::new` has no example that runs",
            "src/b.rs:2: `One` has no example that runs",
            "src/b.rs:3: `One::all` has no example that runs",
            "src/b.rs:1: the module's page has no example that runs",
        ];
        assert_eq!(found, expected);
    }
}
