//! A thief's policy in the mean-field model.

use std::fmt;
use std::str::FromStr;

use crate::ModelError;

/// The largest amount and threshold.
const MOST: u32 = 1024;

/// How much a thief takes, and from whom: a victim must hold at least `threshold` tasks, of which
/// it runs one.
///
/// ```
/// use roving_model::Policy;
///
/// assert_eq!("one".parse(), Ok(Policy::One { threshold: 2 }));
/// assert_eq!("fixed:3:6".parse(), Ok(Policy::Fixed { amount: 3, threshold: 6 }));
/// assert_eq!("half".parse::<Policy>().unwrap().to_string(), "half, T=2");
/// assert!("fixed:3:3".parse::<Policy>().is_err(), "the victim keeps one");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Policy {
    /// Nobody steals: n separate queues.
    None,
    /// One task.
    One {
        /// 2 at least.
        threshold: u32,
    },
    /// A fixed number of tasks.
    Fixed {
        /// How many.
        amount: u32,
        /// Above `amount`.
        threshold: u32,
    },
    /// Of j tasks, `floor(j / 2)`.
    Half {
        /// 2 at least.
        threshold: u32,
    },
}

impl Policy {
    /// The fewest tasks of a victim; none where nobody steals.
    ///
    /// ```
    /// use roving_model::Policy;
    /// assert_eq!(Policy::Half { threshold: 2 }.threshold(), Some(2));
    /// assert_eq!(Policy::None.threshold(), None);
    /// ```
    pub fn threshold(self) -> Option<usize> {
        match self {
            Policy::None => None,
            Policy::One { threshold }
            | Policy::Fixed { threshold, .. }
            | Policy::Half { threshold } => Some(threshold as usize),
        }
    }

    /// How many of a victim's `load` tasks a thief takes.
    ///
    /// ```
    /// use roving_model::Policy;
    /// assert_eq!(Policy::Half { threshold: 2 }.takes(7), 3);
    /// assert_eq!(Policy::One { threshold: 4 }.takes(3), 0);
    /// ```
    pub fn takes(self, load: u32) -> u32 {
        match self {
            Policy::One { threshold } if load >= threshold => 1,
            Policy::Fixed { amount, threshold } if load >= threshold => amount,
            Policy::Half { threshold } if load >= threshold => load / 2,
            _ => 0,
        }
    }

    /// The policy, if its numbers fit.
    ///
    /// ```
    /// use roving_model::Policy;
    /// assert!(Policy::Fixed { amount: 3, threshold: 4 }.checked().is_ok());
    /// assert!(Policy::Fixed { amount: 3, threshold: 3 }.checked().is_err(), "the victim keeps one");
    /// ```
    pub fn checked(self) -> Result<Policy, ModelError> {
        let least = match self {
            Policy::None => return Ok(self),
            Policy::Fixed { amount, .. } => {
                if !(1..MOST).contains(&amount) {
                    let allowed = format!("1 to {}", MOST - 1);
                    return Err(ModelError::new(
                        "steal amount",
                        amount,
                        allowed,
                        "take fixed:4",
                    ));
                }
                amount + 1
            }
            Policy::One { .. } | Policy::Half { .. } => 2,
        };
        let threshold = self.threshold().unwrap_or(0) as u32;
        if (least..=MOST).contains(&threshold) {
            return Ok(self);
        }
        let allowed = format!("{least} to {MOST}, since the victim keeps the task that it runs");
        Err(ModelError::new(
            "steal threshold",
            threshold,
            allowed,
            "leave it out",
        ))
    }
}

impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Policy::None => f.write_str("none"),
            Policy::One { threshold } => write!(f, "one, T={threshold}"),
            Policy::Fixed { amount, threshold } => write!(f, "fixed {amount}, T={threshold}"),
            Policy::Half { threshold } => write!(f, "half, T={threshold}"),
        }
    }
}

impl FromStr for Policy {
    type Err = ModelError;

    /// `none`, `one`, `one:T`, `fixed:K`, `fixed:K:T`, `half`, `half:T`.
    fn from_str(text: &str) -> Result<Policy, ModelError> {
        let mut words = text.split(':');
        let name = words.next().unwrap_or("");
        let numbers: Option<Vec<u32>> = words.map(|word| word.parse().ok()).collect();
        let policy = match (name, numbers.as_deref()) {
            ("none", Some([])) => Some(Policy::None),
            ("one", Some([])) => Some(Policy::One { threshold: 2 }),
            ("one", Some(&[threshold])) => Some(Policy::One { threshold }),
            ("fixed", Some(&[amount])) => Some(Policy::Fixed {
                amount,
                threshold: amount.saturating_add(1),
            }),
            ("fixed", Some(&[amount, threshold])) => Some(Policy::Fixed { amount, threshold }),
            ("half", Some([])) => Some(Policy::Half { threshold: 2 }),
            ("half", Some(&[threshold])) => Some(Policy::Half { threshold }),
            _ => None,
        };
        let allowed = "none, one, one:T, fixed:K, fixed:K:T, half or half:T";
        policy
            .ok_or_else(|| ModelError::new("policy", text, allowed, "take one"))?
            .checked()
    }
}

#[cfg(test)]
mod tests {
    use super::Policy;

    #[test]
    fn what_is_wrong_is_named() {
        for (text, names) in [
            ("fixed:4:4", "5 to 1024"),
            ("one:1", "2 to 1024"),
            ("half:x", "`half:x`"),
            ("two", "one:T"),
            ("fixed:0", "`0`"),
            ("fixed:4294967295", "1 to 1023"),
        ] {
            let error = text.parse::<Policy>().unwrap_err().to_string();
            assert!(error.contains(names), "{text}: {error}");
        }
    }

    #[test]
    fn a_victim_keeps_at_least_one() {
        for text in ["one", "fixed:7", "half", "half:5", "fixed:2:9"] {
            let policy: Policy = text.parse().unwrap();
            for load in 0..100 {
                let taken = policy.takes(load);
                assert!(taken < load || taken == 0);
                assert_eq!(taken > 0, load as usize >= policy.threshold().unwrap());
            }
        }
    }
}
