//! Figures that a page quotes from the results, and the rows of those.

use std::ops::Range;

/// How a link to a heading of the results begins.
const LINK: &str = "](docs/results/README.md#";

/// A figure that a page quotes.
pub(crate) struct Quoted<'a> {
    /// From 1.
    pub(crate) line: usize,
    /// Where its text stands on the page, without the brackets.
    pub(crate) at: Range<usize>,
    /// The heading in the results.
    pub(crate) anchor: &'a str,
    /// The row there.
    pub(crate) name: &'a str,
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

/// The fields of a line of CSV.
pub(crate) fn fields(line: &str) -> Vec<String> {
    let mut found = vec![String::new()];
    let mut quoted = false;
    for c in line.chars() {
        match c {
            '"' => quoted = !quoted,
            ',' if !quoted => found.push(String::new()),
            other => {
                if let Some(last) = found.last_mut() {
                    last.push(other);
                }
            }
        }
    }
    found
}
