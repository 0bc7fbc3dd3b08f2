//! Numbers of which matrices are made, and their product of a vendor's quality: `matrixmultiply`.
#![allow(unsafe_code)] // the product is a function of pointers

use std::fmt;
use std::ops::{AddAssign, Div, Mul, Sub, SubAssign};

use bytemuck::Pod;

/// A matrix to be read, or a part of one: its numbers from the first to the last of it, and how far
/// apart neighbours in a column and in a row are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MatrixView<'a, T> {
    numbers: &'a [T],
    rows: usize,
    columns: usize,
    row_step: usize,
    column_step: usize,
}

impl<'a, T> MatrixView<'a, T> {
    /// Rows and columns of a matrix that is stored by rows, each `step` after the one above.
    pub(crate) fn new(numbers: &'a [T], rows: usize, columns: usize, step: usize) -> Self {
        let part = MatrixView {
            numbers,
            rows,
            columns,
            row_step: step,
            column_step: 1,
        };
        assert!(columns <= step && part.reach() <= numbers.len());
        part
    }

    /// The part with rows and columns exchanged.
    pub(crate) fn transposed(self) -> Self {
        MatrixView {
            rows: self.columns,
            columns: self.rows,
            row_step: self.column_step,
            column_step: self.row_step,
            ..self
        }
    }

    /// How many numbers lie from its first to its last.
    fn reach(&self) -> usize {
        if self.rows == 0 || self.columns == 0 {
            return 0;
        }
        (self.rows - 1) * self.row_step + (self.columns - 1) * self.column_step + 1
    }
}

/// f32 or f64.
pub(crate) trait Real:
    Pod
    + PartialOrd
    + fmt::Debug
    + fmt::Display
    + Send
    + Sync
    + Default
    + AddAssign
    + SubAssign
    + Mul<Output = Self>
    + Sub<Output = Self>
    + Div<Output = Self>
{
    /// The word on the command line.
    const NAME: &'static str;
    /// 1.
    const ONE: Self;
    /// -1.
    const MINUS_ONE: Self;
    /// The largest rounding error of one operation, relative to the result.
    const ROUNDING: f64;

    /// The number nearest to this one.
    fn near(number: f64) -> Self;
    /// The number in double precision.
    fn wide(self) -> f64;
    /// Its square root.
    fn root(self) -> Self;
    /// c += times · a · b, where c is stored by rows, each `step` after the one above.
    fn add_product(
        times: Self,
        a: MatrixView<'_, Self>,
        b: MatrixView<'_, Self>,
        c: &mut [Self],
        step: usize,
    );
}

/// Implements [`Real`] by one of the two products of `matrixmultiply`.
macro_rules! real {
    ($number:ty, $name:literal, $product:path) => {
        impl Real for $number {
            const NAME: &'static str = $name;
            const ONE: Self = 1.0;
            const MINUS_ONE: Self = -1.0;
            const ROUNDING: f64 = <$number>::EPSILON as f64 / 2.0;

            fn near(number: f64) -> Self {
                number as Self
            }

            fn wide(self) -> f64 {
                f64::from(self)
            }

            fn root(self) -> Self {
                self.sqrt()
            }

            fn add_product(
                times: Self,
                a: MatrixView<'_, Self>,
                b: MatrixView<'_, Self>,
                c: &mut [Self],
                step: usize,
            ) {
                let (rows, inner, columns) = (a.rows, a.columns, b.columns);
                assert_eq!(inner, b.rows, "the inner sides differ");
                if rows == 0 || columns == 0 {
                    return;
                }
                assert!(columns <= step && (rows - 1) * step + columns <= c.len());
                // SAFETY: the product reads a at (row < rows) · row_step + (column < inner) ·
                // column_step, all of which lie below `a.reach()`, and `MatrixView::new` has seen
                // that this is not beyond the slice; `transposed` exchanges both factors of both
                // products and leaves the reach as it is. For b in the same way, with `inner` rows
                // as asserted. It reads and writes c at (row < rows) · step + (column < columns),
                // below its length as asserted, and no two places are the same, for columns <=
                // step. c is borrowed mutably, so neither a nor b lies in it. Steps fit into
                // `isize`, for slices do.
                unsafe {
                    $product(
                        rows,
                        inner,
                        columns,
                        times,
                        a.numbers.as_ptr(),
                        a.row_step as isize,
                        a.column_step as isize,
                        b.numbers.as_ptr(),
                        b.row_step as isize,
                        b.column_step as isize,
                        1.0,
                        c.as_mut_ptr(),
                        step as isize,
                        1,
                    );
                }
            }
        }
    };
}

real!(f32, "f32", matrixmultiply::sgemm);
real!(f64, "f64", matrixmultiply::dgemm);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workloads::numbers::Noise;

    fn products_are_those_of_the_textbook<T: Real>() {
        let mut noise = Noise::new(3);
        for [rows, inner, columns] in [[1, 1, 1], [3, 5, 7], [40, 33, 17], [64, 64, 64]] {
            let mut whole =
                |count| -> Vec<T> { (0..count).map(|_| T::near(noise.whole(9))).collect() };
            // Rows of all three are longer than what counts.
            let (a, b) = (whole(rows * 70), whole(columns * 80));
            let before = whole(rows * 90);
            let mut c = before.clone();
            let b_part = MatrixView::new(&b, columns, inner, 80).transposed();
            T::add_product(
                T::MINUS_ONE,
                MatrixView::new(&a, rows, inner, 70),
                b_part,
                &mut c,
                90,
            );
            for (cell, found) in c.iter().enumerate() {
                let (row, column) = (cell / 90, cell % 90);
                let mut want = before[cell];
                if column < columns {
                    for place in 0..inner {
                        want -= a[row * 70 + place] * b[column * 80 + place];
                    }
                }
                assert_eq!(*found, want, "{} {row} {column}", T::NAME);
            }
        }
    }

    #[test]
    fn products_of_both_kinds_of_numbers() {
        products_are_those_of_the_textbook::<f32>();
        products_are_those_of_the_textbook::<f64>();
    }

    #[test]
    #[should_panic(expected = "inner sides differ")]
    fn sides_that_do_not_fit_are_refused() {
        let numbers = [1.0_f32; 6];
        let a = MatrixView::new(&numbers, 2, 3, 3);
        f32::add_product(1.0, a, a, &mut [0.0; 9], 3);
    }
}
