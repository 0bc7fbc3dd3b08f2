//! `roving run`: one workload on Roving, beside serial runs of the same code.

#[cfg(not(feature = "dist"))]
use super::absent::dist;
#[cfg(not(feature = "gpu"))]
use super::absent::duals;
#[cfg(feature = "dist")]
use crate::dist;
#[cfg(feature = "gpu")]
use crate::duals;
use crate::io::input::{BadInput, CommandFailure};
use crate::io::out::{Sink, show};
use crate::io::progress::RunsBar;
use crate::job::measure;
use crate::job::report::{JobReport, Seconds, TableExtras, WorkersProfile};
use crate::job::settings::{JobSettings, RunArgs};
use crate::machine::cores;
use crate::machine::memory;
use crate::networks;
use crate::timing::times::Times;
use crate::workloads::{Evidence, RunAnswer, WorkloadJob};

/// Printed below the first report that somebody sees.
const NEXT: &str = "
Try next
  cargo run --release -- list                   other programs, and their inputs
  cargo run --release -- run nqueens --profile  one of them
  cargo run --release --example quicksort       a program as people write them; docs/examples.md has more
  docs/getting-started.md                       the first lines of your own
";

/// The program and the input of `roving` without words.
pub(crate) const FIRST: (&str, &str) = ("uts", "T3");

/// `roving` without words.
pub(crate) fn first_words() -> Result<(), CommandFailure> {
    let settings = JobSettings {
        profile: true,
        ..JobSettings::default()
    };
    let mut job = WorkloadJob::parse(FIRST.0, Some(FIRST.1))?;
    let report = run_job(&mut job, &settings)?;
    show(format_args!("{}{NEXT}", report.table()))
}

/// `roving run`.
pub(crate) fn run(args: &RunArgs) -> Result<(), CommandFailure> {
    if args.dist {
        return dist::run(args);
    }
    if args.checkpoints.is_some() || args.every.is_some() {
        let line = "--checkpoints and --every are for runs across ranks: add --dist";
        return Err(BadInput::line(line).into());
    }
    if duals::run::wanted(args) {
        return duals::run::run(args);
    }
    if args.explain {
        let line = "--explain is about the choice between CPU and device: add --device auto";
        return Err(BadInput::line(line).into());
    }
    if let Some(trace) = &args.trace {
        return Err(BadInput::line(format!(
            "--trace `{}` is for what devices do: add --device auto, or set ROVING_TRACE to that \
             file instead, to see what the workers do",
            trace.display()
        ))
        .into());
    }
    if networks::NetworkJob::find(&args.workload).is_some() {
        return networks::run::run(args);
    }
    let graph = args.graph.as_ref().map(|path| path.display().to_string());
    for (option, value) in [("--placement", &args.placement), ("--graph", &graph)] {
        if let Some(value) = value {
            let allowed = "no such option for a workload that is no network";
            return Err(BadInput::new(option, value, allowed, "leave it out").into());
        }
    }
    let settings = JobSettings::parse(args)?;
    let mut job = WorkloadJob::parse(&args.workload, args.input.as_deref())?;
    // Before the work, which may be long.
    let sink = Sink::open(args.json.as_deref())?;
    let report = run_job(&mut job, &settings)?;
    sink.write(&report.json(), &report.table())
}

/// Runs and verifies `job` as `settings` say.
pub(crate) fn run_job(
    job: &mut WorkloadJob,
    settings: &JobSettings,
) -> Result<JobReport, CommandFailure> {
    let title = format!("{} {}", job.kind().name, job.input());
    let progress = RunsBar::new(title, 2 * settings.repeat + 1);
    let (spawns, reference) = measure::rehearse(job)?;
    check(job, reference, reference)?;
    progress.step();
    let runs = measured_runs(job, settings, reference, &progress)?;
    let profile = settings
        .profile
        .then(|| profiled_run(job, settings))
        .transpose()?;
    let (seconds, serial_seconds) = (runs.times.median(), runs.serial_times.median());
    let items = job.items(&reference);
    let carried = settings.workers.min(cores()) as f64;
    Ok(JobReport {
        workload: job.kind().name,
        input: job.input(),
        workers: settings.workers,
        form: settings.form.name(),
        policy: settings.steal.to_string(),
        verified: runs.evidence.word(),
        seconds: Seconds::from(&runs.times),
        serial_seconds,
        speedup: serial_seconds / seconds,
        items,
        items_per_s: items as f64 / seconds,
        spawns,
        overhead_ns_per_spawn: (spawns > 0)
            .then(|| (seconds * carried - serial_seconds) * 1e9 / spawns as f64),
        profile,
        beside: TableExtras {
            kind: job.kind(),
            evidence: runs.evidence,
            answer: reference,
            repeat: settings.repeat,
            cold_seconds: runs.cold_seconds,
            memory_bytes: runs.memory_bytes,
            notes: job.notes(),
        },
    })
}

/// The results of one job's timed runs.
struct JobRuns {
    times: Times,
    serial_times: Times,
    evidence: Evidence,
    cold_seconds: Option<f64>,
    memory_bytes: Option<u64>,
}

/// One untimed-for-the-median cold run in a new pool, if there is more than one run; then serial
/// and parallel runs in turn.
fn measured_runs(
    job: &mut WorkloadJob,
    settings: &JobSettings,
    reference: RunAnswer,
    progress: &RunsBar,
) -> Result<JobRuns, CommandFailure> {
    let pool = settings.pool(job, false)?;
    let mut evidence = check(job, reference, reference)?;
    job.prepare();
    let base = memory::restart_peak();
    let mut cold_seconds = None;
    if settings.repeat > 1 {
        let (time, answer) = measure::parallel(job, &pool, settings.form);
        evidence = check(job, answer, reference)?;
        cold_seconds = Some(time.as_secs_f64());
    }
    if job.set_proof(true) {
        let (_, answer) = measure::parallel(job, &pool, settings.form);
        evidence = check(job, answer, reference)?;
        job.set_proof(false);
    }
    let (mut times, mut serial_times) = (Times::default(), Times::default());
    for _ in 0..settings.repeat {
        let (time, answer) = measure::serial(job)?;
        check(job, answer, reference)?;
        serial_times.push(time);
        progress.step();
        let (time, answer) = measure::parallel(job, &pool, settings.form);
        evidence = check(job, answer, reference)?;
        times.push(time);
        progress.step();
    }
    let peak = memory::peak_bytes();
    let memory_bytes = peak.zip(base).map(|(peak, base)| peak.saturating_sub(base));
    Ok(JobRuns {
        times,
        serial_times,
        evidence,
        cold_seconds,
        memory_bytes,
    })
}

fn check(
    job: &WorkloadJob,
    found: RunAnswer,
    reference: RunAnswer,
) -> Result<Evidence, CommandFailure> {
    job.verify(found, reference).map_err(CommandFailure::Run)
}

/// One run with statistics on, after one to warm up.
fn profiled_run(
    job: &mut WorkloadJob,
    settings: &JobSettings,
) -> Result<WorkersProfile, CommandFailure> {
    let pool = settings.pool(job, true)?;
    measure::parallel(job, &pool, settings.form);
    pool.reset_profile();
    measure::parallel(job, &pool, settings.form);
    let profile = pool.profile();
    Ok(WorkersProfile::from(&profile))
}
