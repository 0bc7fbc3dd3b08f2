//! Figures on the first page are those that were measured.
//!
//! A figure is a link to the results whose title is the name of a row there, and whose text is what
//! was measured: `[1.9 ×](docs/results/README.md#fib-2 "fib(40): 2 workers over 1, speed-up")`. So
//! the words around it can be those of a newcomer, in a table or in a sentence.

use std::ops::Range;
use std::path::Path;

use super::Finding;

/// How a link to a heading of the results begins.
const LINK: &str = "](docs/results/README.md#";

/// A figure that a page quotes.
pub(crate) struct Quoted<'a> {
    /// From 1.
    line: usize,
    /// Where its text stands on the page, without the brackets.
    pub(crate) at: Range<usize>,
    /// The heading in the results.
    pub(crate) anchor: &'a str,
    /// The row there.
    pub(crate) name: &'a str,
}

/// Each figure is the one that the results have, and leads to the heading that the results name.
pub(crate) fn check(path: &Path, page: &str, results: &str) -> Vec<Finding> {
    let quoted = quoted(page);
    if quoted.is_empty() {
        let text = "no figure is linked to its row in docs/results";
        return vec![Finding::new(path, 1, text)];
    }
    let fault = |one: &Quoted<'_>| {
        let told = &page[one.at.clone()];
        let text = match row(results, one.name) {
            None => format!("docs/results has no row \"{}\"", one.name),
            Some(cells) if cells[1] != told => {
                format!("\"{}\" is {}, not {told}", one.name, cells[1])
            }
            Some(cells) if !cells.concat().contains(&format!("(#{})", one.anchor)) => {
                format!("\"{}\" is not under #{}", one.name, one.anchor)
            }
            Some(_) => return None,
        };
        Some(Finding::new(path, one.line, text))
    };
    quoted.iter().filter_map(fault).collect()
}

/// The page with its figures as the results have them now.
pub(crate) fn refreshed(page: &str, results: &str) -> String {
    let mut text = page.to_owned();
    for one in quoted(page).into_iter().rev() {
        if let Some(cells) = row(results, one.name) {
            text.replace_range(one.at, cells[1]);
        }
    }
    text
}

/// All figures that a page quotes.
pub(crate) fn quoted(page: &str) -> Vec<Quoted<'_>> {
    let figure = |(end, _): (usize, &str)| {
        let begin = page[..end].rfind('[')? + 1;
        let target = &page[end + LINK.len()..];
        let (anchor, title) = target.split_once(" \"")?;
        let (name, _) = title.split_once("\")")?;
        // Another link may follow one that has no title.
        let own = !anchor.contains(')') && !name.contains('\n');
        own.then_some(Quoted {
            line: page[..end].lines().count(),
            at: begin..end,
            anchor,
            name,
        })
    };
    page.match_indices(LINK).filter_map(figure).collect()
}

/// The cells of the row with this name.
fn row<'a>(results: &'a str, name: &str) -> Option<Vec<&'a str>> {
    let mut rows = results.lines().map(cells);
    rows.find(|cells| cells.len() > 1 && cells[0] == name)
}

fn cells(line: &str) -> Vec<&str> {
    let Some(row) = line.trim().strip_prefix('|') else {
        return Vec::new();
    };
    row.trim_end_matches('|')
        .split('|')
        .map(str::trim)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const RESULTS: &str = "| what | measured | row |\n|---|---|---|\n\
        | fib(40), 1 worker: time (ours) | 0.8 × | [fib-1](#fib-1) |\n";

    fn page(text: &str, anchor: &str, name: &str) -> String {
        format!(
            "# A\n[all](docs/results/README.md#b) [x](y)\nIt takes [{text}](docs/results/README.md#{anchor} \"{name}\") of it.\n"
        )
    }

    fn found(text: &str, anchor: &str, name: &str) -> Vec<String> {
        let found = check(Path::new("README.md"), &page(text, anchor, name), RESULTS);
        assert!(found.iter().all(|finding| finding.line == 3));
        found.into_iter().map(|finding| finding.text).collect()
    }

    #[test]
    fn what_was_measured_may_be_quoted() {
        assert!(found("0.8 ×", "fib-1", "fib(40), 1 worker: time (ours)").is_empty());
    }

    #[test]
    fn old_figures_are_brought_up_to_date() {
        let name = "fib(40), 1 worker: time (ours)";
        let now = refreshed(&page("0.75 ×", "fib-1", name), RESULTS);
        assert_eq!(now, page("0.8 ×", "fib-1", name));
    }

    #[test]
    fn other_figures_rows_and_headings_are_found() {
        let name = "fib(40), 1 worker: time (ours)";
        assert!(found("0.7 ×", "fib-1", name)[0].contains("is 0.8 ×, not 0.7 ×"));
        assert!(found("0.8 ×", "fib-2", name)[0].contains("is not under #fib-2"));
        assert!(found("0.8 ×", "fib-1", "fib(41)")[0].contains("has no row"));
    }

    #[test]
    fn a_page_without_figures_is_found() {
        let page = "# A\n[all](docs/results/README.md#fib-1)\n| fib | 0.8 × |\n";
        let found = check(Path::new("README.md"), page, RESULTS);
        assert!(found[0].text.contains("no figure is linked"));
    }
}
