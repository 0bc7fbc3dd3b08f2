//! A profile as text.

use std::fmt;
use std::time::Duration;

use super::decimals::{Percent, Seconds};
use super::record::Record;
use super::text::{put, seat};
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
    head(&mut text, "");
    for name in HEADS {
        cell(&mut text, format_args!("{name}"));
    }
    text.push('\n');
    for (index, worker) in workers.iter().enumerate() {
        if index < record.workers || worker.time() > Duration::ZERO {
            line(&mut text, &seat(index, record.workers), worker);
        }
    }
    line(&mut text, "all", &record.profile.total());
    Lost::of(record).show(&mut text);
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
        let (mut idle, mut waiting, mut stood_in) =
            (Duration::ZERO, Duration::ZERO, Duration::ZERO);
        for (index, worker) in profile.workers.iter().enumerate() {
            if index < record.workers {
                idle += worker.idle - worker.waiting;
                waiting += worker.waiting;
            } else {
                // A compensation thread that does anything has the core of a worker that waits.
                stood_in += worker.time() - worker.idle;
            }
        }
        let quiet = profile.quiet * record.workers as u32;
        let parts = [
            ("waiting", waiting.saturating_sub(stood_in)),
            ("searching", total.steal),
            ("waking", total.switch),
            ("setting up", total.frame),
            ("no task to take", idle.saturating_sub(quiet)),
        ];
        let mut all = total.busy;
        for (_, time) in parts {
            all += time;
        }
        Lost {
            all,
            busy: total.busy,
            parts,
        }
    }

    /// The largest part first.
    fn show(&self, text: &mut String) {
        let busy = Percent(self.busy, self.all);
        put(
            text,
            format_args!("  while it had work: busy {busy} %, lost to"),
        );
        let mut parts = self.parts;
        sort(&mut parts);
        for (number, (name, time)) in parts.iter().enumerate() {
            let colon = if number == 0 { ":" } else { "," };
            put(
                text,
                format_args!("{colon} {name} {} %", Percent(*time, self.all)),
            );
        }
        text.push('\n');
    }
}

/// By insertion: a sort of `std` is three thousand lines of code, for five parts. Not in its
/// caller, where the loop would be written out.
#[inline(never)]
fn sort(parts: &mut [(&str, Duration)]) {
    for end in 1..parts.len() {
        let mut at = end;
        while at > 0 && parts[at - 1].1 < parts[at].1 {
            parts.swap(at - 1, at);
            at -= 1;
        }
    }
}

const HEADS: [&str; 13] = [
    "busy", "steal", "idle", "switch", "frame", "tasks", "tried", "won", "stolen", "public",
    "leapt", "parks", "wakes",
];

fn line(text: &mut String, name: &str, worker: &WorkerProfile) {
    head(text, name);
    let all = worker.time();
    for (_, time) in worker.times() {
        cell(text, format_args!("{} %", Percent(time, all)));
    }
    let counters = &worker.counters;
    for count in [
        counters.tasks,
        counters.steals_tried,
        counters.steals_won,
        counters.tasks_stolen,
        counters.publications,
        counters.leapfrogs,
        counters.parks,
        counters.wakes,
    ] {
        cell(text, format_args!("{count}"));
    }
    text.push('\n');
}

fn head(text: &mut String, name: &str) {
    put(text, format_args!("  {name:<10}"));
}

fn cell(text: &mut String, what: fmt::Arguments<'_>) {
    let what = fmt::format(what);
    put(text, format_args!(" {what:>8}"));
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
        let mut text = String::new();
        lost.show(&mut text);
        assert_eq!(text, said);
        record.profile.workers.clear();
        assert_eq!(Lost::of(&record).busy, Duration::ZERO);
    }
}
