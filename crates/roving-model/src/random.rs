//! Random numbers that are the same on every machine.

/// Xoshiro256++ (Blackman and Vigna 2018), seeded by SplitMix64.
#[derive(Clone, Debug)]
pub(crate) struct Xoshiro256([u64; 4]);

/// One step of SplitMix64, also a good hash of a whole number.
pub(crate) fn mix(number: u64) -> u64 {
    let mut z = number.wrapping_add(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

impl Xoshiro256 {
    pub(crate) fn new(seed: u64) -> Xoshiro256 {
        let mut state = seed;
        Xoshiro256(std::array::from_fn(|_| {
            state = mix(state);
            state
        }))
    }

    pub(crate) fn next(&mut self) -> u64 {
        let s = &mut self.0;
        let result = s[0].wrapping_add(s[3]).rotate_left(23).wrapping_add(s[0]);
        let t = s[1] << 17;
        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= t;
        s[3] = s[3].rotate_left(45);
        result
    }

    /// In `0 .. below`, by multiplication: off by at most one part in 2^32.
    pub(crate) fn below(&mut self, below: usize) -> usize {
        ((u128::from(self.next()) * below as u128) >> 64) as usize
    }

    /// From 0 up to, but not including, 1.
    pub(crate) fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Exponentially distributed, with mean 1.
    pub(crate) fn exponential(&mut self) -> f64 {
        -(1.0 - self.unit()).ln()
    }
}

#[cfg(test)]
mod tests {
    use super::Xoshiro256;

    #[test]
    fn moments_are_those_of_the_distributions() {
        let mut random = Xoshiro256::new(1);
        let draws = 200_000;
        let mean = |values: &mut dyn FnMut() -> f64| {
            (0..draws).map(|_| values()).sum::<f64>() / f64::from(draws)
        };
        assert!((mean(&mut || random.unit()) - 0.5).abs() < 0.005);
        assert!((mean(&mut || random.exponential()) - 1.0).abs() < 0.01);
        assert!((mean(&mut || random.below(7) as f64) - 3.0).abs() < 0.02);
        assert_eq!(Xoshiro256::new(5).next(), Xoshiro256::new(5).next());
        assert_ne!(Xoshiro256::new(5).next(), Xoshiro256::new(6).next());
    }
}
