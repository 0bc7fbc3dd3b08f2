//! The report of a run: JSON for programs, a table and a bar chart for people.

use std::fmt::Write as _;

use serde::Serialize;

use crate::io::figures::{counted, seconds};
use crate::io::input::grouped;
use crate::timing::times::Times;
use crate::workloads::{Evidence, RunAnswer, WorkloadKind};

/// The result of one job. Its JSON has exactly these fields, less `beside`.
#[derive(Debug, Serialize)]
pub(crate) struct JobReport {
    pub(crate) workload: &'static str,
    pub(crate) input: String,
    pub(crate) workers: usize,
    pub(crate) form: &'static str,
    pub(crate) policy: String,
    pub(crate) verified: &'static str,
    pub(crate) seconds: Seconds,
    pub(crate) serial_seconds: f64,
    pub(crate) speedup: f64,
    pub(crate) items: u64,
    pub(crate) items_per_s: f64,
    pub(crate) spawns: u64,
    pub(crate) overhead_ns_per_spawn: Option<f64>,
    pub(crate) profile: Option<WorkersProfile>,
    #[serde(skip)]
    pub(crate) beside: TableExtras,
}

/// The parallel times.
#[derive(Debug, Serialize)]
pub(crate) struct Seconds {
    pub(crate) median: f64,
    pub(crate) min: f64,
}

impl From<&Times> for Seconds {
    fn from(times: &Times) -> Seconds {
        Seconds {
            median: times.median(),
            min: times.min(),
        }
    }
}

/// The part of the report of a job, or of a network, that only the table shows.
#[derive(Debug)]
pub(crate) struct TableExtras {
    pub(crate) kind: &'static WorkloadKind,
    pub(crate) evidence: Evidence,
    pub(crate) answer: RunAnswer,
    pub(crate) repeat: usize,
    pub(crate) cold_seconds: Option<f64>,
    pub(crate) memory_bytes: Option<u64>,
    pub(crate) notes: Vec<(&'static str, String)>,
}

/// The profile of a pool's workers.
#[derive(Debug, Serialize)]
pub(crate) struct WorkersProfile {
    pub(crate) wall_s: f64,
    pub(crate) workers: Vec<WorkerProfile>,
    pub(crate) total: WorkerProfile,
}

/// The profile of one worker, or of all together.
#[derive(Debug, Serialize)]
pub(crate) struct WorkerProfile {
    pub(crate) busy_s: f64,
    pub(crate) steal_s: f64,
    pub(crate) idle_s: f64,
    pub(crate) switch_s: f64,
    pub(crate) frame_s: f64,
    pub(crate) counters: Counters,
}

/// The events that a worker counted.
#[derive(Debug, Serialize)]
pub(crate) struct Counters {
    pub(crate) tasks: u64,
    pub(crate) steals_tried: u64,
    pub(crate) steals_empty: u64,
    pub(crate) steals_busy: u64,
    pub(crate) steals_won: u64,
    pub(crate) tasks_stolen: u64,
    pub(crate) publications: u64,
    pub(crate) take_backs: u64,
    pub(crate) leapfrogs: u64,
    pub(crate) parks: u64,
    pub(crate) wakes: u64,
    pub(crate) max_depth: u64,
    pub(crate) continuations_stolen: u64,
    pub(crate) suspensions: u64,
    pub(crate) frames_allocated: u64,
}

impl From<&roving::Profile> for WorkersProfile {
    fn from(profile: &roving::Profile) -> Self {
        WorkersProfile {
            wall_s: profile.wall.as_secs_f64(),
            workers: profile.workers.iter().map(WorkerProfile::from).collect(),
            total: WorkerProfile::from(&profile.total()),
        }
    }
}

impl From<&roving::WorkerProfile> for WorkerProfile {
    fn from(worker: &roving::WorkerProfile) -> Self {
        let counters = &worker.counters;
        WorkerProfile {
            busy_s: worker.busy.as_secs_f64(),
            steal_s: worker.steal.as_secs_f64(),
            idle_s: worker.idle.as_secs_f64(),
            switch_s: worker.switch.as_secs_f64(),
            frame_s: worker.frame.as_secs_f64(),
            counters: Counters {
                tasks: counters.tasks,
                steals_tried: counters.steals_tried,
                steals_empty: counters.steals_empty,
                steals_busy: counters.steals_busy,
                steals_won: counters.steals_won,
                tasks_stolen: counters.tasks_stolen,
                publications: counters.publications,
                take_backs: counters.take_backs,
                leapfrogs: counters.leapfrogs,
                parks: counters.parks,
                wakes: counters.wakes,
                max_depth: counters.max_depth,
                continuations_stolen: counters.continuations_stolen,
                suspensions: counters.suspensions,
                frames_allocated: counters.frames_allocated,
            },
        }
    }
}

/// The states of a worker, and how each is drawn: the more solid, the more useful.
pub(crate) const STATES: [(&str, char); 5] = [
    ("busy", '█'),
    ("frame", '▓'),
    ("switch", '▒'),
    ("steal", '░'),
    ("idle", '·'),
];
/// Characters in a full bar.
pub(crate) const BAR: usize = 50;

impl WorkerProfile {
    /// Seconds in each state, in the order of [`STATES`].
    fn states(&self) -> [f64; 5] {
        [
            self.busy_s,
            self.frame_s,
            self.switch_s,
            self.steal_s,
            self.idle_s,
        ]
    }

