//! The figures of Linux about the threads of this process.
#![allow(dead_code, reason = "each test program uses its own part of it")]

use std::fs;
use std::path::PathBuf;
use std::thread;
use std::time::Duration;

/// The time and turns so far of the threads whose names begin with a prefix.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Used {
    pub(crate) threads: usize,
    /// Time on a processor.
    pub(crate) cpu_ns: u64,
    /// How often a processor was given to one of them.
    pub(crate) turns: u64,
}

/// The folders of the threads whose names begin so.
fn folders_of(prefix: &str) -> Option<impl Iterator<Item = PathBuf>> {
    let all = fs::read_dir("/proc/self/task").ok()?;
    Some(all.flatten().map(|task| task.path()).filter(move |task| {
        // One without a name has ended meanwhile.
        let name = fs::read_to_string(task.join("comm"));
        name.is_ok_and(|name| name.starts_with(prefix))
    }))
}

/// `None` where the system keeps no such account.
pub(crate) fn used_by_threads(prefix: &str) -> Option<Used> {
    let mut used = Used::default();
    for task in folders_of(prefix)? {
        let account = fs::read_to_string(task.join("schedstat")).ok()?;
        let mut figures = account.split_whitespace().map(str::parse::<u64>);
        used.threads += 1;
        used.cpu_ns += figures.next()?.ok()?;
        used.turns += figures.nth(1)?.ok()?;
    }
    Some(used)
}

/// Waits until all threads whose names begin so sleep, and had no turn for a while: all but the
/// calling one. Where the system does not say that, at once.
pub(crate) fn wait_until_asleep(prefix: &str) {
    let Ok(own) = fs::read_link("/proc/thread-self") else {
        return;
    };
    // Their turns so far, if all sleep.
    let turns = || -> Option<u64> {
        let mut turns = 0;
        for task in folders_of(prefix)?.filter(|task| task.file_name() != own.file_name()) {
            let read = |file| fs::read_to_string(task.join(file));
            let (Ok(stat), Ok(account)) = (read("stat"), read("schedstat")) else {
                continue; // It has ended meanwhile.
            };
            // The name may hold anything; the state stands after it.
            let (_, state) = stat.rsplit_once(')')?;
            if !state.trim_start().starts_with('S') {
                return None;
            }
            turns += account.split_whitespace().nth(2)?.parse::<u64>().ok()?;
        }
        Some(turns)
    };
    loop {
        let before = turns();
        thread::sleep(Duration::from_millis(20));
        if before.is_some() && turns() == before {
            return;
        }
    }
}

/// How many threads of this process have a name that begins so; `None` where the system does not
/// say.
pub(crate) fn threads(prefix: &str) -> Option<usize> {
    folders_of(prefix).map(Iterator::count)
}

/// A line of /proc/self/status, in KiB.
pub(crate) fn memory_kib(line: &str) -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|text| text.strip_prefix(line))?;
    line.trim_start_matches(':')
        .trim()
        .strip_suffix("kB")?
        .trim()
        .parse()
        .ok()
}

/// Starts the peak of the memory in use again from what is in use now.
pub(crate) fn reset_peak() -> bool {
    fs::write("/proc/self/clear_refs", "5").is_ok()
}
