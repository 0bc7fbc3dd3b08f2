//! `cargo xtask rayon-suite --iter`: the tests of rayon, which nobody here wrote, with
//! `roving-iter` in rayon's place.
//!
//! The tests are those in rayon's `tests/`, the unit tests of its iterators and slices, and the
//! code blocks of its documentation; only imports are rewritten. What names something that
//! `roving-iter` does not have is left out, by the list in `crates/roving-iter/rayon-suite.txt`.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::registry;
use super::rewrite;
use super::suite::{RAYON_VERSION, flat, print, workspace_path};
use crate::cargo::workspace::Workspace;
use crate::report::CheckStep;
use crate::suite::programs;
use crate::{Result, reading};

/// The list of those left out, and why: file, test (or the line of a code block, or `*`), reason.
const LIST: &str = "crates/roving-iter/rayon-suite.txt";
/// The unit tests that use what is public alone; each becomes an integration test.
const UNIT_TESTS: [&str; 2] = ["src/iter/test.rs", "src/slice/test.rs"];
/// Names that a file of unit tests has from the module around it.
const AROUND: &str = "use rayon::iter::*;\nuse std::collections::LinkedList;";

/// A line of the list.
struct LeftOut {
    file: String,
    test: String,
    reason: String,
}

/// Runs the suite in release: some tests go through ranges of 10²⁷ numbers.
pub(crate) fn check(workspace: &Workspace, step: &mut CheckStep) -> Result<()> {
    let root = workspace.target.join("rayon-suite");
    let found = registry::fetch(workspace, &root.join("fetch"), &[("rayon", RAYON_VERSION)]);
    let sources = match found {
        Ok(sources) => sources,
        Err(lack) => return lack.judge(step),
    };
    let list = read_list(&registry::read(&workspace.root.join(LIST))?)?;
    for left in &list {
        let Some(word) = left.reason.strip_prefix("no ") else {
            continue;
        };
        if is_defined(workspace, word)? {
            let LeftOut { file, test, .. } = left;
            step.fail(format!("{LIST}: {file} {test}: there is a `{word}` by now"));
        }
    }
    let package = root.join("iter");
    write(workspace, &sources[0], &package, &list)?;
    if let Err(lack) = registry::online_or_cached(workspace, &package) {
        return lack.judge(step);
    }
    println!("rayon {RAYON_VERSION}'s tests from crates.io, with roving-iter");
    run(workspace, &package, step)?;
    for left in &list {
        println!("left out: {} {}: {}", left.file, left.test, left.reason);
    }
    println!("left out: {}", list.len());
    Ok(())
}

fn read_list(text: &str) -> Result<Vec<LeftOut>> {
    let lines = text
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty() && !line.starts_with('#'));
    let left = |line: &str| {
        let mut words = line.splitn(3, ' ').map(str::to_owned);
        let (file, test, reason) = (words.next()?, words.next()?, words.next()?);
        Some(LeftOut { file, test, reason })
    };
    lines
        .map(|line| left(line).ok_or_else(|| format!("{LIST}: not `file test reason`: {line}")))
        .collect()
}

/// The tests or lines that are left out of a file; they count as used from then on.
fn left_in<'l>(
    list: &'l [LeftOut],
    file: &str,
    used: &mut BTreeSet<(String, String)>,
) -> Vec<&'l str> {
    let left = list.iter().filter(|out| out.file == file);
    let left: Vec<&str> = left.map(|out| out.test.as_str()).collect();
    used.extend(
        left.iter()
            .map(|test| (file.to_owned(), (*test).to_owned())),
    );
    left
}

