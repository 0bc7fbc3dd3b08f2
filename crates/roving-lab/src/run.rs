//! `roving run`: one workload on Roving, beside serial runs of the same code.

use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use std::thread::available_parallelism;

use roving::Pool;
use roving::policy::Amount;

#[cfg(not(feature = "dist"))]
use crate::absent::dist;
#[cfg(not(feature = "gpu"))]
use crate::absent::duals;
use crate::cli::RunArgs;
#[cfg(feature = "dist")]
use crate::dist;
#[cfg(feature = "gpu")]
use crate::duals;
use crate::input::{BadInput, Failure, number_in};
use crate::measure::{self, Times};
use crate::memory;
use crate::networks;
use crate::out::show;
use crate::progress::Progress;
use crate::report::{Beside, Profile, Report, Seconds};
use crate::tasks::Form;
use crate::workloads::{Answer, Evidence, Job};

/// The most workers that `--workers` takes: those that a pool of the runtime can have.
const WORKERS_MAX: u64 = 768;
/// The most repetitions that `--repeat` takes.
const REPEAT_MAX: u64 = 100_000;

/// How a job is run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    /// Workers of the pool.
    pub(crate) workers: usize,
    /// In closures or in tasks.
    pub(crate) form: Form,
    /// The number of tasks that a thief takes.
    pub(crate) steal: Amount,
    /// Timed runs.
    pub(crate) repeat: usize,
    /// One run more with statistics on.
    pub(crate) profile: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            workers: cores(),
            form: Form::default(),
            steal: Amount::default(),
            repeat: 5,
            profile: false,
        }
    }
}

/// How many cores this process may use.
pub(crate) fn cores() -> usize {
    available_parallelism().map_or(1, usize::from)
}

/// Reads `--workers`.
pub(crate) fn parse_workers(text: &str) -> Result<usize, BadInput> {
    let remedy = format!("leave it out for one a core, here {}", cores());
    Ok(number_in("--workers", text, 1..=WORKERS_MAX, &remedy)? as usize)
}

/// Reads `ROVING_WORKERS`, as the global pool of a program does; empty is not set.
fn workers_variable() -> Result<Option<usize>, BadInput> {
    let text = std::env::var_os("ROVING_WORKERS").unwrap_or_default();
    let text = text.to_string_lossy();
    if text.trim().is_empty() {
        return Ok(None);
    }
    let remedy = format!("unset it for one a core, here {}", cores());
    let workers = number_in("ROVING_WORKERS", text.trim(), 1..=WORKERS_MAX, &remedy)?;
    Ok(Some(workers as usize))
}

/// Reads `--repeat`.
pub(crate) fn parse_repeat(text: &str) -> Result<usize, BadInput> {
    Ok(number_in("--repeat", text, 1..=REPEAT_MAX, "leave it out for 5")? as usize)
}

/// Reads `--steal`.
pub(crate) fn parse_steal(text: &str) -> Result<Amount, BadInput> {
    let allowed = "one, fixed:D with D from 1 to 64, or half";
    text.parse()
        .map_err(|_| BadInput::new("--steal", text, allowed, "leave it out for one"))
}

impl Settings {
    /// Reads the words of `roving run`.
    pub(crate) fn parse(args: &RunArgs) -> Result<Settings, BadInput> {
        let plain = Settings::default();
        Ok(Settings {
            workers: match args.workers.as_deref() {
                Some(text) => parse_workers(text)?,
                None => workers_variable()?.unwrap_or(plain.workers),
            },
            form: args.form.as_deref().map_or(Ok(plain.form), Form::parse)?,
            steal: args.steal.as_deref().map_or(Ok(plain.steal), parse_steal)?,
            repeat: args
                .repeat
                .as_deref()
                .map_or(Ok(plain.repeat), parse_repeat)?,
            profile: args.profile,
        })
    }

    /// A pool for `job`. Statistics cost time, so only the profiled run has them.
    pub(crate) fn pool(&self, job: &Job, profile: bool) -> Result<Pool, Failure> {
        Pool::builder()
            .workers(self.workers)
            .steal(self.steal)
            .stack_size(job.stack_bytes())
            .profile(profile)
            .build()
            .map_err(|error| {
                let mebibytes = job.stack_bytes() >> 20;
                let pool = format!("{} workers with stacks of {mebibytes} MiB", self.workers);
                Failure::Run(format!("no pool of {pool}: {error}; take fewer workers"))
            })
    }
}

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
pub(crate) fn first_words() -> Result<(), Failure> {
    let settings = Settings {
        profile: true,
        ..Settings::default()
    };
    let mut job = Job::parse(FIRST.0, Some(FIRST.1))?;
    let report = run_job(&mut job, &settings)?;
    show(format_args!("{}{NEXT}", report.table()))
}

