//! Style as numbers and as names that resolve: the rules of CONTRIBUTING.md.
//!
//! Each rule is a function from text to findings, with good and bad samples as its tests: a rule
//! that cannot fail is a defect.

mod comments;
mod crates;
mod edges;
mod examples;
mod figures;
mod finding;
mod glossary;
mod house;
mod imports;
mod items;
mod lock;
mod pages;
mod quoted;
mod rooms;
mod shared;
mod size;
#[cfg(test)]
mod tests;
mod unsafety;
mod words;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use clap::CommandFactory as _;

use crate::cargo::workspace::{Package, Workspace};
use crate::reading::{RustFile, files, is_for_tests, read, sources};
use crate::report::CheckStep;
use crate::{Result, rayon, results};

use finding::Finding;

/// Files that a rule leaves out, with the reason. Printed at each run.
const EXEMPT: [(RuleFamily, &str, &str); 5] = [
    (
        RuleFamily::Lengths,
        "crates/roving-iter/src/iter/parallel.rs",
        "a trait cannot be divided, and each of its methods has an example",
    ),
    (
        RuleFamily::Edges,
        "xtask/",
        "it shares nothing between threads, and describes the notation",
    ),
    (
        RuleFamily::Orderings,
        "crates/roving/src/machine/prim",
        "it is the door to the atomics",
    ),
    (
        RuleFamily::Orderings,
        "crates/roving-flow/src/machine/prim.rs",
        "it is the door to the atomics",
    ),
    (
        RuleFamily::Words,
        "xtask/src/tidy/words.rs",
        "it is the list of banned words",
    ),
];

