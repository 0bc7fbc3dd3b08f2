//! A socket by which another process sees what the pools of this one do: `roving top`.
//!
//! Whoever connects sends a line and gets a line of JSON, as often as it likes. The thread that
//! serves it ([`super::server`]) sleeps in between, so nothing ticks here.

use std::path::Path;

use super::decimals::Seconds;
use super::exit::alive;
use super::json::Text;
use super::text::put;
use crate::machine::os;
use crate::stats::WorkerProfile;
use crate::workers::registry::Registry;

/// The present activity of all pools, as one line of JSON.
#[cfg_attr(
    not(unix),
    allow(dead_code, reason = "asked for through a socket of Unix")
)]
pub(super) fn snapshot() -> String {
    let mut text = format!("{{\"pid\":{},\"pools\":[", std::process::id());
    for (number, pool) in alive().iter().enumerate() {
        separate(&mut text, number);
        put_pool(&mut text, pool);
    }
    text.push_str("]}\n");
    text
}

fn separate(text: &mut String, number: usize) {
    if number > 0 {
        text.push(',');
    }
}

fn put_pool(text: &mut String, registry: &Registry) {
    let profile = registry.seats.profile();
    let doing = registry.seats.doing();
    put(
        text,
        format_args!(
            "{{\"name\":{},\"workers\":{},\"wall_s\":{},\"seats\":[",
            Text(&registry.settings.name),
            registry.workers(),
            Seconds(profile.wall, 6)
        ),
    );
    for (number, worker) in profile.workers.iter().enumerate() {
        // A compensation thread may have come between the two looks.
        if let Some(doing) = doing.get(number) {
            separate(text, number);
            put_worker(text, doing, worker);
        }
    }
    text.push_str("]}");
}

fn put_worker(text: &mut String, doing: &str, worker: &WorkerProfile) {
    put(text, format_args!("{{\"doing\":\"{doing}\""));
    for (name, time) in worker.times() {
        put(text, format_args!(",\"{name}_s\":{}", Seconds(time, 6)));
    }
    let counters = &worker.counters;
    for (name, count) in [
        ("tasks", counters.tasks),
        ("steals_tried", counters.steals_tried),
        ("steals_won", counters.steals_won),
        ("tasks_stolen", counters.tasks_stolen),
        ("publications", counters.publications),
        ("leapfrogs", counters.leapfrogs),
        ("parks", counters.parks),
        ("wakes", counters.wakes),
        ("suspensions", counters.suspensions),
    ] {
        put(text, format_args!(",\"{name}\":{count}"));
    }
    text.push('}');
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
    let path = path.display();
    os::say(&format!(
        "`roving top` cannot be served at {path}: {why}; set ROVING_TOP to another path"
    ));
}
