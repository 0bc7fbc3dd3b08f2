//! The rows about small messages: what a hop costs, and from which amount of work on two workers
//! help.

use crate::bench::Scale;
use crate::bench::record::{Bound::AtLeast, Bound::AtMost, RowRecord};
use crate::io::figures::counted;
use crate::io::input::CommandFailure;
use crate::networks::placement::NamedPlacement;
use crate::networks::ring::Ring;
use crate::networks::run::VerifiedNetwork;
use crate::networks::scatter::Scatter;
use crate::rivals::mpsc;
use crate::timing::lanes::SERIAL;
use crate::timing::lanes::{Series, TimedLane, interleave};

use super::{best, median};

/// The bounds to reach and to hope for, in millions of hops a second, on 1 and 2 workers.
const HOPS: [(usize, f64, f64); 2] = [(1, 25.0, 40.0), (2, 18.0, 25.0)];
/// The bounds for the speed-up of scatter-gather over serial on 2 workers, by work.
const SPEEDUPS: [(&str, f64, f64); 3] = [
    ("1us", 1.3, 1.6),
    ("10us", 1.85, 1.92),
    ("100us", 1.97, 1.98),
];
/// Our default placement, with accounting on.
const ACCOUNTING: &str = "stealing, accounting on";
/// The most that accounting may cost at 10 µs a message.
const COUNTING: f64 = 1.02;
/// The bounds for the ratio of computation to communication above which 2 workers help.
const RATIO: (f64, f64) = (10.0, 3.0);
const RATIO_ABOUT: &str = "computation / communication from which 2 workers are faster than serial";

fn failed(error: impl std::fmt::Display) -> CommandFailure {
    CommandFailure::Run(format!("no runtime of tokio's: {error}"))
}

/// `ring` on 1 and 2 workers, under each placement, beside tokio.
pub(in crate::bench) fn ring(scale: &Scale) -> Result<RowRecord, CommandFailure> {
    let mut record = RowRecord::default();
    let input = if scale.quick { "small" } else { "paper" };
    let verified = VerifiedNetwork::named("ring", input)?;
    let ring = Ring::parse(input)?;
    let pools = [1, 2].map(mpsc::TokioProcesses::start);
    let mut lanes = Vec::new();
    for (workers, pool) in [1, 2].into_iter().zip(&pools) {
        for place in NamedPlacement::all() {
            lanes.push(verified.lane(place, workers)?);
        }
        let pool = pool.as_ref().map_err(failed)?;
        let ring = &ring;
        lanes.push(TimedLane::new("tokio", workers, move || pool.ring(ring)));
    }
    let series = interleave(&mut lanes, scale.rounds(9)).map_err(CommandFailure::Run)?;
    drop(lanes);
    let hops = ring.hops() as f64;
    let of = format!("ring {input}");
    series
        .iter()
        .for_each(|one| record.series(&of, one, "ns/hop", 1e9 / hops));
    for (workers, must, stretch) in HOPS {
        let (name, time) = best(&series, workers)?;
        let on = counted(workers, "worker");
        let rate = hops / time / 1e6;
        let what = format!("{of}, {on}: hops a second ({name})");
        record.claim(what, "M/s", rate, AtLeast(must), AtLeast(stretch));
        let ratio = median(&series, "tokio", workers)? / time;
        let what = format!("{of}, {on}: tokio's time / ours ({name})");
        record.claim(what, "×", ratio, AtLeast(1.0), None);
    }
    Ok(record)
}

/// `scatter-gather` on 1 and 2 workers, under each placement, beside tokio and a serial run.
pub(in crate::bench) fn scatter(scale: &Scale) -> Result<RowRecord, CommandFailure> {
    let mut record = RowRecord::default();
    for (input, must, stretch) in [("0us", 0.0, 0.0)].into_iter().chain(SPEEDUPS) {
        let program = scatter_input(scale, input);
        let (series, messages) = scattered(&program, scale.rounds(7))?;
        let of = format!("scatter-gather {input}");
        let factor = 1e9 / messages;
        series
            .iter()
            .for_each(|one| record.series(&of, one, "ns/message", factor));
        if input == "0us" {
            continue;
        }
        let (name, time) = best(&series, 2)?;
        let speedup = median(&series, SERIAL, 1)? / time;
        let what = format!("{of}, 2 workers: speed-up over serial ({name})");
        record.claim(what, "×", speedup, AtLeast(must), AtLeast(stretch));
        if input == "10us" {
            let plain = median(&series, NamedPlacement::default().name(), 2)?;
            let cost = median(&series, ACCOUNTING, 2)? / plain;
            let what = format!("{of}, 2 workers: time with accounting / without");
            record.claim(what, "×", cost, AtMost(COUNTING), None);
        }
    }
    Ok(record)
}

/// The input of scatter-gather with that much work, smaller for a quick look.
fn scatter_input(scale: &Scale, work: &str) -> String {
    match (scale.quick, work) {
        (false, named) => named.to_owned(),
        (true, "0us") => "work=0,rounds=40".to_owned(),
        (true, work) => format!("work={work},rounds=20"),
    }
}

