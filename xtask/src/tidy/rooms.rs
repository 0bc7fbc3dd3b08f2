//! The rooms of a crate and their floors: the table in ARCHITECTURE.md against the imports.
//!
//! Where the section *Inside* of a crate has a table `| floor | room | … |`, a room imports only
//! from rooms on lower floors. What is not mended yet stands below *Inversions left*, which can
//! only shrink: an import that is not there is a finding, and so is a row without its import.
//!
//! Files inside a room may use each other in a circle where a row `| circle | why |` names them
//! with a reason: one of a file more is a finding, and so is a row with a file less.
//!
//! A crate of some size needs the table. Whether it has one or not, rooms do not use each other,
//! and a circle inside a room is small.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::finding::Finding;
use super::imports::{Imports, circles};
use crate::reading::code_spans;

/// The heads of the three tables.
const ROOMS: &str = "| floor | room |";
const LEFT: &str = "| inversion left | takes |";
const CIRCLES: &str = "| circle | why |";

/// A crate with more entries at its `src` has a table of rooms.
const ENTRIES_MAX: usize = 5;
/// The most files of a circle, whatever its reason.
const CIRCLE_MAX: usize = 3;

/// A crate's rooms by name (`stack`, or `raw` for `raw.rs`), each with its floor, and the
/// inversions that are left, each with its line and names.
#[derive(Default)]
pub(crate) struct Rooms {
    line: usize,
    floors: BTreeMap<String, usize>,
    left: BTreeMap<(String, String), (usize, BTreeSet<String>)>,
    circles: Vec<(usize, BTreeSet<String>)>,
}

impl Rooms {
    /// The tables of a crate's section, if it has one of rooms.
    pub(crate) fn read(page: &str, name: &str) -> Option<Rooms> {
        let heading = format!("## Inside `{name}`");
        let mut rooms = Rooms::default();
        let (mut inside, mut table) = (false, "");
        for (at, line) in page.lines().enumerate() {
            if line.starts_with("## ") {
                inside = line == heading;
            }
            table = match line {
                _ if line.starts_with(ROOMS) => ROOMS,
                _ if line.starts_with(LEFT) => LEFT,
                _ if line.starts_with(CIRCLES) => CIRCLES,
                _ if line.starts_with('|') => table,
                _ => "",
            };
            let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
            match (inside, table, &cells[..]) {
                (true, ROOMS, [floor, room, ..]) => {
                    if let (Ok(floor), [room]) = (floor.parse(), &code_spans(room)[..]) {
                        rooms.line = at + 1;
                        rooms.floors.insert(room_of(room), floor);
                    }
                }
                (true, LEFT, [arrow, names, ..]) => {
                    if let [from, to] = code_spans(arrow)[..] {
                        let names = code_spans(names).into_iter().map(str::to_owned).collect();
                        let arrow = (from.to_owned(), to.to_owned());
                        rooms.left.insert(arrow, (at + 1, names));
                    }
                }
                (true, CIRCLES, [files, why, ..]) if !why.is_empty() => {
                    let files: BTreeSet<String> =
                        code_spans(files).into_iter().map(str::to_owned).collect();
                    if !files.is_empty() {
                        rooms.circles.push((at + 1, files));
                    }
                }
                _ => {}
            }
        }
        (!rooms.floors.is_empty()).then_some(rooms)
    }

