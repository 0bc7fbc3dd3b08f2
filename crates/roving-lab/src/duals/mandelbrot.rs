//! `mandelbrot`: the set in tiles. A tile within the set costs a thousand times as much as one far
//! from it, and nothing tells so before.

use std::time::{Duration, Instant};

use roving::task::Scope;
use roving_gpu::Buffer;

use super::math::plane::{self, Rectangle};
use super::program::{DualEntry, DualProgram, PoolAndDevices};
use super::steps;
use crate::io::input::{BadInput, CommandFailure, number_in};
use crate::machine::memory;
use crate::workloads::{RunAnswer, TimedAnswer, WorkloadKind, parse_params};

/// The entry in the catalogue.
pub(super) const ENTRY: DualEntry = DualEntry {
    kind: WorkloadKind {
        name: "mandelbrot",
        about: "the Mandelbrot set in tiles, which cost from next to nothing to very much",
        inputs: &[
            (
                "1024",
                "1,024 × 1,024 points in tiles of 64, at most 1,000 iterations",
            ),
            ("256,tile=16", "256 × 256 points in tiles of 16"),
            ("4096,tile=128", "4,096 × 4,096 points in tiles of 128"),
        ],
        params: "the side, from 1 to 32768; tile=SIDE, a divisor of it; most=ITERATIONS, from 1 to 1e6",
        items: "iterations",
        figures: &["points"],
        serial: "the CPU sides alone",
    },
    parse,
};

/// No point's count: what is in a tile before it is computed.
const UNWRITTEN: u32 = u32::MAX;

/// The set, in tiles.
pub(crate) struct Mandelbrot {
    across: usize,
    tile: usize,
    most: u32,
    /// The counts of the serial run, tile by tile.
    expected: Vec<Vec<u32>>,
}

fn parse(input: &str) -> Result<Box<dyn DualProgram>, BadInput> {
    Ok(Box::new(Mandelbrot::parse(input)?))
}

impl Mandelbrot {
    /// The name of the program, and the input that it has unless told otherwise.
    #[cfg(feature = "dist")]
    pub(crate) const FIRST: (&str, &str) = (ENTRY.kind.name, ENTRY.kind.inputs[0].0);
    /// The figure of its answer.
    #[cfg(feature = "dist")]
    pub(crate) const FIGURES: &'static [&'static str] = ENTRY.kind.figures;

    /// Reads the side, and the rest.
    pub(crate) fn parse(input: &str) -> Result<Mandelbrot, BadInput> {
        let (mut side, mut tile, mut most) = (1024, None, 1000);
        let remedy = "take mandelbrot 1024";
        for (key, value) in parse_params("mandelbrot", &["side", "tile", "most"], input)? {
            match key {
                "side" => side = number_in("mandelbrot side", value, 1..=32_768, remedy)?,
                "tile" => {
                    tile = Some(number_in(
                        "mandelbrot tile",
                        value,
                        1..=8192,
                        "leave it out",
                    )?)
                }
                _ => {
                    most = number_in(
                        "mandelbrot most",
                        value,
                        1..=1_000_000,
                        "leave it out for 1000",
                    )?
                }
            }
        }
        let fitting = || (1..=side.min(64)).rev().find(|tile| side % tile == 0);
        let tile = tile.or_else(fitting).unwrap_or(side);
        if side % tile != 0 || side / tile > 512 {
            let allowed = format!("a divisor of {side}, and one in 512 of it at least");
            return Err(BadInput::new(
                "mandelbrot tile",
                tile,
                allowed,
                "write tile=SIDE",
            ));
        }
        memory::require("mandelbrot", input, side * side * 12, remedy)?;
        Ok(Mandelbrot {
            across: (side / tile) as usize,
            tile: tile as usize,
            most: most as u32,
            expected: Vec::new(),
        })
    }

    /// The counts of a tile, by the CPU.
    pub(crate) fn tile(&self, number: usize) -> Vec<u32> {
        let mut counts = vec![0; self.tile * self.tile];
        plane::escapes(self.rectangle(number), self.most, &mut counts);
        counts
    }

    /// How many points of these tiles are as in the serial run. A tile counts once.
    #[cfg(feature = "dist")]
    pub(crate) fn same(&self, tiles: &[(usize, Vec<u32>)]) -> u64 {
        let mut is_there = vec![false; self.expected.len()];
        let mut same = 0;
        for (number, counts) in tiles {
            let again = std::mem::replace(&mut is_there[*number], true);
            let pairs = counts.iter().zip(&self.expected[*number]);
            let right = pairs.filter(|(one, other)| one == other).count();
            same += if again { 0 } else { right as u64 };
        }
        same
    }

    /// The whole set, and something around it.
    fn rectangle(&self, number: usize) -> Rectangle {
        let step = 2.6 / (self.across * self.tile) as f32;
        let (row, column) = (
            number / self.across * self.tile,
            number % self.across * self.tile,
        );
        Rectangle {
            left: -2.0 + column as f32 * step,
            top: -1.3 + row as f32 * step,
            step,
            width: self.tile,
            height: self.tile,
        }
    }

    /// The tiles.
    pub(crate) fn numbers(&self) -> std::ops::Range<usize> {
        0..self.across * self.across
    }

    fn points(&self) -> u64 {
        self.expected.iter().map(|tile| tile.len() as u64).sum()
    }

    /// A device may round otherwise, and then a point at the border escapes earlier or later; in a
    /// tile at the border that can be so of many. If it is so of 2 points in 100 at most, and of
    /// less than half of each tile (one point may always differ), all are taken for right; if not,
    /// those are counted that are the same.
    fn right(&self, found: &[Vec<u32>]) -> u64 {
        let (mut same, mut is_right) = (0, true);
        for (found, expected) in found.iter().zip(&self.expected) {
            let pairs = found.iter().zip(expected);
            let here = pairs.filter(|(one, other)| one == other).count();
            let differ = expected.len() - here;
            is_right &= here > 0 && (differ <= 1 || 2 * differ < expected.len());
            same += here as u64;
        }
        let all = self.points();
        if is_right && all - same <= (all * 2 / 100).max(1) {
            all
        } else {
            same
        }
    }
}

