//! The programs by their names.

use super::program::{DualEntry, DualJob};
use super::{cholesky, mandelbrot, matmul, nbody, pipeline, plain};
use crate::io::input::{BadInput, CommandFailure};
use crate::workloads::WorkloadKind;

/// All of them, in the order of `roving list`.
pub(crate) static CATALOGUE: [DualEntry; 7] = [
    matmul::ENTRY,
    cholesky::ENTRY,
    nbody::ENTRY,
    mandelbrot::ENTRY,
    pipeline::ENTRY,
    plain::FIB,
    plain::FLAT,
];

/// Returns the descriptions of all entries.
pub(crate) fn kinds() -> impl Iterator<Item = &'static WorkloadKind> {
    CATALOGUE.iter().map(|entry| &entry.kind)
}

/// Whether there is one of that name.
pub(crate) fn has(name: &str) -> bool {
    DualJob::find(name).is_some()
}

impl DualJob {
    /// The kind of program of that name.
    pub(crate) fn find(name: &str) -> Option<&'static DualEntry> {
        CATALOGUE.iter().find(|entry| entry.kind.name == name)
    }

    /// The program `name` on `input`, or on its default input, ready to run.
    pub(crate) fn parse(name: &str, input: Option<&str>) -> Result<DualJob, CommandFailure> {
        let entry = DualJob::find(name).ok_or_else(|| unknown(name))?;
        let mut job = entry.job(input)?;
        job.program.prepare()?;
        Ok(job)
    }
}

/// The error for a name that no program of tasks with two sides has.
fn unknown(name: &str) -> BadInput {
    let names: Vec<_> = CATALOGUE.iter().map(|entry| entry.kind.name).collect();
    let allowed = format!("with --device one of {}", names.join(", "));
    let remedy = "leave --device out for the others; `roving list` shows all";
    BadInput::new("workload", name, allowed, remedy)
}
