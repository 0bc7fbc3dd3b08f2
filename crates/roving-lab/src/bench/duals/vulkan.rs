//! `duals-vulkan`: the choice of a side, on what Vulkan has here; on machines without a GPU, Mesa's
//! driver in software.

use super::super::Scale;
use super::super::record::RowRecord;
use super::contest::Contest;
use crate::duals::run::Arena;
use crate::duals::setup::missing;
use crate::duals::words::{DeviceSource, Library};
use crate::io::input::CommandFailure;

/// Every program that has two sides, with tasks of a millisecond and more.
const PROGRAMS: [(&str, &str); 6] = [
    ("matmul", "1024,tile=256"),
    ("matmul", "768,tile=192,numbers=f64"),
    ("cholesky", "1024,tile=128"),
    ("nbody", "4096,block=512,steps=2"),
    ("mandelbrot", "1024,tile=64"),
    ("image-pipeline", "24,side=320,radius=3"),
];
const QUICK: [(&str, &str); 1] = [("matmul", "128,tile=64")];

/// The promised bound.
const BOUND: f64 = 1.15;

/// All programs.
pub(in super::super) fn vulkan(scale: &Scale) -> Result<RowRecord, CommandFailure> {
    let mut record = RowRecord::default();
    if let Some(why) = missing(Library::Wgpu) {
        record.absent.push(why);
        return Ok(record);
    }
    let programs: &[_] = if scale.quick { &QUICK } else { &PROGRAMS };
    for (name, input) in programs {
        let arena = Arena::named(name, input)?;
        let contest = Contest {
            arena: &arena,
            workers: crate::machine::cores(),
            source: DeviceSource::Only(Library::Wgpu),
            of: format!("{name} {input}"),
            ideal: None,
            rounds: scale.rounds(3),
        };
        contest.hold(&mut record, BOUND)?;
    }
    Ok(record)
}
