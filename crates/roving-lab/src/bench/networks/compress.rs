//! The row about a pipeline that a user would write, against the same written with others.

use super::{best, median};
use crate::bench::Scale;
use crate::bench::record::{Bound::AtLeast, RowRecord};
use crate::io::input::CommandFailure;
use crate::networks::NetworkProgram as _;
use crate::networks::compress::Compress;
use crate::networks::placement::NamedPlacement;
use crate::networks::run::VerifiedNetwork;
use crate::rivals::pipeline;
use crate::timing::lanes::SERIAL;
use crate::timing::lanes::{TimedLane, interleave};

/// `compress` on two workers; its rivals have two threads for the compression.
pub(in crate::bench) fn compress(scale: &Scale) -> Result<RowRecord, CommandFailure> {
    let mut record = RowRecord::default();
    let input = if scale.quick { "small" } else { "300" };
    let verified = VerifiedNetwork::named("compress", input)?;
    // The rivals have files of their own.
    let mut program = Compress::parse(input)?;
    program.prepare()?;
    program.serial()?;
    let mut rivals = pipeline::all(2).map_err(CommandFailure::Run)?;
    let names: Vec<&str> = rivals.iter().map(|rival| rival.name()).collect();
    let mut lanes = vec![verified.serial_lane()];
    for place in NamedPlacement::all() {
        lanes.push(verified.lane(place, 2)?);
    }
    for (rival, name) in rivals.iter_mut().zip(&names) {
        let program = &program;
        let run = move || pipeline::timed(rival.as_mut(), program);
        lanes.push(TimedLane::new(format!("{name} pipeline"), 2, run));
    }
    let series = interleave(&mut lanes, scale.rounds(9)).map_err(CommandFailure::Run)?;
    drop(lanes);
    let megabytes = verified.items() as f64 / 1e6;
    let of = format!("compress {megabytes:.0} MB");
    series
        .iter()
        .for_each(|one| record.series(&of, one, "s", 1.0));
    let (crossbeam, codec) = (
        env!("ROVING_CROSSBEAM_CHANNEL_VERSION"),
        env!("ROVING_LZ4_FLEX_VERSION"),
    );
    record.absent.push(format!(
        "all use lz4_flex {codec}; crossbeam-channel {crossbeam} has two threads more, which read and write"
    ));
    let (name, time) = best(&series, 2)?;
    let rate = megabytes / time;
    record.single(
        &format!("{of}, 2 workers: throughput ({name})"),
        "MB/s",
        rate,
    );
    let speedup = median(&series, SERIAL, 1)? / time;
    record.single(
        &format!("{of}, 2 workers: speed-up over serial ({name})"),
        "×",
        speedup,
    );
    let times = names.iter().map(|rival| {
        let rival = format!("{rival} pipeline");
        median(&series, &rival, 2).map(|time| (rival, time))
    });
    let times = times.collect::<Result<Vec<_>, _>>()?;
    let least = times.into_iter().min_by(|a, b| a.1.total_cmp(&b.1));
    let (rival, least) = least.ok_or_else(|| CommandFailure::Run("there is no rival".into()))?;
    let what = format!("{of}, 2 workers: time of the best rival ({rival}) / ours ({name})");
    record.claim(what, "×", least / time, AtLeast(1.0), AtLeast(1.15));
    Ok(record)
}
