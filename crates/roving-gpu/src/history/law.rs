//! How long something takes, by how much work it is.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// As many samples make up a mean; each further one replaces that share of it. Many, because tasks
/// of one size may differ: the means of a few dozen tiles of the Mandelbrot set differ by ten.
const SAMPLES_MAX: u32 = 512;
/// A first sample that is this much above the second one was that of a cold start.
const COLD: f64 = 1.5;
/// Exponents beyond this are noise.
const EXPONENT_MAX: f64 = 4.0;

/// Thirty years: no law gives more. A power of the work may be more than a clock can tell, or no
/// number, and so may the sum of some.
pub(super) const SECONDS_MAX: f64 = 1e9;

/// A measured duration, in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Took {
    pub(crate) mean: f64,
    /// The longest of late: of what is begun last, nobody knows that it is not as long as that.
    pub(crate) most: f64,
}

/// Mean times by buckets of work, each of them twice as wide as the one before; between and beyond
/// them a power law.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Law {
    buckets: BTreeMap<i32, Mean>,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct Mean {
    samples: u32,
    work: f64,
    seconds: f64,
    /// The longest, which sinks to the mean as fast as the mean moves. Files of before have none.
    #[serde(default)]
    most: f64,
}

impl Law {
    pub(crate) fn record(&mut self, work: f64, seconds: f64) {
        if !(seconds.is_finite() && seconds >= 0.0 && work.is_finite() && work > 0.0) {
            return;
        }
        let new = Mean {
            samples: 1,
            work,
            seconds,
            most: seconds,
        };
        let mean = self
            .buckets
            .entry(bucket(work))
            .or_insert(Mean { samples: 0, ..new });
        if mean.samples == 1 && mean.seconds > COLD * seconds {
            *mean = Mean { samples: 2, ..new };
            return;
        }
        mean.samples = (mean.samples + 1).min(SAMPLES_MAX);
        let share = 1.0 / f64::from(mean.samples);
        mean.work += (work - mean.work) * share;
        mean.seconds += (seconds - mean.seconds) * share;
        let sunk = mean.most - (mean.most - mean.seconds).max(0.0) / f64::from(SAMPLES_MAX);
        // Larger work in the bucket is no reason to call it long.
        mean.most = sunk.max(seconds * mean.work / work);
    }

    /// Returns the expected time of so much work; `None` when nothing was ever measured.
    pub(crate) fn seconds(&self, work: f64) -> Option<Took> {
        let at = bucket(work);
        let nearest = match self.buckets.get(&at) {
            Some(mean) => mean,
            None => self
                .buckets
                .values()
                .min_by(|a, b| distance(a, work).total_cmp(&distance(b, work)))?,
        };
        // Not infinite: as often as that, nothing takes no time either.
        let times = (work / nearest.work).powf(self.exponent()).min(f64::MAX);
        let scaled = |seconds: f64| (seconds * times).min(SECONDS_MAX);
        Some(Took {
            mean: scaled(nearest.seconds),
            most: scaled(nearest.most.max(nearest.seconds)),
        })
    }

    /// How many there are in the bucket of that work.
    pub(crate) fn samples(&self, work: f64) -> u32 {
        self.buckets
            .get(&bucket(work))
            .map_or(0, |mean| mean.samples)
    }

    /// Returns the measurements: samples, work, seconds.
    pub(crate) fn means(&self) -> impl Iterator<Item = (u32, f64, f64)> {
        let means = self.buckets.values();
        means.map(|mean| (mean.samples, mean.work, mean.seconds))
    }

    /// By which power of the work the time grows: that of the line through the means, in
    /// logarithms.
    fn exponent(&self) -> f64 {
        let points = || {
            let positive = self.buckets.values().filter(|mean| mean.seconds > 0.0);
            positive.map(|mean| (mean.work.ln(), mean.seconds.ln()))
        };
        let count = points().count() as f64;
        if count < 2.0 {
            return 1.0;
        }
        let (x_mean, y_mean) = points().fold((0.0, 0.0), |(x, y), point| {
            (x + point.0 / count, y + point.1 / count)
        });
        let (xy, xx) = points().fold((0.0, 0.0), |(xy, xx), (x, y)| {
            let x = x - x_mean;
            (xy + x * (y - y_mean), xx + x * x)
        });
        (xy / xx).clamp(0.0, EXPONENT_MAX)
    }

    /// All numbers in it are such as `record` makes.
    pub(crate) fn is_sound(&self) -> bool {
        self.buckets.iter().all(|(at, mean)| {
            let fine = |x: f64| x.is_finite() && x >= 0.0;
            let is_fine =
                mean.work > 0.0 && [mean.work, mean.seconds, mean.most].into_iter().all(fine);
            is_fine && (1..=SAMPLES_MAX).contains(&mean.samples) && *at == bucket(mean.work)
        })
    }
}

fn bucket(work: f64) -> i32 {
    work.log2().floor() as i32
}

