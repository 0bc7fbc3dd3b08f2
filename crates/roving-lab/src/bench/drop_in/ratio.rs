//! Two series side by side: the ratio of their medians, and how far it varies from round to round.

use super::super::record::{Measurement, RowRecord};
use crate::timing::times::Times;

/// The times of one workload, or other values of which less is better.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Ratio {
    /// The compared quantity.
    pub(super) name: String,
    /// Medians.
    pub(super) stock: f64,
    pub(super) ours: f64,
    /// The least of each.
    pub(super) stock_min: f64,
    pub(super) ours_min: f64,
    /// The ratios of all rounds, in the order of the rounds.
    rounds: Vec<f64>,
}

impl Ratio {
    /// From values of as many rounds.
    pub(super) fn new(name: &str, stock: &[f64], ours: &[f64]) -> Ratio {
        let rounds = stock.iter().zip(ours).map(|(a, b)| b / a).collect();
        let least = |values: &[f64]| values.iter().copied().fold(f64::INFINITY, f64::min);
        Ratio {
            name: name.to_owned(),
            stock: median(stock),
            ours: median(ours),
            stock_min: least(stock),
            ours_min: least(ours),
            rounds,
        }
    }

    /// From times in seconds.
    pub(super) fn of_times(name: &str, stock: &Times, ours: &Times) -> Ratio {
        let seconds = |times: &Times| times.seconds().collect::<Vec<f64>>();
        Ratio::new(name, &seconds(stock), &seconds(ours))
    }

    /// Our median over that of stock.
    pub(super) fn value(&self) -> f64 {
        self.ours / self.stock
    }

    /// Half of the rounds lie between these two.
    pub(super) fn quartiles(&self) -> (f64, f64) {
        let sorted = self.sorted();
        (part(&sorted, 0.25), part(&sorted, 0.75))
    }

    /// How many rounds.
    pub(super) fn rounds(&self) -> usize {
        self.rounds.len()
    }

    /// The least ratio of a round.
    pub(super) fn least(&self) -> f64 {
        self.sorted().first().copied().unwrap_or(f64::NAN)
    }

    fn sorted(&self) -> Vec<f64> {
        let mut sorted = self.rounds.clone();
        sorted.sort_unstable_by(f64::total_cmp);
        sorted
    }
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    part(&sorted, 0.5)
}

/// The value below which this part of a sorted list lies, between its neighbours where there is
/// none.
fn part(sorted: &[f64], part: f64) -> f64 {
    let Some(last) = sorted.len().checked_sub(1) else {
        return f64::NAN;
    };
    let place = part * last as f64;
    let (below, above) = (
        sorted[place.floor() as usize],
        sorted[place.ceil() as usize],
    );
    below + (above - below) * place.fract()
}

/// The geometric mean of all ratios.
pub(super) fn geometric_mean(ratios: &[&Ratio]) -> f64 {
    mean_of(ratios.iter().map(|ratio| ratio.value()))
}

/// The geometric mean of all ratios in each round that all of them have.
pub(super) fn means_of_rounds(ratios: &[&Ratio]) -> Vec<f64> {
    let rounds = ratios.iter().map(|ratio| ratio.rounds()).min().unwrap_or(0);
    let mean = |round: usize| mean_of(ratios.iter().map(|ratio| ratio.rounds[round]));
    (0..rounds).map(mean).collect()
}

fn mean_of(values: impl ExactSizeIterator<Item = f64>) -> f64 {
    let count = values.len() as f64;
    (values.map(f64::ln).sum::<f64>() / count).exp()
}

/// Both medians, and the spread of their ratio.
pub(super) fn note(
    record: &mut RowRecord,
    (ours, workers): (&str, usize),
    ratio: &Ratio,
    unit: &'static str,
    factor: f64,
) {
    let sides = [
        ("stock", ratio.stock, ratio.stock_min),
        (ours, ratio.ours, ratio.ours_min),
    ];
    for (side, median, min) in sides {
        record.measurements.push(Measurement {
            what: format!("{}, {side}, {workers} workers", ratio.name),
            unit,
            median: median * factor,
            min: min * factor,
            runs: ratio.rounds(),
        });
    }
    let (low, high) = ratio.quartiles();
    record.measurements.push(Measurement {
        what: format!(
            "{}, {ours} / stock, half of the rounds from {low:.3} to {high:.3}",
            ratio.name
        ),
        unit: "×",
        median: ratio.value(),
        min: ratio.least(),
        runs: ratio.rounds(),
    });
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_ratio_is_that_of_medians_and_spreads_by_rounds() {
        let ratio = Ratio::new("x", &[4.0, 2.0, 2.0, 2.0, 8.0], &[2.0, 1.0, 2.0, 3.0, 2.0]);
        assert_eq!((ratio.stock, ratio.ours, ratio.value()), (2.0, 2.0, 1.0));
        assert_eq!((ratio.stock_min, ratio.ours_min), (2.0, 1.0));
        // By rounds: 0.25, 0.5, 0.5, 1, 1.5.
        assert_eq!((ratio.quartiles(), ratio.least()), ((0.5, 1.0), 0.25));
        assert_eq!(ratio.rounds(), 5);
    }

    #[test]
    fn between_two_neighbours_a_part_is_between_their_values() {
        let ratio = Ratio::new("x", &[1.0; 4], &[1.0, 2.0, 3.0, 4.0]);
        assert_eq!((ratio.value(), ratio.quartiles()), (2.5, (1.75, 3.25)));
        assert!(Ratio::new("x", &[], &[]).value().is_nan());
    }

    #[test]
    fn times_become_seconds() {
        let times = |millis: [u64; 3]| {
            let mut times = Times::default();
            let each = millis.into_iter().map(Duration::from_millis);
            each.for_each(|time| times.push(time));
            times
        };
        let ratio = Ratio::of_times("x", &times([30, 10, 20]), &times([15, 5, 30]));
        assert_eq!((ratio.stock, ratio.ours), (0.02, 0.015));
        assert_eq!(ratio.value(), 0.75);
    }

    #[test]
    fn each_round_that_all_have_has_a_mean() {
        let one = Ratio::new("a", &[1.0; 3], &[2.0, 8.0, 1.0]);
        let other = Ratio::new("b", &[1.0; 2], &[0.5, 2.0]);
        assert_eq!(means_of_rounds(&[&one, &other]), [1.0, 4.0]);
        assert!(means_of_rounds(&[]).is_empty());
    }

    #[test]
    fn half_and_double_have_the_mean_one() {
        let half = Ratio::new("x", &[2.0], &[1.0]);
        let double = Ratio::new("x", &[1.0], &[2.0]);
        assert!((geometric_mean(&[&half, &double]) - 1.0).abs() < 1e-12);
        assert!((geometric_mean(&[&half, &half]) - 0.5).abs() < 1e-12);
    }
}
