//! One network run: on a pool, with a placement, its answer checked; and `roving run` for networks.

use std::time::{Duration, Instant};

use roving::Pool;
use roving::policy::Amount;
use roving_flow::Network;

use super::NetworkJob;
use super::picture::Picture;
use super::placement::{self, NamedPlacement};
use super::report::{NetworkReport, NetworkTraffic};
use crate::io::input::{BadInput, CommandFailure};
use crate::io::out::Sink;
use crate::io::progress::RunsBar;
use crate::job::report::{Seconds, TableExtras, WorkersProfile};
use crate::job::settings::{JobSettings, RunArgs};
use crate::machine::memory;
#[cfg(feature = "rivals")]
use crate::timing::lanes::{SERIAL, TimedLane};
use crate::timing::times::Times;
use crate::workloads::{Evidence, RunAnswer};

/// How networks are run.
#[derive(Clone, Debug)]
struct NetworkSettings {
    workers: usize,
    steal: Amount,
    repeat: usize,
    profile: bool,
    place: NamedPlacement,
}

impl NetworkSettings {
    fn parse(args: &RunArgs) -> Result<NetworkSettings, BadInput> {
        if let Some(form) = &args.form {
            let allowed = "no form for a network: its processes are async tasks";
            return Err(BadInput::new("--form", form, allowed, "leave it out"));
        }
        let common = JobSettings::parse(args)?;
        let place = args.placement.as_deref();
        Ok(NetworkSettings {
            workers: common.workers,
            steal: common.steal,
            repeat: common.repeat,
            profile: common.profile,
            place: place.map_or(Ok(NamedPlacement::default()), placement::parse)?,
        })
    }
}

/// A pool for networks.
pub(crate) fn pool(workers: usize, steal: Amount, profile: bool) -> Result<Pool, CommandFailure> {
    let builder = Pool::builder()
        .workers(workers)
        .steal(steal)
        .profile(profile);
    builder.build().map_err(|error| {
        CommandFailure::Run(format!("no pool of {workers}: {error}; take fewer workers"))
    })
}

/// The outcome of one run of a network.
pub(crate) struct Ran {
    /// To make processes and channels.
    pub(crate) build: Duration,
    /// From the start of the network to its end; where a process measures the time, that.
    pub(crate) time: Duration,
    /// The answer.
    pub(crate) answer: RunAnswer,
    /// The network's own report.
    pub(crate) report: roving_flow::Report,
}

/// Runs the network of `job` once.
pub(crate) fn once(
    job: &NetworkJob,
    pool: &Pool,
    place: NamedPlacement,
    accounting: bool,
) -> Result<Ran, CommandFailure> {
    job.program.ready("network");
    let begin = Instant::now();
    let mut network = Network::new();
    network.placement(place.placement());
    network.accounting(accounting);
    job.program.weave(&mut network);
    let build = begin.elapsed();
    let start = Instant::now();
    let ran = network.run(pool);
    let time = start.elapsed();
    let report = ran.map_err(|error| {
        let (name, input) = (job.kind.name, job.program.input());
        CommandFailure::Run(format!(
            "{name} {input} on {} workers: {error}",
            pool.workers()
        ))
    })?;
    Ok(Ran {
        build,
        time: job.program.span().unwrap_or(time),
        answer: job.program.answer(),
        report,
    })
}

/// A program whose right answer is known, and the lanes in which it is done.
pub(crate) struct VerifiedNetwork {
    /// The program.
    pub(crate) job: NetworkJob,
    /// The answer of a serial run.
    pub(crate) reference: RunAnswer,
}

impl VerifiedNetwork {
    /// Runs the program serially once, and holds what is known against it.
    pub(crate) fn new(job: NetworkJob) -> Result<VerifiedNetwork, CommandFailure> {
        let reference = job.program.serial()?;
        if let Some(want) = job.program.expected().filter(|want| *want != reference) {
            let (name, input) = (job.kind.name, job.program.input());
            let (found, want) = (reference.0, want.0);
            let line = format!("{name} {input} serially found {found:?}, but right are {want:?}");
            return Err(CommandFailure::Run(line));
        }
        Ok(VerifiedNetwork { job, reference })
    }

    /// The program `name` on `input`.
    pub(crate) fn named(name: &str, input: &str) -> Result<VerifiedNetwork, CommandFailure> {
        VerifiedNetwork::new(NetworkJob::parse(name, Some(input))?)
    }

    /// How many items the answer stands for.
    pub(crate) fn items(&self) -> u64 {
        self.job.program.items(&self.reference)
    }

    /// One timed serial run.
    pub(crate) fn serial(&self) -> Result<Duration, CommandFailure> {
        self.job.program.ready("serial");
        let start = Instant::now();
        let found = self.job.program.serial()?;
        let time = start.elapsed();
        if found == self.reference {
            Ok(time)
        } else {
            Err(CommandFailure::Run(
                "two serial runs found different answers".into(),
            ))
        }
    }

    /// One run of the network, verified.
    pub(crate) fn network(
        &self,
        pool: &Pool,
        place: NamedPlacement,
        accounting: bool,
    ) -> Result<Ran, CommandFailure> {
        let ran = once(&self.job, pool, place, accounting)?;
        let verdict = self.job.verify(ran.answer, self.reference);
        verdict.map_err(CommandFailure::Run)?;
        Ok(ran)
    }
}

