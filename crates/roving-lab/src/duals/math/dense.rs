//! Tiles of dense matrices, stored by rows: products, and what a blocked Cholesky factorisation
//! needs.

use super::real::{MatrixView, Real};

/// Below this side, a triangle is solved and factored number by number.
const DIRECT: usize = 24;

/// c += a · b; a has `rows` × `inner` numbers, b has `inner` × `columns`.
pub(crate) fn multiply<T: Real>([rows, columns, inner]: [usize; 3], a: &[T], b: &[T], c: &mut [T]) {
    let (a, b) = (
        MatrixView::new(a, rows, inner, inner),
        MatrixView::new(b, inner, columns, columns),
    );
    T::add_product(T::ONE, a, b, c, columns);
}

/// c -= a · bᵀ; a has `rows` × `inner` numbers, b has `columns` × `inner`.
pub(crate) fn subtract_transposed<T: Real>(
    [rows, columns, inner]: [usize; 3],
    a: &[T],
    b: &[T],
    c: &mut [T],
) {
    let (a, b) = (
        MatrixView::new(a, rows, inner, inner),
        MatrixView::new(b, columns, inner, inner),
    );
    T::add_product(T::MINUS_ONE, a, b.transposed(), c, columns);
}

/// The X with X · lᵀ = a takes the place of a, which has `rows` × `side` numbers; l is a lower
/// triangle.
pub(crate) fn solve_transposed<T: Real>(rows: usize, side: usize, l: &[T], a: &mut [T]) {
    solve_part(rows, side, side, l, a);
}

/// Solves where the rows of both are `step` apart.
fn solve_part<T: Real>(rows: usize, side: usize, step: usize, l: &[T], a: &mut [T]) {
    if rows == 0 {
        return;
    }
    if side <= DIRECT {
        return solve_directly(rows, side, step, l, a);
    }
    // The columns on the left first; their product with what is left below in l is subtracted from
    // those on the right, which are then solved in the same way.
    let left = side / 2;
    solve_part(rows, left, step, l, a);
    let known = columns_of(rows, left, step, a);
    let below = MatrixView::new(&l[left * step..], side - left, left, step).transposed();
    let known = MatrixView::new(&known, rows, left, left);
    T::add_product(T::MINUS_ONE, known, below, &mut a[left..], step);
    solve_part(
        rows,
        side - left,
        step,
        &l[left * step + left..],
        &mut a[left..],
    );
}

/// The first columns of a matrix, by themselves.
fn columns_of<T: Real>(rows: usize, columns: usize, step: usize, a: &[T]) -> Vec<T> {
    let rows = a.chunks(step).take(rows);
    rows.flat_map(|row| &row[..columns]).copied().collect()
}

fn solve_directly<T: Real>(rows: usize, side: usize, step: usize, l: &[T], a: &mut [T]) {
    for row in a.chunks_mut(step).take(rows) {
        for column in 0..side {
            let factors = &l[column * step..][..=column];
            let mut number = row[column];
            for (known, factor) in row[..column].iter().zip(factors) {
                number -= *known * *factor;
            }
            row[column] = number / factors[column];
        }
    }
}

/// The factor L of L · Lᵀ = a takes the place of the lower triangle of a, which is symmetric and
/// positive definite; zeros that of the rest.
pub(crate) fn factor<T: Real>(side: usize, a: &mut [T]) {
    factor_part(side, side, a);
    for (row, numbers) in a.chunks_mut(side).enumerate() {
        numbers[row + 1..].fill(T::default());
    }
}

/// Factors the lower triangle of a part whose rows are `step` apart; the rest means nothing.
fn factor_part<T: Real>(side: usize, step: usize, a: &mut [T]) {
    if side <= DIRECT {
        return factor_directly(side, step, a);
    }
    let (left, right) = (side / 2, side - side / 2);
    factor_part(left, step, a);
    let (above, below) = a.split_at_mut(left * step);
    solve_part(right, left, step, above, below);
    let known = columns_of(right, left, step, below);
    let known = MatrixView::new(&known, right, left, left);
    T::add_product(
        T::MINUS_ONE,
        known,
        known.transposed(),
        &mut below[left..],
        step,
    );
    factor_part(right, step, &mut below[left..]);
}

fn factor_directly<T: Real>(side: usize, step: usize, a: &mut [T]) {
    for row in 0..side {
        let (above, here) = a.split_at_mut(row * step);
        for column in 0..row {
            let factors = &above[column * step..][..=column];
            let mut number = here[column];
            for (known, factor) in here[..column].iter().zip(factors) {
                number -= *known * *factor;
            }
            here[column] = number / factors[column];
        }
        let mut number = here[row];
        for known in &here[..row] {
            number -= *known * *known;
        }
        here[row] = number.root();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workloads::numbers::Noise;

    /// A lower triangle with a diagonal of powers of two, so that nothing is rounded.
    fn triangle<T: Real>(side: usize, noise: &mut Noise) -> Vec<T> {
        let mut l = vec![T::default(); side * side];
        for row in 0..side {
            for column in 0..row {
                l[row * side + column] = T::near(noise.whole(2));
            }
            l[row * side + row] = T::near([1.0, 2.0, 4.0][row % 3]);
        }
        l
    }

    fn exactly<T: Real>() {
        let mut noise = Noise::new(11);
        for side in [1, 2, DIRECT, DIRECT + 1, 64, 100] {
            let l = triangle::<T>(side, &mut noise);
            let mut square = vec![T::default(); side * side];
            let part = MatrixView::new(&l, side, side, side);
            T::add_product(T::ONE, part, part.transposed(), &mut square, side);
            factor(side, &mut square);
            assert_eq!(square, l, "{} of {side}", T::NAME);

            let rows = side / 2 + 1;
            let x: Vec<T> = (0..rows * side).map(|_| T::near(noise.whole(5))).collect();
            let mut a = vec![T::default(); rows * side];
            let part = MatrixView::new(&l, side, side, side).transposed();
            T::add_product(
                T::ONE,
                MatrixView::new(&x, rows, side, side),
                part,
                &mut a,
                side,
            );
            solve_transposed(rows, side, &l, &mut a);
            assert_eq!(a, x, "{} of {rows} × {side}", T::NAME);
        }
    }

    #[test]
    fn factors_and_solutions_are_found_exactly() {
        exactly::<f32>();
        exactly::<f64>();
    }

    #[test]
    fn products_have_their_sides_in_the_right_places() {
        let (a, b) = ([1.0_f64, 2.0], [3.0, 4.0, 5.0, 6.0, 7.0, 8.0]);
        let mut c = [0.0; 3];
        multiply([1, 3, 2], &a, &b, &mut c);
        assert_eq!(c, [15.0, 18.0, 21.0]);
        subtract_transposed([1, 3, 2], &a, &b, &mut c);
        assert_eq!(c, [15.0 - 11.0, 18.0 - 17.0, 21.0 - 23.0]);
    }
}
