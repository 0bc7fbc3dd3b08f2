//! `matmul --device`: the product of two square matrices in tiles. Whole numbers that are small
//! enough to be added exactly in any order, so that a result is right or wrong, never near.

use std::time::{Duration, Instant};

use roving::task::{Scope, Task};

use super::math::dense;
use super::program::{DualEntry, DualProgram, PoolAndDevices};
use super::square::{Precision, Square};
use super::steps::{self, TileTasks};
use super::tiles::{Buffers, Tiles};
use crate::io::input::{BadInput, CommandFailure};
use crate::workloads::{RunAnswer, TimedAnswer, WorkloadKind};

/// The entry in the catalogue.
pub(super) const ENTRY: DualEntry = DualEntry {
    kind: WorkloadKind {
        name: "matmul",
        about: "matrix product in tiles, each step of each a task with two sides",
        inputs: &[
            ("1024", "1,024 × 1,024 of f32 in tiles of 256"),
            ("512,tile=64", "512 × 512 in tiles of 64"),
            ("2048,tile=512", "2,048 × 2,048 in tiles of 512"),
            ("16384,tile=4096", "16,384 × 16,384, three times 1 GiB"),
        ],
        params: "the side, from 1 to 32768; tile=SIDE, a divisor of it; numbers=f32 or f64",
        items: "multiplications",
        figures: &["checksum"],
        serial: "the CPU sides alone, by the product of `matrixmultiply`",
    },
    parse,
};

/// c = a · b.
struct Matmul<T> {
    across: usize,
    side: usize,
    a: Tiles<T>,
    b: Tiles<T>,
    /// The answer of the serial run.
    expected: RunAnswer,
}

fn parse(input: &str) -> Result<Box<dyn DualProgram>, BadInput> {
    // Both factors, the product, and what the serial run and the runs hold.
    let square = Square::parse("matmul", input, 7)?;
    Ok(match square.numbers {
        Precision::Single => Box::new(Matmul::<f32>::new(&square)),
        Precision::Double => Box::new(Matmul::<f64>::new(&square)),
    })
}

impl<T: TileTasks> Matmul<T> {
    fn new(square: &Square) -> Self {
        Matmul {
            across: square.across,
            side: square.side,
            a: Tiles::zeros(0, 0),
            b: Tiles::zeros(0, 0),
            expected: RunAnswer::default(),
        }
    }

    /// The tile in this row and column of the product.
    fn tile<'env>(
        &self,
        place: &'env PoolAndDevices<'env>,
        [a, b, c]: [&'env Buffers<T>; 3],
        (row, column): (usize, usize),
    ) -> impl Task<()> + 'env + use<'env, T> {
        let (across, side) = (self.across, self.side);
        async move {
            for inner in 0..across {
                let (left, right) = (a.at(row, inner), b.at(inner, column));
                steps::multiply(place, side, left, right, c.at(row, column)).await;
            }
        }
    }
}

impl<T: TileTasks> DualProgram for Matmul<T> {
    fn input(&self) -> String {
        let (side, tile) = (self.across * self.side, self.side);
        format!("{side},tile={tile},numbers={}", T::NAME)
    }

    fn prepare(&mut self) -> Result<(), CommandFailure> {
        self.a = Tiles::whole(self.across, self.side, 1);
        self.b = Tiles::whole(self.across, self.side, 2);
        Ok(())
    }

    fn serial(&mut self) -> Duration {
        let mut c = Tiles::zeros(self.across, self.side);
        let start = Instant::now();
        for row in 0..self.across {
            for column in 0..self.across {
                for inner in 0..self.across {
                    let (a, b) = (self.a.at(row, inner), self.b.at(inner, column));
                    dense::multiply([self.side; 3], a, b, c.at_mut(row, column));
                }
            }
        }
        let time = start.elapsed();
        self.expected = c.digest();
        time
    }

    fn run(&self, place: &PoolAndDevices<'_>) -> Result<TimedAnswer, CommandFailure> {
        let zeros = Tiles::zeros(self.across, self.side);
        let all = [&self.a, &self.b, &zeros].map(Tiles::buffers);
        let start = Instant::now();
        place.pool.run(|scope: Scope<'_>| {
            let parts = all.each_ref();
            async move {
                let places =
                    (0..self.across * self.across).map(|n| (n / self.across, n % self.across));
                let tasks: Vec<_> = places
                    .map(|at| scope.spawn(self.tile(place, parts, at)))
                    .collect();
                for task in tasks {
                    task.await;
                }
            }
        });
        let [_, _, c] = all;
        let c = c.collect(self.side);
        Ok(TimedAnswer {
            time: start.elapsed(),
            answer: c.digest(),
        })
    }

    fn expected(&self) -> RunAnswer {
        self.expected
    }

    fn work(&self) -> f64 {
        2.0 * (self.across as f64 * self.side as f64).powi(3)
    }

    fn tasks(&self) -> u64 {
        (self.across as u64).pow(3)
    }

    fn items(&self) -> u64 {
        ((self.across * self.side) as u64).pow(3)
    }
}