    /// The imports that do not lead to a lower floor. The root only names what stands in rooms.
    pub(crate) fn inversions<'i>(
        &self,
        imports: &'i Imports,
    ) -> BTreeMap<(&'i str, &'i str), &'i BTreeSet<String>> {
        let floor = |file: &str| self.floors.get(&room_of(file)).copied();
        let arrows = imports.iter().filter(|((from, to), _)| {
            let (above, below) = (floor(from), floor(to));
            room_of(from) != room_of(to) && above.is_some() && above <= below
        });
        let told = arrows.map(|((from, to), names)| ((from.as_str(), to.as_str()), names));
        told.collect()
    }

    /// The table compared with the entries of the crate's `src`, and with its imports.
    pub(crate) fn check(&self, page: &Path, entries: &[String], imports: &Imports) -> Vec<Finding> {
        let mut found = Vec::new();
        let mut say = |line, text| found.push(Finding::new(page, line, text));
        let there: BTreeSet<String> = entries
            .iter()
            .filter(|entry| !is_root(entry))
            .map(|entry| room_of(entry))
            .collect();
        for room in there.iter().filter(|room| !self.floors.contains_key(*room)) {
            say(self.line, format!("the room `{room}` has no floor"));
        }
        for room in self.floors.keys().filter(|room| !there.contains(*room)) {
            say(self.line, format!("there is no room `{room}`"));
        }
        let real = self.inversions(imports);
        let nothing = BTreeSet::new();
        for ((from, to), names) in &real {
            let arrow = ((*from).to_owned(), (*to).to_owned());
            let told = self.left.get(&arrow).map_or(&nothing, |(_, names)| names);
            for name in names.difference(told) {
                let text = format!("`{from}` imports `{name}` from `{to}`, which stands no lower");
                say(self.line, text);
            }
        }
        for ((from, to), (line, names)) in &self.left {
            let names_there = real.get(&(from.as_str(), to.as_str()));
            for name in names.difference(names_there.unwrap_or(&&nothing)) {
                let text = format!("`{from}` imports no `{name}` from `{to}`: strike it here");
                say(*line, text);
            }
        }
        found.extend(self.check_circles(page, imports));
        found
    }

    /// The circles inside rooms, against those that have a reason.
    fn check_circles(&self, page: &Path, imports: &Imports) -> Vec<Finding> {
        let real: Vec<BTreeSet<String>> = circles_within(imports)
            .into_iter()
            .map(|circle| circle.into_iter().map(str::to_owned).collect())
            .collect();
        let mut found = Vec::new();
        for circle in &real {
            if !self.circles.iter().any(|(_, told)| circle.is_subset(told)) {
                let files: Vec<&str> = circle.iter().map(String::as_str).collect();
                let text = format!("a circle without a reason: {}", files.join(" "));
                found.push(Finding::new(page, self.line, text));
            }
        }
        for (line, told) in &self.circles {
            if !real.iter().any(|circle| told.is_subset(circle)) {
                let files: Vec<&str> = told.iter().map(String::as_str).collect();
                let text = format!("no such circle any more: {}", files.join(" "));
                found.push(Finding::new(page, *line, text));
            }
        }
        found
    }
}

/// A crate of that many entries without a table.
pub(crate) fn check_due(page: &Path, name: &str, entries: usize) -> Option<Finding> {
    let text = format!("`{name}` has {entries} entries at src and no table of rooms");
    (entries > ENTRIES_MAX).then(|| Finding::new(page, 1, text))
}

/// Rooms of a crate that use each other, and large circles inside one.
pub(crate) fn check_sizes(page: &Path, name: &str, imports: &Imports) -> Vec<Finding> {
    let mut found = Vec::new();
    let mut say = |text| found.push(Finding::new(page, 1, text));
    for circle in circles_of_rooms(imports) {
        let rooms: Vec<String> = circle.into_iter().collect();
        say(format!(
            "rooms of `{name}` use each other: {}",
            rooms.join(" ")
        ));
    }
    let within = circles_within(imports).into_iter();
    for circle in within.filter(|circle| circle.len() > CIRCLE_MAX) {
        let files: Vec<&str> = circle.into_iter().collect();
        let (count, files) = (files.len(), files.join(" "));
        say(format!(
            "a circle of {count} files in `{name}`, at most {CIRCLE_MAX} may be: {files}"
        ));
    }
    found
}

