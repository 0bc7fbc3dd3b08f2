//! `roving run` of a program of tasks with two sides.

use std::fs::File;
use std::path::Path;
use std::time::Duration;

use roving::Pool;
use roving::policy::Amount;

use super::report::{Beside, DeviceLane, DualReport};
use super::setup::{Setup, WorkerSpeed};
use super::words::Wanted;
use super::{DualJob, PoolAndDevices};
use crate::io::input::{BadInput, CommandFailure};
use crate::io::out::Sink;
use crate::io::progress::RunsBar;
use crate::job::report::{Seconds, WorkersProfile};
use crate::job::settings::{JobSettings, RunArgs};
use crate::networks::run::pool;
use crate::timing::times::Times;
use crate::{networks, workloads};

/// Whether `args` are for a program of tasks with two sides: `--device` says so, or there is no
/// other of that name.
pub(crate) fn wanted(args: &RunArgs) -> bool {
    let name = args.workload.as_str();
    let otherwise = workloads::CATALOGUE.iter().any(|kind| kind.name == name)
        || networks::NetworkJob::find(name).is_some();
    args.device.is_some() || (!otherwise && DualJob::find(name).is_some())
}

/// How such programs are run.
struct DualSettings {
    workers: usize,
    steal: Amount,
    repeat: usize,
    profile: bool,
    wanted: Wanted,
}

impl DualSettings {
    fn parse(args: &RunArgs) -> Result<DualSettings, BadInput> {
        let graph = args.graph.as_ref().map(|path| path.display().to_string());
        for (option, value) in [
            ("--form", &args.form),
            ("--placement", &args.placement),
            ("--graph", &graph),
        ] {
            if let Some(value) = value {
                let allowed = "no such option for tasks with two sides";
                return Err(BadInput::new(option, value, allowed, "leave it out"));
            }
        }
        let common = JobSettings::parse(args)?;
        Ok(DualSettings {
            workers: common.workers,
            steal: common.steal,
            repeat: common.repeat,
            profile: common.profile,
            wanted: Wanted::parse(args.device.as_deref().unwrap_or("auto"))?,
        })
    }
}

/// A program whose right answer is known.
pub(crate) struct Arena {
    /// The program.
    pub(crate) job: DualJob,
    /// The speed of a worker.
    pub(crate) load: WorkerSpeed,
}

impl Arena {
    /// Runs the program serially, `times` times.
    pub(crate) fn new(mut job: DualJob, times: usize) -> (Arena, Times) {
        let mut serial_times = Times::default();
        for _ in 0..times.max(1) {
            serial_times.push(job.program.serial());
        }
        let load = WorkerSpeed::of(job.program.as_ref(), serial_times.median());
        (Arena { job, load }, serial_times)
    }

    /// The program `name` on `input`.
    pub(crate) fn named(name: &str, input: &str) -> Result<Arena, CommandFailure> {
        Ok(Arena::new(DualJob::parse(name, Some(input))?, 3).0)
    }

    /// One run on these workers and devices, verified.
    pub(crate) fn run(&self, pool: &Pool, setup: &Setup) -> Result<Duration, CommandFailure> {
        let place = PoolAndDevices {
            pool,
            devices: &setup.devices,
            pace: setup.pace,
            device_pace: setup.device_pace,
        };
        let workloads::TimedAnswer { time, answer } = self.job.program.run(&place)?;
        let want = self.job.program.expected();
        if answer == want {
            return Ok(time);
        }
        let figures = |answer: workloads::RunAnswer| {
            let named = self.job.kind.figures.iter().zip(answer.0);
            let named = named.map(|(name, figure)| format!("{name} {figure}"));
            named.collect::<Vec<_>>().join(", ")
        };
        Err(CommandFailure::Run(format!(
            "{} {} found {}, but the serial run {}",
            self.job.kind.name,
            self.job.program.input(),
            figures(answer),
            figures(want),
        )))
    }
}

