//! How the values of variables are read. A wrong one is told in libgomp's words, and is as if it
//! was not there.

use std::env;

use super::complaint::{invalid, warn};
use super::places::{self, Place};
use super::values::{Bind, Schedule, ScheduleKind, WaitPolicy};

/// Those that are predefined, in the order of their handles, which begin with 1.
pub(super) const ALLOCATORS: [&str; 8] = [
    "omp_default_mem_alloc",
    "omp_large_cap_mem_alloc",
    "omp_const_mem_alloc",
    "omp_high_bw_mem_alloc",
    "omp_low_lat_mem_alloc",
    "omp_cgroup_mem_alloc",
    "omp_pteam_mem_alloc",
    "omp_thread_mem_alloc",
];

/// Reads variables.
pub(super) struct Reader;

impl Reader {
    fn value<T>(&self, name: &str, read: impl FnOnce(&str) -> Option<T>) -> Option<T> {
        let said = env::var_os(name)?;
        let value = said.to_str().map(str::trim).and_then(read);
        if value.is_none() {
            invalid(name);
        }
        value
    }

    pub(super) fn boolean(&self, name: &str) -> Option<bool> {
        self.value(name, |said| match said.to_ascii_lowercase().as_str() {
            "true" => Some(true),
            "false" => Some(false),
            _ => None,
        })
    }

    pub(super) fn number(&self, name: &str, least: u64) -> Option<u64> {
        self.value(name, |said| {
            said.parse().ok().filter(|&number| number >= least)
        })
    }

    /// Positive numbers with commas between them.
    pub(super) fn counts(&self, name: &str) -> Option<Vec<u32>> {
        self.value(name, |said| {
            let count = |part: &str| part.trim().parse().ok().filter(|&count| count > 0);
            said.split(',').map(count).collect()
        })
    }

    pub(super) fn wait_policy(&self) -> Option<WaitPolicy> {
        self.value("OMP_WAIT_POLICY", |said| {
            match said.to_ascii_lowercase().as_str() {
                "active" => Some(WaitPolicy::Active),
                "passive" => Some(WaitPolicy::Passive),
                _ => None,
            }
        })
    }

    pub(super) fn spins(&self) -> Option<u64> {
        self.value("GOMP_SPINCOUNT", |said| {
            let said = said.to_ascii_lowercase();
            if said == "infinite" || said == "infinity" {
                return Some(u64::MAX);
            }
            let digits = said.trim_end_matches(|c: char| c.is_ascii_alphabetic() || c == ' ');
            let factor = match said[digits.len()..].trim() {
                "" => 1,
                "k" => 1_000,
                "m" => 1_000_000,
                "g" => 1_000_000_000,
                "t" => 1_000_000_000_000,
                _ => return None,
            };
            digits.parse::<u64>().ok()?.checked_mul(factor)
        })
    }

    /// Bytes; a number alone is of KiB.
    pub(super) fn stack_size(&self) -> Option<usize> {
        let size = |name| {
            self.value(name, |said| {
                let said = said.to_ascii_lowercase();
                let digits = said.trim_end_matches(|c: char| c.is_ascii_alphabetic() || c == ' ');
                let shift = match said[digits.len()..].trim() {
                    "b" => 0,
                    "" | "k" => 10,
                    "m" => 20,
                    "g" => 30,
                    _ => return None,
                };
                digits.parse::<usize>().ok()?.checked_mul(1 << shift)
            })
        };
        size("OMP_STACKSIZE").or_else(|| size("GOMP_STACKSIZE"))
    }

    pub(super) fn schedule(&self) -> Option<Schedule> {
        let name = "OMP_SCHEDULE";
        let said = env::var(name).ok()?;
        let said = said.trim().to_ascii_lowercase();
        let (modifier, rest) = match said.split_once(':') {
            Some((modifier, rest)) => (Some(modifier.trim()), rest.trim()),
            None => (None, said.as_str()),
        };
        let (kind, chunk) = match rest.split_once(',') {
            Some((kind, chunk)) => (kind.trim(), Some(chunk.trim())),
            None => (rest, None),
        };
        let kind = match kind {
            "static" => Some(ScheduleKind::Static),
            "dynamic" => Some(ScheduleKind::Dynamic),
            "guided" => Some(ScheduleKind::Guided),
            "auto" => Some(ScheduleKind::Auto),
            _ => None,
        };
        let is_known = matches!(modifier, None | Some("monotonic" | "nonmonotonic"));
        let (Some(kind), true) = (kind, is_known) else {
            warn(&format!("Unknown value for environment variable {name}"));
            return None;
        };
        let chunk = match chunk.map(str::parse::<i64>) {
            None => 0,
            Some(Ok(chunk)) => u64::try_from(chunk).unwrap_or(0),
            Some(Err(_)) => {
                warn(&format!(
                    "Invalid value for chunk size in environment variable {name}"
                ));
                return None;
            }
        };
        let least = u64::from(!matches!(kind, ScheduleKind::Static | ScheduleKind::Auto));
        Some(Schedule {
            kind,
            monotonic: modifier == Some("monotonic")
                || modifier.is_none() && kind == ScheduleKind::Static,
            chunk: chunk.max(least),
        })
    }

    pub(super) fn binds(&self) -> Option<Vec<Bind>> {
        self.value("OMP_PROC_BIND", |said| {
            let said = said.to_ascii_lowercase();
            match said.as_str() {
                "false" => return Some(vec![Bind::False]),
                "true" => return Some(vec![Bind::True]),
                _ => {}
            }
            let bind = |part: &str| match part.trim() {
                "master" | "primary" => Some(Bind::Primary),
                "close" => Some(Bind::Close),
                "spread" => Some(Bind::Spread),
                _ => None,
            };
            said.split(',').map(bind).collect()
        })
    }

    pub(super) fn places(&self) -> Vec<Place> {
        self.value("OMP_PLACES", places::parse).unwrap_or_default()
    }

    /// The handle of the default one.
    pub(super) fn allocator(&self) -> usize {
        let read = |said: &str| {
            let is_meant = |name: &&str| name.eq_ignore_ascii_case(said);
            ALLOCATORS.iter().position(is_meant)
        };
        self.value("OMP_ALLOCATOR", read).map_or(1, |at| at + 1)
    }

    pub(super) fn target_offload(&self) -> &'static str {
        let read = |said: &str| match said.to_ascii_lowercase().as_str() {
            "default" => Some("DEFAULT"),
            "mandatory" => Some("MANDATORY"),
            "disabled" => Some("DISABLED"),
            _ => None,
        };
        self.value("OMP_TARGET_OFFLOAD", read).unwrap_or("DEFAULT")
    }
}
