//! Scales: where a value stands on an axis, and where its marks are.

/// A linear or logarithmic scale from one pixel to another.
#[derive(Clone, Copy, Debug)]
pub(super) struct AxisScale {
    low: f64,
    high: f64,
    from: f64,
    to: f64,
    log: bool,
}

impl AxisScale {
    /// From 0, or from the least value where that is below, to above the greatest of `values`.
    pub(super) fn linear(
        values: impl Iterator<Item = f64> + Clone,
        from: f64,
        to: f64,
    ) -> AxisScale {
        let low = values.clone().fold(0.0, f64::min);
        let high = values.fold(f64::NEG_INFINITY, f64::max);
        let high = if high > low {
            low + (high - low) * 1.06
        } else {
            low + 1.0
        };
        AxisScale {
            low,
            high,
            from,
            to,
            log: false,
        }
    }

    /// From the least to the greatest of `values`.
    pub(super) fn spanning(
        values: impl Iterator<Item = f64> + Clone,
        from: f64,
        to: f64,
    ) -> AxisScale {
        let low = values.clone().fold(f64::INFINITY, f64::min);
        let high = values.fold(f64::NEG_INFINITY, f64::max);
        let high = if high > low { high } else { low + 1.0 };
        AxisScale {
            low,
            high,
            from,
            to,
            log: false,
        }
    }

    /// In logarithms; values of 0 and below count for nothing.
    pub(super) fn logarithmic(
        values: impl Iterator<Item = f64>,
        from: f64,
        to: f64,
        round: bool,
    ) -> AxisScale {
        let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
        for value in values.filter(|value| *value > 0.0) {
            low = low.min(value.log10());
            high = high.max(value.log10());
        }
        if low > high {
            (low, high) = (0.0, 1.0);
        }
        if round {
            // To the next 1, 2 or 5 on both sides.
            let steps = [0.0, 2f64.log10(), 5f64.log10(), 1.0];
            let (below, above) = (low.floor(), high.floor());
            low = steps
                .iter()
                .map(|step| below + step)
                .filter(|step| *step <= low + 1e-9)
                .fold(below, f64::max);
            high = steps
                .iter()
                .map(|step| above + step)
                .find(|step| *step >= high - 1e-9)
                .unwrap_or(above + 1.0);
        }
        if high - low < 1e-9 {
            high = low + 1.0;
        }
        AxisScale {
            low,
            high,
            from,
            to,
            log: true,
        }
    }

    /// The pixel of a value; values outside stand at the ends.
    pub(super) fn at(&self, value: f64) -> f64 {
        let value = if self.log {
            value.max(f64::MIN_POSITIVE).log10()
        } else {
            value
        };
        let share = ((value - self.low) / (self.high - self.low)).clamp(0.0, 1.0);
        self.from + share * (self.to - self.from)
    }

    /// The values of marks, at most about `most` of them.
    pub(super) fn marks(&self, most: usize) -> Vec<f64> {
        if self.log {
            return self.log_marks(most);
        }
        let span = self.high - self.low;
        let rough = span / most as f64;
        let power = 10f64.powf(rough.log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0]
            .into_iter()
            .map(|step| step * power)
            .find(|step| *step >= rough);
        let step = step.unwrap_or(power * 10.0);
        let first = (self.low / step).ceil() as i64;
        let last = (self.high / step + 1e-9).floor() as i64;
        (first..=last).map(|mark| mark as f64 * step).collect()
    }

    fn log_marks(&self, most: usize) -> Vec<f64> {
        let powers = self.low.floor() as i32..=self.high.ceil() as i32;
        let inside = |mark: &f64| (self.low - 1e-9..=self.high + 1e-9).contains(&mark.log10());
        let of = |steps: &[f64]| -> Vec<f64> {
            let marks = powers
                .clone()
                .flat_map(|power| steps.iter().map(move |step| step * 10f64.powi(power)));
            marks.filter(|mark| inside(mark)).collect()
        };
        let fine = of(&[1.0, 2.0, 5.0]);
        if fine.len() <= most {
            return fine;
        }
        let tens = of(&[1.0]);
        let each = tens.len().div_ceil(most).max(1);
        tens.into_iter().step_by(each).collect()
    }
}

/// The first of some pixels, in order, of which no two are closer than `gap`; the last always
/// stays.
pub(super) fn apart(pixels: &[f64], gap: f64) -> Vec<usize> {
    let mut kept: Vec<usize> = Vec::new();
    for (place, pixel) in pixels.iter().enumerate() {
        if kept
            .last()
            .is_none_or(|last: &usize| pixel - pixels[*last] >= gap)
        {
            kept.push(place);
        } else if place + 1 == pixels.len() {
            kept.pop();
            kept.push(place);
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn linear_scales_begin_at_zero_and_have_round_marks() {
        let scale = AxisScale::linear([0.4, 1.9].into_iter(), 200.0, 0.0);
        assert_eq!(scale.at(0.0), 200.0);
        assert!(scale.at(1.9) > 0.0 && scale.at(1.9) < 20.0);
        assert_eq!(scale.marks(5), [0.0, 0.5, 1.0, 1.5, 2.0]);
        let flat = AxisScale::linear([0.0].into_iter(), 0.0, 1.0);
        assert!(flat.at(0.0).is_finite() && !flat.marks(4).is_empty());
        let below = AxisScale::linear([-2.0, 1.0].into_iter(), 0.0, 1.0);
        assert_eq!(below.at(-2.0), 0.0);
    }

    #[test]
    fn logarithmic_scales_have_marks_at_round_values() {
        let scale = AxisScale::logarithmic([3.0, 878.0].into_iter(), 0.0, 100.0, true);
        assert_eq!(
            scale.marks(9),
            [2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1000.0].map(|mark| mark)
        );
        assert_eq!(scale.marks(3).len(), 3);
        assert_eq!(
            (scale.at(2.0), scale.at(0.0), scale.at(5000.0)),
            (0.0, 0.0, 100.0)
        );
        let nothing = AxisScale::logarithmic([0.0].into_iter(), 0.0, 1.0, true);
        assert!(nothing.at(1.0).is_finite());
        let one = AxisScale::logarithmic([7.0].into_iter(), 0.0, 1.0, false);
        assert!(one.at(7.0).is_finite());
    }

    #[test]
    fn marks_are_kept_apart() {
        assert_eq!(apart(&[0.0, 10.0, 20.0, 40.0, 45.0], 18.0), [0, 2, 4]);
        assert_eq!(apart(&[0.0, 5.0], 18.0), [1]);
        assert_eq!(apart(&[], 1.0), Vec::<usize>::new());
    }
}
