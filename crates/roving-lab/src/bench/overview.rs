//! The plot for the README's first screen: cheap, quick and balanced side by side, from the CSV
//! files of three rows.

use super::row::Row;
use crate::io::csv::Csv;
use crate::io::figures::counted;
use crate::io::plot::{self, Panel};
use crate::rivals::Runtime;
use crate::timing::lanes::SERIAL;

/// One panel: the row it comes from, how its series begin, on how many workers, and its words.
struct View {
    row: &'static str,
    of: &'static str,
    workers: usize,
    title: &'static str,
    about: &'static str,
}

const VIEWS: [View; 3] = [
    View {
        row: "fib-1",
        of: "fib(",
        workers: 1,
        title: "Cheap",
        about: "fib(40), 1 worker",
    },
    View {
        row: "stress",
        of: "stress 4 µs",
        workers: 2,
        title: "Quick",
        about: "join of 4 µs leaves, 2 workers",
    },
    View {
        row: "uts-t3",
        of: "UTS T3",
        workers: 2,
        title: "Balanced",
        about: "UTS T3, 2 workers",
    },
];

/// The plot; none where a row is missing.
pub(super) fn plot(files: &[(&Row, Csv)]) -> Result<Option<String>, String> {
    let mut panels = Vec::new();
    for view in &VIEWS {
        let Some((_, csv)) = files.iter().find(|(row, _)| row.name == view.row) else {
            return Ok(None);
        };
        panels.push(panel(view, csv)?);
    }
    plot::panels("Speed over plain serial code: longer is better", &panels).map(Some)
}

fn panel(view: &View, csv: &Csv) -> Result<Panel, String> {
    let serial = median(csv, view.of, SERIAL, 1)?;
    let serial = serial.ok_or_else(|| format!("{} has no serial time", view.row))?;
    let mut values = Vec::new();
    for runtime in [Runtime::Roving].into_iter().chain(Runtime::RIVALS) {
        let time = median(csv, view.of, runtime.name(), view.workers)?;
        values.push((runtime.name().to_owned(), time.map(|time| serial / time)));
    }
    Ok(Panel {
        title: view.title.into(),
        about: view.about.into(),
        values,
    })
}

/// The median of one series in a row's file.
fn median(csv: &Csv, of: &str, name: &str, workers: usize) -> Result<Option<f64>, String> {
    let end = format!(", {name}, {}", counted(workers, "worker"));
    for row in &csv.rows {
        let what = csv.field(row, "what")?;
        if csv.field(row, "kind")? == "measurement" && what.starts_with(of) && what.ends_with(&end)
        {
            let value = csv.field(row, "value")?;
            return value
                .parse()
                .map(Some)
                .map_err(|_| format!("`{value}` is no number"));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::super::record::RowRecord;
    use super::super::row::{Measure, row};
    use super::*;
    use crate::io::plot::tests::assert_svg;

    fn file(of: &str, workers: &str) -> Csv {
        let mut record = RowRecord::default();
        record.single(&format!("{of}, serial, 1 worker"), "s", 1.0);
        record.single(&format!("{of}, roving, {workers}"), "s", 0.5);
        record.single(&format!("{of}, rayon, {workers}"), "s", 0.8);
        record.csv("bench", "machine")
    }

    #[test]
    fn three_rows_make_a_plot_and_two_do_not() {
        let [fib, stress, uts] = ["fib-1", "stress", "uts-t3"]
            .map(|name| row(name, "", Measure::Table(|_| unreachable!())));
        let mut files = vec![
            (&fib, file("fib(40)", "1 worker")),
            (&stress, file("stress 4 µs", "2 workers")),
        ];
        assert_eq!(plot(&files).unwrap(), None);
        files.push((&uts, file("UTS T3", "2 workers")));
        let svg = plot(&files).unwrap().unwrap();
        assert_svg(&svg);
        for word in ["Cheap", "Quick", "Balanced", "2.00", "1.25"] {
            assert!(svg.contains(word), "{word}");
        }
        let again = median(&files[1].1, "stress 4 µs", "rayon", 2).unwrap();
        assert_eq!(again, Some(0.8));
    }
}
