//! Strassen's method, in Winograd's form, for one level: quadrants, the seven pairs of factors, and
//! the result.

use super::super::dense;
use super::buffers::{Buffer, Buffers};
use crate::forms::fork_join::ForkJoin;

/// The side of a tile.
pub(super) const TILE: usize = 64;
/// From this side on the four quadrants of a result are put together in parallel.
pub(super) const PUT_TOGETHER_MIN: usize = 256;

/// A sum of quadrants: which of them, and their signs.
pub(super) type Terms = &'static [(usize, f64)];

/// The left factor of each of the seven products, from the quadrants of the left matrix: above
/// left, above right, below left, below right.
pub(super) const LEFT: [Terms; 7] = [
    &[(0, 1.0)],
    &[(1, 1.0)],
    &[(1, 1.0), (2, -1.0), (3, -1.0), (0, 1.0)],
    &[(3, 1.0)],
    &[(2, 1.0), (3, 1.0)],
    &[(2, 1.0), (3, 1.0), (0, -1.0)],
    &[(0, 1.0), (2, -1.0)],
];
/// The right factors, from the quadrants of the right matrix.
pub(super) const RIGHT: [Terms; 7] = [
    &[(0, 1.0)],
    &[(2, 1.0)],
    &[(3, 1.0)],
    &[(3, 1.0), (1, -1.0), (0, 1.0), (2, -1.0)],
    &[(1, 1.0), (0, -1.0)],
    &[(3, 1.0), (1, -1.0), (0, 1.0)],
    &[(3, 1.0), (1, -1.0)],
];
/// The quadrants of the result, from the seven products.
pub(super) const RESULT: [Terms; 4] = [
    &[(0, 1.0), (1, 1.0)],
    &[(0, 1.0), (5, 1.0), (4, 1.0), (2, 1.0)],
    &[(0, 1.0), (5, 1.0), (6, 1.0), (3, -1.0)],
    &[(0, 1.0), (5, 1.0), (6, 1.0), (4, 1.0)],
];

/// The four quadrants of a matrix.
pub(super) fn quadrants(matrix: &[f64]) -> [&[f64]; 4] {
    let quarter = matrix.len() / 4;
    std::array::from_fn(|quadrant| &matrix[quadrant * quarter..][..quarter])
}

/// The side of a matrix that is stored in so many numbers.
pub(super) fn side(numbers: usize) -> usize {
    1 << (numbers.ilog2() / 2)
}

/// The sum that `terms` say, in one pass.
pub(super) fn sum_into(out: &mut [f64], terms: Terms, parts: &[&[f64]]) {
    let part = |term: usize| {
        let (place, sign) = terms[term];
        parts[place].iter().map(move |number| sign * number)
    };
    let out = out.iter_mut();
    match terms.len() {
        1 => out.zip(part(0)).for_each(|(out, a)| *out = a),
        2 => {
            let parts = part(0).zip(part(1));
            out.zip(parts).for_each(|(out, (a, b))| *out = a + b);
        }
        3 => {
            let parts = part(0).zip(part(1)).zip(part(2));
            out.zip(parts)
                .for_each(|(out, ((a, b), c))| *out = a + b + c);
        }
        _ => {
            let parts = part(0).zip(part(1)).zip(part(2).zip(part(3)));
            out.zip(parts)
                .for_each(|(out, ((a, b), (c, d)))| *out = a + b + c + d);
        }
    }
}

/// The product of two tiles.
pub(super) fn tile_product<'b>(buffers: &'b Buffers, a: &[f64], b: &[f64]) -> Buffer<'b> {
    let mut c = buffers.take(TILE * TILE);
    dense::replace(TILE, &mut c, a, b);
    c
}

/// The result, from the seven products.
pub(super) fn put_together<C: ForkJoin>(cx: &mut C, c: &mut [f64], products: &[&[f64]; 7]) {
    let quarter = products[0].len();
    let (above, below) = c.split_at_mut(2 * quarter);
    let (c11, c12) = above.split_at_mut(quarter);
    let (c21, c22) = below.split_at_mut(quarter);
    if side(4 * quarter) < PUT_TOGETHER_MIN {
        for (out, terms) in [c11, c12, c21, c22].into_iter().zip(RESULT) {
            sum_into(out, terms, products);
        }
        return;
    }
    cx.join(
        |cx| {
            cx.join(
                |_| sum_into(c11, RESULT[0], products),
                |_| sum_into(c12, RESULT[1], products),
            )
        },
        |cx| {
            cx.join(
                |_| sum_into(c21, RESULT[2], products),
                |_| sum_into(c22, RESULT[3], products),
            )
        },
    );
}
