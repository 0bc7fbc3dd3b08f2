//! The content of one row of `docs/results`: measurements, and the claims that are judged by them.

use crate::io::csv::Csv;
use crate::io::figures::figures;
use crate::timing::lanes::Series;

/// The columns of a row's file. `value` of a measurement is its median.
const HEAD: [&str; 11] = [
    "kind", "what", "unit", "value", "min", "runs", "must", "stretch", "verdict", "command",
    "machine",
];

/// The bound on a value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Bound {
    /// Not above.
    AtMost(f64),
    /// Not below.
    AtLeast(f64),
}

impl Bound {
    fn holds(self, value: f64) -> bool {
        match self {
            Bound::AtMost(most) => value <= most,
            Bound::AtLeast(least) => value >= least,
        }
    }

    pub(super) fn text(self) -> String {
        match self {
            Bound::AtMost(most) => format!("≤ {most}"),
            Bound::AtLeast(least) => format!("≥ {least}"),
        }
    }
}

/// One thing that was measured.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Measurement {
    /// Runtime, workload and workers.
    pub(crate) what: String,
    /// The unit of the values.
    pub(crate) unit: &'static str,
    /// The median.
    pub(crate) median: f64,
    /// The least.
    pub(crate) min: f64,
    /// How often it was measured.
    pub(crate) runs: usize,
}

/// A figure that was promised.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PromisedFigure {
    /// The text of the figure.
    pub(crate) what: String,
    /// Its unit; `×` for a ratio.
    pub(crate) unit: &'static str,
    /// The measured value.
    pub(crate) value: f64,
    /// The bound to reach.
    pub(crate) must: Bound,
    /// A better bound to hope for, where there is one.
    pub(crate) stretch: Option<Bound>,
}

impl PromisedFigure {
    /// `stretch`, `reached`, or `missed`.
    pub(crate) fn verdict(&self) -> &'static str {
        if self.stretch.is_some_and(|bound| bound.holds(self.value)) {
            "stretch"
        } else if self.must.holds(self.value) {
            "reached"
        } else {
            "missed"
        }
    }
}

/// Everything about one row.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct RowRecord {
    /// The measurements.
    pub(crate) measurements: Vec<Measurement>,
    /// The claims.
    pub(crate) claims: Vec<PromisedFigure>,
    /// The systems that took no part, and why.
    pub(crate) absent: Vec<String>,
}

impl RowRecord {
    /// Adds the times of a series, each multiplied by `factor` to be in `unit`.
    pub(crate) fn series(&mut self, of: &str, series: &Series, unit: &'static str, factor: f64) {
        let workers = match series.workers {
            1 => "1 worker".to_owned(),
            many => format!("{many} workers"),
        };
        self.measurements.push(Measurement {
            what: format!("{of}, {}, {workers}", series.name),
            unit,
            median: series.times.median() * factor,
            min: series.times.min() * factor,
            runs: series.times.len(),
        });
    }

    /// Adds a value that was measured once.
    pub(crate) fn single(&mut self, what: &str, unit: &'static str, value: f64) {
        let what = what.to_owned();
        self.measurements.push(Measurement {
            what,
            unit,
            median: value,
            min: value,
            runs: 1,
        });
    }

    /// Adds a claim.
    pub(crate) fn claim(
        &mut self,
        what: impl Into<String>,
        unit: &'static str,
        value: f64,
        must: Bound,
        stretch: impl Into<Option<Bound>>,
    ) {
        self.claims.push(PromisedFigure {
            what: what.into(),
            unit,
            value,
            must,
            stretch: stretch.into(),
        });
    }

    /// The row's file.
    pub(crate) fn csv(&self, command: &str, machine: &str) -> Csv {
        let mut csv = Csv::new(&HEAD);
        let mut push = |fields: [String; 9]| {
            let ends = [command.to_owned(), machine.to_owned()];
            csv.push(fields.into_iter().chain(ends).collect());
        };
        let none = String::new;
        for one in &self.measurements {
            push([
                "measurement".into(),
                one.what.clone(),
                one.unit.into(),
                figures(one.median),
                figures(one.min),
                one.runs.to_string(),
                none(),
                none(),
                none(),
            ]);
        }
        for claim in &self.claims {
            push([
                "claim".into(),
                claim.what.clone(),
                claim.unit.into(),
                figures(claim.value),
                none(),
                none(),
                claim.must.text(),
                claim.stretch.map_or_else(none, Bound::text),
                claim.verdict().into(),
            ]);
        }
        for why in &self.absent {
            push([
                "absent".into(),
                why.clone(),
                none(),
                none(),
                none(),
                none(),
                none(),
                none(),
                none(),
            ]);
        }
        csv
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::timing::times::Times;

    fn claim(value: f64, must: Bound, stretch: Bound) -> PromisedFigure {
        PromisedFigure {
            what: "w".into(),
            unit: "×",
            value,
            must,
            stretch: Some(stretch),
        }
    }

    #[test]
    fn verdicts_are_judged_by_both_bounds() {
        use Bound::{AtLeast, AtMost};
        for (value, verdict) in [
            (0.75, "stretch"),
            (0.76, "reached"),
            (0.85, "reached"),
            (0.86, "missed"),
        ] {
            assert_eq!(
                claim(value, AtMost(0.85), AtMost(0.75)).verdict(),
                verdict,
                "{value}"
            );
        }
        for (value, verdict) in [
            (1.95, "stretch"),
            (1.85, "reached"),
            (1.8, "missed"),
            (f64::NAN, "missed"),
        ] {
            assert_eq!(
                claim(value, AtLeast(1.85), AtLeast(1.95)).verdict(),
                verdict,
                "{value}"
            );
        }
    }

    #[test]
    fn a_record_becomes_a_table_that_is_read_again() {
        let mut times = Times::default();
        for time_ms in [30, 10, 20] {
            times.push(Duration::from_millis(time_ms));
        }
        let series = Series {
            name: "rayon".into(),
            workers: 2,
            times,
        };
        let mut record = RowRecord::default();
        record.series("fib 40", &series, "ms", 1e3);
        record.single("hand-off, one way", "ns", 97.123);
        record.claim(
            "roving / rayon",
            "×",
            0.2,
            Bound::AtMost(0.25),
            Bound::AtMost(0.2),
        );
        record.absent.push("tbb: no headers".into());
        let csv = Csv::parse(&record.csv("roving bench fib", "a CPU; 2 cores").text()).unwrap();
        let rows: Vec<String> = csv.rows.iter().map(|row| row[..9].join("|")).collect();
        assert_eq!(
            rows,
            [
                "measurement|fib 40, rayon, 2 workers|ms|20.00|10.00|3|||",
                "measurement|hand-off, one way|ns|97.12|97.12|1|||",
                "claim|roving / rayon|×|0.2000|||≤ 0.25|≤ 0.2|stretch",
                "absent|tbb: no headers|||||||",
            ]
        );
        assert!(
            csv.rows
                .iter()
                .all(|row| row[9] == "roving bench fib" && row[10] == "a CPU; 2 cores")
        );
    }

    #[test]
    fn figures_are_four() {
        for (value, text) in [
            (1234.5, "1234"),
            (12.345, "12.35"),
            (0.012_345, "0.01235"),
            (123_456.0, "123456"),
            (0.0, "0"),
            (f64::NAN, "NaN"),
        ] {
            assert_eq!(figures(value), text);
        }
    }
}
