//! The row about very many processes: what each costs to make, to run and to hold.

use std::cell::RefCell;

use crate::bench::Scale;
use crate::bench::probe::{self, Probe};
use crate::bench::record::{Bound::AtMost, RowRecord};
use crate::io::figures::counted;
use crate::io::input::CommandFailure;
use crate::networks::placement::NamedPlacement;
use crate::networks::run::VerifiedNetwork;
use crate::timing::lanes::interleave;
use crate::timing::times::Times;

/// The bounds to reach and to hope for, in bytes a process.
const BYTES: (f64, f64) = (450.0, 300.0);

/// A chain of a million processes, made and run; and its memory, in a process of its own.
pub(in crate::bench) fn chain(scale: &Scale) -> Result<RowRecord, CommandFailure> {
    let mut record = RowRecord::default();
    let input = if scale.quick { "20000" } else { "1000000" };
    let verified = VerifiedNetwork::named("chain", input)?;
    let processes = verified.items() as f64;
    let of = format!("chain {input}");
    let places: Vec<(NamedPlacement, usize)> = NamedPlacement::all()
        .into_iter()
        .flat_map(|place| [(place, 1), (place, 2)])
        .collect();
    let builds: Vec<RefCell<Times>> = places.iter().map(|_| RefCell::default()).collect();
    let mut lanes = Vec::new();
    for ((place, workers), builds) in places.iter().zip(&builds) {
        let lane = verified.watched(*place, *workers, false, |ran| {
            builds.borrow_mut().push(ran.build);
        });
        lanes.push(lane?);
    }
    let series = interleave(&mut lanes, scale.rounds(5)).map_err(CommandFailure::Run)?;
    drop(lanes);
    let factor = 1e9 / processes;
    series
        .iter()
        .for_each(|one| record.series(&of, one, "ns/process", factor));
    for ((place, workers), builds) in places.iter().zip(builds) {
        let what = format!(
            "{of}, {}, {}: to make",
            place.name(),
            counted(*workers, "worker")
        );
        record.single(&what, "ns/process", builds.into_inner().median() * factor);
    }
    memory(&mut record, input, processes)?;
    Ok(record)
}

/// The greatest memory of one run over that before it, by placement.
fn memory(record: &mut RowRecord, input: &str, processes: f64) -> Result<(), CommandFailure> {
    if crate::machine::memory::restart_peak().is_none() {
        let why = "memory: this system does not say how much is held";
        record.absent.push(why.into());
        return Ok(());
    }
    for place in NamedPlacement::all() {
        let bytes = probe::ask(&Probe::NetworkMemory {
            network: "chain".into(),
            input: input.into(),
            placement: place.name().into(),
            workers: 2,
        })?;
        let what = format!(
            "chain {input}, {}, 2 workers: peak memory a process",
            place.name()
        );
        record.single(&what, "bytes", bytes / processes);
        let (must, stretch) = BYTES;
        let each = bytes / processes;
        record.claim(what, "bytes", each, AtMost(must), AtMost(stretch));
    }
    Ok(())
}
