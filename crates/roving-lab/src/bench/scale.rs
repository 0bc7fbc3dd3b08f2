//! How much is measured, and where it is written.

/// Where results go.
pub(crate) const OUT: &str = "docs/results";
/// Where they go after `--quick` and `--rounds`, so that nobody takes them for the real ones.
pub(crate) const OUT_QUICK: &str = "roving-results";

/// How much is measured.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scale {
    pub(super) quick: bool,
    /// Of everything that is measured in turn, at most.
    pub(super) rounds_max: usize,
    pub(super) fib: &'static str,
    pub(super) flat: &'static str,
    /// Rounds of the wake-up row.
    pub(super) wakes: usize,
    /// Serial µs of the stress rows: about twice that many µs of leaves.
    pub(super) stress_us: u64,
}

impl Scale {
    pub(super) const FULL: Scale = Scale {
        quick: false,
        rounds_max: usize::MAX,
        fib: "40",
        flat: "1000000",
        wakes: 400,
        stress_us: 60_000,
    };
    pub(super) const QUICK: Scale = Scale {
        quick: true,
        rounds_max: usize::MAX,
        fib: "27",
        flat: "50000",
        wakes: 20,
        stress_us: 2_000,
    };

    /// So many rounds, or two.
    pub(crate) fn rounds(&self, full: usize) -> usize {
        if self.quick {
            2
        } else {
            full.min(self.rounds_max)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_are_limited() {
        let few = Scale {
            rounds_max: 3,
            ..Scale::FULL
        };
        assert_eq!([few.rounds(9), few.rounds(2)], [3, 2]);
        assert_eq!((Scale::FULL.rounds(9), Scale::QUICK.rounds(9)), (9, 2));
    }
}
