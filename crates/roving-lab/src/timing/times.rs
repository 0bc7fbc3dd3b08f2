//! The times of repeated runs, and what is said of them.

use std::time::Duration;

/// The times of repeated runs.
#[derive(Clone, Debug, Default)]
pub(crate) struct Times(Vec<Duration>);

impl Times {
    /// One run more.
    pub(crate) fn push(&mut self, time: Duration) {
        self.0.push(time);
    }

    /// Another run, if there is one.
    pub(crate) fn extend(&mut self, times: impl IntoIterator<Item = Duration>) {
        self.0.extend(times);
    }

    /// The median in seconds; between two middle ones, their mean.
    pub(crate) fn median(&self) -> f64 {
        let mut sorted: Vec<f64> = self.0.iter().map(Duration::as_secs_f64).collect();
        sorted.sort_unstable_by(f64::total_cmp);
        match sorted.len() {
            0 => f64::NAN,
            runs => f64::midpoint(sorted[(runs - 1) / 2], sorted[runs / 2]),
        }
    }

    /// All of them in seconds, in the order of the runs.
    pub(crate) fn seconds(&self) -> impl Iterator<Item = f64> {
        self.0.iter().map(Duration::as_secs_f64)
    }

    /// How many runs.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// The least, in seconds.
    pub(crate) fn min(&self) -> f64 {
        self.0.iter().min().map_or(f64::NAN, Duration::as_secs_f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn median_and_min() {
        let mut times = Times::default();
        assert!(times.median().is_nan() && times.min().is_nan());
        for millis in [5, 1, 9, 3] {
            times.push(Duration::from_millis(millis));
        }
        assert!((times.median() - 0.004).abs() < 1e-9);
        assert!((times.min() - 0.001).abs() < 1e-9);
        times.push(Duration::from_millis(4));
        assert!((times.median() - 0.004).abs() < 1e-9);
    }
}
