//! The results of all rows, as a CSV and as a table.

use std::fs;
use std::io;
use std::path::Path;

use crate::row::{Figure, plain};

/// The columns of the CSV.
const COLUMNS: [&str; 10] = [
    "row", "what", "figure", "unit", "must", "verdict", "seconds", "seed", "commit", "machine",
];

/// The page begins with it.
const HEAD: &str = "# Torture\n\nWritten by `cargo xtask torture`, with torture.csv. Do not edit. What each row attacks: \
[What is guaranteed](../guarantees.md).\n\n";

/// Where and when the figures came to be.
pub(crate) struct Origin {
    pub(crate) seed: u64,
    pub(crate) commit: String,
    pub(crate) machine: String,
}

/// The rows so far.
pub(crate) struct Report {
    origin: Origin,
    lines: Vec<[String; COLUMNS.len()]>,
}

impl Report {
    pub(crate) fn new(origin: Origin) -> Report {
        Report {
            origin,
            lines: Vec::new(),
        }
    }

    pub(crate) fn add(&mut self, row: &str, seconds: f64, figures: &[Figure]) {
        for figure in figures {
            self.lines.push([
                row.to_owned(),
                figure.what.clone(),
                plain(figure.value),
                figure.unit.to_owned(),
                figure.must.clone(),
                figure.verdict.to_string(),
                format!("{seconds:.1}"),
                self.origin.seed.to_string(),
                self.origin.commit.clone(),
                self.origin.machine.clone(),
            ]);
        }
    }

    fn csv(&self) -> String {
        let mut csv = String::new();
        let head = COLUMNS.map(str::to_owned);
        for line in std::iter::once(&head).chain(&self.lines) {
            let cells: Vec<String> = line.iter().map(|cell| quoted(cell)).collect();
            csv.push_str(&cells.join(","));
            csv.push('\n');
        }
        csv
    }

    /// A table in Markdown. What is the same in every line stands below it.
    fn table(&self) -> String {
        let mut table = String::from(
            "| row | what | figure | must | verdict | seconds |\n|---|---|---:|---|---|---:|\n",
        );
        for [row, what, figure, unit, must, verdict, seconds, ..] in &self.lines {
            let figure = grouped(figure);
            table.push_str(&format!(
                "| {row} | {what} | {figure} {unit} | {must} | {verdict} | {seconds} |\n"
            ));
        }
        let Origin {
            seed,
            commit,
            machine,
        } = &self.origin;
        table + &format!("\nSeed {seed}, commit {commit}, {machine}.\n")
    }

    /// Writes the CSV and the table.
    pub(crate) fn write(&self, folder: &Path) -> io::Result<()> {
        fs::create_dir_all(folder)?;
        fs::write(folder.join("torture.csv"), self.csv())?;
        fs::write(folder.join("torture.md"), HEAD.to_owned() + &self.table())
    }
}

fn quoted(cell: &str) -> String {
    match cell.contains([',', '"', '\n']) {
        true => format!("\"{}\"", cell.replace('"', "\"\"")),
        false => cell.to_owned(),
    }
}

/// With commas between the thousands.
pub(crate) fn grouped(figure: &str) -> String {
    if figure.len() < 5 || !figure.bytes().all(|byte| byte.is_ascii_digit()) {
        return figure.to_owned();
    }
    let mut text = String::new();
    for (at, digit) in figure.chars().enumerate() {
        if at > 0 && (figure.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report() -> Report {
        let mut report = Report::new(Origin {
            seed: 7,
            commit: "abc".into(),
            machine: "2 x \"fast\", they say".into(),
        });
        let figures = [
            Figure::at_least("tasks", 1_234_567.0, 1e6, "tasks"),
            Figure::at_most("programs, wrong", 0.0, 0.0, "programs"),
        ];
        report.add("programs", 1.25, &figures);
        report
    }

    /// The cells of one line of a CSV.
    fn cells(line: &str) -> Vec<String> {
        let (mut cells, mut cell, mut inside) = (Vec::new(), String::new(), false);
        let mut rest = line.chars().peekable();
        while let Some(next) = rest.next() {
            match next {
                '"' if inside && rest.peek() == Some(&'"') => {
                    rest.next();
                    cell.push('"');
                }
                '"' => inside = !inside,
                ',' if !inside => cells.push(std::mem::take(&mut cell)),
                other => cell.push(other),
            }
        }
        cells.push(cell);
        cells
    }

    #[test]
    fn a_csv_can_be_read_back() {
        let csv = report().csv();
        let lines: Vec<_> = csv.lines().map(cells).collect();
        assert_eq!(lines[0], COLUMNS);
        assert_eq!(lines[1][2], "1234567");
        assert_eq!(lines[2][1], "programs, wrong");
        assert_eq!(lines[2][9], "2 x \"fast\", they say");
        assert!(lines.iter().all(|line| line.len() == COLUMNS.len()));
    }

    #[test]
    fn the_table_has_the_figures_of_the_csv() {
        let table = report().table();
        assert!(table.contains("| programs | tasks | 1,234,567 tasks | ≥ 1000000 | held | 1.2 |"));
        assert!(
            table.ends_with("Seed 7, commit abc, 2 x \"fast\", they say.\n"),
            "{table}"
        );
    }
}
