//! `cholesky --device`: L · Lᵀ = A for a dense symmetric matrix in tiles. Each tile is a task of
//! its own, which waits for the tiles that it reads, and otherwise for nobody.

use std::cmp::Ordering;
use std::time::{Duration, Instant};

use roving::task::{Scope, Task};

use super::event::OnceEvent;
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
    /// L, of which A was made.
    expected: Tiles<T>,
}

fn parse(input: &str) -> Result<Box<dyn DualProgram>, BadInput> {
    // The matrix, and what the serial run and the runs hold.
    let square = Square::parse("cholesky", input, 4)?;
    Ok(match square.numbers {
        Precision::Single => Box::new(Cholesky::<f32>::new(&square)),
        Precision::Double => Box::new(Cholesky::<f64>::new(&square)),
    })
}

/// The state that the tasks of one run share.
struct Run<T: TileTasks> {
    tiles: Buffers<T>,
    /// Whether each tile is what it is in L.
    there: Vec<OnceEvent>,
    across: usize,
    side: usize,
}

impl<T: TileTasks> Run<T> {
    /// Whether the tile in this row and column is there.
    fn there(&self, row: usize, column: usize) -> &OnceEvent {
        &self.there[row * self.across + column]
    }

    /// The tile in this row and column, which is not above the diagonal.
    fn tile<'env>(
        &'env self,
        place: &'env PoolAndDevices<'env>,
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

/// The places that are not above the diagonal, column by column: so each task comes after those
/// that it waits for.
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

    fn order(&self) -> usize {
        self.across * self.side
    }

    /// L's diagonal: a power of two of about 4 √n, so that L's condition is small and quotients are
    /// exact.
    fn diagonal(&self) -> f64 {
        let most = 4.0 * (self.order() as f64).sqrt();
        (1_u64 << most.log2().ceil() as u32) as f64
    }

    /// L in this row and column: 1 or -1 below the diagonal, as in a Walsh matrix.
    fn number(&self, row: usize, column: usize) -> f64 {
        match row.cmp(&column) {
            Ordering::Less => 0.0,
            Ordering::Equal => self.diagonal(),
            Ordering::Greater => sign(row & column),
        }
    }

    /// A = L · Lᵀ in this row and column, not above the diagonal. All are whole numbers that each
    /// kind of numbers has.
    fn product(&self, row: usize, column: usize) -> f64 {
        sum_of_signs(row ^ column, column) + self.diagonal() * self.number(row, column)
    }

    /// How far from L a number may be. By the text-book nothing is rounded; but a library may
    /// multiply by the inverse of a tile. What an update of a tile that was left out changes is
    /// more than that: some number by SIDE or more before it is divided by the diagonal.
    fn bound() -> f64 {
        T::ROUNDING * f64::from(1 << 18)
    }

    /// The factor on this thread. `update` subtracts the product of the first and the transposed
    /// second from the third.
    fn factored(&self, update: impl Fn(&[T], &[T], &mut [T])) -> Tiles<T> {
        let side = self.side;
        let mut l = self.a.clone();
        for (row, column) in places(self.across) {
            let mut here = std::mem::take(l.at_mut(row, column));
            for before in 0..column {
                let left = l.at(row, before);
                let above = if row == column {
                    left
                } else {
                    l.at(column, before)
                };
                update(left, above, &mut here);
            }
            if row == column {
                dense::factor(side, &mut here);
            } else {
                dense::solve_transposed(side, side, l.at(column, column), &mut here);
            }
            *l.at_mut(row, column) = here;
        }
        l
    }
}

/// 1, or -1 where an odd number of bits is set.
fn sign(bits: usize) -> f64 {
    if bits.count_ones().is_multiple_of(2) {
        1.0
    } else {
        -1.0
    }
}

/// The sum of `sign(mask & k)` for all k below `end`.
fn sum_of_signs(mask: usize, end: usize) -> f64 {
    if mask == 0 {
        return end as f64;
    }
    // The lowest bit of the mask makes two halves of each such block, which add up to zero.
    let half = 1 << mask.trailing_zeros();
    let rest = end % (2 * half);
    sign(mask & (end - rest)) * rest.min(2 * half - rest) as f64
}

