//! Counts Pythagorean triples by Euclid's formula: nested loops of uneven length.

use rayon::prelude::*;

use crate::work::{Scale, Work, value};

fn divisor(mut a: u32, mut b: u32) -> u32 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// How many triples up to the limit are multiples of the one that `m` and `n` make.
fn multiples(limit: u32, m: u32, n: u32) -> u64 {
    if (m - n) % 2 == 1 && divisor(m, n) == 1 {
        u64::from(limit * limit / (m * m + n * n))
    } else {
        0
    }
}

fn row(limit: u32, m: u32) -> u64 {
    (1..m).map(|n| multiples(limit, m, n)).sum()
}

fn par_row(limit: u32, m: u32) -> u64 {
    let numbers = (1..m).into_par_iter();
    numbers.map(|n| multiples(limit, m, n)).sum()
}

fn serial(limit: &u32) -> u64 {
    (1..*limit).map(|m| row(*limit, m)).sum()
}

fn limit(scale: Scale) -> u32 {
    scale.size(1000, 60) as u32
}

/// Both loops in parallel.
pub(crate) fn both(scale: Scale) -> Box<dyn Work> {
    value(limit(scale), serial, |limit| {
        let rows = (1..*limit).into_par_iter();
        rows.map(|m| par_row(*limit, m)).sum()
    })
}

/// The outer loop in parallel.
pub(crate) fn outer(scale: Scale) -> Box<dyn Work> {
    value(limit(scale), serial, |limit| {
        let rows = (1..*limit).into_par_iter();
        rows.map(|m| row(*limit, m)).sum()
    })
}

/// The inner loop in parallel: a thousand calls from outside.
pub(crate) fn inner(scale: Scale) -> Box<dyn Work> {
    value(limit(scale), serial, |limit| {
        (1..*limit).map(|m| par_row(*limit, m)).sum()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn triples_below_a_hundred() {
        // Hypotenuses up to 100: 52 triples, 16 of them primitive.
        assert_eq!(serial(&10), 52);
    }
}
