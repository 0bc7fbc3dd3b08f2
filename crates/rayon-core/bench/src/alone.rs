//! How much CPU nothing costs: a question that needs a process of its own.

use std::fs;
use std::thread::sleep;
use std::time::Duration;

/// Calls of [`noop`], and the pause behind each.
const CALLS: u32 = 500;
const PAUSE: Duration = Duration::from_millis(1);

/// Many empty tasks with pauses: nanoseconds of CPU that all threads used for them.
pub(crate) fn noop() -> Result<String, String> {
    let unknown = || "this system does not say how much CPU a thread has used".to_owned();
    rayon::join(|| (), || ());
    let before = cpu_nanos().ok_or_else(unknown)?;
    for _ in 0..CALLS {
        rayon::spawn(|| ());
        sleep(PAUSE);
    }
    let after = cpu_nanos().ok_or_else(unknown)?;
    Ok((after - before).to_string())
}

/// CPU of all threads of this process, where Linux says it.
pub(crate) fn cpu_nanos() -> Option<u64> {
    let tasks = fs::read_dir("/proc/self/task").ok()?;
    // A thread may have ended since it was listed.
    let texts = tasks
        .flatten()
        .flat_map(|task| fs::read_to_string(task.path().join("schedstat")));
    let each = texts.map(|text| text.split_whitespace().next()?.parse::<u64>().ok());
    each.sum::<Option<u64>>().filter(|&nanos| nanos > 0)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn work_of_other_threads_counts() {
        let before = cpu_nanos();
        let busy = std::thread::spawn(|| {
            let start = std::time::Instant::now();
            while start.elapsed() < Duration::from_millis(30) {
                std::hint::spin_loop();
            }
            cpu_nanos()
        });
        let within = busy.join().unwrap_or_default();
        assert!(before.is_some() && within > before, "{before:?} {within:?}");
    }
}
