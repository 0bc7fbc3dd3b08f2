//! Which file of a crate imports which, measured from `use` and from paths in the code.
//!
//! A name counts for the file that defines it, whichever module hands it on. What this cannot see:
//! what is used without being named (methods, fields, what a macro makes), and globs. Files and
//! modules of tests are left out, and so are the names that a module hands on from below itself.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::quoted;
use crate::reading::{RustFile, is_for_tests};

/// From file to file, below the crate's `src`, and the names taken.
pub(crate) type Imports = BTreeMap<(String, String), BTreeSet<String>>;

/// The words before the name of a definition.
const KINDS: [&str; 9] = [
    "fn",
    "struct",
    "enum",
    "trait",
    "type",
    "const",
    "static",
    "union",
    "macro_rules!",
];

/// The path of a module or an item, from the crate's root.
type Place = Vec<String>;

struct Module {
    file: String,
    defines: BTreeSet<String>,
    children: BTreeSet<String>,
    uses: Vec<UsedName>,
    /// The paths in the code itself.
    paths: Vec<Place>,
}

/// One name of a `use`.
struct UsedName {
    name: String,
    path: Place,
    is_public: bool,
}

/// The modules of a crate.
struct ModuleTree(BTreeMap<Place, Module>);

/// The imports of the crate whose sources stand below `folder`. Programs name their library
/// `library`.
pub(crate) fn imports(folder: &Path, library: &str, sources: &[RustFile]) -> Imports {
    let product = sources.iter().filter(|source| !is_for_tests(&source.path));
    let root = match sources.iter().any(|one| one.path == folder.join("lib.rs")) {
        true => "lib",
        false => "main",
    };
    let modules = product.map(|source| {
        let file = source.path.strip_prefix(folder).unwrap_or(&source.path);
        let file = file.to_string_lossy().replace('\\', "/");
        (place_of(&file, root), Module::read(file, source))
    });
    let tree = ModuleTree(modules.collect());
    let mut found = Imports::new();
    for (place, module) in &tree.0 {
        let used = module.uses.iter().map(|one| (&one.path, one.is_public));
        let used = used.chain(module.paths.iter().map(|path| (path, false)));
        for (path, is_public) in used {
            let Some(whole) = tree.absolute(place, path, library) else {
                continue;
            };
            let Some((home, name)) = tree.home(&whole, library, 0) else {
                continue;
            };
            let hands_on = is_public && home.starts_with(place);
            if home != *place && !hands_on {
                let arrow = (module.file.clone(), tree.0[&home].file.clone());
                found.entry(arrow).or_default().insert(name);
            }
        }
    }
    found
}

/// The module that a file is: one name for each folder, and its own unless it is `mod` or the root.
fn place_of(file: &str, root: &str) -> Place {
    let mut place: Place = file
        .trim_end_matches(".rs")
        .split('/')
        .map(str::to_owned)
        .collect();
    let is_face = place
        .last()
        .is_some_and(|name| name == "mod" || place.len() == 1 && name == root);
    if is_face {
        place.pop();
    }
    place
}

impl Module {
    fn read(file: String, source: &RustFile) -> Module {
        let tests = source.test_lines();
        let lines = source.code.iter().zip(tests);
        let lines: Vec<&str> = lines
            .map(|(code, is_test)| if is_test { "" } else { code.as_str() })
            .collect();
        let mut rest = lines.join("\n");
        let mut uses = Vec::new();
        while let Some((from, tree, to)) = next_use(&rest) {
            let line = rest[..from].rsplit('\n').next().unwrap_or_default();
            let is_public = line.trim_start().starts_with("pub");
            let leaves = quoted::leaves(rest[tree..to].trim(), &[]);
            uses.extend(leaves.into_iter().map(|(name, path)| UsedName {
                name,
                path,
                is_public,
            }));
            rest.replace_range(from..=to, &" ".repeat(to + 1 - from));
        }
        let words: Vec<&str> = rest.split_whitespace().collect();
        let mut defines = BTreeSet::new();
        let mut children = BTreeSet::new();
        for pair in words.windows(2) {
            let name = identifier(pair[1]);
            if KINDS.contains(&pair[0]) {
                defines.insert(name.to_owned());
            } else if pair[0] == "mod" && pair[1].ends_with(';') {
                children.insert(name.to_owned());
            }
        }
        Module {
            file,
            defines,
            children,
            uses,
            paths: paths(&rest),
        }
    }
}

