//! The rows about how fast: fork-join workloads, beside serial code and rivals.

use roving::Pool;

use super::Scale;
use super::record::{Bound, RowRecord};
use crate::compare::field::Field;
use crate::compare::{against_best, compare, speedup_plot};
use crate::io::figures::counted;
use crate::io::input::CommandFailure;
use crate::io::plot::{self, Curve};
use crate::machine::handoff;
use crate::rivals::Runtime;
use crate::timing::lanes::SERIAL;
use crate::timing::lanes::{Series, TimedLane, find, interleave};
use crate::workloads::WorkloadJob;
use crate::workloads::stress::leaf;

use Bound::{AtLeast, AtMost};

/// The series of our own runtime.
pub(super) const OURS: &str = "roving";

pub(super) fn field(workload: &str, input: &str) -> Result<Field, CommandFailure> {
    Field::new(WorkloadJob::parse(workload, Some(input))?)
}

/// A pool of ours for `field`.
fn pool(field: &Field, workers: usize, profile: bool) -> Result<Pool, CommandFailure> {
    let builder = Pool::builder()
        .workers(workers)
        .stack_size(field.stack_bytes());
    builder
        .profile(profile)
        .build()
        .map_err(|error| CommandFailure::Run(format!("no pool: {error}")))
}

/// The series of `name`, which was measured.
pub(super) fn get<'s>(
    series: &'s [Series],
    name: &str,
    workers: usize,
) -> Result<&'s Series, CommandFailure> {
    let missing = || CommandFailure::Run(format!("{name} was not measured on {workers}"));
    find(series, name, workers).ok_or_else(missing)
}

/// The lanes of `runtimes`; who is absent is noted in the record.
fn lanes<'a>(
    field: &'a Field,
    runtimes: &[Runtime],
    workers: usize,
    record: &mut RowRecord,
) -> Result<Vec<TimedLane<'a>>, CommandFailure> {
    let mut lanes = Vec::new();
    for &runtime in runtimes {
        match field.runtime(runtime, workers)? {
            Ok(lane) => lanes.push(lane),
            Err(why) => record.absent.push(format!("{}: {}", runtime.name(), why.0)),
        }
    }
    Ok(lanes)
}

/// `fib` without a cut-off on one worker: what a join costs.
pub(super) fn fib_1(scale: &Scale) -> Result<RowRecord, CommandFailure> {
    let mut record = RowRecord::default();
    let field = field("fib", scale.fib)?;
    let looped = field.serial_form("serial, one call made a loop by LLVM", |job| match job {
        WorkloadJob::Fib(fib) => fib.run_looped(),
        other => other.run_serial(),
    });
    let mut all = vec![field.serial(), looped];
    let runtimes = [
        Runtime::Roving,
        Runtime::Chili,
        Runtime::Forte,
        Runtime::Rayon,
        Runtime::Tbb,
        Runtime::OpenMp,
    ];
    let rounds = scale.rounds(9);
    // A single round has no time for the last two, which take longer than all others together.
    let runtimes = &runtimes[..if rounds == 1 { 4 } else { 6 }];
    all.extend(lanes(&field, runtimes, 1, &mut record)?);
    let series = interleave(&mut all, rounds).map_err(CommandFailure::Run)?;
    let of = format!("fib({})", scale.fib);
    for one in &series {
        record.series(&of, one, "s", 1.0);
    }
    let ours = get(&series, OURS, 1)?;
    let ratio = |rival| Ok::<_, CommandFailure>(get(&series, rival, 1)?.speedup_over(ours));
    let (chili, rayon) = (ratio("chili")?, ratio("rayon")?);
    record.claim(
        format!("{of}, 1 worker: our time / chili's"),
        "×",
        chili,
        AtMost(0.85),
        AtMost(0.75),
    );
    record.claim(
        format!("{of}, 1 worker: our time / rayon's"),
        "×",
        rayon,
        AtMost(0.25),
        AtMost(0.2),
    );
    Ok(record)
}

/// `fib` on two workers against one.
pub(super) fn fib_2(scale: &Scale) -> Result<RowRecord, CommandFailure> {
    let mut record = RowRecord::default();
    let field = field("fib", scale.fib)?;
    let mut all = vec![field.serial()];
    for workers in [1, 2] {
        let runtimes = [Runtime::Roving, Runtime::Chili];
        all.extend(lanes(&field, &runtimes, workers, &mut record)?);
    }
    all.push(TimedLane::new(
        "hand-off of a cache line, one way",
        2,
        || Ok(handoff::one_way()),
    ));
    let series = interleave(&mut all, scale.rounds(9)).map_err(CommandFailure::Run)?;
    let of = format!("fib({})", scale.fib);
    record_all(&mut record, &of, &series);
    let speedup = get(&series, OURS, 2)?.speedup_over(get(&series, OURS, 1)?);
    let what = format!("{of}: 2 workers over 1, speed-up");
    record.claim(what, "×", speedup, AtLeast(1.9), AtLeast(1.97));
    Ok(record)
}

