//! Figures on the first page are those that were measured.
//!
//! A figure is a link to the results whose title is the name of a row there, and whose text is what
//! was measured: `[1.9 ×](docs/results/README.md#fib-2 "fib(40): 2 workers over 1, speed-up")`. So
//! the words around it can be those of a newcomer, in a table or in a sentence.
//!
//! Between two comments stands a table of the same rows on each processor on which `cargo xtask
//! bench readme` has measured them, made of the list that it keeps beside the results.

use std::ops::Range;
use std::path::Path;

use super::finding::Finding;
use crate::reading::{Quoted, fields, quoted};

/// The comments around the table of processors.
const PROCESSORS: [&str; 2] = ["<!-- processors -->\n", "<!-- end of processors -->"];

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

/// The table of processors is that of the list.
pub(crate) fn check_processors(path: &Path, page: &str, list: &str) -> Option<Finding> {
    let text = match table(page) {
        None => "the comments around the table of processors are missing",
        Some(at) if page[at.clone()] != processors(page, list) => {
            "the table of processors is not that of docs/results/readme.csv: `cargo xtask figures`"
        }
        Some(_) => return None,
    };
    Some(Finding::new(path, 1, text))
}

/// Where the table of processors stands on a page.
fn table(page: &str) -> Option<Range<usize>> {
    let begin = page.find(PROCESSORS[0])? + PROCESSORS[0].len();
    let end = begin + page[begin..].find(PROCESSORS[1])?;
    Some(begin..end)
}

/// The rows that a page quotes on each processor of the list; nothing where there is none.
fn processors(page: &str, list: &str) -> String {
    let rows: Vec<Vec<String>> = list.lines().skip(1).map(fields).collect();
    let rows: Vec<&Vec<String>> = rows.iter().filter(|row| row.len() > 5).collect();
    let mut names: Vec<&str> = Vec::new();
    for row in &rows {
        if !names.contains(&row[0].as_str()) {
            names.push(&row[0]);
        }
    }
    if names.is_empty() {
        return String::new();
    }
    let bars = "---|".repeat(names.len() + 1);
    let mut text = format!("\n| measured again | {} |\n|{bars}\n", names.join(" | "));
    for quoted in quoted(page) {
        let of = |name: &str| {
            let row = rows
                .iter()
                .find(|row| row[0] == name && row[1] == quoted.name);
            row.map_or_else(String::new, |row| {
                format!("{} {} ({} to {})", row[3], row[2], row[4], row[5])
            })
        };
        let cells: Vec<String> = names.iter().map(|name| of(name)).collect();
        if cells.iter().any(|cell| !cell.is_empty()) {
            text.push_str(&format!("| {} | {} |\n", quoted.name, cells.join(" | ")));
        }
    }
    text + "\n"
}

/// The page of results tells of each file the measurement that the file has now.
pub(crate) fn check_section(path: &Path, page: &str, name: &str, csv: &str) -> Option<Finding> {
    let heading = format!("\n## {name}\n");
    let begin = page.find(&heading)? + heading.len();
    let section = &page[begin..];
    let section = section.find("\n## ").map_or(section, |end| &section[..end]);
    let machine = fields(csv.lines().nth(1)?).pop()?;
    let told = section.lines().any(|line| line == format!("on {machine}"));
    let text = format!(
        "{name}.csv was measured on \"{machine}\", and its section was not: \
         `cargo run --profile measure --features rivals -- bench {name}`"
    );
    let line = page[..begin].lines().count();
    (!told).then(|| Finding::new(path, line, text))
}

/// The page with its figures as the results have them now.
pub(crate) fn refreshed(page: &str, results: &str, list: &str) -> String {
    let mut text = page.to_owned();
    for one in quoted(page).into_iter().rev() {
        if let Some(cells) = row(results, one.name) {
            text.replace_range(one.at, cells[1]);
        }
    }
    if let Some(at) = table(&text) {
        let now = processors(&text, list);
        text.replace_range(at, &now);
    }
    text
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
        let now = refreshed(&page("0.75 ×", "fib-1", name), RESULTS, "");
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
    fn the_table_of_processors_is_made_of_the_list() {
        let list = "processor,what,unit,median,low,high,values\n\
            \"A; 2 cores\",\"fib, 1\",×,0.5,0.4,0.6,6\n\"B; 2 cores\",\"fib, 1\",×,0.7,0.6,0.8,6\n";
        let [begin, end] = PROCESSORS;
        let link = "[0.5 ×](docs/results/README.md#fib-1 \"fib, 1\")";
        let page = |table: &str| format!("{link}\n{begin}{table}{end}\n");
        let found = |page: &str, list| check_processors(Path::new("README.md"), page, list);
        assert_eq!(found(&page(""), ""), None);
        let now = refreshed(&page("old\n"), "", list);
        assert!(now.contains("| measured again | A; 2 cores | B; 2 cores |\n|---|---|---|\n"));
        assert!(now.contains("| fib, 1 | 0.5 × (0.4 to 0.6) | 0.7 × (0.6 to 0.8) |\n"));
        assert_eq!(found(&now, list), None);
        assert!(
            found(&page(""), list)
                .unwrap()
                .text
                .contains("cargo xtask figures")
        );
        assert!(found(link, "").unwrap().text.contains("missing"));
        assert_eq!(refreshed(&now, "", ""), page(""));
    }

    #[test]
    fn a_section_of_another_measurement_is_found() {
        let page = "# Results\n\n## fib\n\n`bench fib`\\\non A; commit 1\n\n## wake\n\non B\n";
        let csv = |machine| format!("kind,value,machine\nclaim,1,\"{machine}\"\n");
        let found =
            |name, machine| check_section(Path::new("README.md"), page, name, &csv(machine));
        assert_eq!(found("fib", "A; commit 1"), None);
        assert_eq!(found("wake", "B"), None);
        assert_eq!(found("other", "C"), None);
        let stale = found("fib", "A; commit 2").unwrap();
        assert!(stale.line == 3 && stale.text.contains("bench fib`"));
        assert!(found("fib", "B").is_some());
    }

    #[test]
    fn a_page_without_figures_is_found() {
        let page = "# A\n[all](docs/results/README.md#fib-1)\n| fib | 0.8 × |\n";
        let found = check(Path::new("README.md"), page, RESULTS);
        assert!(found[0].text.contains("no figure is linked"));
    }
}