/// The first `use` of a text: where it begins, where its tree begins, and where its `;` stands.
fn next_use(text: &str) -> Option<(usize, usize, usize)> {
    let mut starts = text.match_indices("use ").map(|(at, _)| at);
    let from = starts.find(|at| {
        let before = text[..*at].chars().next_back();
        before.is_none_or(|letter| letter.is_whitespace())
    })?;
    let to = from + text[from..].find(';')?;
    Some((from, from + "use ".len(), to))
}

/// The word at the beginning of a text.
fn identifier(text: &str) -> &str {
    let end = text.find(|letter: char| !is_of_a_name(letter));
    &text[..end.unwrap_or(text.len())]
}

fn is_of_a_name(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_'
}

/// The paths of at least two words.
fn paths(text: &str) -> Vec<Place> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find("::") {
        let before = &rest[..at];
        let begin = before.rfind(|letter: char| !is_of_a_name(letter));
        let begin = begin.map_or(0, |at| {
            at + before[at..].chars().next().map_or(1, char::len_utf8)
        });
        let mut place = vec![before[begin..].to_owned()];
        rest = &rest[at + 2..];
        loop {
            let word = identifier(rest);
            if word.is_empty() {
                break;
            }
            place.push(word.to_owned());
            rest = &rest[word.len()..];
            match rest.strip_prefix("::") {
                Some(next) => rest = next,
                None => break,
            }
        }
        if !place[0].is_empty() && place.len() > 1 {
            found.push(place);
        }
    }
    found
}

impl ModuleTree {
    /// A path of a module, from the root. `None` for one that leads out of the crate.
    fn absolute(&self, module: &[String], path: &[String], library: &str) -> Option<Place> {
        let (first, rest) = path.split_first()?;
        let below = |place: &[String]| [place, rest].concat();
        match first.as_str() {
            "crate" => return Some(rest.to_vec()),
            name if name == library => return Some(rest.to_vec()),
            "self" => return Some(below(module)),
            "super" => {
                let above = module.split_last()?.1;
                return match rest.first().map(String::as_str) {
                    Some("super") => self.absolute(above, rest, library),
                    _ => Some(below(above)),
                };
            }
            _ => {}
        }
        let own = self.0.get(module)?;
        if own.children.contains(first) {
            return Some([module, path].concat());
        }
        let used = own.uses.iter().find(|one| one.name == *first)?;
        (used.path != path && used.path.first() != Some(first))
            .then(|| self.absolute(module, &used.path, library))?
            .map(|place| [place.as_slice(), rest].concat())
    }

    /// The module that defines what stands at a path, and its name. `None` for a module itself.
    fn home(&self, path: &[String], library: &str, depth: usize) -> Option<(Place, String)> {
        let mut module = Place::new();
        let mut rest = path;
        while let Some((first, below)) = rest.split_first() {
            let inside = [module.as_slice(), std::slice::from_ref(first)].concat();
            let is_child = self.0.get(&module)?.children.contains(first);
            if !is_child || !self.0.contains_key(&inside) {
                break;
            }
            (module, rest) = (inside, below);
        }
        let (name, below) = rest.split_first()?;
        let own = self.0.get(&module)?;
        let handed = own.uses.iter().filter(|one| one.name == *name);
        for used in handed.filter(|_| !own.defines.contains(name) && depth < 8) {
            if let Some(place) = self.absolute(&module, &used.path, library) {
                let whole = [place.as_slice(), below].concat();
                if whole != path {
                    let found = self.home(&whole, library, depth + 1);
                    if found.is_some() || below.is_empty() {
                        return found;
                    }
                }
            }
        }
        // What a macro makes, or comes from another crate, counts for the module that names it.
        let is_here = !module.is_empty() || own.defines.contains(name);
        is_here.then(|| (module, name.clone()))
    }
}