/// Those of rooms that use each other.
pub(crate) fn circles_of_rooms(imports: &Imports) -> Vec<BTreeSet<String>> {
    let rooms: BTreeSet<(String, String)> = imports
        .keys()
        .filter(|(from, to)| !is_root(from) && !is_root(to))
        .map(|(from, to)| (room_of(from), room_of(to)))
        .filter(|(from, to)| from != to)
        .collect();
    let arrows = rooms.iter().map(|(from, to)| (from.as_str(), to.as_str()));
    let owned = |circle: BTreeSet<&str>| circle.into_iter().map(str::to_owned).collect();
    circles(arrows).into_iter().map(owned).collect()
}

/// The circles of the files of each room.
pub(crate) fn circles_within(imports: &Imports) -> Vec<BTreeSet<&str>> {
    let within = imports
        .keys()
        .filter(|(from, to)| !is_root(from) && !is_root(to) && room_of(from) == room_of(to));
    circles(within.map(|(from, to)| (from.as_str(), to.as_str())))
}

fn is_root(file: &str) -> bool {
    matches!(file, "lib.rs" | "main.rs")
}

/// The room in which a file stands, or which an entry of `src` is.
fn room_of(file: &str) -> String {
    let first = file.split('/').next().unwrap_or(file);
    first.trim_end_matches(".rs").to_owned()
}

#[cfg(test)]
mod tests {
    use super::super::imports::imports;
    use super::*;
    use crate::reading::RustFile;

    const PAGE: &str = "# A\n## Inside `x`\n\n| floor | room | what |\n|---|---|---|\n\
        | 1 | `low/` | a |\n| 2 | `high/` | b |\n| 2 | `beside/` | c |\n\n\
        | inversion left | takes |\n|---|---|\n| `low/a.rs` → `high/mod.rs` | `Told` |\n\n\
        ## Inside `y`\n| floor | room | what |\n| 1 | `other.rs` | d |\n";

    fn tree(low: &str, beside: &str) -> Imports {
        let files = [
            (
                "lib.rs",
                "mod low;\nmod high;\nmod beside;\npub use high::Up;\n",
            ),
            ("low/mod.rs", "mod a;\npub struct Down;\n"),
            ("low/a.rs", low),
            (
                "high/mod.rs",
                "use crate::low::Down;\npub struct Told;\npub struct Up;\n",
            ),
            ("beside.rs", beside),
        ];
        let sources = files.map(|(path, text)| RustFile::new(Path::new("src").join(path), text));
        imports(Path::new("src"), "x", &sources)
    }

    fn found(page: &str, entries: &[&str], imports: &Imports) -> Vec<String> {
        let rooms = Rooms::read(page, "x").expect("a table");
        let entries: Vec<String> = entries.iter().map(|entry| (*entry).to_owned()).collect();
        let found = rooms.check(Path::new("A.md"), &entries, imports);
        found.iter().map(ToString::to_string).collect()
    }

    const ENTRIES: [&str; 4] = ["lib.rs", "low", "high", "beside.rs"];

    #[test]
    fn a_house_in_order_is_clean() {
        let imports = tree("use crate::high::Told;\n", "use crate::low::Down;\n");
        assert_eq!(found(PAGE, &ENTRIES, &imports), Vec::<String>::new());
        assert!(Rooms::read(PAGE, "z").is_none());
    }

    #[test]
    fn imports_that_run_up_or_aside_are_found() {
        let imports = tree(
            "use crate::high::{Told, Up};\n",
            "use crate::low::Down;\nfn f() { crate::Up::new(); }\n",
        );
        let expected = [
            "A.md:8: `beside.rs` imports `Up` from `high/mod.rs`, which stands no lower",
            "A.md:8: `low/a.rs` imports `Up` from `high/mod.rs`, which stands no lower",
        ];
        assert_eq!(found(PAGE, &ENTRIES, &imports), expected);
    }

    #[test]
    fn a_row_without_its_import_and_rooms_without_floors_are_found() {
        let imports = tree("", "use crate::low::Down;\n");
        let expected = [
            "A.md:8: the room `attic` has no floor",
            "A.md:8: there is no room `beside`",
            "A.md:12: `low/a.rs` imports no `Told` from `high/mod.rs`: strike it here",
        ];
        let entries = ["lib.rs", "low", "high", "attic.rs"];
        assert_eq!(found(PAGE, &entries, &imports), expected);
    }

