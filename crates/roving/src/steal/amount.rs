//! How many tasks one theft takes.

use std::fmt;
use std::str::FromStr;

/// How many tasks a thief takes at once.
///
/// What it took beyond the task that it runs first, it offers on to other thieves. The three
/// amounts are those of Adnan and Sato, *Dynamic Multiple Work Stealing Strategy for Flexible Load
/// Balancing* (2012), section 3.2, here for tasks rather than continuations; `n` counts the tasks
/// that are pending and the one that the victim runs.
///
/// ```
/// use roving::Amount;
///
/// assert_eq!("half".parse(), Ok(Amount::Half));
/// assert_eq!("fixed:4".parse(), Ok(Amount::Fixed(4)));
/// assert_eq!(Amount::Fixed(4).to_string(), "fixed:4");
/// assert!("some".parse::<Amount>().is_err());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Amount {
    /// The oldest task. Best for balanced trees, where the oldest task is the largest.
    #[default]
    One,
    /// The oldest `d` tasks, or as many as are public if they are fewer. `d` is 1 to 64.
    Fixed(usize),
    /// Half of the tasks, `floor(n / 2)`, and at most 64. Best for irregular trees, where no
    /// task's size is known.
    Half,
}

/// Most tasks that one theft takes.
pub(crate) const AMOUNT_MAX: usize = 64;

impl Amount {
    /// How many of `public` tasks (at least one) a thief takes.
    pub(crate) fn of(self, public: usize) -> usize {
        let count = match self {
            Amount::One => 1,
            Amount::Fixed(d) => d,
            Amount::Half => public.div_ceil(2),
        };
        count.min(public).min(AMOUNT_MAX)
    }

    /// Whether the value is one that a pool can use.
    pub(crate) fn is_valid(self) -> bool {
        !matches!(self, Amount::Fixed(d) if d == 0 || d > AMOUNT_MAX)
    }
}

impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Amount::One => f.write_str("one"),
            Amount::Fixed(d) => write!(f, "fixed:{d}"),
            Amount::Half => f.write_str("half"),
        }
    }
}

/// The text is no [`Amount`]. Says what was read and what would do.
///
/// ```
/// let error = "fixed:0".parse::<roving::Amount>().unwrap_err();
/// assert_eq!(error.to_string(), "\"fixed:0\" is no steal amount: say one, half, or fixed:D with D from 1 to 64");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseAmountError(String);

impl fmt::Display for ParseAmountError {
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
