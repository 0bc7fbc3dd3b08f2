//! The results of all rows, as a CSV and as a table.

use std::fs;
use std::io;
use std::path::Path;

use crate::row::{RowFigure, plain};

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

/// One figure, and whence it is.
type Line = [String; COLUMNS.len()];

/// The rows so far.
pub(crate) struct RowResults {
    origin: Origin,
    lines: Vec<Line>,
}

impl RowResults {
    pub(crate) fn new(origin: Origin) -> RowResults {
        RowResults {
            origin,
            lines: Vec::new(),
        }
    }

    pub(crate) fn add(&mut self, row: &str, seconds: f64, figures: &[RowFigure]) {
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

    /// Writes the CSV and the table. Rows that were not run this time stay as they stand there,
    /// each with its own seed and commit.
    pub(crate) fn write(&self, folder: &Path, place_of: fn(&str) -> usize) -> io::Result<()> {
        fs::create_dir_all(folder)?;
        let path = folder.join("torture.csv");
        let before = match fs::read_to_string(&path) {
            Ok(text) => lines_of(&text),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            Err(error) => return Err(error),
        };
        let lines = self.with(before, place_of);
        fs::write(path, csv(&lines))?;
        fs::write(folder.join("torture.md"), HEAD.to_owned() + &table(&lines))
    }

    /// These lines in the place of those of the same rows, in the order of the rows.
    fn with(&self, mut before: Vec<Line>, place_of: fn(&str) -> usize) -> Vec<Line> {
        let is_new = |line: &Line| self.lines.iter().any(|new| new[0] == line[0]);
        before.retain(|line| !is_new(line));
        before.extend(self.lines.iter().cloned());
        before.sort_by_key(|line| place_of(&line[0]));
        before
    }
}

fn csv(lines: &[Line]) -> String {
    let mut csv = String::new();
    let head = COLUMNS.map(str::to_owned);
    for line in std::iter::once(&head).chain(lines) {
        let cells: Vec<String> = line.iter().map(|cell| quoted(cell)).collect();
        csv.push_str(&cells.join(","));
        csv.push('\n');
    }
    csv
}

/// The lines of a CSV that was written here; what is none is left out.
fn lines_of(csv: &str) -> Vec<Line> {
    let lines = csv.lines().skip(1);
    lines
        .filter_map(|line| cells(line).try_into().ok())
        .collect()
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

/// A table in Markdown. Whence its lines are stands below it.
fn table(lines: &[Line]) -> String {
    let mut table = String::from(
        "| row | what | figure | must | verdict | seconds |\n|---|---|---:|---|---|---:|\n",
    );
    let mut origins: Vec<(&[String], Vec<&str>)> = Vec::new();
    for line in lines {
        let [row, what, figure, unit, must, verdict, seconds, origin @ ..] = line;
        let figure = grouped(figure);
        table.push_str(&format!(
            "| {row} | {what} | {figure} {unit} | {must} | {verdict} | {seconds} |\n"
        ));
        match origins.iter_mut().find(|(other, _)| *other == origin) {
            Some((_, rows)) if rows.contains(&row.as_str()) => {}
            Some((_, rows)) => rows.push(row),
            None => origins.push((origin, vec![row])),
        }
    }
    for (origin, rows) in origins {
        let [seed, commit, machine] = [0, 1, 2].map(|at| &origin[at]);
        let rows = rows.join(", ");
        table.push_str(&format!(
            "\n{rows}: seed {seed}, commit {commit}, {machine}.\n"
        ));
    }
    table
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

    fn report() -> RowResults {
        let mut report = RowResults::new(Origin {
            seed: 7,
            commit: "abc".into(),
            machine: "2 x \"fast\", they say".into(),
        });
        let figures = [
            RowFigure::at_least("tasks", 1_234_567.0, 1e6, "tasks"),
            RowFigure::at_most("programs, wrong", 0.0, 0.0, "programs"),
        ];
        report.add("programs", 1.25, &figures);
        report
    }

    #[test]
    fn a_csv_can_be_read_back() {
        let csv = csv(&report().lines);
        let lines: Vec<_> = csv.lines().map(cells).collect();
        assert_eq!(lines[0], COLUMNS);
        assert_eq!(lines[1][2], "1234567");
        assert_eq!(lines[2][1], "programs, wrong");
        assert_eq!(lines[2][9], "2 x \"fast\", they say");
        assert!(lines.iter().all(|line| line.len() == COLUMNS.len()));
    }

    #[test]
    fn the_table_has_the_figures_of_the_csv() {
        let table = table(&report().lines);
        assert!(table.contains("| programs | tasks | 1,234,567 tasks | ≥ 1000000 | held | 1.2 |"));
        assert!(
            table.ends_with("\nprograms: seed 7, commit abc, 2 x \"fast\", they say.\n"),
            "{table}"
        );
    }

    #[test]
    fn a_row_that_is_run_alone_leaves_the_others() {
        let mut first = report();
        first.add("deep", 2.0, &[RowFigure::told("levels", 3.0, "levels")]);
        let mut again = RowResults::new(Origin {
            seed: 8,
            commit: "def".into(),
            machine: "the same".into(),
        });
        again.add("programs", 9.0, &[RowFigure::told("tasks", 4.0, "tasks")]);
        let lines = again.with(lines_of(&csv(&first.lines)), |row| {
            usize::from(row == "deep")
        });
        let seen: Vec<_> = lines
            .iter()
            .map(|line| [&line[0], &line[2], &line[8]])
            .collect();
        assert_eq!(seen, [["programs", "4", "def"], ["deep", "3", "abc"]]);
    }
}
