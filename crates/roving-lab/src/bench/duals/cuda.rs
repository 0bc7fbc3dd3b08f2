//! `duals-cuda`: what a device of NVIDIA gives, alone and with the CPU. Needs such a device.

use super::super::Scale;
use super::super::record::{Bound, Record};
use crate::duals::run::Arena;
use crate::duals::setup::{Setup, missing};
use crate::duals::words::{Library, Side, Source, Wanted};
use crate::input::Failure;
use crate::lanes::{Lane, Series, find, interleave};
use crate::networks::run::pool;
use crate::settings::cores;

/// The product in blocks, and as one, which is one call of cuBLAS.
const BLOCKS: &str = "16384,tile=4096";
const WHOLE: &str = "16384,tile=16384";
/// The promised share of the library's rate.
const SHARE: f64 = 0.85;

/// Programs that CPU and GPU do together.
const TOGETHER: [(&str, &str); 2] = [
    ("cholesky", "16384,tile=1024"),
    ("nbody", "131072,block=4096,steps=2"),
];

/// All that is measured on NVIDIA.
pub(in super::super) fn cuda(scale: &Scale) -> Result<Record, Failure> {
    let mut record = Record::default();
    if let Some(why) = missing(Library::Cuda) {
        record.absent.push(why);
        return Ok(record);
    }
    product(&mut record, scale)?;
    for (name, input) in TOGETHER {
        together(&mut record, scale, (name, input))?;
    }
    Ok(record)
}

/// The devices with this choice, for a program.
fn setup(arena: &Arena, side: Side) -> Result<Setup, Failure> {
    let wanted = Wanted {
        source: Source::Only(Library::Cuda),
        side,
    };
    Setup::new(&wanted, &arena.load)
}

/// Runs a program on all cores with this choice.
fn lane<'a>(arena: &'a Arena, name: &str, side: Side) -> Result<Lane<'a>, Failure> {
    let (setup, pool) = (
        setup(arena, side)?,
        pool(cores(), roving::policy::Amount::default(), false)?,
    );
    Ok(Lane::new(name, cores(), move || {
        arena
            .run(&pool, &setup)
            .map_err(|failure| failure.to_string())
    }))
}

fn median(series: &[Series], name: &str) -> Result<f64, Failure> {
    let one = find(series, name, cores());
    let one = one.ok_or_else(|| Failure::Run(format!("{name} was not measured")))?;
    Ok(one.times.median())
}

/// The product in blocks, transfers and all, beside the rate at which cuBLAS makes it of what is
/// there already.
fn product(record: &mut Record, scale: &Scale) -> Result<(), Failure> {
    let (blocks, whole) = (
        Arena::named("matmul", BLOCKS)?,
        Arena::named("matmul", WHOLE)?,
    );
    let alone = setup(&whole, Side::Gpu)?;
    let workers = pool(cores(), roving::policy::Amount::default(), false)?;
    let mut kernel_s = f64::INFINITY;
    for _ in 0..scale.rounds(5) {
        let kernels = || -> f64 {
            let devices = alone.devices.profile().devices;
            devices.iter().map(|device| device.kernel_s).sum()
        };
        let before = kernels();
        whole.run(&workers, &alone)?;
        kernel_s = kernel_s.min(kernels() - before);
    }
    let mut lanes = vec![
        lane(&blocks, "all-GPU", Side::Gpu)?,
        lane(&blocks, "auto", Side::Auto)?,
    ];
    let series = interleave(&mut lanes, scale.rounds(5)).map_err(Failure::Run)?;
    let of = format!("matmul {BLOCKS}");
    series
        .iter()
        .for_each(|one| record.series(&of, one, "s", 1.0));
    record.single(
        &format!("matmul {WHOLE}: the kernel alone, by cuBLAS"),
        "s",
        kernel_s,
    );
    let ratio = kernel_s / median(&series, "auto")?;
    let what =
        format!("{of}: rate in blocks on auto, with transfers / cuBLAS' own for one product");
    record.claim(what, "×", ratio, Bound::AtLeast(SHARE), None);
    Ok(())
}

/// CPU and GPU together beside the GPU alone.
fn together(
    record: &mut Record,
    scale: &Scale,
    (name, input): (&str, &str),
) -> Result<(), Failure> {
    let arena = Arena::named(name, input)?;
    let mut lanes = vec![
        lane(&arena, "all-GPU", Side::Gpu)?,
        lane(&arena, "auto", Side::Auto)?,
    ];
    let series = interleave(&mut lanes, scale.rounds(5)).map_err(Failure::Run)?;
    let of = format!("{name} {input}");
    series
        .iter()
        .for_each(|one| record.series(&of, one, "s", 1.0));
    let ratio = median(&series, "all-GPU")? / median(&series, "auto")?;
    let what = format!("{of}: speed of CPU and GPU together / GPU alone");
    record.claim(what, "×", ratio, Bound::AtLeast(1.0), None);
    Ok(())
}
