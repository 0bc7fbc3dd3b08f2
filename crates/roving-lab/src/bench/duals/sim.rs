//! `duals-sim`: the choice of a side, on a simulated device of many speeds.

use super::super::Scale;
use super::super::record::RowRecord;
use super::contest::Contest;
use crate::duals::run::Arena;
use crate::duals::words::{DeviceSource, Simulation};
use crate::io::input::CommandFailure;

/// Every program that has two sides, so small that computing takes much less than is said; and how
/// many MiB a second go to the device and back, so that a transfer takes a few hundredths of a
/// kernel.
const PROGRAMS: [(&str, &str, u64); 6] = [
    ("matmul", "384,tile=48", 400),
    ("matmul", "320,tile=40,numbers=f64", 400),
    ("cholesky", "480,tile=40,numbers=f64", 400),
    ("nbody", "1024,block=128,steps=4", 100),
    ("mandelbrot", "256,tile=16,most=500", 100),
    ("image-pipeline", "96,side=96,radius=3", 1000),
];
/// The inputs for `--quick`.
const QUICK: [(&str, &str, u64); 2] = [
    ("matmul", "128,tile=32", 400),
    ("nbody", "256,block=64,steps=2", 100),
];

/// How many times as fast as one worker's CPU side the device is.
const RATIOS: [f64; 6] = [0.1, 1.0 / 3.0, 1.0, 3.0, 10.0, 100.0];
const RATIOS_QUICK: [f64; 2] = [1.0, 10.0];

/// Workers beside the device.
const WORKERS: usize = 2;
/// The faster side of a mean task takes so long at least.
const TASK_S: f64 = 2e-3;
/// The promised bound.
const BOUND: f64 = 1.1;

/// 1:10, 1:3, 1:1 … 100:1.
fn ratio_text(ratio: f64) -> String {
    if ratio < 1.0 {
        format!("1:{:.0}", 1.0 / ratio)
    } else {
        format!("{ratio:.0}:1")
    }
}

/// All programs at all ratios.
pub(in super::super) fn sim(scale: &Scale) -> Result<RowRecord, CommandFailure> {
    let mut record = RowRecord::default();
    let (programs, ratios): (&[_], &[_]) = if scale.quick {
        (&QUICK, &RATIOS_QUICK)
    } else {
        (&PROGRAMS, &RATIOS)
    };
    for (name, input, rate) in programs {
        let mut arena = Arena::named(name, input)?;
        arena.load.task_s = TASK_S;
        for ratio in ratios {
            let simulation = Simulation {
                bytes_per_s: Some((rate << 20) as f64),
                ..Simulation::new(*ratio)
            };
            let contest = Contest {
                arena: &arena,
                workers: WORKERS,
                source: DeviceSource::Simulated(simulation),
                of: format!("{name} {input}, device {}", ratio_text(*ratio)),
                ideal: Some(ratio / (ratio + WORKERS as f64)),
                rounds: scale.rounds(3),
            };
            contest.hold(&mut record, BOUND)?;
        }
    }
    Ok(record)
}
