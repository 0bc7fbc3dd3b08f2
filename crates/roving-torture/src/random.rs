//! Reproducible numbers: splitmix64 (Steele, Lea and Flood 2014).

/// Mixes a number thoroughly: what a leaf of a program computes.
#[inline]
pub(crate) fn mix(number: u64) -> u64 {
    let mut z = number.wrapping_add(0x9E37_79B9_7F4A_7C15);
    z = (z ^ z >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ z >> 31
}

/// A number that depends on both, and on which is which.
#[inline]
pub(crate) fn mix2(a: u64, b: u64) -> u64 {
    mix(mix(a) ^ b)
}

/// A sequence of numbers that follows from its seed.
#[derive(Clone, Debug)]
pub(crate) struct SplitMix(u64);

impl SplitMix {
    pub(crate) fn new(seed: u64) -> SplitMix {
        SplitMix(mix(seed))
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        mix(self.0)
    }

    /// 0 to `end` − 1.
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.next() % end.max(1)
    }

    pub(crate) fn between(&mut self, first: u64, last: u64) -> u64 {
        first + self.below(last - first + 1)
    }

    /// True once in so many times.
    pub(crate) fn one_in(&mut self, times: u64) -> bool {
        self.below(times) == 0
    }

    pub(crate) fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len() as u64) as usize]
    }

    /// 1 to `last`, small numbers as likely as large ones by their number of digits.
    pub(crate) fn magnitude(&mut self, last: u64) -> u64 {
        let bits = self.between(1, u64::from(last.max(1).ilog2()) + 1);
        self.between(1, (1 << bits.min(63)) - 1).min(last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_numbers_and_another_gives_others() {
        let numbers = |seed| {
            let mut random = SplitMix::new(seed);
            [random.next(), random.next(), random.next()]
        };
        assert_eq!(numbers(1), numbers(1));
        assert_ne!(numbers(1), numbers(2));
    }

    #[test]
    fn magnitudes_stay_in_their_range() {
        let mut random = SplitMix::new(5);
        for last in [1, 2, 3, 1000, 1 << 20] {
            for _ in 0..1000 {
                assert!((1..=last).contains(&random.magnitude(last)));
            }
        }
    }
}
