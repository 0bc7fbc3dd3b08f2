//! What runs of a program of tasks with two sides gave: JSON for programs, a table for people.

use std::fmt::Write as _;

use serde::Serialize;

use crate::input::grouped;
use crate::report::{Profile, Seconds, counted, seconds};
use crate::workloads::{Answer, Evidence, Kind};

/// The result of one program. Its JSON has exactly these fields, less `beside`.
#[derive(Debug, Serialize)]
pub(super) struct DualReport {
    pub(super) workload: &'static str,
    pub(super) input: String,
    pub(super) workers: usize,
    pub(super) device: String,
    pub(super) devices: String,
    pub(super) policy: String,
    pub(super) verified: &'static str,
    pub(super) seconds: Seconds,
    pub(super) serial_seconds: f64,
    pub(super) speedup: f64,
    pub(super) items: u64,
    pub(super) items_per_s: f64,
    pub(super) tasks: u64,
    pub(super) profile: Option<Profile>,
    #[serde(skip)]
    pub(super) beside: Beside,
}

/// What only the table shows.
#[derive(Debug)]
pub(super) struct Beside {
    pub(super) kind: &'static Kind,
    pub(super) answer: Answer,
    pub(super) repeat: usize,
    pub(super) cold_seconds: Option<f64>,
    /// Whether the serial time is that of the speed that is said.
    pub(super) said: bool,
}

impl DualReport {
    /// One JSON object.
    pub(super) fn json(&self) -> String {
        serde_json::to_string_pretty(self).expect("plain fields become JSON")
    }

    /// The table for people.
    pub(super) fn table(&self) -> String {
        let workers = counted(self.workers, "worker");
        let mut table = format!(
            "{} {} · {workers} · steal {} · device {}\n",
            self.workload, self.input, self.policy, self.device
        );
        for (name, value) in self.main_rows().into_iter().chain(self.cost_rows()) {
            let _ = writeln!(table, "  {name:<15}{value}");
        }
        if let Some(profile) = &self.profile {
            table.push_str("\nOne run more, with statistics on\n");
            table.push_str(&profile.chart());
        }
        table
    }

    fn main_rows(&self) -> Vec<(&'static str, String)> {
        let (beside, kind) = (&self.beside, self.beside.kind);
        let figures = kind.figures.iter().zip(beside.answer.0);
        let found: Vec<String> = figures
            .map(|(name, figure)| format!("{name} {}", grouped(figure)))
            .collect();
        let (median, min) = (seconds(self.seconds.median), seconds(self.seconds.min));
        let how = if beside.said {
            "at the speed that CPU sides are said to have"
        } else {
            kind.serial
        };
        let serial = seconds(self.serial_seconds);
        let rate = grouped(self.items_per_s as u64);
        vec![
            ("devices", self.devices.clone()),
            ("found", found.join(", ")),
            ("verified", Evidence::Serial.sentence().to_string()),
            (
                "time",
                format!("{median} median, {min} least of {}", beside.repeat),
            ),
            ("serial", format!("{serial}: {how}")),
            ("speed-up", format!("{:.2} over serial", self.speedup)),
            ("rate", format!("{rate} {}/s", kind.items)),
        ]
    }

    fn cost_rows(&self) -> Vec<(&'static str, String)> {
        let mut rows = vec![("tasks", format!("{} with two sides", grouped(self.tasks)))];
        if let Some(cold) = self.beside.cold_seconds {
            rows.push(("cold", format!("{} for the first run", seconds(cold))));
        }
        rows
    }
}
