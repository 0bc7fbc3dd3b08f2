//! Several values of one thing, as a report shows them: how many, the quartiles, the ends.

/// The five numbers of a sample, and its size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Spread {
    /// How many values; 0 for a figure that somebody else published without its sample.
    pub(super) n: usize,
    /// The least.
    pub(super) min: f64,
    /// The lower quartile.
    pub(super) lower: f64,
    /// The median.
    pub(super) median: f64,
    /// The upper quartile.
    pub(super) upper: f64,
    /// The greatest.
    pub(super) max: f64,
}

impl Spread {
    /// Of these values; none where there are none, or one of them is no number.
    pub(super) fn of(values: &[f64]) -> Option<Spread> {
        if values.is_empty() || values.iter().any(|value| !value.is_finite()) {
            return None;
        }
        let mut sorted = values.to_vec();
        sorted.sort_unstable_by(f64::total_cmp);
        let at = |part: f64| {
            let place = part * (sorted.len() - 1) as f64;
            let (low, high) = (
                sorted[place.floor() as usize],
                sorted[place.ceil() as usize],
            );
            low + (high - low) * place.fract()
        };
        Some(Spread {
            n: sorted.len(),
            min: at(0.0),
            lower: at(0.25),
            median: at(0.5),
            upper: at(0.75),
            max: at(1.0),
        })
    }

    /// A figure as a paper prints it: one number, of which nobody knows the sample.
    pub(super) fn printed(value: f64) -> Spread {
        Spread {
            n: 0,
            min: value,
            lower: value,
            median: value,
            upper: value,
            max: value,
        }
    }

    /// The distance of the quartiles.
    pub(super) fn width(&self) -> f64 {
        self.upper - self.lower
    }

    /// The ends of the whiskers of a box plot: the furthest values within one and a half widths of
    /// the box. `values` is the sample of this spread.
    pub(super) fn whiskers(&self, values: &[f64]) -> (f64, f64) {
        let reach = 1.5 * self.width();
        let inside = |value: &&f64| (self.lower - reach..=self.upper + reach).contains(*value);
        let inside: Vec<f64> = values.iter().filter(inside).copied().collect();
        let low = inside.iter().copied().fold(self.lower, f64::min);
        (low, inside.iter().copied().fold(self.upper, f64::max))
    }
}

/// The median; not a number where there are no values.
pub(super) fn median(values: &[f64]) -> f64 {
    Spread::of(values).map_or(f64::NAN, |spread| spread.median)
}

/// A number with three digits, without needless ones behind the point.
pub(super) fn number(value: f64) -> String {
    let size = value.abs();
    if size == 0.0 {
        return "0".to_owned();
    }
    let places = if size >= 100.0 {
        0
    } else if size >= 10.0 {
        1
    } else if size >= 1.0 {
        2
    } else {
        (2 - size.log10().floor() as i32).clamp(2, 9)
    };
    let text = format!("{value:.*}", places as usize);
    if size >= 1000.0 {
        let whole = crate::io::input::grouped(size.round() as u64);
        return if value < 0.0 {
            format!("−{whole}")
        } else {
            whole
        };
    }
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_five_numbers_lie_where_they_should() {
        let spread = Spread::of(&[5.0, 1.0, 4.0, 2.0, 3.0]).unwrap();
        let found = [
            spread.min,
            spread.lower,
            spread.median,
            spread.upper,
            spread.max,
        ];
        assert_eq!((spread.n, found), (5, [1.0, 2.0, 3.0, 4.0, 5.0]));
        assert_eq!(Spread::of(&[1.0, 2.0]).unwrap().median, 1.5);
        assert_eq!(spread.width(), 2.0);
        assert!(Spread::of(&[]).is_none() && Spread::of(&[1.0, f64::NAN]).is_none());
        assert!(median(&[]).is_nan());
    }

    #[test]
    fn whiskers_leave_outliers_outside() {
        let values = [1.0, 2.0, 3.0, 4.0, 5.0, 50.0];
        let spread = Spread::of(&values).unwrap();
        assert_eq!(spread.whiskers(&values), (1.0, 5.0));
        assert_eq!(Spread::printed(7.0).whiskers(&[]), (7.0, 7.0));
    }

    #[test]
    fn numbers_have_three_digits() {
        for (value, want) in [
            (0.0, "0"),
            (0.158, "0.158"),
            (0.000_123_4, "0.000123"),
            (1.9, "1.9"),
            (19.0, "19"),
            (28.74, "28.7"),
            (877.6, "878"),
            (110_400.0, "110,400"),
            (-2200.0, "−2,200"),
            (-0.5, "-0.5"),
        ] {
            assert_eq!(number(value), want);
        }
    }
}