/// `roving run`.
pub(crate) fn run(args: &RunArgs) -> Result<(), Failure> {
    if args.dist {
        return dist::run(args);
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
    if networks::Job::find(&args.workload).is_some() {
        return networks::run::run(args);
    }
    let graph = args.graph.as_ref().map(|path| path.display().to_string());
    for (option, value) in [("--placement", &args.placement), ("--graph", &graph)] {
        if let Some(value) = value {
            let allowed = "no such option for a workload that is no network";
            return Err(BadInput::new(option, value, allowed, "leave it out").into());
        }
    }
    let settings = Settings::parse(args)?;
    let mut job = Job::parse(&args.workload, args.input.as_deref())?;
    // Before the work, which may be long.
    let sink = Sink::open(args.json.as_deref())?;
    let report = run_job(&mut job, &settings)?;
    sink.write(&report.json(), &report.table())
}

/// Where a report goes: the table to standard output, or the JSON there, or the JSON into a file as
/// well.
pub(crate) enum Sink {
    /// No JSON.
    Table,
    /// JSON to standard output, and no table.
    Json,
    /// JSON into a file.
    File(File),
}

impl Sink {
    /// Opens the output that `--json` asks for.
    pub(crate) fn open(path: Option<&Path>) -> Result<Sink, BadInput> {
        match path {
            None => Ok(Sink::Table),
            Some(path) if path.as_os_str() == "-" => Ok(Sink::Json),
            Some(path) => Ok(Sink::File(create(path)?)),
        }
    }

    /// Writes both forms of a report to where they go.
    pub(crate) fn write(self, json: &str, table: &str) -> Result<(), Failure> {
        match self {
            Sink::Table => show(format_args!("{table}"))?,
            Sink::Json => show(format_args!("{json}\n"))?,
            Sink::File(mut file) => {
                show(format_args!("{table}"))?;
                writeln!(file, "{json}")
                    .map_err(|error| Failure::Run(format!("the JSON was not written: {error}")))?;
            }
        }
        Ok(())
    }
}

fn create(path: &Path) -> Result<File, BadInput> {
    let allowed = "a file that can be written";
    let remedy = "take a folder that exists, or `-` for standard output";
    File::create(path).map_err(|error| {
        BadInput::new(
            "--json",
            path.display(),
            format!("{allowed} ({error})"),
            remedy,
        )
    })
}

/// Runs and verifies `job` as `settings` say.
pub(crate) fn run_job(job: &mut Job, settings: &Settings) -> Result<Report, Failure> {
    let title = format!("{} {}", job.kind().name, job.input());
    let progress = Progress::new(title, 2 * settings.repeat + 1);
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
    Ok(Report {
        workload: job.kind().name,
        input: job.input(),
        workers: settings.workers,
        form: settings.form.name(),
        policy: settings.steal.to_string(),
        verified: runs.evidence.word(),
        seconds: Seconds {
            median: seconds,
            min: runs.times.min(),
        },
        serial_seconds,
        speedup: serial_seconds / seconds,
        items,
        items_per_s: items as f64 / seconds,
        spawns,
        overhead_ns_per_spawn: (spawns > 0)
            .then(|| (seconds * carried - serial_seconds) * 1e9 / spawns as f64),
        profile,
        beside: Beside {
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
struct Runs {
    times: Times,
    serial_times: Times,
    evidence: Evidence,
    cold_seconds: Option<f64>,
    memory_bytes: Option<u64>,
}

/// One untimed-for-the-median cold run in a new pool, if there is more than one run; then serial
/// and parallel runs in turn.
fn measured_runs(
    job: &mut Job,
    settings: &Settings,
    reference: Answer,
    progress: &Progress,
) -> Result<Runs, Failure> {
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
    Ok(Runs {
        times,
        serial_times,
        evidence,
        cold_seconds,
        memory_bytes,
    })
}

fn check(job: &Job, found: Answer, reference: Answer) -> Result<Evidence, Failure> {
    job.verify(found, reference).map_err(Failure::Run)
}

/// One run with statistics on, after one to warm up.
fn profiled_run(job: &mut Job, settings: &Settings) -> Result<Profile, Failure> {
    let pool = settings.pool(job, true)?;
    measure::parallel(job, &pool, settings.form);
    pool.reset_profile();
    measure::parallel(job, &pool, settings.form);
    let profile = pool.profile();
    Ok(Profile::from(&profile))
}
