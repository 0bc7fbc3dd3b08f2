//! Leaf code for square tiles that are factored, and for the systems that their factors solve.
//! Tiles are stored by rows.

use super::simd::{self, Kernel, add_product};

/// Known rows that are subtracted from another one together.
const TOGETHER: usize = 4;
/// Rows that are solved together.
const ROWS: usize = 8;

/// `to -= times · from`, as far as both reach.
#[inline(always)]
fn subtract_scaled<const FUSED: bool>(to: &mut [f64], times: f64, from: &[f64]) {
    for (to, from) in to.iter_mut().zip(from) {
        *to = add_product::<FUSED>(-times, *from, *to);
    }
}

/// Rows `one` and `other`, which is below it.
#[inline(always)]
fn two_rows(tile: &mut [f64], side: usize, one: usize, other: usize) -> (&[f64], &mut [f64]) {
    let (above, below) = tile.split_at_mut(other * side);
    (&above[one * side..][..side], &mut below[..side])
}

struct Lu<'a> {
    side: usize,
    tile: &'a mut [f64],
}

/// Factors `tile` into L · U without exchanging rows. L has ones on its diagonal, which are not
/// stored; both take the place of the tile.
pub(super) fn lu(side: usize, tile: &mut [f64]) {
    simd::run(Lu { side, tile });
}

impl Kernel for Lu<'_> {
    type Output = ();

    #[inline(always)]
    fn run<const FUSED: bool>(self) {
        let Lu { side, tile } = self;
        for step in 0..side {
            for row in step + 1..side {
                let (pivot, row) = two_rows(tile, side, step, row);
                row[step] /= pivot[step];
                let times = row[step];
                subtract_scaled::<FUSED>(&mut row[step + 1..], times, &pivot[step + 1..]);
            }
        }
    }
}

struct SolveLower<'a> {
    side: usize,
    factors: &'a [f64],
    tile: &'a mut [f64],
}

/// Puts the X with L · X = `tile` in its place, where `factors` come from [`lu`].
pub(super) fn solve_lower(side: usize, factors: &[f64], tile: &mut [f64]) {
    simd::run(SolveLower {
        side,
        factors,
        tile,
    });
}

impl Kernel for SolveLower<'_> {
    type Output = ();

    #[inline(always)]
    fn run<const FUSED: bool>(self) {
        let side = self.side;
        for row in 1..side {
            let (known, rest) = self.tile.split_at_mut(row * side);
            let row_there = &mut rest[..side];
            let factors = &self.factors[row * side..][..row];
            // Four known rows at once, so that the row is loaded and stored a quarter as often.
            let (fours, others) = factors.as_chunks::<TOGETHER>();
            let mut known_fours = known.chunks_exact(TOGETHER * side);
            for (times, known) in fours.iter().zip(&mut known_fours) {
                let known = std::array::from_fn(|place| &known[place * side..][..side]);
                subtract_four::<FUSED>(row_there, times, known);
            }
            let rest = known_fours.remainder().chunks_exact(side);
            for (times, known) in others.iter().zip(rest) {
                subtract_scaled::<FUSED>(row_there, *times, known);
            }
        }
    }
}

/// `to -= times · from` for four rows of `from`.
#[inline(always)]
fn subtract_four<const FUSED: bool>(
    to: &mut [f64],
    times: &[f64; TOGETHER],
    [a, b, c, d]: [&[f64]; TOGETHER],
) {
    let rows = a.iter().zip(b).zip(c.iter().zip(d));
    for (to, ((a, b), (c, d))) in to.iter_mut().zip(rows) {
        let mut sum = *to;
        for (times, from) in times.iter().zip([a, b, c, d]) {
            sum = add_product::<FUSED>(-times, *from, sum);
        }
        *to = sum;
    }
}

struct SolveUpper<'a> {
    side: usize,
    factors: &'a [f64],
    tile: &'a mut [f64],
}

/// Puts the X with X · U = `tile` in its place, where `factors` come from [`lu`].
pub(super) fn solve_upper(side: usize, factors: &[f64], tile: &mut [f64]) {
    simd::run(SolveUpper {
        side,
        factors,
        tile,
    });
}

impl Kernel for SolveUpper<'_> {
    type Output = ();

    /// Rows are independent: some together, so that the divisions of one wait for nobody. Four
    /// numbers of each are solved for before the rest of the row is touched.
    #[inline(always)]
    fn run<const FUSED: bool>(self) {
        let (side, factors) = (self.side, self.factors);
        let fours = side / TOGETHER * TOGETHER;
        for rows in self.tile.chunks_mut(ROWS * side) {
            for first in (0..fours).step_by(TOGETHER) {
                let next = first + TOGETHER;
                for row in rows.chunks_exact_mut(side) {
                    solve_row::<FUSED>(&mut row[..next], first, factors, side);
                    let (times, rest) = row[first..].split_at_mut(TOGETHER);
                    let times = std::array::from_fn(|place| times[place]);
                    let known = std::array::from_fn(|place| {
                        &factors[(first + place) * side + next..][..side - next]
                    });
                    subtract_four::<FUSED>(rest, &times, known);
                }
            }
            for row in rows.chunks_exact_mut(side) {
                solve_row::<FUSED>(row, fours, factors, side);
            }
        }
    }
}

/// Solves for the numbers of `row` from place `first` on, which earlier ones have been subtracted
/// from.
#[inline(always)]
fn solve_row<const FUSED: bool>(row: &mut [f64], first: usize, factors: &[f64], side: usize) {
    for step in first..row.len() {
        let known = &factors[step * side..][..row.len()];
        row[step] /= known[step];
        let times = row[step];
        subtract_scaled::<FUSED>(&mut row[step + 1..], times, &known[step + 1..]);
    }
}

