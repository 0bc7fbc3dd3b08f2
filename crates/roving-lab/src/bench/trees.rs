//! The row about trees of tiny tasks in the forms that people write: closures that capture by
//! reference, a task for each node of a search, nodes of ten children.

use super::Scale;
use super::record::{Bound, RowRecord};
use super::speed::{OURS, field, get};
use crate::compare::compare;
use crate::io::figures::counted;
use crate::io::input::CommandFailure;
use crate::rivals::Runtime;
use crate::timing::lanes::SERIAL;
use crate::timing::lanes::Series;

use Bound::{AtLeast, AtMost};

const CHILI: &str = "chili";
const ROUNDS: usize = 9;

/// Measures all three kinds, on one and two workers.
pub(super) fn trees(scale: &Scale) -> Result<RowRecord, CommandFailure> {
    let mut record = RowRecord::default();
    captures(scale, &mut record)?;
    search(scale, &mut record)?;
    tens(scale, &mut record)?;
    Ok(record)
}

/// The series of a workload with ours and some rivals, beside a serial run.
fn measured(
    record: &mut RowRecord,
    (workload, input): (&str, &str),
    runtimes: &[Runtime],
    rounds: usize,
) -> Result<Vec<Series>, CommandFailure> {
    let field = field(workload, input)?;
    let compared = compare(&field, runtimes, &[1, 2], rounds)?;
    for one in &compared.series {
        record.series(&format!("{workload} {input}"), one, "s", 1.0);
    }
    for (who, why) in &compared.absent {
        record.absent.push(format!("{}: {why}", who.name()));
    }
    Ok(compared.series)
}

/// The least time of a series over that of another.
fn ratio(ours: &Series, other: &Series) -> f64 {
    ours.times.min() / other.times.min()
}

/// `fib`, whose closures capture a number by reference and by value.
fn captures(scale: &Scale, record: &mut RowRecord) -> Result<(), CommandFailure> {
    let by_reference = format!("{},by=reference", scale.fib);
    let runtimes = [Runtime::Roving, Runtime::Chili];
    let rounds = scale.rounds(ROUNDS);
    let series = measured(record, ("fib", &by_reference), &runtimes, rounds)?;
    let by_value = measured(record, ("fib", scale.fib), &[Runtime::Roving], rounds)?;
    for workers in [1, 2] {
        let ours = get(&series, OURS, workers)?;
        let of = format!(
            "fib({}) by reference, {}",
            scale.fib,
            counted(workers, "worker")
        );
        record.claim(
            format!("{of}: our time / chili's"),
            "×",
            ratio(ours, get(&series, CHILI, workers)?),
            AtMost(0.85),
            AtMost(0.7),
        );
        record.claim(
            format!("{of}: over our time by value"),
            "×",
            ratio(ours, get(&by_value, OURS, workers)?),
            AtMost(1.05),
            AtMost(1.0),
        );
    }
    let of = format!("fib({}) by reference, 1 worker: time / serial", scale.fib);
    let one = ratio(get(&series, OURS, 1)?, get(&series, SERIAL, 1)?);
    record.claim(of, "×", one, AtMost(0.75), AtMost(0.65));
    Ok(())
}

/// A search with a task for each node.
fn search(scale: &Scale, record: &mut RowRecord) -> Result<(), CommandFailure> {
    let input = if scale.quick {
        "each T3-small"
    } else {
        "each T3"
    };
    let runtimes = [Runtime::Roving, Runtime::Chili, Runtime::Rayon];
    let series = measured(record, ("uts", input), &runtimes, scale.rounds(ROUNDS))?;
    let serial = get(&series, SERIAL, 1)?;
    let of = "UTS T3, a task for each node";
    record.claim(
        format!("{of}, 1 worker: time / serial"),
        "×",
        ratio(get(&series, OURS, 1)?, serial),
        AtMost(1.1),
        AtMost(1.03),
    );
    record.claim(
        format!("{of}, 2 workers: speed-up over serial"),
        "×",
        ratio(serial, get(&series, OURS, 2)?),
        AtLeast(1.8),
        AtLeast(1.92),
    );
    Ok(())
}

/// A tree of ten children a node, by joins, by scopes and by async tasks.
fn tens(scale: &Scale, record: &mut RowRecord) -> Result<(), CommandFailure> {
    let leaves = if scale.quick { "1e4" } else { "1e8" };
    let runtimes = [Runtime::Roving, Runtime::RovingFork, Runtime::Chili];
    let rounds = scale.rounds(5);
    let joins = measured(record, ("skynet", leaves), &runtimes, rounds)?;
    let by_scope = format!("{leaves},by=scope");
    let scopes = measured(record, ("skynet", &by_scope), &[Runtime::Roving], rounds)?;
    for workers in [1, 2] {
        let chili = get(&joins, CHILI, workers)?;
        for (by, series) in [("joins", &joins), ("scopes", &scopes)] {
            record.claim(
                format!(
                    "skynet({leaves}) by {by}, {}: our time / that of chili's joins",
                    counted(workers, "worker")
                ),
                "×",
                ratio(get(series, OURS, workers)?, chili),
                AtMost(0.5),
                AtMost(0.25),
            );
        }
    }
    let closures = get(&joins, OURS, 2)?;
    record.claim(
        format!("skynet({leaves}) by async tasks, 2 workers: over that by joins"),
        "×",
        ratio(get(&joins, Runtime::RovingFork.name(), 2)?, closures),
        AtMost(2.0),
        AtMost(1.4),
    );
    Ok(())
}