    #[test]
    fn a_circle_in_a_room_needs_its_reason() {
        let files = [
            ("lib.rs", "mod low;\nmod high;\nmod beside;\n"),
            ("low/mod.rs", "mod a;\nmod b;\n"),
            ("low/a.rs", "use super::b::B;\npub struct A;\n"),
            ("low/b.rs", "use super::a::A;\npub struct B;\n"),
            ("high/mod.rs", ""),
            ("beside.rs", ""),
        ];
        let sources = files.map(|(path, text)| RustFile::new(Path::new("src").join(path), text));
        let imports = imports(Path::new("src"), "x", &sources);
        let page = PAGE.replace("| `low/a.rs` → `high/mod.rs` | `Told` |\n", "");
        let bare = "A.md:8: a circle without a reason: low/a.rs low/b.rs";
        assert_eq!(found(&page, &ENTRIES, &imports), [bare]);
        let told = |row: &str| {
            page.replace(
                "\n## Inside `y`",
                &format!("\n| circle | why |\n|---|---|\n{row}\n## Inside `y`"),
            )
        };
        let good = told("| `low/a.rs`, `low/b.rs` | two halves |");
        assert_eq!(found(&good, &ENTRIES, &imports), Vec::<String>::new());
        assert_eq!(
            found(&told("| `low/a.rs`, `low/b.rs` | |"), &ENTRIES, &imports),
            [bare]
        );
        let stale = told("| `low/a.rs`, `low/b.rs`, `low/mod.rs` | three |");
        assert!(found(&stale, &ENTRIES, &imports)[0].contains("no such circle any more"));
    }

    #[test]
    fn a_crate_of_some_size_needs_a_table() {
        let due = |entries| check_due(Path::new("A.md"), "x", entries).map(|found| found.text);
        assert_eq!(due(ENTRIES_MAX), None);
        let bare = "`x` has 6 entries at src and no table of rooms";
        assert_eq!(due(ENTRIES_MAX + 1).as_deref(), Some(bare));
    }

    /// The imports of files in a ring, all of one room.
    fn ring(files: &[&str]) -> Imports {
        let next = files.iter().cycle().skip(1);
        let pairs = files.iter().zip(next);
        let arrow = |(from, to): (&&str, &&str)| ((*from).to_owned(), (*to).to_owned());
        pairs.map(|pair| (arrow(pair), BTreeSet::new())).collect()
    }

    #[test]
    fn large_circles_and_rooms_that_use_each_other_are_found() {
        let sizes = |name: &str, files: &[&str]| -> Vec<String> {
            let found = check_sizes(Path::new("A.md"), name, &ring(files));
            found.into_iter().map(|found| found.text).collect()
        };
        assert_eq!(sizes("x", &["low/a.rs", "low/b.rs", "low/c.rs"]), [""; 0]);
        let four = ["low/a.rs", "low/b.rs", "low/c.rs", "low/d.rs"];
        let large =
            "a circle of 4 files in `x`, at most 3 may be: low/a.rs low/b.rs low/c.rs low/d.rs";
        assert_eq!(sizes("x", &four), [large]);
        let between = ["rooms of `x` use each other: high low"];
        assert_eq!(sizes("x", &["low/a.rs", "high/b.rs"]), between);
    }

    #[test]
    fn circles_are_told_by_rooms_and_within_them() {
        let imports = tree("use crate::high::Told;\n", "");
        let rooms: Vec<String> = circles_of_rooms(&imports).into_iter().flatten().collect();
        assert_eq!(rooms, ["high", "low"]);
        assert!(circles_within(&imports).is_empty());
        let imports = tree("use super::Down;\npub struct A;\n", "");
        assert!(circles_within(&imports).is_empty());
    }
}