/// The side of the tiles of [`cholesky`] and [`solve_transposed`], and how many numbers they have.
const SMALL: usize = 16;
const SMALL_SIZE: usize = SMALL * SMALL;

struct Factor<'a>(&'a mut [f64; SMALL_SIZE]);

/// The L with L · Lᵀ = `tile` takes the place of its lower triangle. Above the diagonal stands Lᵀ.
pub(super) fn cholesky(tile: &mut [f64; SMALL_SIZE]) {
    simd::run(Factor(tile));
}

impl Kernel for Factor<'_> {
    type Output = ();

    /// By rows of Lᵀ, so that the inner loop is along a row.
    #[inline(always)]
    fn run<const FUSED: bool>(self) {
        let tile = self.0;
        for step in 0..SMALL {
            let root = tile[step * SMALL + step].sqrt();
            let row = &mut tile[step * SMALL..][..SMALL];
            row[step] = root;
            row[step + 1..]
                .iter_mut()
                .for_each(|number| *number /= root);
            for below in step + 1..SMALL {
                let (known, row) = two_rows(&mut tile[..], SMALL, step, below);
                subtract_scaled::<FUSED>(&mut row[below..], known[below], &known[below..]);
                row[step] = known[below];
            }
        }
    }
}

struct SolveTransposed<'a> {
    factor: &'a [f64; SMALL_SIZE],
    tile: &'a mut [f64; SMALL_SIZE],
}

/// Puts the X with X · Lᵀ = `tile` in its place, where `factor` comes from [`cholesky`].
pub(super) fn solve_transposed(factor: &[f64; SMALL_SIZE], tile: &mut [f64; SMALL_SIZE]) {
    simd::run(SolveTransposed { factor, tile });
}

impl Kernel for SolveTransposed<'_> {
    type Output = ();

    /// Lᵀ is an upper triangle like U, and stands above the diagonal.
    #[inline(always)]
    fn run<const FUSED: bool>(self) {
        let upper = SolveUpper {
            side: SMALL,
            factors: self.factor,
            tile: self.tile,
        };
        upper.run::<FUSED>();
    }
}

#[cfg(test)]
mod tests {
    use super::super::numbers::Noise;
    use super::*;

    /// Numbers without a pattern, with a heavy diagonal.
    fn tile(side: usize, seed: u64) -> Vec<f64> {
        let mut tile = Noise::new(seed).units(side * side);
        for place in 0..side {
            tile[place * (side + 1)] += side as f64;
        }
        tile
    }

    /// The plain product, where `keep` says which numbers of the factors count.
    fn product(
        side: usize,
        a: impl Fn(usize, usize) -> f64,
        b: impl Fn(usize, usize) -> f64,
    ) -> Vec<f64> {
        let cell = |place| {
            let (row, column) = (place / side, place % side);
            (0..side)
                .map(|inner| a(row, inner) * b(inner, column))
                .sum()
        };
        (0..side * side).map(cell).collect()
    }

    fn assert_near(found: &[f64], wanted: &[f64]) {
        for (found, wanted) in found.iter().zip(wanted) {
            assert!((found - wanted).abs() < 1e-11, "{found} {wanted}");
        }
    }

    fn lower(factors: &[f64], side: usize) -> impl Fn(usize, usize) -> f64 {
        move |row, column| match row.cmp(&column) {
            std::cmp::Ordering::Less => 0.0,
            std::cmp::Ordering::Equal => 1.0,
            std::cmp::Ordering::Greater => factors[row * side + column],
        }
    }

    fn upper(factors: &[f64], side: usize) -> impl Fn(usize, usize) -> f64 {
        move |row, column| {
            if row <= column {
                factors[row * side + column]
            } else {
                0.0
            }
        }
    }

    #[test]
    fn a_symmetric_tile_has_a_root_that_solves_its_systems() {
        let mut before = tile(SMALL, 3);
        for row in 0..SMALL {
            for column in 0..row {
                before[column * SMALL + row] = before[row * SMALL + column];
            }
        }
        let mut factor: [f64; SMALL_SIZE] = before[..].try_into().unwrap();
        cholesky(&mut factor);
        let upper = |row, column| {
            if row <= column {
                factor[row * SMALL + column]
            } else {
                0.0
            }
        };
        let lower = |row, column| {
            if row >= column {
                factor[row * SMALL + column]
            } else {
                0.0
            }
        };
        assert_near(&product(SMALL, lower, upper), &before);
        let right = tile(SMALL, 4);
        let mut x: [f64; SMALL_SIZE] = right[..].try_into().unwrap();
        solve_transposed(&factor, &mut x);
        let at = |row: usize, column: usize| x[row * SMALL + column];
        assert_near(&product(SMALL, at, upper), &right);
    }

    #[test]
    fn factors_multiply_to_the_tile_and_solve_its_systems() {
        for side in [1, 2, 5, 16, 33] {
            let (before, right) = (tile(side, 1), tile(side, 2));
            let mut factors = before.clone();
            lu(side, &mut factors);
            assert_near(
                &product(side, lower(&factors, side), upper(&factors, side)),
                &before,
            );
            let mut x = right.clone();
            solve_lower(side, &factors, &mut x);
            let at = |row: usize, column: usize| x[row * side + column];
            assert_near(&product(side, lower(&factors, side), at), &right);
            let mut x = right.clone();
            solve_upper(side, &factors, &mut x);
            let at = |row: usize, column: usize| x[row * side + column];
            assert_near(&product(side, at, upper(&factors, side)), &right);
        }
    }
}
