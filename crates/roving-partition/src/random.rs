//! Pseudo-random numbers that are the same on every machine and in every version.

/// The generator SplitMix64 (Steele, Lea & Flood, OOPSLA 2014).
#[derive(Clone, Debug)]
pub(super) struct SplitMix64(u64);

impl SplitMix64 {
    /// Independent generators for the steps of one run.
    pub(super) fn new(seed: u64, step: u64) -> SplitMix64 {
        let mut random = SplitMix64(seed ^ step.wrapping_mul(0xA076_1D64_78BD_642F));
        SplitMix64(random.next())
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// One of `0..below`, which is not empty.
    pub(super) fn below(&mut self, below: usize) -> usize {
        ((u128::from(self.next()) * below as u128) >> 64) as usize
    }

    pub(super) fn shuffle<T>(&mut self, items: &mut [T]) {
        for at in (1..items.len()).rev() {
            items.swap(at, self.below(at + 1));
        }
    }

    /// The numbers `0..count` in a random order.
    pub(super) fn order(&mut self, count: usize) -> Vec<u32> {
        let mut order: Vec<u32> = (0..count as u32).collect();
        self.shuffle(&mut order);
        order
    }
}

#[cfg(test)]
mod tests {
    use super::SplitMix64;

    #[test]
    fn an_order_has_each_number_once_and_depends_on_seed_and_step() {
        let order = |seed, step| SplitMix64::new(seed, step).order(50);
        let mut sorted = order(1, 0);
        sorted.sort_unstable();
        assert_eq!(sorted, (0..50).collect::<Vec<_>>());
        assert_eq!(order(1, 0), order(1, 0));
        assert_ne!(order(1, 0), order(2, 0));
        assert_ne!(order(1, 0), order(1, 1));
    }

    #[test]
    fn numbers_below_five_are_evenly_spread() {
        let (mut random, mut seen) = (SplitMix64::new(7, 7), [0_u32; 5]);
        for _ in 0..5000 {
            seen[random.below(5)] += 1;
        }
        assert!(
            seen.iter().all(|&times| (900..1100).contains(&times)),
            "{seen:?}"
        );
    }
}
