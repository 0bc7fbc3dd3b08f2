//! User input: numbers, lists of parameters, and the one-line error for a wrong one.

use std::fmt;
use std::process::ExitCode;

/// Why the command stops.
#[derive(Debug)]
pub(crate) enum CommandFailure {
    /// The user asked for something impossible: exit status 2.
    Input(BadInput),
    /// Something that was possible went wrong: exit status 1.
    Run(String),
}

impl CommandFailure {
    /// Prints the one line that explains the failure, and gives the exit status.
    pub(crate) fn print(&self) -> ExitCode {
        match self {
            CommandFailure::Input(bad) => {
                eprintln!("roving: {bad}");
                ExitCode::from(2)
            }
            CommandFailure::Run(why) => {
                eprintln!("roving: {why}");
                ExitCode::FAILURE
            }
        }
    }
}

impl fmt::Display for CommandFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CommandFailure::Input(bad) => bad.fmt(f),
            CommandFailure::Run(why) => f.write_str(why),
        }
    }
}

impl From<BadInput> for CommandFailure {
    fn from(bad: BadInput) -> Self {
        CommandFailure::Input(bad)
    }
}

/// A value that cannot be used: what it was for, what is allowed, what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BadInput(String);

impl BadInput {
    /// `subject` names the parameter, `value` is what was given.
    pub(crate) fn new(
        subject: impl fmt::Display,
        value: impl fmt::Display,
        allowed: impl fmt::Display,
        remedy: impl fmt::Display,
    ) -> Self {
        let line = format!("{subject} `{value}` is not allowed: want {allowed}; {remedy}");
        BadInput(line.split_whitespace().collect::<Vec<_>>().join(" "))
    }

    /// A line that says everything already.
    pub(crate) fn line(line: impl Into<String>) -> Self {
        BadInput(line.into())
    }
}

impl fmt::Display for BadInput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A whole number as people write it: `1000000`, `1_000_000`, `1e6`.
pub(crate) fn whole_number(text: &str) -> Option<u64> {
    let plain = text.replace('_', "");
    let (digits, zeros) = match plain.split_once(['e', 'E']) {
        Some((digits, zeros)) => (digits, unsigned::<u32>(zeros)?),
        None => (plain.as_str(), 0),
    };
    unsigned::<u64>(digits)?.checked_mul(10u64.checked_pow(zeros)?)
}

/// Digits only: `parse` alone would also take a plus sign.
fn unsigned<T: std::str::FromStr>(digits: &str) -> Option<T> {
    let digits_only = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    digits_only.then(|| digits.parse().ok()).flatten()
}

/// A whole number within a range, or the error that names value, range and remedy.
pub(crate) fn number_in(
    subject: &str,
    text: &str,
    range: std::ops::RangeInclusive<u64>,
    remedy: &str,
) -> Result<u64, BadInput> {
    whole_number(text)
        .filter(|number| range.contains(number))
        .ok_or_else(|| {
            let allowed = format!("a whole number from {} to {}", range.start(), range.end());
            BadInput::new(subject, text, allowed, remedy)
        })
}

/// Digits in groups of three: 4,112,897.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::with_capacity(digits.len() * 4 / 3 + 1);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// Parameters that are seldom right: `input` with one of its values replaced, or with one more
/// whose name is a word of the description.
#[cfg(test)]
pub(crate) fn twisted(input: &str, words: &str, at: usize, value: &str) -> String {
    let words = words.split(|c: char| !c.is_ascii_lowercase() && c != '_');
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    let mut parts: Vec<String> = input.split(',').map(str::to_owned).collect();
    let place = at % (parts.len() + words.len());
    match parts.get_mut(place) {
        Some(part) => {
            let name = part.split_once('=').map(|(name, _)| format!("{name}="));
            *part = name.unwrap_or_default() + value;
        }
        None => parts.push(format!("{}={value}", words[place - parts.len()])),
    }
    parts.join(",")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// A number is digits, with a power of ten at the end, or it is refused.
        #[test]
        fn fuzz_numbers_of_any_text(text in "[0-9_eE+.-]{0,24}|.{0,24}") {
            if let Some(number) = whole_number(&text) {
                let is_of_one = |c: char| c.is_ascii_digit() || "_eE".contains(c);
                prop_assert!(text.chars().all(is_of_one), "{number}");
                let exact: Result<u64, _> = text.parse();
                prop_assert!(exact.is_err() || exact == Ok(number));
            }
        }
    }

    #[test]
    fn whole_numbers_are_read_as_people_write_them() {
        assert_eq!(whole_number("1000000"), Some(1_000_000));
        assert_eq!(whole_number("1_000_000"), Some(1_000_000));
        assert_eq!(whole_number("1e6"), Some(1_000_000));
        for bad in [
            "",
            "e6",
            "-1",
            "+1",
            "1.5",
            "1e20",
            "1e+2",
            "99999999999999999999",
            "ten",
        ] {
            assert_eq!(whole_number(bad), None, "{bad}");
        }
    }

    #[test]
    fn groups_of_three() {
        for (number, text) in [
            (0, "0"),
            (999, "999"),
            (1000, "1,000"),
            (4_112_897, "4,112,897"),
        ] {
            assert_eq!(grouped(number), text);
        }
    }

    #[test]
    fn an_error_names_value_range_and_remedy() {
        let error = number_in("--workers", "0", 1..=64, "leave it out")
            .unwrap_err()
            .to_string();
        assert_eq!(
            error,
            "--workers `0` is not allowed: want a whole number from 1 to 64; leave it out"
        );
    }
}
