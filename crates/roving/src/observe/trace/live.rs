//! A socket by which another process sees what the pools of this one do: `roving top`.
//!
//! Whoever connects sends a line and gets a line of JSON, as often as it likes. The thread that
//! serves it ([`super::server`]) sleeps in between, so nothing ticks here.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::exit::with_alive;
use super::json::Text;
use crate::observe::fixed::Seconds;
use crate::stats::WorkerProfile;
use crate::workers::registry::Registry;

/// Where `ROVING_TOP` wants the socket; nowhere if it is "0".
pub(super) fn socket(value: &OsStr) -> Option<PathBuf> {
    match value.to_str() {
        Some("0") => None,
        Some("1") => {
            let dir = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
            let dir = dir
                .filter(|dir| dir.is_dir())
                .unwrap_or_else(std::env::temp_dir);
            Some(dir.join(format!("roving-{}.sock", std::process::id())))
        }
        _ => Some(PathBuf::from(value)),
    }
}

/// The present activity of all pools, as one line of JSON.
#[cfg_attr(
    not(unix),
    allow(dead_code, reason = "asked for through a socket of Unix")
)]
pub(super) fn snapshot() -> String {
    let pools = with_alive(|pools| {
        let pools: Vec<String> = pools.iter().map(|pool| of_pool(pool)).collect();
        pools.join(",")
    });
    format!("{{\"pid\":{},\"pools\":[{pools}]}}\n", std::process::id())
}

fn of_pool(registry: &Registry) -> String {
    let profile = registry.profile();
    let doing = registry.doing();
    let seats: Vec<String> = profile
        .workers
        .iter()
        .zip(doing)
        .map(|(worker, doing)| of_worker(doing, worker))
        .collect();
    format!(
        "{{\"name\":{},\"workers\":{},\"wall_s\":{},\"seats\":[{}]}}",
        Text(&registry.settings.name),
        registry.workers(),
        Seconds(profile.wall, 6),
        seats.join(",")
    )
}

fn of_worker(doing: &str, worker: &WorkerProfile) -> String {
    let counters = &worker.counters;
    let seconds = |(name, time): (_, Duration)| format!("\"{name}_s\":{}", Seconds(time, 6));
    let times = worker.times().map(seconds);
    format!(
        "{{\"doing\":\"{doing}\",{},\"tasks\":{},\"steals_tried\":{},\"steals_won\":{},\"tasks_stolen\":{},\"publications\":{},\"leapfrogs\":{},\
         \"parks\":{},\"wakes\":{},\"suspensions\":{}}}",
        times.join(","),
        counters.tasks,
        counters.steals_tried,
        counters.steals_won,
        counters.tasks_stolen,
        counters.publications,
        counters.leapfrogs,
        counters.parks,
        counters.wakes,
        counters.suspensions,
    )
}

/// Removes the socket, and nothing that is not one.
#[cfg(unix)]
pub(super) fn end(path: &Path) {
    use std::os::unix::fs::FileTypeExt as _;

    if std::fs::symlink_metadata(path).is_ok_and(|file| file.file_type().is_socket()) {
        let _ = std::fs::remove_file(path);
    }
}

pub(super) fn refuse(path: &Path, why: &str) {
    use std::io::Write as _;

    let path = path.display();
    let _ = writeln!(
        std::io::stderr(),
        "roving: `roving top` cannot be served at {path}: {why}; set ROVING_TOP to another path"
    );
}
