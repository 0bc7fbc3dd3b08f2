//! The row about the model: how near it is to its equations, and to the runtime that it stands for.

use roving::policy::Amount;
use roving_model::{Independent, MeanField, Policy, Runtime};

use super::Scale;
use super::record::Bound::AtMost;
use super::record::RowRecord;
use crate::compare::field::Field;
use crate::io::figures::counted;
use crate::io::input::CommandFailure;
use crate::machine::cores;
use crate::model::probes;
use crate::model::work::ModelWork;
use crate::rivals::Runtime as Lanes;
use crate::timing::lanes::SERIAL;
use crate::timing::lanes::{find, interleave};
use crate::workloads::WorkloadJob;

/// Processors of the simulations that are held against the equations; fewer with `--quick`.
const PROCESSORS: [usize; 2] = [4000, 100_000];
const PROCESSORS_QUICK: [usize; 1] = [4000];
/// The rates at which they are.
const LOAD: f64 = 0.9;
/// A drain: the part that has tasks, how many, and how often who has none looks.
const DRAIN: (f64, u32, f64) = (0.05, 64, 10.0);
/// Task lengths until a simulated system has settled, and how many tasks are then watched in all.
const SETTLE: f64 = 100.0;
const WATCHED: f64 = 4e6;
/// Rounds of the measured runs. The model is held against the middle one.
const ROUNDS: usize = 11;

/// How near it is.
pub(super) fn model(scale: &Scale) -> Result<RowRecord, CommandFailure> {
    let mut record = RowRecord::default();
    let processors: &[usize] = match scale.quick {
        true => &PROCESSORS_QUICK,
        false => &PROCESSORS,
    };
    for &processors in processors {
        steady(&mut record, processors, scale)?;
        drains(&mut record, processors)?;
    }
    runs(&mut record, scale)?;
    Ok(record)
}

fn failed(error: roving_model::ModelError) -> CommandFailure {
    CommandFailure::Run(error.to_string())
}

/// By how much one is off the other, in per cent.
fn off(value: f64, wanted: f64) -> f64 {
    (value / wanted - 1.0).abs() * 100.0
}

fn policies() -> [Policy; 3] {
    [
        Policy::One { threshold: 2 },
        Policy::Fixed {
            amount: 2,
            threshold: 4,
        },
        Policy::Half { threshold: 2 },
    ]
}

/// Steady states of so many simulated processors.
fn steady(record: &mut RowRecord, processors: usize, scale: &Scale) -> Result<(), CommandFailure> {
    let watched = if scale.quick { WATCHED / 4.0 } else { WATCHED };
    // Few processors are watched for longer, as chance evens out over tasks.
    let watch = (watched / processors as f64).max(40.0);
    for policy in policies() {
        let wanted = MeanField::new(LOAD).steady(policy).map_err(failed)?;
        let model = Independent::new(processors, policy).arrival(LOAD);
        let seen = model.steady(SETTLE, watch).map_err(failed)?;
        let of = format!("{policy}, load {LOAD}, {processors} processors");
        record.single(
            &format!("{of}: time in the system, simulated"),
            "",
            seen.time_in_system,
        );
        record.single(
            &format!("{of}: the same by the equations"),
            "",
            wanted.time_in_system,
        );
        let bound = if scale.quick { 3.0 } else { 1.0 };
        for (what, value, wanted) in [
            (
                "time in the system",
                seen.time_in_system,
                wanted.time_in_system,
            ),
            ("prospective victims", seen.victims, wanted.victims),
            (
                "thefts for each task",
                seen.steals_per_task,
                wanted.steals_per_task,
            ),
        ] {
            let what = format!("{of}: {what}, simulation off the equations");
            record.claim(
                what,
                "%",
                off(value, wanted),
                AtMost(bound),
                AtMost(bound / 2.0),
            );
        }
    }
    Ok(())
}

/// Drains of so many simulated processors.
fn drains(record: &mut RowRecord, processors: usize) -> Result<(), CommandFailure> {
    let (loaded, tasks, retry) = DRAIN;
    for policy in policies() {
        let model = MeanField::new(0.0).retry(retry);
        let wanted = model
            .drain(policy, loaded, tasks as usize)
            .map_err(failed)?;
        // Chance is large where few processors drain: the mean of several seeds.
        let runs = (200_000 / processors).clamp(1, 24) as u64;
        let mut time = 0.0;
        for seed in 1..=runs {
            let one = Independent::new(processors, policy).retry(retry).seed(seed);
            time += one.drain(loaded, tasks).map_err(failed)?.time / runs as f64;
        }
        let of = format!("drain, {policy}, {processors} processors");
        record.single(&format!("{of}: 99 % done, simulated"), "", time);
        record.single(&format!("{of}: the same by the equations"), "", wanted.time);
        let what = format!("{of}: time, simulation off the equations");
        record.claim(what, "%", off(time, wanted.time), AtMost(1.0), AtMost(0.5));
    }
    Ok(())
}

/// Speed-ups that were predicted from small probes, and then measured.
fn runs(record: &mut RowRecord, scale: &Scale) -> Result<(), CommandFailure> {
    let costs = probes::costs()?;
    for (what, ns) in [
        ("join", costs.join),
        ("from seeing a task to running it", costs.claim.socket),
        ("end of a stolen task to its owner", costs.finish.socket),
        ("cache line", costs.line.socket),
        ("unpark", costs.unpark),
        ("wake", costs.wake),
    ] {
        record.single(&format!("probe: {what}"), "ns", ns);
    }
    let full = ["uts:T3", "uts:T1L", "fib:35", "flat:1e4x10us"];
    let quick = ["uts:T3", "fib:27"];
    let works: &[&str] = if scale.quick { &quick } else { &full };
    for name in works {
        let mut work = ModelWork::parse(name)?;
        work.calibrate(&costs, None)?;
        let (workload, input) = name.split_once(':').unwrap_or((name, ""));
        let field = Field::new(WorkloadJob::parse(workload, Some(input))?)?;
        let counts: &[usize] = if cores() >= 2 { &[1, 2] } else { &[1] };
        let mut predicted = Vec::new();
        for &workers in counts {
            let pool = Runtime::new(workers).amount(Amount::One).costs(costs);
            let outcome = work.simulate(&pool, &mut |_| ())?;
            predicted.push(outcome.speedup());
        }
        let mut lanes = vec![field.serial()];
        for &workers in counts {
            match field.runtime(Lanes::Roving, workers)? {
                Ok(lane) => lanes.push(lane),
                Err(why) => record.absent.push(format!("{name}: {}", why.0)),
            }
        }
        let series = interleave(&mut lanes, scale.rounds(ROUNDS)).map_err(CommandFailure::Run)?;
        for one in &series {
            record.series(name, one, "s", 1.0);
        }
        let missing = || CommandFailure::Run(format!("{name} was not measured"));
        let serial = find(&series, SERIAL, 1).ok_or_else(missing)?;
        for (&workers, &predicted) in counts.iter().zip(&predicted) {
            let measured = find(&series, "roving", workers).ok_or_else(missing)?;
            let measured = measured.speedup_over(serial);
            let of = format!("{name}, {}", counted(workers, "worker"));
            record.single(&format!("{of}: predicted speed-up"), "×", predicted);
            record.single(&format!("{of}: measured speed-up"), "×", measured);
            let what = format!("{of}: prediction off the measurement");
            record.claim(
                what,
                "%",
                off(predicted, measured),
                AtMost(5.0),
                AtMost(2.0),
            );
        }
    }
    if cores() < 2 {
        record
            .absent
            .push("two workers: this machine has one core".into());
    }
    Ok(())
}
