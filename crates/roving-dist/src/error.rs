//! How a run across ranks can fail.

use std::fmt;
use std::sync::Arc;

/// The reason why the run ended on all ranks. Names the rank at fault, where it is known.
///
/// ```
/// use roving_dist::World;
///
/// let errors = World::threads(2, |world| match world.rank() {
///     0 => world.fail("no input").to_string(),
///     _ => world.barrier().unwrap_err().to_string(),
/// });
/// assert_eq!(errors, ["rank 0 of 2: no input"; 2]);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    rank: Option<usize>,
    text: Arc<str>,
    is_loss: bool,
}

impl Error {
    /// An error of this rank, of so many.
    pub(crate) fn at(rank: usize, ranks: usize, what: impl fmt::Display) -> Error {
        Error {
            rank: Some(rank),
            text: format!("rank {rank} of {ranks}: {what}").into(),
            is_loss: false,
        }
    }

    /// An error from before there are ranks.
    pub(crate) fn anywhere(what: impl fmt::Display) -> Error {
        Error {
            rank: None,
            text: what.to_string().into(),
            is_loss: false,
        }
    }

    /// Makes it an error of a rank or a connection that is lost: the program itself has not failed.
    pub(crate) fn of_loss(self) -> Error {
        Error {
            is_loss: true,
            ..self
        }
    }

    /// The status with which processes end because of it. That of a loss is `EX_TEMPFAIL` of
    /// `sysexits.h`: the same again may succeed.
    pub(crate) fn status(&self) -> i32 {
        if self.is_loss { 75 } else { 1 }
    }

    /// Returns the rank at fault, where it is known.
    ///
    /// ```
    /// let rank = roving_dist::World::threads(1, |world| world.fail("full").rank());
    /// assert_eq!(rank, [Some(0)]);
    /// ```
    pub fn rank(&self) -> Option<usize> {
        self.rank
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for Error {}