fn distance(mean: &Mean, work: f64) -> f64 {
    (mean.work.ln() - work.ln()).abs()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mean(law: &Law, work: f64) -> Option<f64> {
        law.seconds(work).map(|took| took.mean)
    }

    #[test]
    fn a_bucket_gives_its_mean() {
        let mut law = Law::default();
        assert_eq!(mean(&law, 1.0), None);
        law.record(1000.0, 2.0);
        law.record(1000.0, 4.0);
        assert_eq!(mean(&law, 1000.0), Some(3.0));
        assert_eq!(law.means().next().map(|mean| mean.0), Some(2));
    }

    #[test]
    fn an_empty_bucket_is_filled_by_a_power_law() {
        let mut law = Law::default();
        law.record(1e3, 1.0);
        // One bucket alone: in proportion.
        assert!((mean(&law, 1e4).unwrap() - 10.0).abs() < 1e-9);
        law.record(1e5, 1e3);
        // Time as the 1.5th power.
        let between = mean(&law, 1e4).unwrap();
        assert!((between - 10_f64.powf(1.5)).abs() < 1e-6, "{between}");
        let beyond = mean(&law, 1e7).unwrap();
        assert!((beyond / 1e6 - 1.0).abs() < 1e-9, "{beyond}");
    }

    /// Two sizes that differ by a cold start are enough for the steepest law.
    #[test]
    fn no_time_is_more_than_a_clock_can_tell() {
        let mut law = Law::default();
        law.record(1e3, 1e-5);
        law.record(3e3, 1e-2);
        for work in [1e9, 1e30, f64::MAX] {
            let took = law.seconds(work).unwrap();
            assert_eq!((took.mean, took.most), (SECONDS_MAX, SECONDS_MAX));
        }
        let mut none = Law::default();
        none.record(f64::MIN_POSITIVE, 0.0);
        assert_eq!(mean(&none, f64::MAX), Some(0.0));
    }

    #[test]
    fn a_cold_first_sample_is_replaced() {
        let mut law = Law::default();
        law.record(8.0, 100.0);
        law.record(8.0, 1.0);
        assert_eq!(mean(&law, 8.0), Some(1.0));
        // Later times are averaged with it.
        law.record(8.0, 4.0);
        assert_eq!(mean(&law, 8.0), Some(2.0));
    }

    #[test]
    fn a_mean_follows_what_changes() {
        let mut law = Law::default();
        (0..1000).for_each(|_| law.record(8.0, 1.0));
        (0..4000).for_each(|_| law.record(8.0, 2.0));
        assert!(mean(&law, 8.0).unwrap() > 1.99);
    }

    #[test]
    fn what_takes_longer_because_it_is_larger_is_not_long() {
        let mut law = Law::default();
        for work in [8.0, 15.0, 8.0, 15.0] {
            law.record(work, work);
        }
        for work in [8.0, 15.0] {
            let took = law.seconds(work).unwrap();
            assert!((took.most / took.mean - 1.0).abs() < 0.02, "{took:?}");
        }
    }

    #[test]
    fn the_longest_is_kept_for_a_while() {
        let mut law = Law::default();
        let most = |law: &Law, work| law.seconds(work).map(|took| took.most);
        law.record(8.0, 1.0);
        law.record(8.0, 9.0);
        // In proportion, as the mean.
        assert_eq!((most(&law, 8.0), most(&law, 16.0)), (Some(9.0), Some(18.0)));
        (0..100).for_each(|_| law.record(8.0, 1.0));
        assert!(most(&law, 8.0).unwrap() > 7.0);
        (0..5000).for_each(|_| law.record(8.0, 1.0));
        assert!(most(&law, 8.0).unwrap() < 1.01);
        // A file of before has none.
        let text = r#"{"buckets":{"3":{"samples":2,"work":8.0,"seconds":2.0}}}"#;
        let old: Law = serde_json::from_str(text).unwrap();
        assert!(old.is_sound());
        assert_eq!(most(&old, 8.0), Some(2.0));
    }

    #[test]
    fn a_mean_of_no_samples_or_too_many_is_not_sound() {
        for (samples, is_sound) in [
            (0, false),
            (1, true),
            (SAMPLES_MAX, true),
            (SAMPLES_MAX + 1, false),
            (u32::MAX, false),
        ] {
            let mean = Mean {
                samples,
                work: 3.0,
                seconds: 1.0,
                most: 1.0,
            };
            let law = Law {
                buckets: BTreeMap::from([(1, mean)]),
            };
            assert_eq!(law.is_sound(), is_sound, "{samples}");
        }
    }

    #[test]
    fn nonsense_is_not_recorded() {
        let mut law = Law::default();
        law.record(0.0, 1.0);
        law.record(1.0, f64::NAN);
        law.record(f64::INFINITY, 1.0);
        law.record(1.0, -1.0);
        assert_eq!(law, Law::default());
        law.record(3.0, 0.0);
        law.record(300.0, 1.0);
        assert!(mean(&law, 30.0).unwrap().is_finite() && law.is_sound());
    }
}
