//! The number of tasks that one steal takes.

use std::fmt;
use std::str::FromStr;

use crate::stack::span::CLAIM_MAX;

/// How many tasks a thief takes at once.
///
/// The thief runs the first of them and offers the rest to other thieves. The three amounts are
/// those of Adnan and Sato, *Dynamic Multiple Work Stealing Strategy for Flexible Load Balancing*
/// (2012), section 3.2, for closures as for continuations ([`crate::task`]); `n` counts the public
/// tasks of the victim and the one that it runs. A thief for which there is not enough takes
/// nothing.
///
/// ```
/// use roving::policy::Amount;
///
/// assert_eq!("half".parse(), Ok(Amount::Half));
/// assert_eq!("fixed:4".parse(), Ok(Amount::Fixed(4)));
/// assert_eq!(Amount::Fixed(4).to_string(), "fixed:4");
/// assert!("some".parse::<Amount>().is_err());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Amount {
    /// The oldest task. Best for balanced trees, where the oldest task is the largest.
    #[default]
    One,
    /// The oldest `d` tasks, or none when `n - 1 < d`. `d` is 1 to 64. A `d` that is too large for
    /// the program leaves workers idle.
    Fixed(usize),
    /// Half of the tasks, `floor(n / 2)`, none when that is below 1, and at most 64. Best for
    /// irregular trees, where no task's size is known.
    Half,
}

/// The most tasks that one steal takes.
pub const AMOUNT_MAX: usize = 64;
const _: () = assert!(AMOUNT_MAX <= CLAIM_MAX);

/// How many of `public` tasks a thief takes, perhaps none.
pub fn taken_of(amount: Amount, public: usize) -> usize {
    amount.of(public)
}

/// The fewest public tasks that a thief takes any of.
pub fn least_of(amount: Amount) -> usize {
    amount.least()
}

impl Amount {
    /// How many of `public` tasks a thief takes, perhaps none.
    pub(crate) fn of(self, public: usize) -> usize {
        let n = public + 1;
        let count = match self {
            Amount::One => 1,
            Amount::Fixed(d) => d,
            Amount::Half => n / 2,
        };
        if count > public {
            return 0;
        }
        count.min(AMOUNT_MAX)
    }

    /// The fewest public tasks that a thief takes any of.
    pub(crate) fn least(self) -> usize {
        match self {
            Amount::One | Amount::Half => 1,
            Amount::Fixed(d) => d,
        }
    }

    /// Whether the value is one that a pool can use.
    pub(crate) fn is_valid(self) -> bool {
        !matches!(self, Amount::Fixed(d) if d == 0 || d > AMOUNT_MAX)
    }
}

impl fmt::Display for Amount {
    #[inline]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Amount::One => f.write_str("one"),
            Amount::Fixed(d) => write!(f, "fixed:{d}"),
            Amount::Half => f.write_str("half"),
        }
    }
}

/// The error of a text that is no [`Amount`]. Names the text, and what would do.
///
/// ```
/// let error = "fixed:0".parse::<roving::policy::Amount>().unwrap_err();
/// assert_eq!(error.to_string(), "\"fixed:0\" is no steal amount: say one, half, or fixed:D with D from 1 to 64");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseAmountError(String);

impl fmt::Display for ParseAmountError {
    #[inline]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = &self.0;
        write!(
            f,
            "{text:?} is no steal amount: say one, half, or fixed:D with D from 1 to {AMOUNT_MAX}"
        )
    }
}

impl std::error::Error for ParseAmountError {}

impl FromStr for Amount {
    type Err = ParseAmountError;

    #[inline]
    fn from_str(text: &str) -> Result<Amount, ParseAmountError> {
        let amount = match text {
            "one" => Some(Amount::One),
            "half" => Some(Amount::Half),
            _ => text
                .strip_prefix("fixed:")
                .and_then(|d| d.parse().ok())
                .map(Amount::Fixed),
        };
        amount
            .filter(|amount| amount.is_valid())
            .ok_or_else(|| ParseAmountError(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::{AMOUNT_MAX, Amount};

    /// Section 3.2 of the paper, with `n` tasks of which one runs.
    #[test]
    fn amounts_are_those_of_the_paper() {
        for n in 1..200 {
            let pending = n - 1;
            assert_eq!(Amount::One.of(pending), pending.min(1));
            assert_eq!(
                Amount::Half.of(pending),
                (n / 2).min(pending).min(AMOUNT_MAX)
            );
            for d in 1..=AMOUNT_MAX {
                let expected = if n - 1 < d { 0 } else { d };
                assert_eq!(Amount::Fixed(d).of(pending), expected, "n={n} d={d}");
            }
        }
        assert_eq!(Amount::Half.of(0), 0, "floor(1 / 2) is below 1");
    }

    #[test]
    fn the_least_is_the_fewest_of_which_some_are_taken() {
        for amount in [
            Amount::One,
            Amount::Fixed(1),
            Amount::Fixed(7),
            Amount::Half,
        ] {
            assert_eq!(amount.of(amount.least() - 1), 0);
            assert!(amount.of(amount.least()) > 0);
        }
    }
}