/// One input in all lanes, and how many messages the centre sends.
fn scattered(input: &str, rounds: usize) -> Result<(Vec<Series>, f64), CommandFailure> {
    let verified = VerifiedNetwork::named("scatter-gather", input)?;
    let program = Scatter::parse(&verified.job.program.input())?;
    let want = verified.reference.0[0];
    let pools = [1, 2].map(mpsc::TokioProcesses::start);
    let mut lanes = vec![verified.serial_lane()];
    for (workers, pool) in [1, 2].into_iter().zip(&pools) {
        for place in NamedPlacement::all() {
            lanes.push(verified.lane(place, workers)?);
        }
        let pool = pool.as_ref().map_err(failed)?;
        let program = &program;
        lanes.push(TimedLane::new("tokio", workers, move || {
            pool.scatter(program, want)
        }));
    }
    let mut counted = verified.watched(NamedPlacement::default(), 2, true, |_| {})?;
    counted.name = ACCOUNTING.into();
    lanes.push(counted);
    let series = interleave(&mut lanes, rounds).map_err(CommandFailure::Run)?;
    Ok((series, program.total() as f64))
}

/// The work of a message, in ns, at which two workers are tried.
const WORKS_NS: [u64; 9] = [25, 50, 100, 200, 400, 800, 1600, 3200, 6400];

/// From which ratio of computation to communication on two workers are faster than a serial run.
///
/// Communication is what one of our messages costs on one worker when there is no work: half a
/// round trip, as a hop in the ring.
pub(in crate::bench) fn ratio(scale: &Scale) -> Result<RowRecord, CommandFailure> {
    let mut record = RowRecord::default();
    let idle = tried(&mut record, scale, 0)?;
    let hop_ns = idle.alone_ns / 2.0;
    let what = "scatter-gather without work, 1 worker: one message";
    record.single(what, "ns", hop_ns);
    let mut points: Vec<Vec<(f64, f64)>> = NamedPlacement::all().map(|_| Vec::new()).into();
    for work_ns in WORKS_NS {
        let tried = tried(&mut record, scale, work_ns)?;
        for (points, speedup) in points.iter_mut().zip(tried.speedups) {
            points.push((tried.serial_ns / hop_ns, speedup));
        }
    }
    let mut least = (NamedPlacement::default(), f64::INFINITY);
    for (place, points) in NamedPlacement::all().into_iter().zip(&points) {
        let ratio = crossing(points);
        let what = format!("{RATIO_ABOUT}, {}", place.name());
        record.single(&what, "×", ratio);
        if ratio < least.1 {
            least = (place, ratio);
        }
    }
    let (must, stretch) = RATIO;
    let what = format!("{RATIO_ABOUT} ({})", least.0.name());
    record.claim(what, "×", least.1, AtMost(must), AtMost(stretch));
    Ok(record)
}

/// The times of scatter-gather with some work a message.
struct Tried {
    /// Serially, for a message.
    serial_ns: f64,
    /// Under our default placement on one worker, for a message.
    alone_ns: f64,
    /// On two workers over serial, for each placement.
    speedups: Vec<f64>,
}

/// Scatter-gather with so much work a message, for about a tenth of a second a run.
fn tried(record: &mut RowRecord, scale: &Scale, work_ns: u64) -> Result<Tried, CommandFailure> {
    let rounds = if scale.quick {
        20
    } else {
        2_000_000 / work_ns.max(250)
    };
    let work = match work_ns {
        0 => "0".to_owned(),
        nanos => format!("{nanos}ns"),
    };
    let verified =
        VerifiedNetwork::named("scatter-gather", &format!("work={work},rounds={rounds}"))?;
    let mut lanes = vec![
        verified.serial_lane(),
        verified.lane(NamedPlacement::default(), 1)?,
    ];
    for place in NamedPlacement::all() {
        lanes.push(verified.lane(place, 2)?);
    }
    let series = interleave(&mut lanes, scale.rounds(7)).map_err(CommandFailure::Run)?;
    drop(lanes);
    let factor = 1e9 / verified.items() as f64;
    let of = format!("scatter-gather {work_ns} ns");
    for one in &series {
        record.series(&of, one, "ns/message", factor);
    }
    let serial = median(&series, SERIAL, 1)?;
    let mut speedups = Vec::new();
    for place in NamedPlacement::all() {
        let speedup = serial / median(&series, place.name(), 2)?;
        let what = format!("{of}, {}, 2 workers: speed-up over serial", place.name());
        record.single(&what, "×", speedup);
        speedups.push(speedup);
    }
    Ok(Tried {
        serial_ns: serial * factor,
        alone_ns: median(&series, NamedPlacement::default().name(), 1)? * factor,
        speedups,
    })
}

/// Where the speed-up of points (ratio, speed-up) passes 1 for good: between two points on a
/// logarithmic scale, the first ratio when it never was below, infinity when it ends below.
fn crossing(points: &[(f64, f64)]) -> f64 {
    let Some(last_below) = points.iter().rposition(|point| point.1 < 1.0) else {
        return points.first().map_or(f64::NAN, |point| point.0);
    };
    let Some(above) = points.get(last_below + 1) else {
        return f64::INFINITY;
    };
    let below = points[last_below];
    let part = (1.0 - below.1) / (above.1 - below.1);
    below.0 * (above.0 / below.0).powf(part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_crossing_lies_between_the_points_around_it() {
        assert_eq!(crossing(&[(1.0, 1.1), (2.0, 1.5)]), 1.0);
        assert_eq!(crossing(&[(1.0, 0.5), (2.0, 0.9)]), f64::INFINITY);
        let middle = crossing(&[(1.0, 0.5), (2.0, 0.8), (8.0, 1.2), (16.0, 1.5)]);
        assert!((middle - 4.0).abs() < 1e-9, "{middle}");
        // A dip behind the first crossing counts.
        let late = crossing(&[(1.0, 0.5), (2.0, 1.2), (4.0, 0.9), (8.0, 1.1)]);
        assert!((4.0..8.0).contains(&late), "{late}");
        assert!(crossing(&[]).is_nan());
    }
}