/// Seconds for runtimes, nanoseconds for a hand-off.
fn record_all(record: &mut RowRecord, of: &str, series: &[Series]) {
    for one in series {
        if one.name.starts_with("hand-off") {
            record.series(of, one, "ns", 1e9);
        } else {
            record.series(of, one, "s", 1.0);
        }
    }
}

/// UTS T3 on one and two workers, against everybody.
pub(super) fn uts_t3(scale: &Scale) -> Result<(RowRecord, String), CommandFailure> {
    let mut record = RowRecord::default();
    let field = field("uts", "T3")?;
    let mut runtimes = vec![Runtime::Roving];
    runtimes.extend(Runtime::RIVALS);
    let compared = compare(&field, &runtimes, &[1, 2], scale.rounds(15))?;
    let series = &compared.series;
    record_all(&mut record, "UTS T3", series);
    for (who, why) in &compared.absent {
        record.absent.push(format!("{}: {why}", who.name()));
    }
    let serial = get(series, SERIAL, 1)?;
    let one = serial.speedup_over(get(series, OURS, 1)?);
    let two = get(series, OURS, 2)?.speedup_over(serial);
    record.claim(
        "UTS T3, 1 worker: time / serial",
        "×",
        one,
        AtMost(1.05),
        AtMost(1.02),
    );
    record.claim(
        "UTS T3, 2 workers: speed-up over serial",
        "×",
        two,
        AtLeast(1.85),
        AtLeast(1.95),
    );
    for (workers, ours, best) in against_best(series).into_iter().filter(|best| best.0 == 2) {
        let what = format!(
            "UTS T3, {}: our time / that of the best rival, {}",
            counted(workers, "worker"),
            best.name
        );
        record.claim(what, "×", best.speedup_over(ours), AtMost(1.0), None);
    }
    let plot = speedup_plot(series, "UTS T3 (4,112,897 nodes): speed-up over serial");
    Ok((record, plot.map_err(CommandFailure::Run)?))
}

/// The other sample trees of the same size.
pub(super) fn uts_others(scale: &Scale) -> Result<RowRecord, CommandFailure> {
    let mut record = RowRecord::default();
    for tree in ["T1", "T2", "T4", "T5"] {
        let field = field("uts", tree)?;
        let runtimes = [
            Runtime::Roving,
            Runtime::Rayon,
            Runtime::Chili,
            Runtime::Tbb,
        ];
        let compared = compare(&field, &runtimes, &[2], scale.rounds(9))?;
        let of = format!("UTS {tree}");
        record_all(&mut record, &of, &compared.series);
        let serial = get(&compared.series, SERIAL, 1)?;
        let speedup = get(&compared.series, OURS, 2)?.speedup_over(serial);
        let what = format!("{of}, 2 workers: speed-up over serial");
        record.claim(what, "×", speedup, AtLeast(1.85), AtLeast(1.95));
    }
    Ok(record)
}

/// The serial search, since every speed-up divides by it.
pub(super) fn uts_serial(scale: &Scale) -> Result<RowRecord, CommandFailure> {
    let mut record = RowRecord::default();
    let (with, without) = (field("uts", "T3")?, field("uts", "portable T3")?);
    let mut all = vec![with.serial(), without.serial()];
    all[1].name = "serial, SHA-1 without instructions for it".into();
    let series = interleave(&mut all, scale.rounds(15)).map_err(CommandFailure::Run)?;
    let per_node = 1e9 / with.items() as f64;
    for one in &series {
        record.series("UTS T3", one, "ns/node", per_node);
    }
    let value = series[0].times.median() * per_node;
    record.claim(
        "UTS T3, serial: time per node",
        "ns",
        value,
        AtMost(32.0),
        AtMost(26.0),
    );
    Ok(record)
}

/// For each leaf in µs: the speed-up that must be reached, what would be better still, and what
/// two spinning threads reach on free cores.
const STRESS: [(u64, [f64; 3]); 4] = [
    (1, [1.6, 1.75, 1.85]),
    (4, [1.75, 1.92, 1.95]),
    (16, [1.92, 1.95, 1.99]),
    (64, [1.95, 1.97, 1.98]),
];
/// The lane of two threads that hand over work by spinning.
const SPINNING: &str = "spinning (limit)";

/// To three places, as bounds are written.
fn in_parts(ratio: f64) -> f64 {
    (ratio * 1000.0).round() / 1000.0
}