/// The crates whose atomic accesses need their comments.
const ORDERED: [&str; 2] = ["roving", "roving-flow"];
/// The crates whose shared words are listed: all that programs are built with.
const LISTED: [&str; 9] = [
    "rayon-core",
    "roving",
    "roving-c",
    "roving-dist",
    "roving-flow",
    "roving-gpu",
    "roving-iter",
    "roving-omp",
    "roving-partition",
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RuleFamily {
    Edges,
    Lengths,
    Orderings,
    Words,
}

pub(crate) fn check(workspace: &Workspace, step: &mut CheckStep) -> Result<()> {
    println!(
        "at most {} lines of code a function, {} lines a file, {} lines from an access to its comment",
        size::FUNCTION_LINES_MAX,
        size::FILE_LINES_MAX,
        edges::COMMENT_LINES_MAX
    );
    for (rule, path, reason) in EXEMPT {
        println!("{rule:?} leaves out {path}: {reason}");
    }
    let mut found = Vec::new();
    let workspace = &workspace.with(&rayon::outside_workspaces(workspace)?)?;
    let known = known(workspace)?;
    let sources = sources(&workspace.root)?;
    for source in &sources {
        if !exempt(workspace, RuleFamily::Lengths, &source.path) {
            found.extend(size::check(source));
        }
        found.extend(pages::check_source(source, &known));
        if !exempt(workspace, RuleFamily::Words, &source.path) {
            found.extend(words::check(source));
        }
    }
    found.extend(comments::check(&sources));
    for package in &workspace.packages {
        found.extend(check_package(workspace, package)?);
    }
    let pages = files(&workspace.root, &["md"]);
    for path in &pages {
        let text = read(path)?;
        found.extend(words::check_page(path, &text));
        found.extend(pages::check_page(path, &text, &known));
    }
    found.extend(check_shared(workspace, &known)?);
    found.extend(check_glossary(workspace)?);
    let path = workspace.root.join("ARCHITECTURE.md");
    found.extend(crates::check(workspace, &path, &read(&path)?));
    found.extend(check_rooms(workspace, &path, &read(&path)?)?);
    found.extend(verbs_told(workspace, &known)?);
    found.extend(lock::check(workspace)?);
    let path = workspace.root.join("README.md");
    // Without results no figure is known, and each is a finding.
    let results = read(&workspace.root.join("docs/results/README.md")).unwrap_or_default();
    found.extend(figures::check(&path, &read(&path)?, &results));
    let others = read(&workspace.root.join(OTHERS)).unwrap_or_default();
    found.extend(figures::check_processors(&path, &read(&path)?, &others));
    found.extend(check_quoted(workspace, &pages)?);
    for finding in &found {
        println!(
            "{}",
            finding
                .to_string()
                .replace(&format!("{}/", workspace.root.display()), "")
        );
    }
    if !found.is_empty() {
        step.fail(format!("{} findings", found.len()));
    }
    println!(
        "{} Rust files and {} pages read",
        sources.len(),
        pages.len()
    );
    Ok(())
}

/// The figures of README.md as other processors have them.
const OTHERS: &str = "docs/results/readme.csv";

/// The crates whose public items pages name.
const TOLD: [&str; 7] = [
    "roving",
    "roving-iter",
    "roving-flow",
    "roving-gpu",
    "roving-dist",
    "roving-model",
    "roving-partition",
];

/// The crate whose modules have no rows on the page of items: their names are those of Rayon.
const RAYONS: &str = "roving-iter";

/// The rules about what pages leave out, and about figures and commits of results.
fn check_quoted(workspace: &Workspace, pages: &[PathBuf]) -> Result<Vec<Finding>> {
    let folder = workspace.root.join("docs/results");
    let (mut numbers, mut names) = (Vec::new(), Vec::new());
    let results = folder.join("README.md");
    let told = read(&results)?;
    let mut found = Vec::new();
    for path in files(&folder, &["csv"]) {
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        if name != "commits.csv" {
            let csv = read(&path)?;
            numbers.extend(quoted::numbers(&csv));
            let row = name.trim_end_matches(".csv");
            // Those of other processors are in folders of their own, of which no page tells.
            if path.parent() == Some(&folder) {
                found.extend(figures::check_section(&results, &told, row, &csv));
            }
            names.push(name);
        }
    }
    let mut words = BTreeSet::new();
    // What changed before is told with the figures of its time.
    let page = |path: &&PathBuf| !path.starts_with(&folder) && !path.ends_with("CHANGELOG.md");
    for path in pages.iter().filter(page) {
        let text = read(path)?;
        words.extend(quoted::words(&text));
        found.extend(quoted::made_up(path, &text, &numbers));
        if path.ends_with("docs/faq.md") {
            found.extend(quoted::denials(path, &text));
        }
    }
    let items = workspace.root.join("docs/items.md");
    for name in TOLD {
        if let Some(package) = workspace.package(name) {
            let root = package.dir.join("src/lib.rs");
            let text = read(&root)?;
            found.extend(quoted::untold(&root, &text, &words));
            let sources = sources(&package.dir.join("src"))?;
            found.extend(examples::check(&package.dir.join("src"), &sources));
            let mut exported = examples::paths(&package.dir.join("src"), &sources);
            exported.retain(|path| name != RAYONS || !path.contains("::"));
            found.extend(items::check(
                &items,
                &read(&items)?,
                name,
                &exported,
                &sources,
            ));
        }
    }
    let list = folder.join("commits.csv");
    let ages = results::Ages::parse(&read(&list)?)?;
    let ages = ages.differences(&names).into_iter();
    found.extend(ages.map(|text| Finding::new(&list, 1, text)));
    Ok(found)
}

/// The rooms of each crate, where it has or needs a table of them, and what the houses of all
/// crates come to.
fn check_rooms(workspace: &Workspace, path: &Path, page: &str) -> Result<Vec<Finding>> {
    let mut found = Vec::new();
    let mut all = Vec::new();
    for package in &workspace.packages {
        let folder = package.dir.join("src");
        let sources = sources(&folder)?;
        let imports = imports::imports(&folder, &package.name.replace('-', "_"), &sources);
        let entries = entries(&folder);
        let rooms = rooms::Rooms::read(page, &package.name);
        found.extend(match &rooms {
            Some(rooms) => rooms.check(path, &entries, &imports),
            None => Vec::from_iter(rooms::check_due(path, &package.name, entries.len())),
        });
        found.extend(rooms::check_sizes(path, &package.name, &imports));
        let product = sources.iter().filter(|source| !is_for_tests(&source.path));
        let (name, files) = (&package.name, product.count());
        for line in house::told(name, entries.len(), files, rooms.as_ref(), &imports) {
            println!("{line}");
        }
        if name == "roving" {
            println!("roving: {}", house::of_roving(&sources));
            found.extend(house::check(&sources));
        }
        all.extend(sources);
    }
    let often = house::often_defined(all.iter());
    println!("{}", house::told_often(&often));
    let bound = workspace.root.join("xtask/src/tidy/house.rs");
    found.extend(house::check_often(&bound, &often, house::OFTEN_MAX));
    Ok(found)
}

/// The names of what stands in a folder.
fn entries(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    names.collect()
}

/// The rules that look at a whole crate: unsafe files, orderings, edges.
fn check_package(workspace: &Workspace, package: &Package) -> Result<Vec<Finding>> {
    let mut found = Vec::new();
    let sources = sources(&package.dir.join("src"))?;
    let root = |source: &&RustFile| {
        let roots = package
            .targets
            .iter()
            .filter(|target| target.kind != "custom-build");
        roots.into_iter().any(|target| target.file == source.path)
    };
    match sources.iter().find(root) {
        Some(root) => found.extend(unsafety::check(root, &sources)),
        None => return Err(format!("{} has no root file", package.name)),
    }
    if !exempt(workspace, RuleFamily::Edges, &package.dir.join("src")) {
        found.extend(edges::check_edges(&sources));
    }
    if ORDERED.contains(&package.name.as_str()) {
        for source in &sources {
            if !is_for_tests(&source.path)
                && !exempt(workspace, RuleFamily::Orderings, &source.path)
            {
                found.extend(edges::check_accesses(source));
                found.extend(edges::check_door(source));
            }
        }
    }
    Ok(found)
}

/// The glossary, against the pages of the book. Those below `results/` are written by programs.
fn check_glossary(workspace: &Workspace) -> Result<Vec<Finding>> {
    let docs = workspace.root.join("docs");
    let path = docs.join("glossary.md");
    let mut pages = Vec::new();
    for page in files(&docs, &["md"]) {
        if page != path && page.parent() == Some(&docs) {
            pages.push((page.clone(), read(&page)?));
        }
    }
    Ok(glossary::check(&path, &read(&path)?, &pages))
}

/// The list of shared words, against the crates that share any. The door and the tests declare none
/// of their own.
fn check_shared(workspace: &Workspace, known: &pages::Known) -> Result<Vec<Finding>> {
    let path = workspace.root.join("docs/guarantees.md");
    let page = read(&path)?;
    let mut found = Vec::new();
    for package in &workspace.packages {
        if !LISTED.contains(&package.name.as_str()) {
            continue;
        }
        let mut declared = shared::Declared::new();
        let folder = package.dir.join("src");
        for source in &sources(&folder)? {
            let is_left_out = exempt(workspace, RuleFamily::Orderings, &source.path);
            if !is_left_out && !is_for_tests(&source.path) {
                let file = below(&folder, &source.path);
                declared.insert(file, shared::declared(source));
            }
        }
        let folder = package.dir.join("include");
        for header in &files(&folder, &["h", "hpp"]) {
            let words = shared::declared_in_header(&read(header)?);
            declared.insert(below(&folder, header), words);
        }
        found.extend(shared::check(
            &path,
            &page,
            &package.name,
            &declared,
            &known.functions,
        ));
    }
    Ok(found)
}

fn below(folder: &Path, path: &Path) -> String {
    let path = path.strip_prefix(folder).unwrap_or(path);
    path.to_string_lossy().into_owned()
}

fn exempt(workspace: &Workspace, rule: RuleFamily, path: &Path) -> bool {
    let short = workspace.short(path);
    EXEMPT
        .iter()
        .any(|(of, start, _)| *of == rule && short.starts_with(start))
}

/// Writes the figures of the first page anew, from the results as they are.
pub(crate) fn refresh_figures(workspace: &Workspace) -> Result<()> {
    let path = workspace.root.join("README.md");
    let results = read(&workspace.root.join("docs/results/README.md"))?;
    let others = read(&workspace.root.join(OTHERS)).unwrap_or_default();
    let page = figures::refreshed(&read(&path)?, &results, &others);
    std::fs::write(&path, page).map_err(|error| format!("{}: {error}", path.display()))
}

/// Every verb of xtask stands in CONTRIBUTING.md.
fn verbs_told(workspace: &Workspace, known: &pages::Known) -> Result<Vec<Finding>> {
    let path = workspace.root.join("CONTRIBUTING.md");
    let page = read(&path)?;
    let missing = known
        .verbs
        .iter()
        .filter(|verb| !page.contains(&format!("| `cargo xtask {verb}` |")));
    Ok(missing
        .map(|verb| Finding::new(&path, 1, format!("the verb `{verb}` is not in the table")))
        .collect())
}

fn known(workspace: &Workspace) -> Result<pages::Known> {
    let mut paths = BTreeSet::new();
    for path in files(&workspace.root, &[]) {
        for part in path.ancestors() {
            paths.insert(workspace.short(part));
        }
    }
    let mut functions = BTreeSet::new();
    for source in sources(&workspace.root)? {
        for code in &source.code {
            for (at, word) in code.match_indices("fn ") {
                let rest = &code[at + word.len()..];
                let name = rest
                    .chars()
                    .take_while(|c| c.is_alphanumeric() || *c == '_');
                functions.insert(name.collect());
            }
        }
    }
    for path in files(&workspace.root, &["c"]) {
        let text = read(&path)?;
        // Before each bracket, a name or nothing.
        for before in text.split('(').rev().skip(1) {
            let name = before.rsplit(|c: char| !c.is_alphanumeric() && c != '_');
            functions.extend(name.take(1).map(str::to_owned));
        }
    }
    let verbs = crate::CommandLine::command();
    Ok(pages::Known {
        root: workspace.root.clone(),
        crates: workspace
            .packages
            .iter()
            .map(|package| package.name.clone())
            .collect(),
        paths,
        functions,
        verbs: verbs
            .get_subcommands()
            .map(|verb| verb.get_name().to_owned())
            .collect(),
    })
}
