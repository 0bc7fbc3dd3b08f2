//! Times and shares as decimals, in whole numbers: the code of `std` for floating-point numbers is
//! large, and a program that prints none need not have it.

use std::fmt;
use std::time::Duration;

/// Seconds with so many digits after the point, at most nine. The last is rounded.
pub(crate) struct Seconds(pub(crate) Duration, pub(crate) u32);

impl fmt::Display for Seconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Seconds(time, digits) = *self;
        let unit = 10_u128.pow(9 - digits);
        decimal(f, (time.as_nanos() + unit / 2) / unit, digits)
    }
}

/// A part of a whole in percent, with one digit after the point.
pub(crate) struct Percent(pub(crate) Duration, pub(crate) Duration);

impl fmt::Display for Percent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let whole = self.1.as_nanos().max(1);
        decimal(f, (1000 * self.0.as_nanos() + whole / 2) / whole, 1)
    }
}

fn decimal(f: &mut fmt::Formatter<'_>, value: u128, digits: u32) -> fmt::Result {
    let unit = 10_u128.pow(digits);
    // Centuries of seconds and shares of a whole fit.
    let (whole, rest) = ((value / unit) as u64, (value % unit) as u64);
    write!(f, "{whole}.{rest:0>width$}", width = digits as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_are_rounded_to_their_digits() {
        let time = Duration::from_nanos(1_049_600_500);
        for (digits, text) in [
            (1, "1.0"),
            (2, "1.05"),
            (3, "1.050"),
            (6, "1.049601"),
            (9, "1.049600500"),
        ] {
            assert_eq!(Seconds(time, digits).to_string(), text);
        }
        assert_eq!(Seconds(Duration::from_millis(1999), 1).to_string(), "2.0");
        assert_eq!(Seconds(Duration::ZERO, 3).to_string(), "0.000");
    }

    #[test]
    fn shares_have_one_digit() {
        let second = Duration::from_secs(1);
        assert_eq!(Percent(second, 4 * second).to_string(), "25.0");
        assert_eq!(Percent(second, 3 * second).to_string(), "33.3");
        assert_eq!(Percent(2 * second, 3 * second).to_string(), "66.7");
        assert_eq!(
            Percent(second, Duration::ZERO).to_string(),
            "100000000000.0"
        );
        assert_eq!(Percent(Duration::ZERO, Duration::ZERO).to_string(), "0.0");
    }
}
