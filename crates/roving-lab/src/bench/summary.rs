//! `docs/results/README.md`, made from the CSV files beside it.

use std::fs;
use std::path::Path;

use super::overview;
use super::row::{Measure, Row};
use crate::io::csv::Csv;
use crate::io::input::CommandFailure;

/// The plots, in the order of the page.
const PLOTS: [&str; 6] = [
    "overview.svg",
    "uts-t3.svg",
    "stress.svg",
    "sleepers-by-workers.svg",
    "networks-paper-figure-5.svg",
    "networks-paper-figure-6.svg",
];

/// Reads the files of all rows that are in `out`, and writes the summary beside them.
pub(super) fn write(out: &Path, rows: &[Row]) -> Result<(), CommandFailure> {
    let mut files = Vec::new();
    for row in rows {
        let path = out.join(format!("{}.csv", row.name));
        let Ok(text) = fs::read_to_string(&path) else {
            continue;
        };
        let wrong = |why| CommandFailure::Run(format!("{}: {why}", path.display()));
        files.push((row, Csv::parse(&text).map_err(wrong)?));
    }
    if let Some(plot) = overview::plot(&files).map_err(CommandFailure::Run)? {
        crate::io::out::write(&out.join("overview.svg"), &plot)?;
    }
    let plots: Vec<&str> = PLOTS
        .into_iter()
        .filter(|plot| out.join(plot).exists())
        .collect();
    let text = summary(&files, &plots).map_err(CommandFailure::Run)?;
    crate::io::out::write(&out.join("README.md"), &text)
}

/// The page's text.
fn summary(files: &[(&Row, Csv)], plots: &[&str]) -> Result<String, String> {
    let mut text = String::from(
        "# Results\n\n\
         Written by `cargo run --profile measure --features rivals -- bench`, from the CSV files in this directory. Do not edit.\n\n\
         Every value is a median; what is compared ran in turn in one process, round after round.\n\
         *must* is the bound that a row has to keep, *stretch* a better one. A row marked *older* was\n\
         measured before the last change of what it measures: see [its age](#age-of-the-rows).\n\
         Other programs on the same machine make figures worse: see the load in each row. Rows with\n\
         *real-time priority over it* were run under `chrt -r 1`, so that the others did not take\n\
         the cores away. The two cores of a virtual machine may be near each other or far, and that\n\
         changes within seconds: rows that share short work show the hand-off of a cache line.\n\n\
         | what | measured | must | stretch | verdict | row |\n|---|---|---|---|---|---|\n",
    );
    for (Row { name, .. }, csv) in files {
        for row in rows(csv, "claim")? {
            let [what, value, unit, must, stretch, verdict] = fields(
                csv,
                row,
                ["what", "value", "unit", "must", "stretch", "verdict"],
            )?;
            let verdict = if verdict == "missed" {
                "**missed**"
            } else {
                verdict
            };
            text.push_str(&format!(
                "| {what} | {value} {unit} | {must} | {stretch} | {verdict} | [{name}](#{name}) |\n"
            ));
        }
    }
    for plot in plots {
        text.push_str(&format!("\n![{plot}]({plot})\n"));
    }
    for (row, csv) in files {
        text.push_str(&section(row, csv)?);
    }
    Ok(text)
}

/// Where all that was measured for this row is shown, if not here.
fn elsewhere(row: &Row) -> Option<String> {
    let name = row.name;
    match row.measure {
        Measure::Paged(_) => Some(format!("[{name}.md]({name}.md)")),
        Measure::Drawn(_) => Some(format!(
            "[{name}.csv]({name}.csv), and for tables and figures the files whose names begin so"
        )),
        Measure::Table(_) | Measure::Plotted(_) => None,
    }
}

/// Everything that was measured for one row.
fn section(row: &Row, csv: &Csv) -> Result<String, String> {
    let (Row { name, about, .. }, elsewhere) = (row, elsewhere(row));
    let mut text = format!("\n## {name}\n\n{about}. [CSV]({name}.csv)\n\n");
    if let Some(row) = csv.rows.first() {
        let [command, machine] = fields(csv, row, ["command", "machine"])?;
        text.push_str(&format!("`{command}`\\\non {machine}\n\n"));
    }
    let measured = rows(csv, "measurement")?;
    if let Some(place) = &elsewhere {
        text.push_str(&format!("All that was measured: {place}\n"));
    } else if !measured.is_empty() {
        text.push_str("| measured | median | least | unit | runs |\n|---|---|---|---|---|\n");
    }
    for row in measured.into_iter().filter(|_| elsewhere.is_none()) {
        let [what, median, min, unit, runs] =
            fields(csv, row, ["what", "value", "min", "unit", "runs"])?;
        text.push_str(&format!(
            "| {what} | {median} | {min} | {unit} | {runs} |\n"
        ));
    }
    for row in rows(csv, "absent")? {
        let [why] = fields(csv, row, ["what"])?;
        text.push_str(&format!("\nNot measured, or not quite the same: {why}.\n"));
    }
    Ok(text)
}

/// The rows of one kind.
fn rows<'a>(csv: &'a Csv, kind: &str) -> Result<Vec<&'a [String]>, String> {
    let mut found = Vec::new();
    for row in &csv.rows {
        if csv.field(row, "kind")? == kind {
            found.push(&row[..]);
        }
    }
    Ok(found)
}

/// Some fields of a row.
fn fields<'a, const N: usize>(
    csv: &Csv,
    row: &'a [String],
    names: [&str; N],
) -> Result<[&'a str; N], String> {
    let mut found = [""; N];
    for (field, name) in found.iter_mut().zip(names) {
        *field = csv.field(row, name)?;
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::super::record::{Bound, RowRecord};
    use super::super::row::row;
    use super::*;

    #[test]
    fn the_summary_shows_claims_measurements_and_what_is_missing() {
        let mut record = RowRecord::default();
        record.single("fib(40), roving, 1 worker", "s", 0.4);
        record.claim(
            "our time / chili's",
            "×",
            0.9,
            Bound::AtMost(0.85),
            Bound::AtMost(0.75),
        );
        record.absent.push("forte: too new".into());
        let csv = record.csv(
            "cargo run --profile measure --features rivals -- bench fib-1",
            "a CPU; 2 cores",
        );
        let row = row(
            "fib-1",
            "What a join costs",
            Measure::Table(|_| unreachable!()),
        );
        let text = summary(&[(&row, csv)], &["uts-t3.svg"]).unwrap();
        for line in [
            "| our time / chili's | 0.9000 × | ≤ 0.85 | ≤ 0.75 | **missed** | [fib-1](#fib-1) |",
            "| fib(40), roving, 1 worker | 0.4000 | 0.4000 | s | 1 |",
            "## fib-1",
            "on a CPU; 2 cores",
            "forte: too new",
            "![uts-t3.svg](uts-t3.svg)",
        ] {
            assert!(text.contains(line), "{line} is not in\n{text}");
        }
    }

    #[test]
    fn a_file_without_the_columns_is_an_error() {
        let csv = Csv::parse("a,b\n1,2\n").unwrap();
        assert!(
            summary(
                &[(&row("x", "y", Measure::Table(|_| unreachable!())), csv)],
                &[]
            )
            .unwrap_err()
            .contains("kind")
        );
    }
}
