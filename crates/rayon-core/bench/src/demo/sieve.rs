//! The sieve of Eratosthenes over odd numbers, in chunks.

use rayon::prelude::*;

use crate::work::{Scale, Work, value};

/// Cells of a chunk. Cell `i` stands for the number 2i + 1.
const CHUNK: usize = 100_000;

/// Whether cell `i` is prime, for all odd numbers below `end`.
fn small(end: usize) -> Vec<bool> {
    let mut prime = vec![true; end / 2];
    if let Some(one) = prime.first_mut() {
        *one = false;
    }
    let mut number = 3;
    while number * number < end {
        if prime[number / 2] {
            strike(&mut prime, number * number / 2, number);
        }
        number += 2;
    }
    prime
}

/// Strikes every `step`th cell.
fn strike(cells: &mut [bool], from: usize, step: usize) {
    for cell in cells.iter_mut().skip(from).step_by(step) {
        *cell = false;
    }
}

/// Strikes in one chunk, which begins at cell `base`, what the small primes divide.
fn strike_all(small: &[bool], chunk: &mut [bool], base: usize) {
    for (cell, _) in small.iter().enumerate().filter(|(_, prime)| **prime) {
        let number = 2 * cell + 1;
        let square = number * number / 2;
        let from = match square.checked_sub(base) {
            Some(from) => from,
            None => (number - (base - square) % number) % number,
        };
        if from >= chunk.len() && square >= base {
            break;
        }
        strike(chunk, from, number);
    }
}

/// How many primes are below `end`.
fn primes(end: usize, each: impl Fn(&mut [bool], &(dyn Fn(usize, &mut [bool]) + Sync))) -> usize {
    let root = end.isqrt() + 1;
    let small = small(root + root % 2);
    let mut cells = vec![true; end / 2];
    cells[0] = false;
    each(&mut cells, &|chunk, cells| {
        strike_all(&small, cells, chunk * CHUNK);
    });
    // Two is not in the list.
    1 + cells.iter().filter(|prime| **prime).count()
}

/// All primes below ten million.
pub(crate) fn sieve(scale: Scale) -> Box<dyn Work> {
    value(
        scale.size(10_000_000, 1_000_000),
        |end| {
            primes(*end, |cells, strike| {
                let chunks = cells.chunks_mut(CHUNK).enumerate();
                chunks.for_each(|(place, cells)| strike(place, cells));
            })
        },
        |end| {
            primes(*end, |cells, strike| {
                let chunks = cells.par_chunks_mut(CHUNK).enumerate();
                chunks.for_each(|(place, cells)| strike(place, cells));
            })
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn primes_are_as_many_as_is_known() {
        let count = |end| {
            primes(end, |cells, strike| {
                let chunks = cells.chunks_mut(CHUNK).enumerate();
                chunks.for_each(|(place, cells)| strike(place, cells));
            })
        };
        for (end, want) in [(100, 25), (1000, 168), (1_000_000, 78_498)] {
            assert_eq!(count(end), want, "below {end}");
        }
    }
}
