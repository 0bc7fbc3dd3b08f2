//! Square matrices in tiles, as parameters ask for them.

use crate::io::input::{BadInput, number_in};
use crate::machine::memory;
use crate::workloads::parse_params;

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
        let (mut side, mut tile, mut numbers) = (1024, None, Precision::Single);
        let remedy = format!("take {workload} 1024");
        let keys = ["side", "tile", "numbers"];
        for (key, value) in parse_params(workload, &keys, input)? {
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
        memory::require(workload, input, bytes, &remedy)?;
        Ok(Square {
            across: (side / tile) as usize,
            side: tile as usize,
            numbers,
        })
    }
}
