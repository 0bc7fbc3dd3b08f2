//! The page with every public item: its sentences are those of the documentation, and each item of
//! a crate's root or of a public module has a row below that crate's heading.
//!
//! What this cannot see: a sentence that stands at another item of the crate.

use std::collections::BTreeSet;
use std::path::Path;

use super::finding::Finding;
use crate::reading::RustFile;

/// The rows of a crate that differ from its documentation, and the items without a row.
pub(crate) fn check(
    path: &Path,
    page: &str,
    name: &str,
    exported: &BTreeSet<String>,
    sources: &[RustFile],
) -> Vec<Finding> {
    let told: Vec<String> = sources.iter().flat_map(openings).collect();
    let rows = rows(page, name);
    let stale = rows.iter().filter(|(_, _, says)| {
        let says = plain(says);
        says.is_empty() || !told.iter().any(|opening| opening.starts_with(&says))
    });
    let stale = stale.map(|(line, item, _)| {
        let text = format!("the sentence about `{item}` is not that of its documentation");
        Finding::new(path, *line, text)
    });
    let gone = rows.iter().filter(|(_, item, _)| !exported.contains(*item));
    let gone = gone.map(|(line, item, _)| {
        Finding::new(path, *line, format!("`{name}` exports no item `{item}`"))
    });
    let has_row = |item: &&String| rows.iter().any(|(_, one, _)| one == item);
    let missing = exported.iter().filter(|item| !has_row(item));
    let missing = missing
        .map(|item| Finding::new(path, 1, format!("the item `{item}` of `{name}` has no row")));
    stale.chain(gone).chain(missing).collect()
}

/// Line, item and sentence of each row below a crate's heading.
fn rows<'p>(page: &'p str, name: &str) -> Vec<(usize, &'p str, &'p str)> {
    let heading = format!("## {name}");
    let lines = page.lines().enumerate();
    let lines = lines.skip_while(|(_, line)| *line != heading).skip(1);
    let lines = lines.take_while(|(_, line)| !line.starts_with("## "));
    let row = |(at, line): (usize, &'p str)| {
        let (item, says) = line.strip_prefix("| `")?.split_once("` | ")?;
        Some((at + 1, item, says.strip_suffix(" |")?))
    };
    lines.filter_map(row).collect()
}

/// The first paragraph of each documentation comment, as one line.
fn openings(source: &RustFile) -> Vec<String> {
    let mut found = Vec::new();
    let mut open: Option<Vec<&str>> = None;
    for line in source.raw.iter().map(|line| line.trim()) {
        let doc = line
            .strip_prefix("///")
            .or_else(|| line.strip_prefix("//!"));
        match (doc.map(str::trim), &mut open) {
            (Some(words), None) => open = Some(vec![words]),
            (Some(""), Some(text)) => {
                found.push(plain(&text.join(" ")));
                text.clear();
            }
            (Some(words), Some(text)) if !text.is_empty() => text.push(words),
            (Some(_), Some(_)) => {}
            (None, _) => {
                let text = open.take().unwrap_or_default();
                found.push(plain(&text.join(" ")));
            }
        }
    }
    found
}

/// A text without links, paths before names, and bars escaped for tables.
fn plain(text: &str) -> String {
    let mut found = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("[`") {
        found.push_str(before);
        let (name, after) = after.split_once("`]").unwrap_or((after, ""));
        found.push_str(&format!("`{name}`"));
        let target = after
            .strip_prefix('(')
            .and_then(|after| after.split_once(')'));
        rest = target.map_or(after, |(_, after)| after);
    }
    found.push_str(rest);
    found.replace("`crate::", "`").replace("\\|", "|")
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str = "//! Front.\n\n/// Joins [`a`](crate::a) and\n/// [`crate::b`].\n///\n/// More.\npub fn join() {}\n";

    fn found(page: &str) -> Vec<String> {
        let exported = ["join", "scope"].map(str::to_owned).into();
        let sources = [RustFile::new("a.rs".into(), SOURCE)];
        let found = check(Path::new("items.md"), page, "roving", &exported, &sources);
        found.into_iter().map(|finding| finding.text).collect()
    }

    fn page(join: &str, scope: &str) -> String {
        format!(
            "# Items\n## other\n| `x` | No. |\n## roving\n\n| `join` | {join} |\n{scope}\n## more\n"
        )
    }

    #[test]
    fn a_row_with_the_first_sentence_of_its_item_is_clean() {
        let scope = "| `scope` | Front. |";
        assert!(found(&page("Joins `a` and `b`.", scope)).is_empty());
    }

    #[test]
    fn other_sentences_items_and_missing_rows_are_found() {
        let scope = "| `scope` | Front. |";
        assert!(found(&page("Joins `a` or `b`.", scope))[0].contains("sentence about `join`"));
        assert!(found(&page("More.", scope))[0].contains("sentence about `join`"));
        assert!(found(&page("Front.", ""))[0].contains("`scope` of `roving` has no row"));
        let gone = format!("{scope}\n| `gone` | Front. |");
        assert!(found(&page("Front.", &gone))[0].contains("exports no item `gone`"));
    }
}
