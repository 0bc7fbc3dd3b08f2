//! Factorials: products of numbers that grow, so no two multiplications take the same time.

use rayon::join;
use rayon::prelude::*;

use crate::work::{Scale, Work, value};

/// A whole number, its lowest 32 bits first, without zeros at its end.
#[derive(Clone, Debug, PartialEq)]
struct Big(Vec<u32>);

impl Big {
    fn new(number: u32) -> Big {
        Big(vec![number])
    }

    /// The schoolbook product.
    fn times(&self, other: &Big) -> Big {
        let mut product = vec![0u32; self.0.len() + other.0.len()];
        for (place, a) in self.0.iter().enumerate() {
            let mut carry = 0u64;
            let sums = product[place..].iter_mut();
            for (sum, b) in sums.zip(other.0.iter().chain([&0])) {
                let next = u64::from(*a) * u64::from(*b) + u64::from(*sum) + carry;
                *sum = next as u32;
                carry = next >> 32;
            }
        }
        while product.len() > 1 && product.last() == Some(&0) {
            product.pop();
        }
        Big(product)
    }
}

fn serial(n: &u32) -> Big {
    (2..=*n).fold(Big::new(1), |product, factor| {
        product.times(&Big::new(factor))
    })
}

fn number(scale: Scale) -> u32 {
    scale.size(5000, 100) as u32
}

/// `reduce`.
pub(crate) fn reduced(scale: Scale) -> Box<dyn Work> {
    value(number(scale), serial, |n| {
        let factors = (1..=*n).into_par_iter().map(Big::new);
        factors.reduce(|| Big::new(1), |a, b| a.times(&b))
    })
}

/// `fold_with` and `reduce`.
pub(crate) fn folded(scale: Scale) -> Box<dyn Work> {
    value(number(scale), serial, |n| {
        let parts = (1..=*n)
            .into_par_iter()
            .fold_with(Big::new(1), |product, factor| {
                product.times(&Big::new(factor))
            });
        parts.reduce(|| Big::new(1), |a, b| a.times(&b))
    })
}

fn product(from: u32, to: u32) -> Big {
    if from == to {
        return Big::new(from);
    }
    let middle = from + (to - from) / 2;
    let (a, b) = join(|| product(from, middle), || product(middle + 1, to));
    a.times(&b)
}

/// Halves by `join`.
pub(crate) fn joined(scale: Scale) -> Box<dyn Work> {
    value(number(scale), serial, |n| product(1, *n))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn factorials_as_they_are_known() {
        assert_eq!(serial(&12), Big::new(479_001_600));
        // 20! = 2432902008176640000
        let twenty = 2_432_902_008_176_640_000u64;
        assert_eq!(serial(&20), Big(vec![twenty as u32, (twenty >> 32) as u32]));
    }
}