/// Wool's load balancing test: one join of two leaves, again and again.
pub(super) fn stress(scale: &Scale) -> Result<(RowRecord, String), CommandFailure> {
    let mut record = RowRecord::default();
    let mut curves: Vec<Curve> = Vec::new();
    for (leaf_us, [must, stretch, limit]) in STRESS {
        let repeats = scale.stress_us / (leaf_us + 1);
        let job = WorkloadJob::parse(
            "stress",
            Some(&format!("leaf={leaf_us}us,repeats={repeats}")),
        )?;
        let turns = match &job {
            WorkloadJob::Stress(stress) => stress.shape().1,
            _ => return Err(CommandFailure::Run("stress is no stress".into())),
        };
        let field = Field::new(job)?;
        let mut runtimes = vec![Runtime::Roving];
        runtimes.extend(Runtime::RIVALS);
        let mut all = vec![field.serial()];
        all.extend(lanes(&field, &runtimes, 2, &mut record)?);
        all.push(TimedLane::new(SPINNING, 2, || {
            Ok(handoff::pairs(repeats, || {
                std::hint::black_box(leaf(turns));
            }))
        }));
        all.push(TimedLane::new(
            "hand-off of a cache line, one way",
            2,
            || Ok(handoff::one_way()),
        ));
        let series = interleave(&mut all, scale.rounds(9)).map_err(CommandFailure::Run)?;
        let of = format!("stress {leaf_us} µs");
        record_all(&mut record, &of, &series);
        let serial = get(&series, SERIAL, 1)?;
        let ours = get(&series, OURS, 2)?;
        let speedup = ours.speedup_over(serial);
        let rayon = ours.speedup_over(get(&series, "rayon", 2)?);
        let what = format!("{of}, 2 workers: our speed-up / rayon's");
        record.claim(what, "×", rayon, AtLeast(1.0), None);
        let what = format!("{of}, 2 workers: speed-up over serial");
        record.claim(what, "×", speedup, AtLeast(must), AtLeast(stretch));
        // The same bounds in parts of what spinning reaches at this moment: where the cores are
        // far from each other, neither can reach the absolute ones.
        let part = ours.speedup_over(get(&series, SPINNING, 2)?);
        let (must, stretch) = (in_parts(must / limit), in_parts(stretch / limit));
        let what = format!("{of}, 2 workers: our speed-up / that of two spinning threads");
        record.claim(what, "×", part, AtLeast(must), AtLeast(stretch));
        for one in series
            .iter()
            .filter(|one| one.workers == 2 && !one.name.starts_with("hand-off"))
        {
            let point = (leaf_us as f64, one.speedup_over(serial));
            match curves.iter_mut().find(|curve| curve.name == one.name) {
                Some(curve) => curve.points.push(point),
                None => curves.push(Curve {
                    name: one.name.clone(),
                    points: vec![point],
                }),
            }
        }
    }
    record.absent.sort();
    record.absent.dedup();
    let title = "One join of two leaves, again and again: speed-up on 2 workers";
    let plot = plot::curves(title, "leaf, µs", "speed-up over serial", &curves);
    Ok((record, plot.map_err(CommandFailure::Run)?))
}

/// Eight workers where there are fewer cores.
pub(super) fn oversubscribed(scale: &Scale) -> Result<RowRecord, CommandFailure> {
    let mut record = RowRecord::default();
    for (workload, input) in [("fib", scale.fib), ("uts", "T3")] {
        let field = field(workload, input)?;
        let runtimes = [Runtime::Roving, Runtime::Rayon];
        let compared = compare(&field, &runtimes, &[2, 8], scale.rounds(9))?;
        let of = format!("{workload} {input}");
        record_all(&mut record, &of, &compared.series);
        let (two, eight) = (
            get(&compared.series, OURS, 2)?,
            get(&compared.series, OURS, 8)?,
        );
        let what = format!("{of}: 8 workers over 2, time");
        record.claim(
            what,
            "×",
            two.speedup_over(eight),
            AtMost(1.15),
            AtMost(1.05),
        );
    }
    Ok(record)
}

/// The cost of statistics.
pub(super) fn profile(scale: &Scale) -> Result<RowRecord, CommandFailure> {
    let mut record = RowRecord::default();
    let field = field("uts", "T3")?;
    let mut all = Vec::new();
    for workers in [1, 2] {
        all.push(field.pool("profile off", pool(&field, workers, false)?));
        all.push(field.pool("profile on", pool(&field, workers, true)?));
    }
    let series = interleave(&mut all, scale.rounds(21)).map_err(CommandFailure::Run)?;
    for one in &series {
        record.series("UTS T3", one, "s", 1.0);
    }
    for workers in [1, 2] {
        let (off, on) = (
            get(&series, "profile off", workers)?,
            get(&series, "profile on", workers)?,
        );
        let what = format!(
            "UTS T3, {}: time with profile / without",
            counted(workers, "worker")
        );
        record.claim(what, "×", off.speedup_over(on), AtMost(1.05), AtMost(1.02));
    }
    Ok(record)
}
