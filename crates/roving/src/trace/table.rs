//! A profile as text.

use std::fmt::Write as _;
use std::time::Duration;

use super::Record;
use crate::fixed::{Percent, Seconds};
use crate::stats::{Profile, WorkerProfile};

/// The table that a program prints at its end, one line a worker and one for all.
pub(super) fn of(record: &Record) -> String {
    let Profile { wall, workers } = &record.profile;
    let mut text = format!(
        "roving: pool `{}`, {} workers, {} s\n",
        record.name,
        record.workers,
        Seconds(*wall, 3)
    );
    line(&mut text, "", &HEADS.map(str::to_owned));
    let started = workers
        .iter()
        .enumerate()
        .filter(|(index, worker)| *index < record.workers || worker.time() > Duration::ZERO);
    for (index, worker) in started {
        let name = match index.checked_sub(record.workers) {
            None => format!("worker {index}"),
            Some(spare) => format!("spare {spare}"),
        };
        line(&mut text, &name, &cells(worker));
    }
    line(&mut text, "all", &cells(&record.profile.total()));
    text
}

const HEADS: [&str; 13] = [
    "busy", "steal", "idle", "switch", "frame", "tasks", "tried", "won", "stolen", "public",
    "leapt", "parks", "wakes",
];

fn cells(worker: &WorkerProfile) -> [String; 13] {
    let all = worker.time();
    let share = |part| format!("{} %", Percent(part, all));
    let counters = &worker.counters;
    let [busy, steal, idle, switch, frame] = worker.times().map(|(_, time)| share(time));
    [
        busy,
        steal,
        idle,
        switch,
        frame,
        counters.tasks.to_string(),
        counters.steals_tried.to_string(),
        counters.steals_won.to_string(),
        counters.tasks_stolen.to_string(),
        counters.publications.to_string(),
        counters.leapfrogs.to_string(),
        counters.parks.to_string(),
        counters.wakes.to_string(),
    ]
}

fn line(text: &mut String, name: &str, cells: &[String; 13]) {
    let _ = write!(text, "  {name:<10}");
    for cell in cells {
        let _ = write!(text, " {cell:>8}");
    }
    text.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_worker_has_a_line() {
        let busy = WorkerProfile {
            busy: Duration::from_secs(3),
            idle: Duration::from_secs(1),
            ..WorkerProfile::default()
        };
        let record = Record {
            name: "search".to_owned(),
            workers: 1,
            profile: Profile {
                wall: Duration::from_secs(4),
                workers: vec![busy.clone(), busy, WorkerProfile::default()],
            },
            lanes: Vec::new(),
        };
        let text = of(&record);
        let names: Vec<&str> = text.lines().map(|line| line[..10].trim()).collect();
        assert_eq!(names, ["roving: po", "", "worker 0", "spare 0", "all"]);
        assert!(text.contains("pool `search`, 1 workers, 4.000 s"));
        assert_eq!(text.matches("75.0 %").count(), 3);
    }
}