    /// One character for each fiftieth of the time.
    fn bar(&self) -> String {
        bar(STATES.map(|(_, mark)| mark), self.states(), BAR)
    }

    /// `busy 97.1 %, steal 1.9 %, …`, without the states that never were.
    fn shares(&self) -> String {
        let all: f64 = self.states().iter().sum();
        let named = STATES
            .iter()
            .zip(self.states())
            .filter(|(_, time)| *time > 0.0);
        let shares = named.map(|((name, _), time)| format!("{name} {:.1} %", time / all * 100.0));
        shares.collect::<Vec<_>>().join(", ")
    }
}

impl WorkersProfile {
    /// Bars and counters for people. After so many workers the list has compensation threads, of
    /// which those that never ran are left out, as are counters of events that never were.
    pub(crate) fn chart(&self, workers: usize) -> String {
        let mut chart = String::new();
        for (index, worker) in self.workers.iter().enumerate() {
            let name = match index.checked_sub(workers) {
                None => format!("worker {index}"),
                Some(_) if worker.states().iter().sum::<f64>() == 0.0 => continue,
                Some(spare) => format!("spare {spare}"),
            };
            let (bar, shares) = (worker.bar(), worker.shares());
            let _ = writeln!(chart, "  {name:<15}{bar}  {shares}");
        }
        let legend = STATES
            .map(|(name, mark)| format!("{mark} {name}"))
            .join("  ");
        let _ = writeln!(chart, "  {:<15}{legend}", "");
        let total = &self.total.counters;
        for (name, count) in [
            ("tasks", total.tasks),
            ("steals", total.steals_won),
            ("tasks stolen", total.tasks_stolen),
            ("steals empty", total.steals_empty),
            ("steals busy", total.steals_busy),
            ("published", total.publications),
            ("taken back", total.take_backs),
            ("leapfrogs", total.leapfrogs),
            ("parks, wakes", total.parks + total.wakes),
            ("depth", total.max_depth),
            ("async stolen", total.continuations_stolen),
            ("suspended", total.suspensions),
            ("frames made", total.frames_allocated),
        ]
        .into_iter()
        .filter(|(_, count)| *count > 0)
        {
            let _ = writeln!(chart, "  {name:<15}{}", grouped(count));
        }
        chart
    }
}

impl TableExtras {
    /// The rows for the result, its verification, and its speed.
    pub(crate) fn main_rows(
        &self,
        times: &Seconds,
        serial_seconds: f64,
        speedup: f64,
        items_per_s: f64,
    ) -> Vec<(&'static str, String)> {
        let kind = self.kind;
        let figures = kind.figures.iter().zip(self.answer.0);
        let found: Vec<String> = figures
            .map(|(name, figure)| format!("{name} {}", grouped(figure)))
            .collect();
        let (median, min) = (seconds(times.median), seconds(times.min));
        let serial = seconds(serial_seconds);
        let rate = grouped(items_per_s as u64);
        vec![
            ("found", found.join(", ")),
            ("verified", self.evidence.sentence().to_string()),
            (
                "time",
                format!("{median} median, {min} least of {}", self.repeat),
            ),
            ("serial", format!("{serial} median: {}", kind.serial)),
            ("speed-up", format!("{speedup:.2} over serial")),
            ("rate", format!("{rate} {}/s", kind.items)),
        ]
    }
}

impl JobReport {
    /// One JSON object.
    pub(crate) fn json(&self) -> String {
        serde_json::to_string_pretty(self).expect("plain fields become JSON")
    }

