//! The report of runs of a program of tasks with two sides: JSON for programs, a table for people.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use roving_gpu::{DeviceProfile, Devices, KindProfile, Profile as DevicesProfile, Why};
use serde::Serialize;

use crate::io::figures::{counted, seconds};
use crate::io::input::grouped;
use crate::job::report::{BAR, Seconds, WorkersProfile, bar};
use crate::workloads::{Evidence, RunAnswer, WorkloadKind};

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
    pub(super) decisions: Vec<Decision>,
    pub(super) lanes: Option<Vec<DeviceLane>>,
    pub(super) profile: Option<WorkersProfile>,
    #[serde(skip)]
    pub(super) beside: Beside,
}

/// Where the tasks of one kind ran, in all runs, and why.
#[derive(Debug, Serialize)]
pub(super) struct Decision {
    pub(super) kind: &'static str,
    pub(super) cpu: BTreeMap<String, u64>,
    pub(super) gpu: BTreeMap<String, u64>,
}

/// A device's work in one run. The first three times add up to the time of the run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct DeviceLane {
    pub(super) name: String,
    pub(super) kernel_s: f64,
    pub(super) transfer_s: f64,
    pub(super) idle_s: f64,
    pub(super) tasks: u64,
    /// Those of its tasks that it took out of the queues of other devices.
    pub(super) tasks_taken: u64,
    pub(super) launches: u64,
    pub(super) bytes_up: u64,
    pub(super) bytes_down: u64,
    pub(super) bytes_avoided: u64,
    /// Bytes that were copied from device to device, without the host.
    pub(super) bytes_from_peers: u64,
    pub(super) bytes_to_peers: u64,
}

/// The part of the report that only the table shows.
#[derive(Debug)]
pub(super) struct Beside {
    pub(super) kind: &'static WorkloadKind,
    pub(super) answer: RunAnswer,
    pub(super) repeat: usize,
    pub(super) cold_seconds: Option<f64>,
    /// The devices' description of their choices.
    pub(super) choices: String,
    /// The times that were expected and that came, if that was asked for.
    pub(super) explained: Option<String>,
    /// Whether the serial time is that of the speed that is said.
    pub(super) said: bool,
}

impl DeviceLane {
    /// The devices' work between two profiles.
    pub(super) fn between(before: &DevicesProfile, after: &DevicesProfile) -> Vec<DeviceLane> {
        let pairs = before.devices.iter().zip(&after.devices);
        let lane = |(before, after): (&DeviceProfile, &DeviceProfile)| DeviceLane {
            name: after.name.clone(),
            kernel_s: after.kernel_s - before.kernel_s,
            transfer_s: after.transfer_s - before.transfer_s,
            idle_s: after.idle_s - before.idle_s,
            tasks: after.tasks - before.tasks,
            tasks_taken: after.tasks_taken - before.tasks_taken,
            launches: after.launches - before.launches,
            bytes_up: after.bytes_up - before.bytes_up,
            bytes_down: after.bytes_down - before.bytes_down,
            bytes_avoided: after.bytes_avoided - before.bytes_avoided,
            bytes_from_peers: after.bytes_from_peers - before.bytes_from_peers,
            bytes_to_peers: after.bytes_to_peers - before.bytes_to_peers,
        };
        pairs.map(lane).collect()
    }

