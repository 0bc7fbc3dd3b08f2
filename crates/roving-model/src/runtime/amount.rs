//! The number of tasks that one steal takes, as in the runtime.

use std::fmt;
use std::str::FromStr;

use crate::ModelError;

/// The most tasks that one steal takes.
const AMOUNT_MAX: u32 = 64;

/// How many of the tasks that a victim shows a thief takes: `roving::policy::Amount`, for the
/// simulator.
///
/// ```
/// use roving_model::Amount;
/// assert_eq!("fixed:4".parse(), Ok(Amount::Fixed(4)));
/// assert_eq!((Amount::Half.of(7), Amount::Fixed(4).of(3)), (4, 0));
/// assert_eq!(Amount::Half.to_string(), "half");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Amount {
    /// The oldest.
    #[default]
    One,
    /// The oldest so many, or none if there are fewer.
    Fixed(u32),
    /// Half of what the victim shows and the one that it runs, rounded down.
    Half,
}

impl Amount {
    /// How many of `public` tasks are taken.
    pub fn of(self, public: u32) -> u32 {
        let count = match self {
            Amount::One => 1,
            Amount::Fixed(amount) => amount,
            Amount::Half => public.div_ceil(2),
        };
        if count > public {
            return 0;
        }
        count.min(AMOUNT_MAX)
    }

    /// The fewest public tasks of which some are taken.
    pub(super) fn least(self) -> u32 {
        match self {
            Amount::One | Amount::Half => 1,
            Amount::Fixed(amount) => amount,
        }
    }

    pub(super) fn checked(self) -> Result<Amount, ModelError> {
        match self {
            Amount::Fixed(amount) if !(1..=AMOUNT_MAX).contains(&amount) => {
                let allowed = format!("1 to {AMOUNT_MAX}");
                Err(ModelError::new(
                    "steal amount",
                    amount,
                    allowed,
                    "take fixed:4",
                ))
            }
            amount => Ok(amount),
        }
    }
}

impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Amount::One => f.write_str("one"),
            Amount::Fixed(amount) => write!(f, "fixed:{amount}"),
            Amount::Half => f.write_str("half"),
        }
    }
}

impl FromStr for Amount {
    type Err = ModelError;

    fn from_str(text: &str) -> Result<Amount, ModelError> {
        let amount = match text {
            "one" => Some(Amount::One),
            "half" => Some(Amount::Half),
            _ => text
                .strip_prefix("fixed:")
                .and_then(|amount| amount.parse().ok())
                .map(Amount::Fixed),
        };
        let allowed = format!("one, half, or fixed:D with D from 1 to {AMOUNT_MAX}");
        amount
            .ok_or_else(|| ModelError::new("steal amount", text, allowed, "take one"))?
            .checked()
    }
}
