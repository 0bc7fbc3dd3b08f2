//! `cholesky --device`: L · Lᵀ = A for a dense symmetric matrix in tiles. Each tile is a task of its own, which waits for
//! the tiles that it reads, and otherwise for nobody.

use std::time::{Duration, Instant};

use roving::task::{Scope, Task};

use super::catalogue::{Entry, Precision, Square};
use super::event::Event;
use super::math::dense;
use super::steps::{self, TileTasks};
use super::tiles::{Buffers, Tiles};
use super::{Place, Program, Ran};
use crate::input::{BadInput, Failure};
use crate::workloads::numbers::Noise;
use crate::workloads::{Answer, Kind};

/// What there is to know about it.
pub(super) const ENTRY: Entry = Entry {
    kind: Kind {
        name: "cholesky",
        about: "L · Lᵀ = A for a dense matrix in tiles, each step of each a task with two sides",
        inputs: &[
            ("1024", "1,024 × 1,024 of f32 in tiles of 256"),
            ("512,tile=64", "512 × 512 in tiles of 64"),
            ("2048,tile=256", "2,048 × 2,048 in tiles of 256"),
            ("16384,tile=1024", "16,384 × 16,384, 1 GiB"),
        ],
        params: "the side, from 1 to 32768; tile=SIDE, a divisor of it; numbers=f32 or f64",
        items: "multiplications",
        figures: &["right"],
        serial: "the CPU sides alone, by the product of `matrixmultiply`",
    },
    parse,
};

/// L.
struct Cholesky<T> {
    across: usize,
    side: usize,
    a: Tiles<T>,
    /// What the serial run found.
    expected: Tiles<T>,
}

fn parse(input: &str) -> Result<Box<dyn Program>, BadInput> {
    // The matrix, and what the serial run and the runs hold.
    let square = Square::parse("cholesky", input, 4)?;
    Ok(match square.numbers {
        Precision::Single => Box::new(Cholesky::<f32>::new(&square)),
        Precision::Double => Box::new(Cholesky::<f64>::new(&square)),
    })
}

/// What the tasks of one run share.
struct Run<T: TileTasks> {
    tiles: Buffers<T>,
    /// Whether each tile is what it is in L.
    there: Vec<Event>,
    across: usize,
    side: usize,
}

impl<T: TileTasks> Run<T> {
    /// Whether the tile in this row and column is there.
    fn there(&self, row: usize, column: usize) -> &Event {
        &self.there[row * self.across + column]
    }

    /// The tile in this row and column, which is not above the diagonal.
    fn tile<'env>(
        &'env self,
        place: &'env Place<'env>,
        (row, column): (usize, usize),
    ) -> impl Task<()> + 'env {
        async move {
            let here = self.tiles.at(row, column);
            for before in 0..column {
                self.there(row, before).wait().await;
                self.there(column, before).wait().await;
                let (left, above) = (self.tiles.at(row, before), self.tiles.at(column, before));
                steps::subtract_transposed(place, self.side, left, above, here).await;
            }
            if row == column {
                steps::factor(place, self.side, here).await;
            } else {
                self.there(column, column).wait().await;
                let diagonal = self.tiles.at(column, column);
                steps::solve_transposed(place, self.side, diagonal, here).await;
            }
            self.there(row, column).happen();
        }
    }
}

/// The places that are not above the diagonal, column by column: so each task comes after those that it waits for.
fn places(across: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..across).flat_map(move |column| (column..across).map(move |row| (row, column)))
}

impl<T: TileTasks> Cholesky<T> {
    fn new(square: &Square) -> Self {
        Cholesky {
            across: square.across,
            side: square.side,
            a: Tiles::zeros(0, 0),
            expected: Tiles::zeros(0, 0),
        }
    }

    fn order(&self) -> f64 {
        (self.across * self.side) as f64
    }

    /// A's diagonal is above the sum of the rest of its row, so the factor's condition is small, and with n rows each number of either factor is
    /// within a few n ROUNDING of its true value, counted by the greatest number, the root of the diagonal.
    fn bound(&self) -> f64 {
        8.0 * self.order() * T::ROUNDING * (2.0 * self.order()).sqrt()
    }
}

impl<T: TileTasks> Program for Cholesky<T> {
    fn input(&self) -> String {
        let (side, tile) = (self.across * self.side, self.side);
        format!("{side},tile={tile},numbers={}", T::NAME)
    }

    fn prepare(&mut self) -> Result<(), Failure> {
        let order = self.order();
        let number = |row: usize, column: usize| {
            let (above, below) = (row.min(column) as u64, row.max(column) as u64);
            let unit = Noise::new(below * (below + 1) / 2 + above + 1).unit();
            if row == column {
                1.5 * order + unit
            } else {
                unit
            }
        };
        self.a = Tiles::new(self.across, self.side, number);
        for (row, column) in places(self.across).filter(|(row, column)| row != column) {
            // What is above the diagonal is neither read nor written.
            self.a.at_mut(column, row).fill(T::default());
        }
        Ok(())
    }

    fn serial(&mut self) -> Duration {
        let (across, side) = (self.across, self.side);
        let mut l = self.a.clone();
        let start = Instant::now();
        for (row, column) in places(across) {
            let mut here = std::mem::take(l.at_mut(row, column));
            for before in 0..column {
                let left = l.at(row, before);
                let above = if row == column {
                    left
                } else {
                    l.at(column, before)
                };
                dense::subtract_transposed([side; 3], left, above, &mut here);
            }
            if row == column {
                dense::factor(side, &mut here);
            } else {
                dense::solve_transposed(side, side, l.at(column, column), &mut here);
            }
            *l.at_mut(row, column) = here;
        }
        let time = start.elapsed();
        self.expected = l;
        time
    }

    fn run(&self, place: &Place<'_>) -> Result<Ran, Failure> {
        let run = Run {
            tiles: self.a.buffers(),
            there: (0..self.across * self.across)
                .map(|_| Event::default())
                .collect(),
            across: self.across,
            side: self.side,
        };
        let start = Instant::now();
        place.pool.run(|scope: Scope<'_>| {
            let run = &run;
            async move {
                let tasks: Vec<_> = places(run.across)
                    .map(|at| scope.spawn(run.tile(place, at)))
                    .collect();
                for task in tasks {
                    task.await;
                }
            }
        });
        let found = run.tiles.collect(self.side);
        let time = start.elapsed();
        let right = found.near(&self.expected, self.bound());
        Ok(Ran {
            time,
            answer: Answer([right, 0, 0]),
        })
    }

    fn expected(&self) -> Answer {
        Answer([self.expected.len(), 0, 0])
    }

    fn work(&self) -> f64 {
        places(self.across)
            .map(|(row, column)| {
                let side = self.side as f64;
                let last = if row == column {
                    side.powi(3) / 3.0
                } else {
                    side.powi(3)
                };
                2.0 * side.powi(3) * column as f64 + last
            })
            .sum()
    }

    fn tasks(&self) -> u64 {
        places(self.across)
            .map(|(_, column)| column as u64 + 1)
            .sum()
    }

    fn items(&self) -> u64 {
        (self.work() / 2.0) as u64
    }
}
