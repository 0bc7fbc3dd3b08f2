//! Routines of cuBLAS, by columns.
#![allow(unsafe_code)] // reads and writes matrices by address

use std::ops::{AddAssign, Div, Mul, Range, SubAssign};

use crate::driver::Use;

/// A number of a matrix.
pub(crate) trait Number:
    Copy + Default + Send + AddAssign + SubAssign + Mul<Output = Self> + Div<Output = Self> + 'static
{
}

impl Number for f32 {}
impl Number for f64 {}

/// A matrix by columns, so many numbers from one to the next.
#[derive(Clone, Copy)]
pub(crate) struct Matrix {
    pub(crate) at: u64,
    pub(crate) rows: usize,
    pub(crate) columns: usize,
    pub(crate) step: usize,
}

impl Matrix {
    /// `None`, if its columns overlap or it is empty.
    pub(crate) fn new(at: u64, [rows, columns, step]: [i32; 3]) -> Option<Matrix> {
        let [rows, columns, step] = [rows, columns, step].map(|n| usize::try_from(n).unwrap_or(0));
        let matrix = Matrix {
            at,
            rows,
            columns,
            step,
        };
        (rows > 0 && columns > 0 && step >= rows).then_some(matrix)
    }

    fn bytes<T>(&self) -> Range<u64> {
        let numbers = self.step * (self.columns - 1) + self.rows;
        self.at..self.at + (numbers * size_of::<T>()) as u64
    }

    pub(crate) fn used<T>(&self, writes: bool) -> Use {
        Use {
            bytes: self.bytes::<T>(),
            writes,
        }
    }

    /// # Safety
    /// The matrix is in memory, of numbers, of which there is one in that place.
    unsafe fn get<T: Number>(&self, row: usize, column: usize) -> T {
        // SAFETY: as the caller promises.
        unsafe {
            (self.at as *const T)
                .add(row + column * self.step)
                .read_unaligned()
        }
    }

    /// # Safety
    /// The matrix is in memory, of numbers, of which there is one in that place.
    unsafe fn set<T: Number>(&self, row: usize, column: usize, number: T) {
        // SAFETY: as the caller promises.
        unsafe {
            (self.at as *mut T)
                .add(row + column * self.step)
                .write_unaligned(number)
        }
    }
}

/// c = by · a · b + with · c, where a and b may be transposed.
///
/// # Safety
/// The matrices are in memory, of numbers; nobody else uses them.
pub(crate) unsafe fn gemm<T: Number>(
    [a, b, c]: [Matrix; 3],
    [a_turned, b_turned]: [bool; 2],
    [by, with]: [T; 2],
) {
    let inner = if a_turned { a.rows } else { a.columns };
    for column in 0..c.columns {
        for row in 0..c.rows {
            let mut sum = T::default();
            for k in 0..inner {
                let (a_at, b_at) = (
                    if a_turned { (k, row) } else { (row, k) },
                    if b_turned { (column, k) } else { (k, column) },
                );
                // SAFETY: the places are in the matrices, whose sides the caller has compared.
                sum += unsafe { a.get::<T>(a_at.0, a_at.1) * b.get::<T>(b_at.0, b_at.1) };
            }
            // SAFETY: the place is in the matrix.
            unsafe {
                let mut new = by * sum;
                new += with * c.get::<T>(row, column);
                c.set(row, column, new);
            }
        }
    }
}

/// The X with uᵀ · X = by · b takes the place of b; u is an upper triangle.
///
/// # Safety
/// The matrices are in memory, of numbers; nobody else uses them.
pub(crate) unsafe fn solve<T: Number>(u: Matrix, b: Matrix, by: T) {
    for column in 0..b.columns {
        for row in 0..b.rows {
            // SAFETY: the places are in the matrices: u has as many rows and columns as b has rows.
            unsafe {
                let mut rest = by * b.get::<T>(row, column);
                for k in 0..row {
                    rest -= u.get::<T>(k, row) * b.get::<T>(k, column);
                }
                b.set(row, column, rest / u.get::<T>(row, row));
            }
        }
    }
}