#[cfg(feature = "rivals")]
impl VerifiedNetwork {
    /// The serial run as a lane.
    pub(crate) fn serial_lane(&self) -> TimedLane<'_> {
        TimedLane::new(SERIAL, 1, || {
            self.serial().map_err(|failure| failure.to_string())
        })
    }

    /// The network under a placement as a lane, with a pool of its own.
    pub(crate) fn lane(
        &self,
        place: NamedPlacement,
        workers: usize,
    ) -> Result<TimedLane<'_>, CommandFailure> {
        self.watched(place, workers, false, |_| {})
    }

    /// Measures like [`Self::lane`], and shows each run to `watch`.
    pub(crate) fn watched<'a>(
        &'a self,
        place: NamedPlacement,
        workers: usize,
        accounting: bool,
        watch: impl Fn(&Ran) + 'a,
    ) -> Result<TimedLane<'a>, CommandFailure> {
        let pool = pool(workers, Amount::default(), false)?;
        Ok(TimedLane::new(place.name(), workers, move || {
            let ran = self.network(&pool, place, accounting);
            let ran = ran.map_err(|failure| failure.to_string())?;
            watch(&ran);
            Ok(ran.time)
        }))
    }
}

/// `roving run` of a network.
pub(crate) fn run(args: &RunArgs) -> Result<(), CommandFailure> {
    let settings = NetworkSettings::parse(args)?;
    // Before the work, which may be long.
    let sink = Sink::open(args.json.as_deref())?;
    let picture = args.graph.as_deref().map(Picture::open).transpose()?;
    let job = NetworkJob::parse(&args.workload, args.input.as_deref())?;
    let (verified, report) = measured(job, &settings)?;
    if let Some(picture) = picture {
        let pool = pool(settings.workers, settings.steal, false)?;
        picture.write(&verified.network(&pool, settings.place, true)?.report)?;
    }
    sink.write(&report.json(), &report.table())
}

/// The results of the timed runs.
struct NetworkRuns {
    times: Times,
    builds: Times,
    serial_times: Times,
    cold_seconds: Option<f64>,
    memory_bytes: Option<u64>,
    last: roving_flow::Report,
}

fn measured(
    job: NetworkJob,
    settings: &NetworkSettings,
) -> Result<(VerifiedNetwork, NetworkReport), CommandFailure> {
    let title = format!("{} {}", job.kind.name, job.program.input());
    let progress = RunsBar::new(title, 2 * settings.repeat + 1);
    let verified = VerifiedNetwork::new(job)?;
    progress.step();
    let runs = repeated(&verified, settings, &progress)?;
    let profiled = settings
        .profile
        .then(|| profiled(&verified, settings))
        .transpose()?;
    let (traffic, profile) = profiled.unzip();
    let (seconds, serial_seconds) = (runs.times.median(), runs.serial_times.median());
    let items = verified.items();
    let evidence = match verified.job.program.expected() {
        Some(_) => Evidence::Definition,
        None => Evidence::Serial,
    };
    let report = NetworkReport {
        workload: verified.job.kind.name,
        input: verified.job.program.input(),
        workers: settings.workers,
        placement: settings.place.text(),
        policy: settings.steal.to_string(),
        verified: evidence.word(),
        seconds: Seconds::from(&runs.times),
        serial_seconds,
        speedup: serial_seconds / seconds,
        items,
        items_per_s: items as f64 / seconds,
        build_seconds: runs.builds.median(),
        processes: runs.last.processes().len() as u64,
        channels: runs.last.channels().len() as u64,
        growths: runs.last.growths.len() as u64,
        traffic,
        profile,
        beside: TableExtras {
            kind: verified.job.kind,
            evidence,
            answer: verified.reference,
            repeat: settings.repeat,
            cold_seconds: runs.cold_seconds,
            memory_bytes: runs.memory_bytes,
            notes: Vec::new(),
        },
    };
    Ok((verified, report))
}

/// A cold run in a new pool, if there is more than one; then serial runs and runs of the network in
/// turn.
fn repeated(
    verified: &VerifiedNetwork,
    settings: &NetworkSettings,
    progress: &RunsBar,
) -> Result<NetworkRuns, CommandFailure> {
    let pool = pool(settings.workers, settings.steal, false)?;
    let once = || verified.network(&pool, settings.place, false);
    let base = memory::restart_peak();
    let cold = (settings.repeat > 1).then(once).transpose()?;
    let (mut times, mut builds, mut serial_times) =
        (Times::default(), Times::default(), Times::default());
    let mut last = None;
    for _ in 0..settings.repeat {
        serial_times.push(verified.serial()?);
        progress.step();
        let ran = once()?;
        times.push(ran.time);
        builds.push(ran.build);
        last = Some(ran.report);
        progress.step();
    }
    let peak = memory::peak_bytes();
    Ok(NetworkRuns {
        times,
        builds,
        serial_times,
        cold_seconds: cold.map(|ran| ran.time.as_secs_f64()),
        memory_bytes: peak.zip(base).map(|(peak, base)| peak.saturating_sub(base)),
        last: last.ok_or_else(|| CommandFailure::Run("nothing was run".into()))?,
    })
}

/// One run with statistics of the workers and accounting of the network, after one to warm up.
fn profiled(
    verified: &VerifiedNetwork,
    settings: &NetworkSettings,
) -> Result<(NetworkTraffic, WorkersProfile), CommandFailure> {
    let pool = pool(settings.workers, settings.steal, true)?;
    verified.network(&pool, settings.place, true)?;
    pool.reset_profile();
    let ran = verified.network(&pool, settings.place, true)?;
    Ok((
        NetworkTraffic::from(&ran.report),
        WorkersProfile::from(&pool.profile()),
    ))
}
