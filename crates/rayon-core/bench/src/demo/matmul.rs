//! Strassen's product of square matrices: seven products of quarters instead of eight.

use rayon::join;

use crate::random::Random;
use crate::work::{Scale, Work, value};

/// Quarters of this side are multiplied plainly.
const LEAF: usize = 32;

/// Two factors. A matrix is its four quarters one after the other, down to leaves, which are rows.
/// The numbers wrap, so every order of additions gives the same.
struct Factors {
    a: Vec<u32>,
    b: Vec<u32>,
}

/// The product of two leaves, or of matrices that are split as if they were leaves.
fn plain(a: &[u32], b: &[u32], side: usize) -> Vec<u32> {
    let mut product = vec![0u32; side * side];
    for (row, sums) in a.chunks_exact(side).zip(product.chunks_exact_mut(side)) {
        for (factor, line) in row.iter().zip(b.chunks_exact(side)) {
            for (sum, item) in sums.iter_mut().zip(line) {
                *sum = sum.wrapping_add(factor.wrapping_mul(*item));
            }
        }
    }
    product
}

fn quarters(matrix: &[u32]) -> [&[u32]; 4] {
    let quarter = matrix.len() / 4;
    [0, 1, 2, 3].map(|place| &matrix[place * quarter..][..quarter])
}

fn plus(a: &[u32], b: &[u32]) -> Vec<u32> {
    let pairs = a.iter().zip(b);
    pairs.map(|(a, b)| a.wrapping_add(*b)).collect()
}

fn minus(a: &[u32], b: &[u32]) -> Vec<u32> {
    let pairs = a.iter().zip(b);
    pairs.map(|(a, b)| a.wrapping_sub(*b)).collect()
}

/// Eight products of quarters, one after the other.
fn serial(a: &[u32], b: &[u32], side: usize) -> Vec<u32> {
    if side <= LEAF {
        return plain(a, b, side);
    }
    let (a, b, half) = (quarters(a), quarters(b), side / 2);
    let mut product = Vec::with_capacity(side * side);
    for (row, column) in [(0, 0), (0, 1), (2, 0), (2, 1)] {
        let left = serial(a[row], b[column], half);
        let right = serial(a[row + 1], b[column + 2], half);
        product.extend(plus(&left, &right));
    }
    product
}

fn strassen(a: &[u32], b: &[u32], side: usize) -> Vec<u32> {
    if side <= LEAF {
        return plain(a, b, side);
    }
    let half = side / 2;
    let times = |a: &[u32], b: &[u32]| strassen(a, b, half);
    let ([a1, a2, a3, a4], [b1, b2, b3, b4]) = (quarters(a), quarters(b));
    let (((m1, m2), (m3, m4)), ((m5, m6), m7)) = join(
        || {
            join(
                || {
                    join(
                        || times(&plus(a1, a4), &plus(b1, b4)),
                        || times(&plus(a3, a4), b1),
                    )
                },
                || join(|| times(a1, &minus(b2, b4)), || times(a4, &minus(b3, b1))),
            )
        },
        || {
            join(
                || {
                    join(
                        || times(&plus(a1, a2), b4),
                        || times(&minus(a3, a1), &plus(b1, b2)),
                    )
                },
                || times(&minus(a2, a4), &plus(b3, b4)),
            )
        },
    );
    let mut product = plus(&minus(&plus(&m1, &m4), &m5), &m7);
    product.extend(plus(&m3, &m5));
    product.extend(plus(&m2, &m4));
    product.extend(plus(&plus(&minus(&m1, &m2), &m3), &m6));
    product
}

/// A product by `join`s.
pub(crate) fn product(scale: Scale) -> Box<dyn Work> {
    let len = scale.size(256, 64).pow(2);
    let mut random = Random::new(13);
    let factors = Factors {
        a: random.words(len),
        b: random.words(len),
    };
    value(
        factors,
        |factors| serial(&factors.a, &factors.b, factors.a.len().isqrt()),
        |factors| strassen(&factors.a, &factors.b, factors.a.len().isqrt()),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ways_are_the_schoolbook_product() {
        // Matrices of one quarter-tree level, in rows and in quarters.
        let side = 2 * LEAF;
        let rows = |seed| Random::new(seed).words(side * side);
        let split = |rows: &[u32]| {
            let mut split = Vec::new();
            for (top, left) in [(0, 0), (0, LEAF), (LEAF, 0), (LEAF, LEAF)] {
                for row in top..top + LEAF {
                    split.extend(&rows[row * side + left..][..LEAF]);
                }
            }
            split
        };
        let (a, b) = (rows(1), rows(2));
        let right = split(&plain(&a, &b, side));
        assert_eq!(serial(&split(&a), &split(&b), side), right);
        assert_eq!(strassen(&split(&a), &split(&b), side), right);
    }
}
