//! On what, when and with which compiler something was measured: one line beside each result.

use std::fs;
use std::process::Command;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::cores;

/// CPU, cores, kernel, date, compiler, load.
pub(crate) fn line() -> String {
    [hardware(), moment()].join("; ")
}

/// The conditions that may differ from run to run: date, compiler, load.
pub(crate) fn moment() -> String {
    let rustc = env!("ROVING_RUSTC_VERSION");
    [today(), rustc.to_owned(), load()].join("; ")
}

/// The machine, which stays the same from day to day: CPU, cores, kernel.
pub(crate) fn hardware() -> String {
    let cores = match cores() {
        1 => "1 core".to_owned(),
        many => format!("{many} cores"),
    };
    [cpu(), cores, kernel()].join("; ")
}

/// The commit that the sources of this program are at, if they are there; marked where they differ
/// from it.
pub(crate) fn commit() -> String {
    let git = |words: &[&str]| {
        let output = Command::new("git")
            .arg("-C")
            .arg(env!("CARGO_MANIFEST_DIR"))
            .args(words)
            .output()
            .ok()?;
        let said = String::from_utf8(output.stdout).ok()?;
        output.status.success().then(|| said.trim().to_owned())
    };
    let Some(commit) = git(&["rev-parse", "--short=12", "HEAD"]) else {
        return format!("unknown, version {}", env!("CARGO_PKG_VERSION"));
    };
    match git(&["status", "--porcelain", "--untracked-files=no"]) {
        Some(changes) if changes.is_empty() => commit,
        _ => format!("{commit} with changes"),
    }
}

fn cpu() -> String {
    let info = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = |key| {
        let line = info.lines().find(|line| line.starts_with(key))?;
        Some(line.split_once(':')?.1.trim().to_owned())
    };
    let Some(name) = model("model name") else {
        return said("sysctl", &["-n", "machdep.cpu.brand_string"])
            .or_else(|| std::env::var("PROCESSOR_IDENTIFIER").ok())
            .unwrap_or_else(|| std::env::consts::ARCH.to_owned());
    };
    match (model("cpu family"), model("model\t")) {
        (Some(family), Some(model)) => format!("{name} (family {family}, model {model})"),
        _ => name,
    }
}

/// How busy the machine was before we began: others' work makes every figure worse.
fn load() -> String {
    let averages = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let load = averages.split_whitespace().next().unwrap_or("unknown");
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let nice = match stat_field(&stat, 19) {
        None | Some(0) => String::new(),
        Some(nice) => format!(", niceness {nice}"),
    };
    let priority = match stat_field(&stat, 40) {
        None | Some(0) => "",
        Some(_) => ", with real-time priority over it",
    };
    format!("load {load}{nice}{priority}")
}

/// A field of Linux's `stat`, counted from 1; the second is a name in parentheses.
fn stat_field(stat: &str, number: usize) -> Option<i64> {
    let after_name = stat.rsplit_once(')')?.1;
    after_name
        .split_whitespace()
        .nth(number.checked_sub(3)?)?
        .parse()
        .ok()
}

fn kernel() -> String {
    said("uname", &["-sr"]).unwrap_or_else(|| std::env::consts::OS.to_owned())
}

fn said(command: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(command).args(arguments).output().ok()?;
    let said = String::from_utf8(output.stdout).ok()?.trim().to_owned();
    (output.status.success() && !said.is_empty()).then_some(said)
}

/// Today in UTC, as 2026-11-20.
fn today() -> String {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    let (year, month, day) = date(since.as_secs() / 86_400);
    format!("{year}-{month:02}-{day:02}")
}

/// The date so many days after 1970-01-01.
fn date(mut days: u64) -> (u64, u64, u64) {
    let leap = |year: u64| {
        year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
    };
    let mut year = 1970;
    while days >= 365 + u64::from(leap(year)) {
        days -= 365 + u64::from(leap(year));
        year += 1;
    }
    let february = 28 + u64::from(leap(year));
    let mut month = 1;
    for length in [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] {
        if days < length {
            break;
        }
        days -= length;
        month += 1;
    }
    (year, month, days + 1)
}

/// CPU time of all threads of this process, to the nanosecond (Linux).
pub(crate) fn cpu_time() -> Option<Duration> {
    let mut nanos = 0;
    for task in fs::read_dir("/proc/self/task").ok()? {
        // A thread may end while we read.
        let Ok(text) = fs::read_to_string(task.ok()?.path().join("schedstat")) else {
            continue;
        };
        nanos += text.split_whitespace().next()?.parse::<u64>().ok()?;
    }
    Some(Duration::from_nanos(nanos))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates() {
        for (days, want) in [
            (0, (1970, 1, 1)),
            (58, (1970, 2, 28)),
            (59, (1970, 3, 1)),
            (11_016, (2000, 2, 29)),
            (19_723, (2024, 1, 1)),
            (20_777, (2026, 11, 20)),
            (47_540, (2100, 2, 28)),
            (47_541, (2100, 3, 1)),
        ] {
            assert_eq!(date(days), want, "{days} days");
        }
    }

    #[test]
    fn fields_are_counted_behind_the_name() {
        let stat = "4711 (a ) b) R 1 1 1 0 -1 4194560 9 0 0 0 3 1 0 0 15 -5 1 0 17 8 2";
        assert_eq!(
            (stat_field(stat, 4), stat_field(stat, 19)),
            (Some(1), Some(-5))
        );
        assert_eq!((stat_field(stat, 40), stat_field("", 19)), (None, None));
    }

    #[test]
    fn the_line_has_six_parts_and_no_line_break() {
        let line = line();
        assert_eq!(line.split("; ").count(), 6, "{line}");
        assert!(line.contains("rustc") && !line.contains('\n'), "{line}");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn cpu_time_counts_all_threads() {
        // A thread of another test that ends takes its time along.
        let used = || {
            let before = cpu_time().unwrap();
            let (stop, stopped) = std::sync::mpsc::channel::<()>();
            let thread = std::thread::spawn(move || {
                let start = std::time::Instant::now();
                while start.elapsed() < Duration::from_millis(200) {
                    std::hint::spin_loop();
                }
                let _ = stopped.recv();
            });
            std::thread::sleep(Duration::from_millis(400));
            let used = cpu_time().unwrap().saturating_sub(before);
            drop(stop);
            thread.join().unwrap();
            used
        };
        assert!((0..50).any(|_| used() > Duration::from_millis(20)));
    }
}
