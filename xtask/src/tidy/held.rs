//! The tests that the page about regressions names are there: a row about a defect is worth what
//! the test is that would fail with it.

use std::collections::BTreeSet;
use std::path::Path;

use super::finding::Finding;
use crate::reading::RustFile;

/// The title of the last column of the page's tables.
const HELD: &str = "held by |";

/// The functions that sources of Rust define, and what those of C call or define.
pub(super) fn functions(sources: &[RustFile], c: &[String]) -> BTreeSet<String> {
    let lines = sources.iter().flat_map(|source| &source.code);
    let of_rust = lines.filter_map(|line| Some(line.split_once("fn ")?.1));
    let of_rust = of_rust.map(|rest| {
        let end = rest.find(|c: char| !is_of_name(c)).unwrap_or(rest.len());
        rest[..end].to_owned()
    });
    let before_braces = c.iter().flat_map(|text| text.split('(').rev().skip(1));
    let of_c = before_braces.map(|text| {
        let end = text.rfind(|c| !is_of_name(c)).map_or(0, |at| at + 1);
        text[end..].to_owned()
    });
    of_rust.chain(of_c).collect()
}

fn is_of_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// Each name of a function in the last cell of a row is that of one. What has other signs in it is
/// a command, a method or a crate.
pub(super) fn check(path: &Path, page: &str, functions: &BTreeSet<String>) -> Vec<Finding> {
    let mut found = Vec::new();
    if !page.contains(HELD) {
        let text = format!("no table here ends with a column `{HELD}`");
        found.push(Finding::new(path, 1, text));
    }
    for (number, line) in page.lines().enumerate() {
        let Some((_, cell)) = line.rsplit_once(" | ") else {
            continue;
        };
        let names = cell.split('`').skip(1).step_by(2);
        let names = names.filter(|name| name.chars().all(is_of_name));
        let unknown = names.filter(|name| !functions.contains(*name));
        found.extend(unknown.map(|name| {
            let text = format!("`{name}` is no function of a test here: name the one that is");
            Finding::new(path, number + 1, text)
        }));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn functions() -> BTreeSet<String> {
        let source = "pub async fn held_here<T>() {}\n// fn only_said()\n";
        let sources = [RustFile::new("a.rs".into(), source)];
        super::functions(
            &sources,
            &["static void of_c(int x)\n{ called(x); }".into()],
        )
    }

    #[test]
    fn functions_of_both_languages_are_found() {
        let expected = ["held_here", "of_c", "called"].map(str::to_owned);
        assert_eq!(functions(), BTreeSet::from(expected));
    }

    #[test]
    fn a_test_that_is_not_there_is_named_with_its_line() {
        let page = |cell: &str| {
            format!("| reported | what | held by |\n|---|---|---|\n| a | `b` | {cell} |\n")
        };
        let check = |page: &str| check(Path::new("r.md"), page, &functions());
        let good = "`held_here`, `of_c`; `cargo xtask loom`, `Due::pay` of `roving-omp`";
        assert!(check(&page(good)).is_empty());
        let bad = check(&page("`held_here`, `only_said`"));
        assert_eq!(bad.len(), 1, "{bad:?}");
        assert_eq!(bad[0].line, 3);
        assert!(bad[0].text.contains("`only_said` is no function"));
        assert_eq!(check("# A page without a table\n").len(), 1);
    }
}
