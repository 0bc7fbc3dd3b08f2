//! The programs by their names.

use super::program::{Entry, Program};
use super::{cholesky, mandelbrot, matmul, nbody, pipeline, plain};
use crate::input::{BadInput, Failure};
use crate::workloads::Kind;

/// All of them, in the order of `roving list`.
pub(crate) static CATALOGUE: [Entry; 7] = [
    matmul::ENTRY,
    cholesky::ENTRY,
    nbody::ENTRY,
    mandelbrot::ENTRY,
    pipeline::ENTRY,
    plain::FIB,
    plain::FLAT,
];

/// Returns the descriptions of all entries.
pub(crate) fn kinds() -> impl Iterator<Item = &'static Kind> {
    CATALOGUE.iter().map(|entry| &entry.kind)
}

/// Whether there is one of that name.
pub(crate) fn has(name: &str) -> bool {
    Job::find(name).is_some()
}

/// A program with its kind.
pub(crate) struct Job {
    /// The description, the same for all inputs.
    pub(crate) kind: &'static Kind,
    /// The program.
    pub(crate) program: Box<dyn Program>,
}

impl Job {
    /// The kind of program of that name.
    pub(crate) fn find(name: &str) -> Option<&'static Entry> {
        CATALOGUE.iter().find(|entry| entry.kind.name == name)
    }

    /// The program `name` on `input`, or on its default input, ready to run.
    pub(crate) fn parse(name: &str, input: Option<&str>) -> Result<Job, Failure> {
        let entry = Job::find(name).ok_or_else(|| unknown(name))?;
        let mut program = (entry.parse)(input.unwrap_or(entry.kind.inputs[0].0))?;
        program.prepare()?;
        Ok(Job {
            kind: &entry.kind,
            program,
        })
    }
}

/// The error for a name that no program of tasks with two sides has.
fn unknown(name: &str) -> BadInput {
    let names: Vec<_> = CATALOGUE.iter().map(|entry| entry.kind.name).collect();
    let allowed = format!("with --device one of {}", names.join(", "));
    let remedy = "leave --device out for the others; `roving list` shows all";
    BadInput::new("workload", name, allowed, remedy)
}