impl DualProgram for Mandelbrot {
    fn input(&self) -> String {
        let Mandelbrot {
            across, tile, most, ..
        } = self;
        format!("{},tile={tile},most={most}", across * tile)
    }

    fn serial(&mut self) -> Duration {
        let start = Instant::now();
        let expected = self.numbers().map(|number| self.tile(number)).collect();
        let time = start.elapsed();
        self.expected = expected;
        time
    }

    fn run(&self, place: &PoolAndDevices<'_>) -> Result<TimedAnswer, CommandFailure> {
        let counts: Vec<Buffer<u32>> = self
            .numbers()
            .map(|_| Buffer::from(vec![UNWRITTEN; self.tile * self.tile]))
            .collect();
        let start = Instant::now();
        place.pool.run(|scope: Scope<'_>| {
            let counts = &counts;
            async move {
                let tile = |number: usize| async move {
                    let counts = &counts[number];
                    steps::escapes(place, self.rectangle(number), self.most, counts).await;
                };
                let tasks: Vec<_> = self
                    .numbers()
                    .map(|number| scope.spawn(tile(number)))
                    .collect();
                for task in tasks {
                    task.await;
                }
            }
        });
        counts.iter().for_each(Buffer::fetch);
        let found: Vec<_> = counts.into_iter().map(Buffer::into_vec).collect();
        let time = start.elapsed();
        Ok(TimedAnswer {
            time,
            answer: RunAnswer([self.right(&found), 0, 0]),
        })
    }

    fn expected(&self) -> RunAnswer {
        RunAnswer([self.points(), 0, 0])
    }

    fn work(&self) -> f64 {
        self.expected
            .iter()
            .flatten()
            .map(|count| f64::from(*count))
            .sum()
    }

    fn declares(&self) -> bool {
        false
    }

    fn tasks(&self) -> u64 {
        self.numbers().len() as u64
    }

    fn items(&self) -> u64 {
        self.work() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tile_that_is_lost_is_found() {
        let mut program = Mandelbrot {
            across: 12,
            tile: 8,
            most: 200,
            expected: Vec::new(),
        };
        program.serial();
        let right = program.expected.clone();
        let all = program.points();
        assert_eq!(program.right(&right), all);
        for lost in program.numbers() {
            let mut found = right.clone();
            found[lost].fill(UNWRITTEN);
            assert!(program.right(&found) < all, "tile {lost}");
            found[lost].fill(0);
            let differ = right[lost].iter().filter(|count| **count > 0).count();
            let is_found = 2 * differ >= right[lost].len();
            assert_eq!(program.right(&found) < all, is_found, "tile {lost}");
            // A point at the border is none.
            found[lost].clone_from(&right[lost]);
            found[lost][5] += 1;
            assert_eq!(program.right(&found), all, "tile {lost}");
        }
    }
}