/// `roving run … --device`.
pub(crate) fn run(args: &RunArgs) -> Result<(), CommandFailure> {
    let settings = DualSettings::parse(args)?;
    // Before the work, which may be long.
    let sink = Sink::open(args.json.as_deref())?;
    if let Some(path) = &args.trace {
        writable(path)?;
    }
    let job = DualJob::parse(&args.workload, args.input.as_deref())?;
    let title = format!("{} {}", job.kind.name, job.program.input());
    let progress = RunsBar::new(title, 2 * settings.repeat);
    let (arena, serial_times) = Arena::new(job, settings.repeat.min(5));
    progress.step();
    let setup = Setup::new(&settings.wanted, &arena.load)?;
    let mut report = measured(&arena, &settings, &setup, &serial_times, &progress)?;
    report.beside.explained = args.explain.then(|| setup.devices.explain());
    if let Some(path) = &args.trace {
        write_trace(path, &arena, &settings, &setup)?;
    }
    drop(progress);
    sink.write(&report.json(), &report.table())
}

/// An error where no file of that name can be made.
fn writable(path: &Path) -> Result<(), BadInput> {
    File::create(path).map(drop).map_err(|error| {
        let allowed = format!("a file that can be written ({error})");
        let remedy = "take a folder that exists";
        BadInput::new("--trace", path.display(), allowed, remedy)
    })
}

/// One run more, of which the devices note all that they do.
fn write_trace(
    path: &Path,
    arena: &Arena,
    settings: &DualSettings,
    setup: &Setup,
) -> Result<(), CommandFailure> {
    let pool = pool(settings.workers, settings.steal, false)?;
    setup.devices.trace(true);
    arena.run(&pool, setup)?;
    setup.devices.trace(false);
    let written = setup.devices.write_trace(path);
    written.map_err(|error| CommandFailure::Run(format!("the trace was not written: {error}")))
}

fn measured(
    arena: &Arena,
    settings: &DualSettings,
    setup: &Setup,
    serial_times: &Times,
    progress: &RunsBar,
) -> Result<DualReport, CommandFailure> {
    let workers = pool(settings.workers, settings.steal, false)?;
    let cold = (settings.repeat > 1)
        .then(|| arena.run(&workers, setup))
        .transpose()?;
    let mut times = Times::default();
    for _ in 0..settings.repeat {
        times.push(arena.run(&workers, setup)?);
        progress.step();
    }
    drop(workers);
    let (decisions, choices) = (DualReport::decisions(&setup.devices), setup.choices());
    let profiled = settings
        .profile
        .then(|| profiled(arena, settings, setup))
        .transpose()?;
    let (profile, lanes) = profiled.unzip();
    let (program, kind) = (&arena.job.program, arena.job.kind);
    let real = serial_times.median();
    // Tasks that have a CPU side only run at their own speed, and so does the serial run beside
    // them.
    let said = DualReport::has_both_sides(&decisions);
    let said = said.then(|| setup.pace.seconds(arena.load.work)).flatten();
    let serial_seconds = said.map_or(real, |said| said.max(real));
    let (seconds, items) = (times.median(), program.items());
    Ok(DualReport {
        workload: kind.name,
        input: program.input(),
        workers: settings.workers,
        device: settings.wanted.text(),
        devices: setup.about.clone(),
        policy: settings.steal.to_string(),
        verified: workloads::Evidence::Serial.word(),
        seconds: Seconds::from(&times),
        serial_seconds,
        speedup: serial_seconds / seconds,
        items,
        items_per_s: items as f64 / seconds,
        tasks: program.tasks(),
        decisions,
        lanes,
        profile,
        beside: Beside {
            kind,
            answer: program.expected(),
            repeat: settings.repeat,
            cold_seconds: cold.map(|time| time.as_secs_f64()),
            choices,
            explained: None,
            said: said.is_some(),
        },
    })
}

/// One run with statistics of the workers and of the devices, after one to warm up.
fn profiled(
    arena: &Arena,
    settings: &DualSettings,
    setup: &Setup,
) -> Result<(WorkersProfile, Vec<DeviceLane>), CommandFailure> {
    let pool = pool(settings.workers, settings.steal, true)?;
    arena.run(&pool, setup)?;
    let before = setup.devices.profile();
    pool.reset_profile();
    arena.run(&pool, setup)?;
    let profile = WorkersProfile::from(&pool.profile());
    let lanes = DeviceLane::between(&before, &setup.devices.profile());
    Ok((profile, lanes))
}
