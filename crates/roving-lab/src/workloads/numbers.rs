//! Numbers without a pattern, always the same ones, and what is said about a result made of
//! numbers: its digest, and how many of its figures are within their bound.

use std::cell::Cell;

use super::RunAnswer;

/// The distance from 1 to the next smaller double, halved: what one operation rounds by, at most.
pub(super) const ROUNDING: f64 = f64::EPSILON / 2.0;

/// SplitMix64.
#[derive(Clone, Debug)]
pub(crate) struct Noise(u64);

impl Noise {
    /// Creates noise; the same seed gives the same numbers.
    pub(crate) fn new(seed: u64) -> Noise {
        Noise(seed.wrapping_mul(0xd134_2543_de82_ef95))
    }

    /// 64 bits.
    #[inline]
    pub(crate) fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number from -1 to below 1, a multiple of 2^-52.
    #[inline]
    pub(crate) fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }

    /// A whole number from `-most` to `most`.
    #[inline]
    pub(crate) fn whole(&mut self, most: u32) -> f64 {
        let choices = 2 * u64::from(most) + 1;
        // The high half, so that the remainder is as even as 32 bits allow.
        ((self.bits() >> 32) % choices) as f64 - f64::from(most)
    }

    /// A place below `count`.
    pub(crate) fn below(&mut self, count: usize) -> usize {
        ((u128::from(self.bits()) * count as u128) >> 64) as usize
    }

    /// So many numbers from -1 to below 1.
    pub(super) fn units(&mut self, count: usize) -> Vec<f64> {
        (0..count).map(|_| self.unit()).collect()
    }
}

/// A digest in which each word counts with its place.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Digest(u64);

impl Digest {
    /// One word more.
    #[inline]
    pub(crate) fn word(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(5) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }

    /// The numbers, bit for bit.
    pub(super) fn numbers(&mut self, numbers: &[f64]) {
        numbers
            .iter()
            .for_each(|number| self.word(number.to_bits()));
    }

    /// The digest.
    pub(crate) fn value(self) -> u64 {
        self.0
    }
}

/// The last verified answer, so that the same bits are not verified again: that takes longer than
/// to compute a digest, and all right runs give the same bits.
#[derive(Debug, Default)]
pub(super) struct Judged(Cell<Option<RunAnswer>>);

impl Judged {
    /// The answer for a result with this digest, which stands last: `judge` gives the figures
    /// before it.
    pub(super) fn answer<const FIGURES: usize>(
        &self,
        digest: u64,
        judge: impl FnOnce() -> [u64; FIGURES],
    ) -> RunAnswer {
        if let Some(known) = self.0.get().filter(|known| known.0[FIGURES] == digest) {
            return known;
        }
        let mut answer = RunAnswer::default();
        answer.0[..FIGURES].copy_from_slice(&judge());
        answer.0[FIGURES] = digest;
        self.0.set(Some(answer));
        answer
    }
}

/// How many of `found` are within their bounds of what is `wanted`. What is not a number is not.
pub(super) fn within(found: &[f64], wanted: &[f64], bounds: impl Iterator<Item = f64>) -> u64 {
    let pairs = found.iter().zip(wanted).zip(bounds);
    pairs
        .filter(|((found, wanted), bound)| (*found - *wanted).abs() <= *bound)
        .count() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn noise_stays_in_its_range_and_depends_on_the_seed() {
        let mut noise = Noise::new(1);
        let units = noise.units(10_000);
        assert!(units.iter().all(|unit| (-1.0..1.0).contains(unit)));
        let mean = units.iter().sum::<f64>() / 10_000.0;
        assert!(mean.abs() < 0.05, "{mean}");
        let wholes: Vec<f64> = (0..1000).map(|_| noise.whole(2)).collect();
        for number in [-2.0, -1.0, 0.0, 1.0, 2.0] {
            assert!(wholes.iter().filter(|whole| **whole == number).count() > 100);
        }
        assert!((0..1000).all(|_| noise.below(7) < 7));
        assert_ne!(Noise::new(1).bits(), Noise::new(2).bits());
        assert_eq!(Noise::new(3).bits(), Noise::new(3).bits());
    }

    #[test]
    fn a_digest_sees_places_and_signs() {
        let digest = |numbers: &[f64]| {
            let mut digest = Digest::default();
            digest.numbers(numbers);
            digest.value()
        };
        assert_ne!(digest(&[1.0, 2.0]), digest(&[2.0, 1.0]));
        assert_ne!(digest(&[1.0, 2.0]), digest(&[1.0, -2.0]));
    }

    #[test]
    fn what_is_not_a_number_or_too_far_is_not_within() {
        let bounds = || std::iter::repeat(0.5);
        let wanted = [-1.0, -1.0, -1.0, -1.0];
        assert_eq!(within(&[-1.0, -1.5, 9.0, f64::NAN], &wanted, bounds()), 2);
        assert_eq!(within(&[f64::NAN; 4], &[f64::NAN; 4], bounds()), 0);
        assert_eq!(within(&[1.0], &[1.0], [f64::NAN].into_iter()), 0);
    }

    #[test]
    fn the_same_bits_are_judged_once_and_others_again() {
        let judged = Judged::default();
        assert_eq!(judged.answer(7, || [3]), RunAnswer([3, 7, 0]));
        assert_eq!(judged.answer(7, || [4]), RunAnswer([3, 7, 0]));
        assert_eq!(judged.answer(8, || [4]), RunAnswer([4, 8, 0]));
    }
}