/// Whether roving-iter has a function, module or trait of that name.
fn is_defined(workspace: &Workspace, name: &str) -> Result<bool> {
    let folder = workspace.root.join("crates/roving-iter/src");
    for file in reading::files(&folder, &["rs"]) {
        let text = registry::read(&file)?;
        let mut words = text.split(|c: char| !c.is_alphanumeric() && c != '_');
        let mut before = "";
        let found = words.any(|word| {
            let is_definition = ["fn", "mod", "trait", "struct", "enum"].contains(&before);
            before = word;
            is_definition && word == name
        });
        if found {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Writes the package: the tests, and a library with the documentation's code blocks.
fn write(workspace: &Workspace, rayon: &Path, package: &Path, list: &[LeftOut]) -> Result<()> {
    let iter = workspace.root.join("crates/roving-iter");
    let manifest = format!(
        "[package]\nname = \"iter-suite\"\nversion = \"0.0.0\"\nedition = \"2021\"\npublish = false\n\n\
         [workspace]\n\n[dependencies]\nrayon = {{ package = \"roving-iter\", path = '{}' }}\n\
         either = \"1\"\nrand = \"0.9\"\nrand_xorshift = \"0.4\"\n",
        iter.display()
    );
    let mut used = BTreeSet::new();
    let tests = package.join("tests");
    if tests.exists() {
        std::fs::remove_dir_all(&tests).map_err(|error| error.to_string())?;
    }
    registry::write(&package.join("Cargo.toml"), &manifest)?;
    let integration = reading::files(&rayon.join("tests"), &["rs"]);
    let unit = UNIT_TESTS.map(|file| rayon.join(file));
    for file in integration.into_iter().chain(unit) {
        let short = workspace_path(&file, rayon);
        let left = left_in(list, &short, &mut used);
        if left.contains(&"*") {
            continue;
        }
        let mut text = registry::read(&file)?;
        for test in left {
            text = rewrite::without(&text, test)?;
        }
        if short.starts_with("src/") {
            text = text
                .replace("#![cfg(test)]\n", "")
                .replace("use super::*;", AROUND);
        }
        let text = text
            .replace("crate::", "rayon::")
            .replace("rayon_core", "rayon");
        let name = flat(short.strip_prefix("tests/").unwrap_or(&short));
        registry::write(&tests.join(name), &format!("#![allow(warnings)]\n{text}"))?;
    }
    write_documentation(rayon, package, list, &mut used)?;
    let unused = list
        .iter()
        .find(|out| !used.contains(&(out.file.clone(), out.test.clone())));
    match unused {
        Some(out) => Err(format!("{LIST}: there is no {} in {}", out.test, out.file)),
        None => Ok(()),
    }
}

/// The code blocks of rayon's documentation, at their lines, without those left out.
fn write_documentation(
    rayon: &Path,
    package: &Path,
    list: &[LeftOut],
    used: &mut BTreeSet<(String, String)>,
) -> Result<()> {
    let mut root = String::from("#![allow(warnings)]\n");
    for file in reading::files(&rayon.join("src"), &["rs"]) {
        let short = workspace_path(&file, rayon);
        let (docs, blocks) = rewrite::documentation(&registry::read(&file)?);
        if UNIT_TESTS.contains(&short.as_str()) {
            continue;
        }
        let left = left_in(list, &short, used);
        if blocks == 0 || left.contains(&"*") {
            continue;
        }
        let docs = without_blocks(&docs, &left);
        registry::write(&package.join("stock").join(&short), &docs)?;
        let module = flat(&short).replace(".rs", "");
        let _ = writeln!(root, "#[path = \"../stock/{short}\"]\nmod {module};");
    }
    registry::write(&package.join("src/lib.rs"), &root)
}

/// The documentation without the code blocks that begin at these lines.
fn without_blocks(docs: &str, lines: &[&str]) -> String {
    let mut kept = String::new();
    let (mut is_open, mut is_left) = (false, false);
    for (index, line) in docs.lines().enumerate() {
        let is_fence = line.trim_start_matches("//!").trim().starts_with("```");
        if is_fence && !is_open {
            is_left = lines.contains(&(index + 1).to_string().as_str());
        }
        kept.push_str(if is_left { "//!" } else { line });
        kept.push('\n');
        if is_fence {
            is_left &= !is_open;
            is_open = !is_open;
        }
    }
    kept
}

fn run(workspace: &Workspace, package: &Path, step: &mut CheckStep) -> Result<()> {
    let cargo = |words: &[&str]| -> Command {
        let mut command = workspace.cargo(words);
        let target: PathBuf = workspace.target.join("rayon-suite/iter-target");
        command.current_dir(package).env("CARGO_TARGET_DIR", target);
        command
    };
    let mut build = cargo(&["test", "--release", "--tests", "--no-fail-fast"]);
    let (built, _) = programs::build(&mut build)?;
    let mut table = Vec::new();
    for program in built.iter().filter(|built| built.name != "src/lib.rs") {
        println!("\n{}", program.name);
        let outcome = programs::run(program, &[], true)?;
        let counts = outcome.counts;
        // All of its tests may be left out.
        if counts.passed + counts.failed > 0 {
            table.push((format!("rayon {}", program.name), outcome));
        }
    }
    println!("\nrayon documentation");
    let outcome = programs::run_docs(&mut cargo(&["test", "--doc"]), true)?;
    table.push(("rayon documentation".to_owned(), outcome));
    print(&table, step);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_that_is_left_out_is_gone_and_the_others_keep_their_lines() {
        let docs = "//!\n//! ```\n//! one();\n//! ```\n//!\n//! ```\n//! two();\n//! ```\n";
        let expected = "//!\n//!\n//!\n//!\n//!\n//! ```\n//! two();\n//! ```\n";
        assert_eq!(without_blocks(docs, &["2"]), expected);
        assert_eq!(without_blocks(docs, &["4"]), docs, "it ends there");
    }

    #[test]
    fn a_line_of_the_list_has_three_parts() {
        let list = read_list("# why\n\ntests/a.rs b no c\n").unwrap();
        assert_eq!((list.len(), list[0].reason.as_str()), (1, "no c"));
        assert!(read_list("tests/a.rs b\n").is_err());
    }
}