    /// A bar, as that of a worker, and what was copied; also from and to other devices, if it `has`
    /// them beside it.
    fn rows(&self, has_others: bool) -> String {
        let all = self.kernel_s + self.transfer_s + self.idle_s;
        let states = [
            ("kernel", '█', self.kernel_s),
            ("transfer", '▒', self.transfer_s),
            ("idle", '·', self.idle_s),
        ];
        let bar = bar(
            states.map(|(_, mark, _)| mark),
            states.map(|(.., time)| time),
            BAR,
        );
        let share = |time: f64| time / all.max(f64::MIN_POSITIVE) * 100.0;
        let shares = states.map(|(name, _, time)| format!("{name} {:.1} %", share(time)));
        let [up, down, avoided, from, to] = [
            self.bytes_up,
            self.bytes_down,
            self.bytes_avoided,
            self.bytes_from_peers,
            self.bytes_to_peers,
        ]
        .map(|bytes| format!("{:.1} MiB", bytes as f64 / f64::from(1 << 20)));
        let mut rows = format!(
            "  {:<15}{bar}  {}\n  {:<14} {} tasks, {} launches; {up} there, {down} back, {avoided} were there already\n",
            "device",
            shares.join(", "),
            self.name,
            grouped(self.tasks),
            grouped(self.launches),
        );
        if has_others {
            let taken = grouped(self.tasks_taken);
            let _ = writeln!(
                rows,
                "  {:<15}{taken} of the tasks taken from other devices; {from} copied from them, {to} to them",
                ""
            );
        }
        rows
    }
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
        if !self.beside.choices.is_empty() {
            table.push_str("\nWhere tasks ran in all runs, and by which times\n");
            for line in self.beside.choices.lines() {
                let _ = writeln!(table, "  {line}");
            }
        }
        if let Some(explained) = &self.beside.explained {
            table.push_str("\nThe times that were expected of each kind and size, and that came\n");
            for line in explained.lines() {
                let _ = writeln!(table, "  {line}");
            }
            if explained.is_empty() {
                table.push_str("  no task was chosen for by times of both sides\n");
            }
        }
        if let Some(profile) = &self.profile {
            table.push_str("\nOne run more, with statistics on\n");
            let lanes = self.lanes.as_deref().unwrap_or_default();
            for lane in lanes {
                table.push_str(&lane.rows(lanes.len() > 1));
            }
            table.push_str(&profile.chart(self.workers));
        }
        table
    }

    /// Where tasks ran so far, by kind.
    pub(super) fn decisions(devices: &Devices) -> Vec<Decision> {
        let named = |why: BTreeMap<Why, u64>| {
            let mut counts = BTreeMap::new();
            for (why, count) in why {
                *counts.entry(why.to_string()).or_default() += count;
            }
            counts
        };
        let kinds = devices.profile().kinds.into_iter();
        let one = |(kind, profile): (_, KindProfile)| Decision {
            kind,
            cpu: named(profile.cpu),
            gpu: named(profile.gpu),
        };
        kinds.map(one).collect()
    }

    /// Whether a task of any kind had another side than the one that ran.
    pub(super) fn has_both_sides(decisions: &[Decision]) -> bool {
        let only = Why::OnlySide.to_string();
        let both = |sides: &BTreeMap<String, u64>| sides.keys().any(|why| *why != only);
        decisions
            .iter()
            .any(|kind| both(&kind.cpu) || both(&kind.gpu))
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
            ("speed-up", speed_up(self.speedup, beside.said)),
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

/// Text of a speed-up over the serial run, as it was or at the speed that CPU sides are said to
/// have.
fn speed_up(times: f64, said: bool) -> String {
    let at = if said { " at that speed" } else { "" };
    format!("{times:.2} over serial{at}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_speed_is_said_only_of_tasks_that_have_both_sides() {
        let kind = |cpu: Why| Decision {
            kind: "fib",
            cpu: BTreeMap::from([(cpu.to_string(), 7)]),
            gpu: BTreeMap::new(),
        };
        assert!(!DualReport::has_both_sides(&[]));
        assert!(!DualReport::has_both_sides(&[kind(Why::OnlySide)]));
        let other = [kind(Why::OnlySide), kind(Why::Sooner)];
        assert!(DualReport::has_both_sides(&other));
        assert_eq!(speed_up(2.0, true), "2.00 over serial at that speed");
    }

    #[test]
    fn a_lane_is_what_was_between() {
        let profile = |seconds: f64, tasks| {
            let mut device = DeviceProfile::default();
            device.kernel_s = seconds;
            device.transfer_s = seconds / 2.0;
            device.idle_s = seconds / 2.0;
            device.tasks = tasks;
            device.tasks_taken = tasks / 2;
            device.bytes_from_peers = tasks << 20;
            device.bytes_to_peers = tasks << 21;
            let mut profile = DevicesProfile::default();
            profile.devices.push(device);
            profile
        };
        let lanes = DeviceLane::between(&profile(1.0, 3), &profile(3.0, 10));
        assert_eq!(
            (lanes[0].kernel_s, lanes[0].idle_s, lanes[0].tasks),
            (2.0, 1.0, 7)
        );
        let rows = lanes[0].rows(false);
        let marks = |mark| rows.chars().filter(|drawn| *drawn == mark).count();
        assert_eq!(marks('█') + marks('▒') + marks('·'), BAR);
        assert!(
            rows.contains("kernel 50.0 %, transfer 25.0 %, idle 25.0 %"),
            "{rows}"
        );
        let words =
            "4 of the tasks taken from other devices; 7.0 MiB copied from them, 14.0 MiB to them";
        assert!(!rows.contains("other devices") && lanes[0].rows(true).contains(words));
        assert!(
            DeviceLane::between(&profile(1.0, 1), &profile(1.0, 1))[0]
                .rows(true)
                .contains("0.0 %")
        );
    }
}
