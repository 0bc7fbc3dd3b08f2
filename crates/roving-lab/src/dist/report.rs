//! The report of a program that ran across ranks.

use std::fmt::Write as _;

use serde::Serialize;

use crate::io::input::{CommandFailure, grouped};
use crate::job::report::Seconds;

/// The report of a program.
#[derive(Debug, Serialize)]
pub(crate) struct RanksReport {
    pub(crate) workload: &'static str,
    pub(crate) input: String,
    pub(crate) ranks: usize,
    pub(crate) workers_per_rank: usize,
    pub(crate) verified: &'static str,
    pub(crate) seconds: Seconds,
    /// The results: name and figure.
    pub(crate) found: Vec<(&'static str, u64)>,
    pub(crate) items: u64,
    pub(crate) items_per_s: f64,
    /// Lines of the table only: name and text.
    #[serde(skip)]
    pub(crate) notes: Vec<(&'static str, String)>,
}

impl RanksReport {
    /// One JSON object.
    pub(super) fn json(&self) -> String {
        serde_json::to_string_pretty(self).expect("plain fields become JSON")
    }

    /// The table for people.
    pub(super) fn table(&self) -> String {
        let counted = |count: usize, what: &str| match count {
            1 => format!("1 {what}"),
            many => format!("{many} {what}s"),
        };
        let ranks = counted(self.ranks, "rank");
        let workers = counted(self.workers_per_rank, "worker");
        let found = self.found.iter();
        let found = found.map(|(name, figure)| format!("{name} {}", grouped(*figure)));
        let (median, min) = (self.seconds.median * 1e3, self.seconds.min * 1e3);
        let rows = [
            ("result", found.collect::<Vec<_>>().join(", ")),
            ("verified", self.verified.to_owned()),
            ("time", format!("{median:.2} ms (least {min:.2} ms)")),
            (
                "rate",
                format!("{:.1} million a second", self.items_per_s / 1e6),
            ),
        ];
        let mut table = format!("{} {} · {ranks} of {workers}\n", self.workload, self.input);
        for (name, text) in rows.iter().chain(&self.notes) {
            let _ = writeln!(table, "  {name:<15}{text}");
        }
        table
    }
}

/// An error of a run across ranks.
pub(crate) fn failure(error: roving_dist::Error) -> CommandFailure {
    CommandFailure::Run(error.to_string())
}
