//! The first parallel result of a process, and what it cost.

use std::fs;
use std::time::Instant;

use rayon::prelude::*;

/// One parallel sum: nanoseconds since `start`, and the most bytes that the process ever held (0
/// where the system does not say).
pub(crate) fn first(start: Instant) -> Result<String, String> {
    let sum: u64 = (0..1000u64).into_par_iter().map(|n| n * n).sum();
    let nanos = start.elapsed().as_nanos();
    if sum != 332_833_500 {
        return Err(format!("the first sum is {sum}, not 332833500"));
    }
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    Ok(format!("{nanos} {}", peak_bytes(&status).unwrap_or(0)))
}

/// `VmHWM` in Linux's `status`.
fn peak_bytes(status: &str) -> Option<u64> {
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_peak_is_read_in_kibibytes() {
        assert_eq!(peak_bytes("Name:\tx\nVmHWM:\t    2048 kB\n"), Some(2 << 20));
        assert_eq!(peak_bytes("Name:\tx\n"), None);
    }

    #[test]
    fn the_first_result_has_a_time_and_a_size() {
        let said = first(Instant::now()).unwrap_or_default();
        let numbers: Vec<u64> = said
            .split_whitespace()
            .flat_map(|word| word.parse().ok())
            .collect();
        assert!(numbers.len() == 2 && numbers[0] > 0, "{said}");
    }
}
