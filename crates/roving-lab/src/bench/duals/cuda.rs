//! `duals-cuda`: what a device of NVIDIA gives, alone and with the CPU. Needs such a device.

use super::super::Scale;
use super::super::record::{Bound, RowRecord};
use crate::duals::DualJob;
use crate::duals::run::Arena;
use crate::duals::setup::{Setup, missing};
use crate::duals::words::{DeviceSource, Library, SideWord, Wanted};
use crate::io::input::CommandFailure;
use crate::machine::cores;
use crate::networks::run::pool;
use crate::timing::lanes::{Series, TimedLane, find, interleave};

/// The product in blocks, and as one, which is one call of cuBLAS.
const BLOCKS: &str = "8192,tile=2048";
const WHOLE: &str = "8192,tile=8192";
/// The promised share of the library's rate.
const SHARE: f64 = 0.85;

/// The programs, with inputs that keep the device busy for some hundred milliseconds, and small
/// ones.
const PROGRAMS: [[&str; 3]; 5] = [
    ["matmul", BLOCKS, "128,tile=32"],
    ["cholesky", "8192,tile=1024", "96,tile=24"],
    ["nbody", "65536,block=4096,steps=2", "128,block=32,steps=2"],
    ["mandelbrot", "4096,tile=128", "64,tile=16,most=100"],
    ["image-pipeline", "48", "6,side=48"],
];

/// All that is measured on NVIDIA.
pub(in super::super) fn cuda(scale: &Scale) -> Result<RowRecord, CommandFailure> {
    let mut record = RowRecord::default();
    if let Some(why) = missing(Library::Cuda) {
        record.absent.push(why);
        return Ok(record);
    }
    for [name, full, small] in PROGRAMS {
        let input = if scale.quick { small } else { full };
        let series = sides(&mut record, scale, (name, input))?;
        if name == "matmul" {
            beside_the_library(&mut record, scale, input, &series)?;
        }
    }
    Ok(record)
}

/// A program whose right answer is known after one serial run.
fn arena(name: &str, input: &str) -> Result<Arena, CommandFailure> {
    Ok(Arena::new(DualJob::parse(name, Some(input))?, 1).0)
}

/// The devices with this choice, for a program.
fn setup(arena: &Arena, side: SideWord) -> Result<Setup, CommandFailure> {
    let wanted = Wanted {
        source: DeviceSource::Only(Library::Cuda),
        side,
    };
    Setup::new(&wanted, &arena.load)
}

/// Runs a program on all cores with this choice, after one run that is not counted: in it kernels
/// are built, and sides that were never measured are tried.
fn lane<'a>(arena: &'a Arena, name: &str, side: SideWord) -> Result<TimedLane<'a>, CommandFailure> {
    let (setup, pool) = (
        setup(arena, side)?,
        pool(cores(), roving::policy::Amount::default(), false)?,
    );
    arena.run(&pool, &setup)?;
    Ok(TimedLane::new(name, cores(), move || {
        arena
            .run(&pool, &setup)
            .map_err(|failure| failure.to_string())
    }))
}

fn median(series: &[Series], name: &str) -> Result<f64, CommandFailure> {
    let one = find(series, name, cores());
    let one = one.ok_or_else(|| CommandFailure::Run(format!("{name} was not measured")))?;
    Ok(one.times.median())
}

/// A program on the CPU alone, on the GPU alone, and where each task is expected to end first.
fn sides(
    record: &mut RowRecord,
    scale: &Scale,
    (name, input): (&str, &str),
) -> Result<Vec<Series>, CommandFailure> {
    let arena = arena(name, input)?;
    let mut lanes = vec![
        lane(&arena, "all-CPU", SideWord::Cpu)?,
        lane(&arena, "all-GPU", SideWord::Gpu)?,
        lane(&arena, "auto", SideWord::Auto)?,
    ];
    let series = interleave(&mut lanes, scale.rounds(5)).map_err(CommandFailure::Run)?;
    let of = format!("{name} {input}");
    series
        .iter()
        .for_each(|one| record.series(&of, one, "s", 1.0));
    let best = median(&series, "all-CPU")?.min(median(&series, "all-GPU")?);
    let ratio = best / median(&series, "auto")?;
    let what = format!("{of}: speed of CPU and GPU together / the better of the two alone");
    record.claim(what, "×", ratio, Bound::AtLeast(1.0), None);
    Ok(series)
}

/// The product in blocks, transfers and all, beside the rate at which cuBLAS makes it of what is
/// there already.
fn beside_the_library(
    record: &mut RowRecord,
    scale: &Scale,
    blocks: &str,
    series: &[Series],
) -> Result<(), CommandFailure> {
    let whole = arena("matmul", if scale.quick { "128,tile=128" } else { WHOLE })?;
    let alone = setup(&whole, SideWord::Gpu)?;
    let workers = pool(cores(), roving::policy::Amount::default(), false)?;
    let mut kernel_s = f64::INFINITY;
    // Those whose time is not known do not count: each of the streams loads the library at first.
    for _ in 0..2 * scale.rounds(5) {
        let kernels = || -> f64 {
            let devices = alone.devices.profile().devices;
            devices.iter().map(|device| device.kernel_s).sum()
        };
        let before = kernels();
        whole.run(&workers, &alone)?;
        let took = kernels() - before;
        if took > 0.0 {
            kernel_s = kernel_s.min(took);
        }
    }
    record.single(
        &format!(
            "matmul {}: the kernel alone, by cuBLAS",
            whole.job.program.input()
        ),
        "s",
        kernel_s,
    );
    let ratio = kernel_s / median(series, "auto")?;
    let what = format!(
        "matmul {blocks}: rate in blocks on auto, with transfers / cuBLAS' own for one product"
    );
    record.claim(what, "×", ratio, Bound::AtLeast(SHARE), None);
    Ok(())
}