impl<T: TileTasks> DualProgram for Cholesky<T> {
    fn input(&self) -> String {
        let (side, tile) = (self.across * self.side, self.side);
        format!("{side},tile={tile},numbers={}", T::NAME)
    }

    fn prepare(&mut self) -> Result<(), CommandFailure> {
        let (across, side) = (self.across, self.side);
        self.expected = Tiles::new(across, side, |row, column| self.number(row, column));
        self.a = Tiles::new(across, side, |row, column| {
            self.product(row.max(column), row.min(column))
        });
        for (row, column) in places(across).filter(|(row, column)| row != column) {
            // What is above the diagonal is neither read nor written.
            self.a.at_mut(column, row).fill(T::default());
        }
        Ok(())
    }

    fn serial(&mut self) -> Duration {
        let sides = [self.side; 3];
        let start = Instant::now();
        let l = self.factored(|left, above, here| {
            dense::subtract_transposed(sides, left, above, here);
        });
        let time = start.elapsed();
        debug_assert_eq!(l, self.expected, "nothing is rounded");
        time
    }

    fn run(&self, place: &PoolAndDevices<'_>) -> Result<TimedAnswer, CommandFailure> {
        let run = Run {
            tiles: self.a.buffers(),
            there: (0..self.across * self.across)
                .map(|_| OnceEvent::default())
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
        let right = found.near(&self.expected, Self::bound());
        Ok(TimedAnswer {
            time,
            answer: RunAnswer([right, 0, 0]),
        })
    }

    fn expected(&self) -> RunAnswer {
        RunAnswer([self.expected.len(), 0, 0])
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

#[cfg(test)]
mod tests {
    use super::*;

    fn prepared<T: TileTasks>(across: usize, side: usize) -> Cholesky<T> {
        let mut program = Cholesky::new(&Square {
            across,
            side,
            numbers: Precision::Single,
        });
        program.prepare().unwrap();
        program
    }

    #[test]
    fn the_matrix_is_the_product_of_the_factor_with_itself() {
        for order in [1, 2, 3, 7, 16, 45] {
            let program = prepared::<f64>(1, order);
            for row in 0..order {
                for column in 0..=row {
                    let both = |k| program.number(row, k) * program.number(column, k);
                    let sum: f64 = (0..order).map(both).sum();
                    assert_eq!(program.product(row, column), sum, "{order} {row} {column}");
                }
            }
        }
    }

    /// The error of a run that leaves out some of the updates.
    fn right<T: TileTasks>(program: &Cholesky<T>, leaves_out: impl Fn(usize) -> bool) -> u64 {
        let number = std::cell::Cell::new(0);
        let found = program.factored(|left, above, here| {
            if !leaves_out(number.replace(number.get() + 1)) {
                dense::subtract_transposed([program.side; 3], left, above, here);
            }
        });
        found.near(&program.expected, Cholesky::<T>::bound())
    }

    fn updates_that_are_left_out_are_found<T: TileTasks>() {
        for (across, side) in [(2, 160), (3, 40), (4, 64), (5, 17), (9, 1), (16, 32)] {
            let program = prepared::<T>(across, side);
            let all = program.expected.len();
            assert_eq!(right(&program, |_| false), all, "{across} × {side}");
            assert!(right(&program, |_| true) < all, "{across} × {side}");
            let updates: usize = places(across).map(|(_, column)| column).sum();
            for one in (0..updates).step_by(1 + updates / 8) {
                let found = right(&program, |number| number == one);
                assert!(found < all, "{across} × {side} without update {one}");
            }
        }
    }

    #[test]
    fn updates_that_are_left_out_are_found_with_both_kinds_of_numbers() {
        updates_that_are_left_out_are_found::<f32>();
        updates_that_are_left_out_are_found::<f64>();
    }

    #[test]
    fn the_bound_is_small_at_all_sizes() {
        for (across, side) in [(64, 512), (16, 1024), (64, 1), (2, 16_384)] {
            let program = Cholesky::<f32>::new(&Square {
                across,
                side,
                numbers: Precision::Single,
            });
            let change = side as f64 / program.diagonal();
            assert!(change > 1.9 * Cholesky::<f32>::bound(), "{across} × {side}");
            let greatest = program.diagonal().powi(2) + program.order() as f64;
            assert!(greatest <= f64::from(1 << 24), "{across} × {side}");
        }
    }
}
