//! Groups of fork-join workloads: runtimes in turn on the same job, and what the workers of ours
//! did.

use roving::policy::Amount;

use super::plan::{MeasureGroup, SizeAndMachine};
use super::seen::TIME;
use super::store::MeasuredPoint;
use crate::compare::field::Field;
use crate::forms::tasks::Form;
use crate::io::input::CommandFailure;
use crate::job::measure;
use crate::job::settings::JobSettings;
use crate::rivals::Runtime;
use crate::timing::lanes::{Rounds, Series, TimedLane, interleave_within};
use crate::workloads::{RunAnswer, WorkloadJob};

/// Who takes part.
#[derive(Clone, Copy, Debug)]
pub(super) enum Contestant {
    /// A runtime as it is.
    Plain(Runtime),
    /// One of ours, with thieves that take this much.
    Taking(Runtime, Amount),
}

impl Contestant {
    /// Starts it for a job and rehearses; or says why it takes no part. Where it is one of ours,
    /// that it gives no right answer is an error; a rival that fails is only left out.
    pub(super) fn start<'a>(
        self,
        field: &'a Field,
        group: &str,
        workers: usize,
    ) -> Result<Result<TimedLane<'a>, MeasuredPoint>, CommandFailure> {
        let (runtime, started) = match self {
            Contestant::Plain(runtime) => (runtime, field.runtime(runtime, workers)),
            Contestant::Taking(runtime, amount) => {
                let form = runtime.form().unwrap_or_default();
                (runtime, field.ours(runtime, form, workers, amount))
            }
        };
        let why = match started {
            Ok(Ok(lane)) => return Ok(Ok(lane)),
            Ok(Err(why)) => why.0,
            Err(failure) if runtime.form().is_none() => failure.to_string(),
            Err(failure) => return Err(failure),
        };
        Ok(Err(absent(group, runtime.name(), workers, &why)))
    }
}

/// The name of a series of ours with an amount.
pub(super) fn taking(runtime: Runtime, amount: Amount) -> String {
    if amount == Amount::default() {
        runtime.name().to_owned()
    } else {
        format!("{} {amount}", runtime.name())
    }
}

