//! How much memory this process holds, where the system says (Linux).

/// Bytes held now, and from now on [`peak_bytes`] speaks only of what comes after.
pub(crate) fn restart_peak() -> Option<u64> {
    // Where the kernel refuses, the peak is that of the whole process: an upper bound.
    let _ = std::fs::write("/proc/self/clear_refs", "5");
    status_bytes("VmRSS:")
}

/// The most bytes held at once since [`restart_peak`].
pub(crate) fn peak_bytes() -> Option<u64> {
    status_bytes("VmHWM:")
}

fn status_bytes(field: &str) -> Option<u64> {
    status_field(&std::fs::read_to_string("/proc/self/status").ok()?, field)
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

    #[cfg(target_os = "linux")]
    #[test]
    fn the_peak_sees_what_was_held_for_a_moment() {
        let base = restart_peak().unwrap();
        drop(std::hint::black_box(vec![1u8; 32 << 20]));
        assert!(peak_bytes().unwrap() >= base + (24 << 20));
    }
}
