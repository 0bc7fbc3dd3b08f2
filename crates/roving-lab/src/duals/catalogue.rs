//! The programs by their names.

use super::{Program, cholesky, mandelbrot, matmul, nbody, pipeline, plain};
use crate::input::{BadInput, Failure};
use crate::workloads::Kind;

/// A kind of program.
pub(crate) struct Entry {
    /// The description.
    pub(crate) kind: Kind,
    /// Reads a named input or parameters.
    pub(super) parse: fn(&str) -> Result<Box<dyn Program>, BadInput>,
}

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

/// Of what numbers a matrix is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Precision {
    Single,
    Double,
}

impl Precision {
    /// Reads `numbers=`.
    pub(super) fn parse(workload: &str, text: &str) -> Result<Precision, BadInput> {
        match text {
            "f32" => Ok(Precision::Single),
            "f64" => Ok(Precision::Double),
            _ => {
                let subject = format!("{workload} numbers");
                Err(BadInput::new(
                    subject,
                    text,
                    "f32 or f64",
                    "leave it out for f32",
                ))
            }
        }
    }

    /// The bytes of one number.
    pub(super) fn bytes(self) -> u64 {
        match self {
            Precision::Single => 4,
            Precision::Double => 8,
        }
    }
}

/// A square matrix in tiles, as it is asked for.
pub(super) struct Square {
    /// Tiles in a row.
    pub(super) across: usize,
    /// Numbers in a row of a tile.
    pub(super) side: usize,
    /// Of what numbers.
    pub(super) numbers: Precision,
}

/// The most tiles in a row.
const ACROSS_MAX: u64 = 64;

impl Square {
    /// Reads the parameters of a program of one matrix that holds `copies` of its numbers at once.
    pub(super) fn parse(workload: &str, input: &str, copies: u64) -> Result<Square, BadInput> {
        use crate::input::number_in;
        let (mut side, mut tile, mut numbers) = (1024, None, Precision::Single);
        let remedy = format!("take {workload} 1024");
        let keys = ["side", "tile", "numbers"];
        for (key, value) in crate::workloads::parse_params(workload, &keys, input)? {
            let subject = format!("{workload} {key}");
            match key {
                "side" => side = number_in(&subject, value, 1..=32_768, &remedy)?,
                "tile" => tile = Some(number_in(&subject, value, 1..=32_768, "leave it out")?),
                _ => numbers = Precision::parse(workload, value)?,
            }
        }
        let fitting = || (1..=side.min(256)).rev().find(|tile| side % tile == 0);
        let tile = tile.or_else(fitting).unwrap_or(side);
        if side % tile != 0 || side / tile > ACROSS_MAX {
            let allowed = format!("a divisor of {side}, and one in {ACROSS_MAX} of it at least");
            let remedy = "write tile=SIDE, or take another side";
            return Err(BadInput::new(
                format!("{workload} tile"),
                tile,
                allowed,
                remedy,
            ));
        }
        let bytes = side * side * numbers.bytes() * copies;
        crate::memory::require(workload, input, bytes, &remedy)?;
        Ok(Square {
            across: (side / tile) as usize,
            side: tile as usize,
            numbers,
        })
    }
}
