//! The share of the work that goes to devices, where the user has set it.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

/// How much work of each kind devices are owed under [`Choice::Split`](crate::Choice::Split).
#[derive(Debug, Default)]
pub(crate) struct Shares(Mutex<HashMap<&'static str, Owed>>);

/// A running sum, and what rounding took away from it.
#[derive(Clone, Copy, Debug, Default)]
struct Owed {
    sum: f64,
    rest: f64,
}

impl Owed {
    fn add(&mut self, value: f64) {
        let sum = self.sum + value;
        let of_value = sum - self.sum;
        self.rest += (self.sum - (sum - of_value)) + (value - of_value);
        self.sum = sum;
    }

    fn value(self) -> f64 {
        self.sum + self.rest
    }
}

impl Shares {
    /// Whether the next task goes to a device, so that after each task the devices' share of the
    /// work is as near as may be to what it should be.
    pub(crate) fn to_device(&self, kind: &'static str, work: f64, share: f64) -> bool {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let owed = all.entry(kind).or_default();
        let part = share * work;
        owed.add(part);
        // The rounding error of the product above.
        owed.add(share.mul_add(work, -part));
        let goes = owed.value() >= work / 2.0 && share > 0.0;
        if goes {
            owed.add(-work);
        }
        goes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_split_is_kept_at_each_moment_and_for_ever() {
        for share in [0.0, 0.1, 1.0 / 3.0, 0.5, 0.99, 1.0] {
            let shares = Shares::default();
            let mut on_device = 0_u32;
            for task in 1..=100_000 {
                on_device += u32::from(shares.to_device("a", 0.3, share));
                let wanted = share * f64::from(task);
                assert!(
                    (f64::from(on_device) - wanted).abs() <= 0.5 + 1e-6,
                    "{share} {task}"
                );
            }
        }
    }

    #[test]
    fn a_split_goes_by_work_and_by_kind() {
        let shares = Shares::default();
        let mut sums = [0.0, 0.0];
        for task in 1..=10_000 {
            let work = f64::from(task % 7 + 1) * 1e3;
            sums[usize::from(shares.to_device("a", work, 0.25))] += work;
        }
        assert!((sums[1] / (sums[0] + sums[1]) - 0.25).abs() < 1e-3);
        assert!(!shares.to_device("b", 1.0, 0.25));
    }
}
