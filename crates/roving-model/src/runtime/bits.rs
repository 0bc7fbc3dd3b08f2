//! A set of numbers in which the next member is found in constant time: words of bits over words of
//! bits.

/// Numbers below a bound.
#[derive(Clone, Debug)]
pub(super) struct Bits {
    /// `levels[0]` holds a bit for each number, each further level one for each word below.
    levels: Vec<Vec<u64>>,
}

impl Bits {
    pub(super) fn new(bound: usize) -> Bits {
        let mut levels = Vec::new();
        let mut words = bound.div_ceil(64).max(1);
        loop {
            levels.push(vec![0; words]);
            if words == 1 {
                return Bits { levels };
            }
            words = words.div_ceil(64);
        }
    }

    pub(super) fn contains(&self, number: usize) -> bool {
        self.levels[0][number / 64] >> (number % 64) & 1 != 0
    }

    pub(super) fn insert(&mut self, mut number: usize) {
        for level in &mut self.levels {
            level[number / 64] |= 1 << (number % 64);
            number /= 64;
        }
    }

    pub(super) fn remove(&mut self, mut number: usize) {
        for level in &mut self.levels {
            level[number / 64] &= !(1 << (number % 64));
            if level[number / 64] != 0 {
                return;
            }
            number /= 64;
        }
    }

    /// The least member that is not below `from`.
    pub(super) fn next_from(&self, from: usize) -> Option<usize> {
        let mut at = from;
        for (height, level) in self.levels.iter().enumerate() {
            let word = level.get(at / 64).copied().unwrap_or(0);
            let rest = word & (u64::MAX << (at % 64));
            if rest != 0 {
                let mut found = at / 64 * 64 + rest.trailing_zeros() as usize;
                for below in self.levels[..height].iter().rev() {
                    found = found * 64 + below[found].trailing_zeros() as usize;
                }
                return Some(found);
            }
            at = at / 64 + 1;
        }
        None
    }

    /// The next member from `from` on, and then from 0 on.
    pub(super) fn next_around(&self, from: usize) -> Option<usize> {
        self.next_from(from).or_else(|| self.next_from(0))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::random::Xoshiro256;

    #[test]
    fn members_are_those_of_a_plain_set() {
        for bound in [1, 63, 64, 65, 4096, 4097, 300_000] {
            let (mut bits, mut set) = (Bits::new(bound), BTreeSet::new());
            let mut random = Xoshiro256::new(bound as u64);
            for _ in 0..3000 {
                let number = random.below(bound);
                if random.below(2) == 0 {
                    bits.insert(number);
                    set.insert(number);
                } else {
                    bits.remove(number);
                    set.remove(&number);
                }
                let from = random.below(bound);
                assert_eq!(bits.next_from(from), set.range(from..).next().copied());
                assert_eq!(bits.contains(number), set.contains(&number));
                let around = bits.next_around(from);
                assert_eq!(around, set.range(from..).chain(set.iter()).next().copied());
            }
        }
    }
}
