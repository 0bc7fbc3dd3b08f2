//! How much memory this process holds and can get, where the system says (Linux).

use crate::io::input::{BadInput, grouped};

/// Bytes held now, and from now on [`peak_bytes`] speaks only of what comes after. Pages of files
/// are left out: those of the program's code come in as it is run, the more the larger the program,
/// and the system may drop them.
pub(crate) fn restart_peak() -> Option<u64> {
    // Where the kernel refuses, the peak is that of the whole process: an upper bound.
    let _ = std::fs::write("/proc/self/clear_refs", "5");
    own_bytes("VmRSS:")
}

/// The most bytes held at once since [`restart_peak`], less pages of files.
pub(crate) fn peak_bytes() -> Option<u64> {
    own_bytes("VmHWM:")
}

fn own_bytes(field: &str) -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let of_files = status_field(&status, "RssFile:").unwrap_or(0);
    Some(status_field(&status, field)?.saturating_sub(of_files))
}

/// An error where `input` of a workload needs more memory than there is. Where the system does not
/// say how much there is, nothing is refused.
pub(crate) fn require(
    workload: &str,
    input: &str,
    need_bytes: u64,
    remedy: &str,
) -> Result<(), BadInput> {
    fits(workload, input, need_bytes, available_bytes(), remedy)
}

fn fits(
    workload: &str,
    input: &str,
    need_bytes: u64,
    available_bytes: Option<u64>,
    remedy: &str,
) -> Result<(), BadInput> {
    let Some(available_bytes) = available_bytes.filter(|available| *available < need_bytes) else {
        return Ok(());
    };
    let mebibytes = |bytes: u64| grouped(bytes.div_ceil(1 << 20));
    let allowed = format!(
        "an input whose memory is available: this one needs {} MiB, and {} MiB are",
        mebibytes(need_bytes),
        mebibytes(available_bytes),
    );
    let subject = format!("{workload} input");
    Err(BadInput::new(subject, input, allowed, remedy))
}

/// Bytes that this process can still get without paging: what the machine has, and what the
/// process's control group leaves.
fn available_bytes() -> Option<u64> {
    let memory = std::fs::read_to_string("/proc/meminfo").ok()?;
    let machine = status_field(&memory, "MemAvailable:")?;
    Some(machine.min(group_left_bytes().unwrap_or(u64::MAX)))
}

/// The memory that is left by the limit of our control group (version 2), if there is one.
fn group_left_bytes() -> Option<u64> {
    let groups = std::fs::read_to_string("/proc/self/cgroup").ok()?;
    let group = groups.lines().find_map(|line| line.strip_prefix("0::"))?;
    let folder = format!("/sys/fs/cgroup{}", group.trim_end_matches('/'));
    let number = |file: &str| -> Option<u64> {
        let text = std::fs::read_to_string(format!("{folder}/{file}")).ok()?;
        text.trim().parse().ok()
    };
    Some(number("memory.max")?.saturating_sub(number("memory.current")?))
}

fn status_field(status: &str, field: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix(field))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_of_the_status_is_read_in_kibibytes() {
        let status = "Name:\troving\nVmHWM:\t    5120 kB\nVmRSS:\t    1024 kB\n";
        assert_eq!(status_field(status, "VmHWM:"), Some(5120 * 1024));
        assert_eq!(status_field(status, "VmRSS:"), Some(1024 * 1024));
        assert_eq!(status_field(status, "VmSwap:"), None);
    }

    #[test]
    fn what_does_not_fit_is_refused_in_one_line() {
        let refused = |available| fits("fft", "64M", 5 << 30, available, "take fft 1M");
        assert!(refused(None).is_ok() && refused(Some(5 << 30)).is_ok());
        let line = refused(Some(2 << 30)).unwrap_err().to_string();
        for part in ["fft input `64M`", "5,120 MiB", "2,048 MiB", "take fft 1M"] {
            assert!(line.contains(part), "{line}");
        }
        assert!(!line.contains('\n'));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn this_machine_has_memory_but_not_an_exbibyte() {
        assert!(require("fft", "1M", 1 << 20, "").is_ok());
        assert!(require("fft", "2^60", 1 << 60, "").is_err());
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_peak_sees_what_was_held_for_a_moment() {
        let base = restart_peak().unwrap();
        drop(std::hint::black_box(vec![1u8; 32 << 20]));
        assert!(peak_bytes().unwrap() >= base + (24 << 20));
    }
}
