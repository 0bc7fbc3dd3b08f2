//! Leaf code for small dense matrices: products of square tiles that are stored by rows.

use super::simd::{self, Kernel, add_product};

/// Rows and columns of the piece of the result that is kept in registers.
const ROWS: usize = 4;
const COLUMNS: usize = 8;

/// The effect of a product on the numbers that are there.
const REPLACE: u8 = 0;
const SUBTRACT: u8 = 1;

/// `c = a · b` or `c -= a · b`.
struct DenseProduct<'a, const MODE: u8> {
    side: usize,
    c: &'a mut [f64],
    a: &'a [f64],
    b: &'a [f64],
}

/// `c = a · b` for tiles of `side` × `side`.
pub(super) fn replace(side: usize, c: &mut [f64], a: &[f64], b: &[f64]) {
    simd::run(DenseProduct::<REPLACE> { side, c, a, b });
}

/// `c -= a · b` for tiles of `side` × `side`.
pub(super) fn subtract(side: usize, c: &mut [f64], a: &[f64], b: &[f64]) {
    simd::run(DenseProduct::<SUBTRACT> { side, c, a, b });
}

/// The side of the tiles of [`subtract_transposed`], and how many numbers they have.
const SMALL: usize = 16;
const SMALL_SIZE: usize = SMALL * SMALL;

/// `c -= a · bᵀ` for small tiles.
pub(super) fn subtract_transposed(
    c: &mut [f64; SMALL_SIZE],
    a: &[f64; SMALL_SIZE],
    b: &[f64; SMALL_SIZE],
) {
    simd::run(Transposed { c, a, b });
}

struct Transposed<'a> {
    c: &'a mut [f64; SMALL_SIZE],
    a: &'a [f64; SMALL_SIZE],
    b: &'a [f64; SMALL_SIZE],
}

impl Kernel for Transposed<'_> {
    type Output = ();

    #[inline(always)]
    fn run<const FUSED: bool>(self) {
        let mut b = [0.0; SMALL_SIZE];
        for (column, numbers) in self.b.chunks_exact(SMALL).enumerate() {
            for (row, number) in numbers.iter().enumerate() {
                b[row * SMALL + column] = *number;
            }
        }
        let product = DenseProduct::<SUBTRACT> {
            side: SMALL,
            c: self.c,
            a: self.a,
            b: &b,
        };
        product.run::<FUSED>();
    }
}

impl<const MODE: u8> Kernel for DenseProduct<'_, MODE> {
    type Output = ();

    #[inline(always)]
    fn run<const FUSED: bool>(mut self) {
        let side = self.side;
        let size = side * side;
        assert!(self.c.len() == size && self.a.len() == size && self.b.len() == size);
        let mut column = 0;
        while column + COLUMNS <= side {
            self.columns::<FUSED, COLUMNS>(column);
            column += COLUMNS;
        }
        if column + COLUMNS / 2 <= side {
            self.columns::<FUSED, { COLUMNS / 2 }>(column);
            column += COLUMNS / 2;
        }
        for column in column..side {
            self.columns::<FUSED, 1>(column);
        }
    }
}

impl<const MODE: u8> DenseProduct<'_, MODE> {
    /// All rows of `WIDTH` columns.
    #[inline(always)]
    fn columns<const FUSED: bool, const WIDTH: usize>(&mut self, column: usize) {
        let mut row = 0;
        while row + ROWS <= self.side {
            self.piece::<FUSED, ROWS, WIDTH>(row, column);
            row += ROWS;
        }
        for row in row..self.side {
            self.piece::<FUSED, 1, WIDTH>(row, column);
        }
    }

    /// `HEIGHT` × `WIDTH` numbers of the result.
    #[inline(always)]
    fn piece<const FUSED: bool, const HEIGHT: usize, const WIDTH: usize>(
        &mut self,
        row: usize,
        column: usize,
    ) {
        let side = self.side;
        let a_rows: [&[f64]; HEIGHT] =
            std::array::from_fn(|below| &self.a[(row + below) * side..][..side]);
        let mut sums = [[0.0; WIDTH]; HEIGHT];
        for (inner, b_row) in self.b.chunks_exact(side).enumerate() {
            let b_row = &b_row[column..column + WIDTH];
            for (sums, a_row) in sums.iter_mut().zip(a_rows) {
                let a = a_row[inner];
                for (sum, b) in sums.iter_mut().zip(b_row) {
                    *sum = add_product::<FUSED>(a, *b, *sum);
                }
            }
        }
        for (below, sums) in sums.iter().enumerate() {
            let c_row = &mut self.c[(row + below) * side + column..][..WIDTH];
            for (c, sum) in c_row.iter_mut().zip(sums) {
                *c = match MODE {
                    REPLACE => *sum,
                    _ => *c - sum,
                };
            }
        }
    }
}

/// Where row and column stand in a matrix of this side that is stored quadrant by quadrant, down to
/// tiles that are stored row by row.
#[cfg(test)]
pub(super) fn place(tile: usize, side: usize, row: usize, column: usize) -> usize {
    if side <= tile {
        return row * tile + column;
    }
    let half = side / 2;
    let quadrant = row / half * 2 + column / half;
    quadrant * half * half + place(tile, half, row % half, column % half)
}

#[cfg(test)]
mod tests {
    use super::super::numbers::Noise;
    use super::*;

    #[test]
    fn a_transposed_factor_is_one() {
        let mut noise = Noise::new(6);
        let mut whole = || -> [f64; SMALL_SIZE] { std::array::from_fn(|_| noise.whole(9)) };
        let (a, b, c) = (whole(), whole(), whole());
        let mut found = c;
        subtract_transposed(&mut found, &a, &b);
        for cell in 0..SMALL_SIZE {
            let (row, column) = (cell / SMALL, cell % SMALL);
            let products = (0..SMALL).map(|i| a[row * SMALL + i] * b[column * SMALL + i]);
            assert_eq!(found[cell], c[cell] - products.sum::<f64>(), "cell {cell}");
        }
    }

    #[test]
    fn products_are_those_of_the_textbook_for_any_side() {
        let mut noise = Noise::new(5);
        for side in [1, 2, 3, 4, 7, 8, 12, 15, 16, 25, 64] {
            let mut whole = || (0..side * side).map(|_| noise.whole(9)).collect::<Vec<_>>();
            let (a, b, c) = (whole(), whole(), whole());
            let (mut set, mut minus) = (c.clone(), c.clone());
            replace(side, &mut set, &a, &b);
            subtract(side, &mut minus, &a, &b);
            for cell in 0..side * side {
                let (row, column) = (cell / side, cell % side);
                let products =
                    (0..side).map(|inner| a[row * side + inner] * b[inner * side + column]);
                let sum: f64 = products.sum();
                assert_eq!(set[cell], sum, "side {side}, cell {cell}");
                assert_eq!(minus[cell], c[cell] - sum, "side {side}, cell {cell}");
            }
        }
    }
}
