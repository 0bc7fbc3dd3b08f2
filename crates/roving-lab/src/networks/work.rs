//! Artificial work: so many turns of a loop that cannot be shortened, and what it leaves behind.

use std::sync::OnceLock;

use crate::workloads::stress::{calibrated, leaf};

/// How many turns of the loop take `nanos` on this machine. The loop is timed once a process, so
/// that all programs of one run do the same work.
pub(crate) fn turns_in(nanos: u64) -> u64 {
    const SAMPLE_NANOS: u64 = 1_000_000;
    static TURNS: OnceLock<u64> = OnceLock::new();
    let turns = *TURNS.get_or_init(|| calibrated(SAMPLE_NANOS));
    (u128::from(turns) * u128::from(nanos) / u128::from(SAMPLE_NANOS)) as u64
}

/// Works for `turns` and returns a word that depends on `seed` and on the work.
#[inline]
pub(super) fn work(turns: u64, seed: u64) -> u64 {
    mixed(seed, leaf(turns))
}

/// A word that depends on both, and on their order.
#[inline]
pub(crate) fn mixed(a: u64, b: u64) -> u64 {
    let word = (a.rotate_left(23) ^ b).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    word ^ (word >> 29)
}

/// The share of the `place`-th of `parts` in `whole`; all shares add up to it.
#[inline]
pub(super) fn share(whole: u64, place: usize, parts: usize) -> u64 {
    let (parts, place) = (parts as u64, place as u64);
    whole / parts + u64::from(place < whole % parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_add_up_and_differ_by_one_at_most() {
        for (whole, parts) in [(0, 3), (2, 3), (10, 1), (1001, 7)] {
            let shares: Vec<u64> = (0..parts).map(|place| share(whole, place, parts)).collect();
            assert_eq!(shares.iter().sum::<u64>(), whole);
            assert!(shares[0] - shares[parts - 1] <= 1, "{shares:?}");
        }
    }

    #[test]
    fn work_depends_on_seed_and_turns() {
        assert_eq!(work(7, 1), work(7, 1));
        assert_ne!(work(7, 1), work(7, 2));
        assert_ne!(work(7, 1), work(8, 1));
        assert_ne!(mixed(1, 2), mixed(2, 1));
    }

    #[test]
    fn turns_grow_with_the_time() {
        let turns = turns_in(1_000_000);
        assert!(turns > 1_000 && turns_in(0) == 0);
        assert_eq!(turns_in(2_000_000), 2 * turns);
    }
}
