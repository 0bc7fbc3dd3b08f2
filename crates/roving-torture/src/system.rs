//! The system's figures of this process and this machine. `None` where it has none.

use std::fmt::Write as _;
use std::fs;
use std::process::Command;

/// Threads of this process.
pub(crate) fn threads() -> Option<usize> {
    Some(fs::read_dir("/proc/self/task").ok()?.count())
}

/// Open files of this process, without the one that it takes to count them.
pub(crate) fn files() -> Option<usize> {
    Some(
        fs::read_dir("/proc/self/fd")
            .ok()?
            .count()
            .saturating_sub(1),
    )
}

/// Mapped ranges of addresses.
pub(crate) fn mappings() -> Option<usize> {
    Some(fs::read_to_string("/proc/self/maps").ok()?.lines().count())
}

/// Memory that is resident, in KiB.
pub(crate) fn resident_kib() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.trim().strip_suffix("kB")?.trim().parse().ok()
}

/// The numbers of the threads whose names begin so.
#[cfg(target_os = "linux")]
pub(crate) fn threads_named(prefix: &str) -> Vec<i32> {
    let Ok(tasks) = fs::read_dir("/proc/self/task") else {
        return Vec::new();
    };
    tasks
        .flatten()
        .filter(|task| {
            // One that has ended meanwhile has no name.
            fs::read_to_string(task.path().join("comm")).is_ok_and(|name| name.starts_with(prefix))
        })
        .filter_map(|task| task.file_name().to_str()?.parse().ok())
        .collect()
}

/// The state of every thread, one per line, for the report of a hang.
pub(crate) fn thread_table() -> String {
    let mut table = String::new();
    let Ok(tasks) = fs::read_dir("/proc/self/task") else {
        return table;
    };
    for task in tasks.flatten() {
        let read = |file| fs::read_to_string(task.path().join(file)).unwrap_or_default();
        let (name, status) = (read("comm"), read("status"));
        let field = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name));
            line.map_or("?", str::trim).to_owned()
        };
        let _ = writeln!(
            table,
            "  {:16} {:14} in {:20} switches {} + {}",
            name.trim(),
            field("State:"),
            read("wchan").trim(),
            field("voluntary_ctxt_switches:"),
            field("nonvoluntary_ctxt_switches:"),
        );
    }
    table
}

/// Processors, and what they are.
pub(crate) fn machine() -> String {
    let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get());
    let info = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = info
        .lines()
        .find_map(|line| line.strip_prefix("model name")?.split(':').nth(1))
        .map_or(std::env::consts::ARCH, str::trim);
    format!("{cores} x {model}")
}

/// The commit that is checked out, if git knows one.
pub(crate) fn commit() -> String {
    let git = Command::new("git")
        .args(["rev-parse", "--short=12", "HEAD"])
        .output();
    let text = git.ok().filter(|out| out.status.success());
    let text = text.and_then(|out| String::from_utf8(out.stdout).ok());
    text.map_or("unknown".to_owned(), |text| text.trim().to_owned())
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn linux_says_it_all() {
        assert!(threads().unwrap() >= 1);
        assert!(files().unwrap() >= 3);
        assert!(mappings().unwrap() > 10);
        assert!(resident_kib().unwrap() > 100);
        assert!(thread_table().lines().count() >= 1);
        let named = std::thread::Builder::new().name("a-name-of-ours".to_owned());
        let (stop, stopped) = std::sync::mpsc::channel::<()>();
        let (up, is_up) = std::sync::mpsc::channel();
        let thread = named.spawn(move || (up.send(()), stopped.recv().is_err()));
        is_up.recv().unwrap();
        assert_eq!(threads_named("a-name-of").len(), 1);
        drop(stop);
        thread.unwrap().join().unwrap().0.unwrap();
    }
}