/// The circles of files: the largest sets in which each file imports each other one in the end.
pub(crate) fn circles<'f>(
    arrows: impl Iterator<Item = (&'f str, &'f str)> + Clone,
) -> Vec<BTreeSet<&'f str>> {
    let mut reach: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (from, to) in arrows {
        reach.entry(from).or_default().insert(to);
    }
    let all_from = |start: &'f str| {
        let mut found = BTreeSet::new();
        let mut open = vec![start];
        while let Some(file) = open.pop() {
            for next in reach.get(file).into_iter().flatten() {
                if found.insert(*next) {
                    open.push(next);
                }
            }
        }
        found
    };
    let reached: BTreeMap<&str, BTreeSet<&str>> =
        reach.keys().map(|file| (*file, all_from(file))).collect();
    let mut found: Vec<BTreeSet<&str>> = Vec::new();
    for (file, reaches) in &reached {
        let known = found.iter().any(|circle| circle.contains(file));
        if known || !reaches.contains(file) {
            continue;
        }
        let is_back = |other: &&&str| reached.get(**other).is_some_and(|of| of.contains(file));
        found.push(reaches.iter().filter(is_back).copied().collect());
    }
    found.sort_by_key(|circle| std::cmp::Reverse(circle.len()));
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(files: &[(&str, &str)]) -> Vec<String> {
        let sources: Vec<RustFile> = files
            .iter()
            .map(|(path, text)| RustFile::new(Path::new("src").join(path), text))
            .collect();
        let found = imports(Path::new("src"), "x", &sources);
        let told = found.iter().map(|((from, to), names)| {
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            format!("{from} -> {to}: {}", names.join(" "))
        });
        told.collect()
    }

    #[test]
    fn names_count_for_the_file_that_defines_them() {
        let files = [
            ("lib.rs", "mod a;\nmod b;\npub use a::deep::Deep;\n"),
            (
                "a/mod.rs",
                "pub mod deep;\npub(crate) use deep::{Deep, low as lower};\n",
            ),
            (
                "a/deep.rs",
                "pub struct Deep;\npub fn low() {}\nconst OWN: u8 = 0;\n",
            ),
            (
                "b.rs",
                "use std::fmt;\nuse crate::a::{self, Deep as D};\nfn f() { a::lower(); crate::Deep::new(); fmt::x(); }\n",
            ),
        ];
        assert_eq!(of(&files), ["b.rs -> a/deep.rs: Deep low"]);
    }

    #[test]
    fn relative_paths_are_followed_and_tests_are_not() {
        let files = [
            ("lib.rs", "mod a;\nmod b;\n"),
            ("b.rs", "pub fn g() {}\npub fn h() {}\npub fn i() {}\n"),
            ("a/mod.rs", "mod c;\nmod tests;\nfn top() {}\n"),
            (
                "a/c.rs",
                "use super::super::b::g;\n// crate::b::h()\nfn f() { super::top(); \"crate::b::h\"; }\n\
                 #[cfg(test)]\nmod tests {\n    use crate::b::i;\n}\n",
            ),
            ("a/tests.rs", "use crate::b::h;\n"),
        ];
        assert_eq!(of(&files), ["a/c.rs -> a/mod.rs: top", "a/c.rs -> b.rs: g"]);
    }

    #[test]
    fn circles_are_found_whole_and_chains_are_none() {
        let arrows = [
            ("a", "b"),
            ("b", "c"),
            ("c", "a"),
            ("c", "d"),
            ("e", "f"),
            ("f", "e"),
        ];
        let found = circles(arrows.into_iter());
        let found: Vec<Vec<&str>> = found
            .into_iter()
            .map(|one| one.into_iter().collect())
            .collect();
        assert_eq!(found, [vec!["a", "b", "c"], vec!["e", "f"]]);
    }
}