/// A group in which contestants do one job in turn, on each number of workers, beside a serial run.
pub(super) fn contest(
    plan: &SizeAndMachine,
    name: impl Into<String>,
    seconds: (f64, f64),
    job: (&'static str, String),
    contestants: Vec<Contestant>,
    workers: Vec<usize>,
) -> MeasureGroup {
    let name = name.into();
    let group = name.clone();
    MeasureGroup::new(plan, name, seconds, move |_, rounds| {
        let field = match field(&group, &job)? {
            Ok(field) => field,
            Err(left_out) => return Ok(vec![left_out]),
        };
        let mut points = Vec::new();
        let mut lanes = vec![field.serial()];
        for &count in &workers {
            for contestant in &contestants {
                match contestant.start(&field, &group, count)? {
                    Ok(lane) => lanes.push(lane),
                    Err(left_out) => points.push(left_out),
                }
            }
        }
        let series = interleave_within(&mut lanes, *rounds).map_err(CommandFailure::Run)?;
        points.extend(series.iter().map(|one| timed(&group, one)));
        points.push(fact(&group, "items", field.items() as f64));
        Ok(points)
    })
}

/// The job of a group; a job for which there is too little memory is left out, and not an error.
pub(super) fn field(
    group: &str,
    job: &(&'static str, String),
) -> Result<Result<Field, MeasuredPoint>, CommandFailure> {
    Ok(match WorkloadJob::parse(job.0, Some(&job.1)) {
        Ok(job) => Ok(Field::new(job)?),
        Err(bad) => Err(absent(group, job.0, 1, &bad.to_string())),
    })
}

/// A point that could not be measured.
pub(super) fn absent(group: &str, series: &str, workers: usize, why: &str) -> MeasuredPoint {
    MeasuredPoint {
        group: group.to_owned(),
        series: series.to_owned(),
        workers,
        metric: TIME.to_owned(),
        values: Vec::new(),
        note: format!("{series} left out: {why}"),
    }
}

/// The times of a lane.
pub(super) fn timed(group: &str, series: &Series) -> MeasuredPoint {
    MeasuredPoint {
        group: group.to_owned(),
        series: series.name.clone(),
        workers: series.workers,
        metric: TIME.to_owned(),
        values: series.times.seconds().collect(),
        note: String::new(),
    }
}

/// One number about a group.
pub(super) fn fact(group: &str, name: &str, value: f64) -> MeasuredPoint {
    MeasuredPoint {
        group: group.to_owned(),
        series: name.to_owned(),
        workers: 1,
        metric: name.to_owned(),
        values: vec![value],
        note: String::new(),
    }
}

/// The states of a worker, in the order of the paper's Table 2.
pub(super) const STATES: [&str; 5] = ["busy", "steal", "idle", "switch", "frame"];

/// A group of profiles: how the time of all workers divides among their states, for each amount, in
/// turn. The series are the amounts; the metrics are `busy_share` and so on, and `steals`.
pub(super) fn profiles(
    plan: &SizeAndMachine,
    name: impl Into<String>,
    seconds: (f64, f64),
    job: (&'static str, String),
    form: Form,
    amounts: Vec<Amount>,
    workers: Vec<usize>,
) -> MeasureGroup {
    let name = name.into();
    let group = name.clone();
    MeasureGroup::new(plan, name, seconds, move |_, rounds| {
        let mut parsed = match WorkloadJob::parse(job.0, Some(&job.1)) {
            Ok(parsed) => parsed,
            Err(bad) => return Ok(vec![absent(&group, job.0, 1, &bad.to_string())]),
        };
        let (_, reference) = measure::rehearse(&mut parsed)?;
        let mut lanes = Vec::new();
        for &count in &workers {
            for &amount in &amounts {
                lanes.push(Profiled::start(&mut parsed, form, amount, count)?);
            }
        }
        for round in (0..).take_while(|round| rounds.goes_on(*round)) {
            let all = lanes.len();
            for place in 0..all {
                lanes[(place + round) % all].run(&mut parsed, form, reference)?;
            }
        }
        Ok(lanes.iter().flat_map(|lane| lane.points(&group)).collect())
    })
}

/// A pool with statistics on, and what they said after each run.
struct Profiled {
    pool: roving::Pool,
    amount: Amount,
    shares: [Vec<f64>; 5],
    steals: Vec<f64>,
}

impl Profiled {
    fn start(
        job: &mut WorkloadJob,
        form: Form,
        amount: Amount,
        workers: usize,
    ) -> Result<Self, CommandFailure> {
        let settings = JobSettings {
            workers,
            steal: amount,
            ..JobSettings::default()
        };
        let pool = settings.pool(job, true)?;
        measure::parallel(job, &pool, form);
        Ok(Profiled {
            pool,
            amount,
            shares: Default::default(),
            steals: Vec::new(),
        })
    }

    fn run(
        &mut self,
        job: &mut WorkloadJob,
        form: Form,
        reference: RunAnswer,
    ) -> Result<(), CommandFailure> {
        self.pool.reset_profile();
        let (_, found) = measure::parallel(job, &self.pool, form);
        job.verify(found, reference).map_err(CommandFailure::Run)?;
        let total = self.pool.profile().total();
        let times = [
            total.busy,
            total.steal,
            total.idle,
            total.switch,
            total.frame,
        ];
        let all: f64 = times.iter().map(std::time::Duration::as_secs_f64).sum();
        if all > 0.0 {
            for (share, time) in self.shares.iter_mut().zip(times) {
                share.push(time.as_secs_f64() / all);
            }
            self.steals.push(total.counters.steals_won as f64);
        }
        Ok(())
    }

    fn points(&self, group: &str) -> Vec<MeasuredPoint> {
        let point = |metric: String, values: &[f64]| MeasuredPoint {
            group: group.to_owned(),
            series: self.amount.to_string(),
            workers: self.pool.workers(),
            metric,
            values: values.to_vec(),
            note: String::new(),
        };
        let shares = STATES.iter().zip(&self.shares);
        let shares = shares.map(|(state, values)| point(format!("{state}_share"), values));
        shares
            .chain([point("steals".into(), &self.steals)])
            .collect()
    }
}

/// Lanes of something else than a [`Field`], as a group's points.
pub(super) fn lanes(
    group: &str,
    mut lanes: Vec<TimedLane<'_>>,
    rounds: &Rounds,
) -> Result<Vec<MeasuredPoint>, CommandFailure> {
    let series = interleave_within(&mut lanes, *rounds).map_err(CommandFailure::Run)?;
    Ok(series.iter().map(|one| timed(group, one)).collect())
}
