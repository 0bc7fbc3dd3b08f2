//! A profile as text.

use std::fmt::Write as _;
use std::time::Duration;

use super::Record;
use crate::observe::fixed::{Percent, Seconds};
use crate::stats::{Profile, WorkerProfile};

/// The table that a program prints at its end, one line a worker and one for all.
pub(super) fn of(record: &Record) -> String {
    let Profile { wall, workers, .. } = &record.profile;
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
    text.push_str(&Lost::of(record).shown());
    text
}

/// Where the time went in which the pool had something to do.
struct Lost {
    /// That time, for all workers together.
    all: Duration,
    busy: Duration,
    parts: [(&'static str, Duration); 5],
}

impl Lost {
    fn of(record: &Record) -> Lost {
        let (profile, total) = (&record.profile, record.profile.total());
        let (workers, spares) = profile
            .workers
            .split_at(record.workers.min(profile.workers.len()));
        let sum = |of: &[WorkerProfile], time: fn(&WorkerProfile) -> Duration| -> Duration {
            of.iter().map(time).sum()
        };
        let quiet = profile.quiet * record.workers as u32;
        let idle = sum(workers, |worker| worker.idle - worker.waiting);
        // A compensation thread that does anything has the core of a worker that waits.
        let stood_in = sum(spares, |spare| spare.time() - spare.idle);
        let waiting = sum(workers, |worker| worker.waiting);
        let parts = [
            ("waiting", waiting.saturating_sub(stood_in)),
            ("searching", total.steal),
            ("waking", total.switch),
            ("setting up", total.frame),
            ("no task to take", idle.saturating_sub(quiet)),
        ];
        let lost: Duration = parts.iter().map(|(_, time)| time).sum();
        Lost {
            all: total.busy + lost,
            busy: total.busy,
            parts,
        }
    }

    fn shown(&self) -> String {
        let share = |part| format!("{} %", Percent(part, self.all));
        let mut text = format!("  while it had work: busy {}, lost to", share(self.busy));
        let mut parts = self.parts;
        parts.sort_by_key(|&(_, time)| std::cmp::Reverse(time));
        for (number, (name, time)) in parts.into_iter().enumerate() {
            let colon = if number == 0 { ":" } else { "," };
            let _ = write!(text, "{colon} {name} {}", share(time));
        }
        text.push('\n');
        text
    }
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
                quiet: Duration::ZERO,
                workers: vec![busy.clone(), busy, WorkerProfile::default()],
            },
            lanes: Vec::new(),
        };
        let text = of(&record);
        let names: Vec<&str> = text.lines().map(|line| line[..10].trim()).collect();
        let lines = ["roving: po", "", "worker 0", "spare 0", "all", "while it"];
        assert_eq!(names, lines);
        assert!(text.contains("pool `search`, 1 workers, 4.000 s"));
        assert_eq!(text.matches("75.0 %").count(), 3);
    }

    #[test]
    fn what_was_lost_leaves_out_quiet_times_and_waits_with_a_stand_in() {
        let seconds = Duration::from_secs;
        let worker = WorkerProfile {
            busy: seconds(2),
            steal: seconds(1),
            idle: seconds(7),
            waiting: seconds(3),
            ..WorkerProfile::default()
        };
        let other = WorkerProfile {
            busy: seconds(5),
            idle: seconds(5),
            ..WorkerProfile::default()
        };
        let spare = WorkerProfile {
            busy: seconds(1),
            idle: seconds(9),
            ..WorkerProfile::default()
        };
        let mut record = Record {
            name: "search".to_owned(),
            workers: 2,
            profile: Profile {
                wall: seconds(10),
                quiet: seconds(4),
                workers: vec![worker, other, spare],
            },
            lanes: Vec::new(),
        };
        // Of 2 × (10 - 4) seconds.
        let lost = Lost::of(&record);
        assert_eq!((lost.all, lost.busy), (seconds(12), seconds(8)));
        let said = "  while it had work: busy 66.7 %, lost to: waiting 16.7 %, searching 8.3 %, \
                    no task to take 8.3 %, waking 0.0 %, setting up 0.0 %\n";
        assert_eq!(lost.shown(), said);
        record.profile.workers.clear();
        assert_eq!(Lost::of(&record).busy, Duration::ZERO);
    }
}