    /// The table for people.
    pub(crate) fn table(&self) -> String {
        let workers = counted(self.workers, "worker");
        let mut table = format!(
            "{} {} · {workers} · steal {} · {}\n",
            self.workload, self.input, self.policy, self.form
        );
        let notes = self
            .beside
            .notes
            .iter()
            .map(|(name, value)| (*name, value.clone()));
        let main = self.beside.main_rows(
            &self.seconds,
            self.serial_seconds,
            self.speedup,
            self.items_per_s,
        );
        for (name, value) in main.into_iter().chain(self.cost_rows()).chain(notes) {
            let _ = writeln!(table, "  {name:<15}{value}");
        }
        if let Some(profile) = &self.profile {
            table.push_str("\nOne run more, with statistics on\n");
            table.push_str(&profile.chart(self.workers));
        }
        table
    }

    /// The rows for further costs.
    fn cost_rows(&self) -> Vec<(&'static str, String)> {
        let mut rows = Vec::new();
        if let Some(overhead) = self.overhead_ns_per_spawn {
            let spawns = grouped(self.spawns);
            // On a machine that others use, too, the serial runs may be the slower ones.
            let cost = match overhead > 0.0 {
                true => format!("each {overhead:.1} ns beyond serial"),
                false => "no time beyond serial".into(),
            };
            rows.push(("spawns", format!("{spawns}, {cost}")));
        }
        if let Some(cold) = self.beside.cold_seconds {
            rows.push((
                "cold",
                format!("{} for the first run of the pool", seconds(cold)),
            ));
        }
        if let Some(bytes) = self.beside.memory_bytes {
            rows.push((
                "memory",
                format!("{:.1} MiB over base", bytes as f64 / 1_048_576.0),
            ));
        }
        rows
    }
}

/// How many characters of a bar each part gets. Together they fill it, however the shares come out;
/// a whole that is nothing gets none.
pub(crate) fn widths<const N: usize>(parts: [f64; N], length: usize) -> [usize; N] {
    let all: f64 = parts.iter().sum();
    let (mut until, mut drawn) = (0.0, 0);
    parts.map(|part| {
        until += part;
        let share = if all > 0.0 { until / all } else { 0.0 };
        let end = (share * length as f64).round() as usize;
        let width = end.saturating_sub(drawn);
        drawn = drawn.max(end);
        width
    })
}

/// A bar of so many characters, each part in its own mark.
pub(crate) fn bar<const N: usize>(marks: [char; N], parts: [f64; N], length: usize) -> String {
    let widths = widths(parts, length);
    let drawn = marks.into_iter().zip(widths);
    drawn
        .flat_map(|(mark, width)| std::iter::repeat_n(mark, width))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn worker(busy_s: f64, steal_s: f64, idle_s: f64) -> WorkerProfile {
        WorkerProfile {
            busy_s,
            steal_s,
            idle_s,
            ..WorkerProfile::from(&roving::WorkerProfile::default())
        }
    }

    #[test]
    fn a_bar_is_full_and_shows_each_state_in_its_share() {
        let bar = worker(3.0, 1.0, 1.0).bar();
        let marks = |mark| bar.chars().filter(|drawn| *drawn == mark).count();
        assert_eq!((marks('█'), marks('░'), marks('·')), (30, 10, 10));
        // Shares that do not come out even still fill the bar.
        assert_eq!(worker(1.0, 1.0, 1.0).bar().chars().count(), BAR);
        assert_eq!(worker(0.0, 0.0, 0.0).bar(), "");
    }

    #[test]
    fn a_chart_names_spares_and_leaves_out_what_never_was() {
        let mut total = worker(4.0, 0.0, 1.0);
        total.counters.tasks = 12_345;
        let profile = WorkersProfile {
            wall_s: 2.0,
            workers: vec![
                worker(2.0, 0.0, 0.0),
                worker(1.0, 0.0, 1.0),
                worker(0.0, 0.0, 0.0),
                worker(1.0, 0.0, 0.0),
            ],
            total,
        };
        let chart = profile.chart(2);
        let names: Vec<&str> = chart.lines().map(|line| line[2..17].trim()).collect();
        assert_eq!(
            names,
            ["worker 0", "worker 1", "spare 1", "", "tasks"],
            "{chart}"
        );
        assert!(chart.ends_with("12,345\n"), "{chart}");
    }

    #[test]
    fn shares_leave_out_what_never_was() {
        assert_eq!(worker(3.0, 1.0, 0.0).shares(), "busy 75.0 %, steal 25.0 %");
    }
}
