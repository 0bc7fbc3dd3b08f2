//! Pseudo-random input that is the same in each process.

/// SplitMix64 (Steele, Lea and Flood, 2014): a counter with a mixing function.
pub(crate) struct Random(u64);

impl Random {
    /// Creates a generator; the same seed gives the same numbers.
    pub(crate) fn new(seed: u64) -> Self {
        Random(seed)
    }

    /// 64 random bits.
    pub(crate) fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// 32 random bits.
    pub(crate) fn word(&mut self) -> u32 {
        (self.bits() >> 32) as u32
    }

    /// A number from 0 up to and without `end`, which is not 0.
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        // The bias is below end / 2⁶⁴, which is nothing here.
        ((u128::from(self.bits()) * u128::from(end)) >> 64) as u64
    }

    /// A number from -1 to 1.
    pub(crate) fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }

    /// So many random words.
    pub(crate) fn words(&mut self, len: usize) -> Vec<u32> {
        (0..len).map(|_| self.word()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_numbers_are_the_published_ones() {
        // Seed 1234567, as in the reference values that go with the generator.
        let mut random = Random::new(1_234_567);
        assert_eq!(random.bits(), 6_457_827_717_110_365_317);
        assert_eq!(random.bits(), 3_203_168_211_198_807_973);
    }

    #[test]
    fn numbers_stay_in_their_ranges() {
        let mut random = Random::new(7);
        let mut seen = [false; 5];
        for _ in 0..1000 {
            seen[random.below(5) as usize] = true;
            assert!((-1.0..=1.0).contains(&random.unit()));
        }
        assert_eq!(seen, [true; 5]);
    }
}
