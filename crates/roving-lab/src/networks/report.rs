//! The report of runs of a network: JSON for programs, a table for people.

use std::fmt::Write as _;

use serde::Serialize;

use crate::io::figures::{counted, seconds};
use crate::io::input::grouped;
use crate::job::report::{Seconds, TableExtras, WorkersProfile};

/// The result of one program. Its JSON has exactly these fields, less `beside`.
#[derive(Debug, Serialize)]
pub(super) struct NetworkReport {
    pub(super) workload: &'static str,
    pub(super) input: String,
    pub(super) workers: usize,
    pub(super) placement: String,
    pub(super) policy: String,
    pub(super) verified: &'static str,
    pub(super) seconds: Seconds,
    pub(super) serial_seconds: f64,
    pub(super) speedup: f64,
    pub(super) items: u64,
    pub(super) items_per_s: f64,
    pub(super) build_seconds: f64,
    pub(super) processes: u64,
    pub(super) channels: u64,
    pub(super) growths: u64,
    pub(super) traffic: Option<NetworkTraffic>,
    pub(super) profile: Option<WorkersProfile>,
    #[serde(skip)]
    pub(super) beside: TableExtras,
}

/// The counts of a network's accounting in one run.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct NetworkTraffic {
    /// CPU time of all processes.
    pub(crate) cpu_s: f64,
    /// Messages in all channels.
    pub(crate) messages: u64,
    /// Those between processes on one worker.
    pub(crate) local: u64,
    /// Those between two workers.
    pub(crate) remote: u64,
    /// How often a process went from one worker to another.
    pub(crate) migrations: u64,
    /// How often a process was resumed.
    pub(crate) switches: u64,
    /// How often the processes were placed anew.
    pub(crate) repartitions: u64,
}

impl NetworkTraffic {
    /// The part of all messages that stayed on one worker.
    pub(crate) fn local_share(&self) -> f64 {
        self.local as f64 / (self.local + self.remote).max(1) as f64
    }
}

impl NetworkReport {
    /// One JSON object.
    pub(super) fn json(&self) -> String {
        serde_json::to_string_pretty(self).expect("plain fields become JSON")
    }

    /// The table for people.
    pub(super) fn table(&self) -> String {
        let workers = counted(self.workers, "worker");
        let mut table = format!(
            "{} {} · {workers} · steal {} · {}\n",
            self.workload, self.input, self.policy, self.placement
        );
        let main = self.beside.main_rows(
            &self.seconds,
            self.serial_seconds,
            self.speedup,
            self.items_per_s,
        );
        let rows = main.into_iter().chain(self.cost_rows());
        for (name, value) in rows {
            let _ = writeln!(table, "  {name:<15}{value}");
        }
        let Some((traffic, profile)) = self.traffic.as_ref().zip(self.profile.as_ref()) else {
            return table;
        };
        table.push_str("\nOne run more, with statistics and accounting on\n");
        for (name, value) in traffic.rows() {
            let _ = writeln!(table, "  {name:<15}{value}");
        }
        table.push_str(&profile.chart(self.workers));
        table
    }

    fn cost_rows(&self) -> Vec<(&'static str, String)> {
        let (processes, channels) = (grouped(self.processes), grouped(self.channels));
        let build = seconds(self.build_seconds);
        let network = format!("{processes} processes, {channels} channels, made in {build}");
        let mut rows = vec![("network", network)];
        if self.growths > 0 {
            rows.push((
                "grown",
                format!("{} times a full channel", grouped(self.growths)),
            ));
        }
        if let Some(cold) = self.beside.cold_seconds {
            rows.push((
                "cold",
                format!("{} for the first run of the pool", seconds(cold)),
            ));
        }
        if let Some(bytes) = self.beside.memory_bytes {
            let mebibytes = bytes as f64 / 1_048_576.0;
            let each = bytes / self.processes.max(1);
            let each = format!("{} bytes a process", grouped(each));
            rows.push(("memory", format!("{mebibytes:.1} MiB over base, {each}")));
        }
        rows
    }
}

impl NetworkTraffic {
    fn rows(&self) -> Vec<(&'static str, String)> {
        let (messages, local) = (grouped(self.messages), self.local_share() * 100.0);
        vec![
            ("CPU", format!("{} in processes", seconds(self.cpu_s))),
            (
                "messages",
                format!("{messages}, {local:.1} % on one worker"),
            ),
            ("switches", grouped(self.switches)),
            ("migrations", grouped(self.migrations)),
            (
                "placed anew",
                format!("{} times", grouped(self.repartitions)),
            ),
        ]
    }
}

impl From<&roving_flow::Report> for NetworkTraffic {
    fn from(report: &roving_flow::Report) -> NetworkTraffic {
        let mut traffic = NetworkTraffic::default();
        for account in report.processes().filter_map(|process| process.account) {
            traffic.cpu_s += account.busy.as_secs_f64();
            traffic.switches += account.switches;
            traffic.migrations += account.migrations;
        }
        for channel in report.channels() {
            let account = channel.account.unwrap_or_default();
            traffic.messages += channel.messages;
            traffic.local += account.local;
            traffic.remote += account.remote;
        }
        traffic.repartitions = report.moves.len() as u64;
        traffic
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_share_of_local_messages_needs_no_messages() {
        assert_eq!(NetworkTraffic::default().local_share(), 0.0);
        let traffic = NetworkTraffic {
            local: 30,
            remote: 10,
            ..NetworkTraffic::default()
        };
        assert_eq!(traffic.local_share(), 0.75);
    }
}
