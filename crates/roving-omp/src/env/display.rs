//! `OMP_DISPLAY_ENV`, line by line as libgomp prints it.

use std::fmt::Write as _;

use super::parse::ALLOCATORS;
use super::places;
use super::values::{Bind, Environment, Schedule, ScheduleKind, WaitPolicy};

fn truth(value: bool) -> &'static str {
    if value { "TRUE" } else { "FALSE" }
}

fn schedule(schedule: Schedule) -> String {
    let kind = match schedule.kind {
        ScheduleKind::Static => "STATIC",
        ScheduleKind::Dynamic => "DYNAMIC",
        ScheduleKind::Guided => "GUIDED",
        ScheduleKind::Auto => "AUTO",
    };
    let monotonic = schedule.monotonic && schedule.kind != ScheduleKind::Static;
    let modifier = if monotonic { "MONOTONIC:" } else { "" };
    let least = u64::from(schedule.kind != ScheduleKind::Static);
    match schedule.chunk > least {
        true => format!("{modifier}{kind},{}", schedule.chunk),
        false => format!("{modifier}{kind}"),
    }
}

fn bind(bind: Bind) -> &'static str {
    match bind {
        Bind::False => "FALSE",
        Bind::True => "TRUE",
        Bind::Primary => "PRIMARY",
        Bind::Close => "CLOSE",
        Bind::Spread => "SPREAD",
    }
}

fn list<T>(items: &[T], text: impl Fn(&T) -> String, otherwise: String) -> String {
    match items {
        [] => otherwise,
        items => items.iter().map(text).collect::<Vec<_>>().join(","),
    }
}

/// Prints all variables to standard error.
pub(crate) fn print(settings: &Environment, verbose: bool) {
    let controls = &settings.controls;
    let threads = list(
        &settings.threads,
        u32::to_string,
        controls.threads.to_string(),
    );
    let binds = list(
        &settings.bind,
        |&one| bind(one).to_owned(),
        bind(controls.bind).to_owned(),
    );
    let active = settings.wait_policy == Some(WaitPolicy::Active);
    let nested = controls.max_active > 1;
    let mut lines = vec![
        ("OMP_DYNAMIC", truth(controls.dynamic).to_owned()),
        ("OMP_NESTED", truth(nested).to_owned()),
        ("OMP_NUM_THREADS", threads),
        ("OMP_SCHEDULE", schedule(controls.schedule)),
        ("OMP_PROC_BIND", binds),
        ("OMP_PLACES", places::text(&settings.places)),
        (
            "OMP_STACKSIZE",
            settings.stack_size.unwrap_or(0).to_string(),
        ),
        (
            "OMP_WAIT_POLICY",
            if active { "ACTIVE" } else { "PASSIVE" }.to_owned(),
        ),
        ("OMP_THREAD_LIMIT", controls.thread_limit.to_string()),
        ("OMP_MAX_ACTIVE_LEVELS", controls.max_active.to_string()),
        ("OMP_NUM_TEAMS", settings.teams.to_string()),
        (
            "OMP_TEAMS_THREAD_LIMIT",
            settings.teams_thread_limit.to_string(),
        ),
        ("OMP_CANCELLATION", truth(settings.cancellation).to_owned()),
        ("OMP_DEFAULT_DEVICE", controls.device.to_string()),
        ("OMP_MAX_TASK_PRIORITY", settings.task_priority.to_string()),
        (
            "OMP_DISPLAY_AFFINITY",
            truth(settings.display_affinity).to_owned(),
        ),
        ("OMP_AFFINITY_FORMAT", settings.affinity_format.clone()),
        (
            "OMP_ALLOCATOR",
            ALLOCATORS[controls.allocator - 1].to_owned(),
        ),
        ("OMP_TARGET_OFFLOAD", settings.target_offload.to_owned()),
    ];
    if verbose {
        let spins = settings.spins_said.or(settings.spins);
        let spins = spins.map_or("by the clock".to_owned(), |spins| spins.to_string());
        lines.push(("GOMP_CPU_AFFINITY", settings.affinity_said.clone()));
        lines.push((
            "GOMP_STACKSIZE",
            settings.stack_size.unwrap_or(0).to_string(),
        ));
        lines.push(("GOMP_SPINCOUNT", spins));
    }
    let mut text = String::from("\nOPENMP DISPLAY ENVIRONMENT BEGIN\n  _OPENMP = '201511'\n");
    for (name, value) in lines {
        let _ = writeln!(text, "  {name} = '{value}'");
    }
    eprintln!("{text}OPENMP DISPLAY ENVIRONMENT END");
}
