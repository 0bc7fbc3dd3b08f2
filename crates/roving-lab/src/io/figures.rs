//! Numbers, as people are shown them.

/// `1 worker`, `2 workers`.
pub(crate) fn counted(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

/// A time with three or four digits and the unit that fits.
pub(crate) fn seconds(seconds: f64) -> String {
    let (value, unit) = match seconds {
        s if s < 1e-6 => (s * 1e9, "ns"),
        s if s < 1e-3 => (s * 1e6, "µs"),
        s if s < 1.0 => (s * 1e3, "ms"),
        s => (s, "s"),
    };
    let digits = if value < 10.0 { 2 } else { 1 };
    format!("{value:.digits$} {unit}")
}

/// Four significant figures, never in the form 1e-7.
pub(crate) fn figures(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return format!("{value}");
    }
    let before = value.abs().log10().floor() as i32;
    let after = (3 - before).clamp(0, 12) as usize;
    format!("{value:.after$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_the_unit_that_fits() {
        for (time, text) in [
            (3.2e-9, "3.20 ns"),
            (4.5e-5, "45.0 µs"),
            (0.0567, "56.7 ms"),
            (1.234, "1.23 s"),
            (90.0, "90.0 s"),
        ] {
            assert_eq!(seconds(time), text);
        }
    }
}
