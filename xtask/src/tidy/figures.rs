//! Figures on the first page are those that were measured.

use std::path::Path;

use super::Finding;

/// The headings below which the first page quotes figures.
const HEADINGS: [&str; 2] = ["## How fast", "## You already use Rayon?"];

/// Each row of a table below such a heading has, in the results, a line with the same first two cells:
/// what was measured, and the value.
pub(crate) fn check(path: &Path, page: &str, results: &str) -> Vec<Finding> {
    let mut found = Vec::new();
    let mut inside = false;
    let mut rows = 0;
    for (index, line) in page.lines().enumerate() {
        if line.starts_with("## ") {
            inside = HEADINGS.contains(&line.trim());
        }
        let cells = cells(line);
        let head = cells
            .first()
            .is_some_and(|cell| *cell == "what" || cell.starts_with("--"));
        if !inside || cells.len() < 2 || head {
            continue;
        }
        rows += 1;
        let measured = results.lines().map(self::cells);
        let known = measured
            .into_iter()
            .any(|row| row.len() > 1 && row[..2] == cells[..2]);
        if !known {
            let text = format!("\"{}: {}\" is not in docs/results", cells[0], cells[1]);
            found.push(Finding::new(path, index + 1, text));
        }
    }
    if rows == 0 {
        found.push(Finding::new(
            path,
            1,
            format!("no figures under `{}`", HEADINGS[0]),
        ));
    }
    found
}

/// The page with the values of its rows as the results have them now.
pub(crate) fn refreshed(page: &str, results: &str) -> String {
    let mut inside = false;
    let mut text = String::new();
    for line in page.lines() {
        if line.starts_with("## ") {
            inside = HEADINGS.contains(&line.trim());
        }
        let row = cells(line);
        let mut measured = results
            .lines()
            .map(cells)
            .filter(|row| !row.concat().starts_with("--"));
        let now = measured
            .find(|now| inside && now.len() > 1 && now[0] == row.first().copied().unwrap_or(""));
        match now {
            Some(now) if row.len() > 1 => {
                let rest = row[2..].iter().map(|cell| format!(" {cell} |"));
                text.push_str(&format!("| {} | {} |", now[0], now[1]));
                text.extend(rest);
            }
            _ => text.push_str(line),
        }
        text.push('\n');
    }
    text
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

    const RESULTS: &str =
        "| what | measured | must |\n|---|---|---|\n| fib, 1 worker | 0.8 × chili | 0.85 |\n";

    fn found(row: &str) -> Vec<String> {
        let page = format!(
            "# A\n| x | y |\n## How fast\n| what | measured |\n|---|---|\n{row}\n## B\n| z | 1 |\n"
        );
        check(Path::new("README.md"), &page, RESULTS)
            .into_iter()
            .map(|f| f.text)
            .collect()
    }

    #[test]
    fn what_was_measured_may_be_quoted() {
        assert!(found("| fib, 1 worker | 0.8 × chili | more |").is_empty());
    }

    #[test]
    fn old_figures_are_brought_up_to_date() {
        let page = "| fib, 1 worker | old |\n## How fast\n| what | value |\n| fib, 1 worker | old | x |\n|---|---|\n";
        let now = refreshed(page, &RESULTS.replace("what", "WHAT"));
        assert_eq!(now, page.replace("| old | x |", "| 0.8 × chili | x |"));
    }

    #[test]
    fn other_figures_and_none_at_all_are_found() {
        assert!(found("| fib, 1 worker | 0.7 × chili |")[0].contains("is not in docs/results"));
        assert!(found("| fib, 2 workers | 0.8 × chili |")[0].contains("is not in docs/results"));
        assert!(found("")[0].contains("no figures"));
    }
}
