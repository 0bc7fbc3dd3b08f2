//! Why a detached task has no result, and why one was not taken.

use std::any::Any;
use std::error::Error;
use std::fmt;

use crate::machine::prim::Mutex;
use crate::machine::unwind;

/// The error of a [`JoinHandle`](crate::JoinHandle) whose task has no result: it was cancelled, or
/// it panicked.
///
/// ```
/// let error = roving::spawn(|| panic!("no result")).join().unwrap_err();
/// assert!(error.is_panic());
/// assert_eq!(error.to_string(), "the task panicked: no result");
/// ```
pub struct JoinError(Kind);

enum Kind {
    Cancelled,
    /// In a mutex, so that the error is `Sync` although a payload need not be.
    Panicked(Mutex<Box<dyn Any + Send>>),
}

impl JoinError {
    pub(super) fn cancelled() -> JoinError {
        JoinError(Kind::Cancelled)
    }

    pub(super) fn panicked(payload: Box<dyn Any + Send>) -> JoinError {
        JoinError(Kind::Panicked(Mutex::new(payload)))
    }

    /// Returns whether the task was dropped before it began, by
    /// [`JoinHandle::abort`](crate::JoinHandle::abort), a [`Cancel`](crate::Cancel) or
    /// [`Pool::shutdown_now`](crate::Pool::shutdown_now); or ended early because its
    /// [`Cancel`](crate::Cancel) was cancelled.
    ///
    /// ```
    /// let request = roving::Cancel::new();
    /// let task = request.run_partial(|| {
    ///     request.cancel();
    ///     roving::spawn(|| unreachable!("cancelled before it was spawned"))
    /// });
    /// assert!(task.unwrap().join().unwrap_err().is_cancelled());
    /// ```
    pub fn is_cancelled(&self) -> bool {
        matches!(self.0, Kind::Cancelled)
    }

    /// Returns whether the task panicked.
    ///
    /// ```
    /// let error = roving::spawn(|| panic!()).join().unwrap_err();
    /// assert!(error.is_panic() && !error.is_cancelled());
    /// ```
    pub fn is_panic(&self) -> bool {
        matches!(self.0, Kind::Panicked(_))
    }

    /// Returns the payload of the panic, for [`std::panic::resume_unwind`].
    ///
    /// # Errors
    /// The error itself, if the task was cancelled.
    ///
    /// ```
    /// let error = roving::spawn(|| panic!("no result")).join().unwrap_err();
    /// let payload = error.try_into_panic().unwrap();
    /// assert_eq!(payload.downcast_ref(), Some(&"no result"));
    /// ```
    #[inline]
    pub fn try_into_panic(self) -> Result<Box<dyn Any + Send>, JoinError> {
        match self.0 {
            Kind::Panicked(payload) => Ok(payload.into_inner()),
            Kind::Cancelled => Err(self),
        }
    }

    #[inline]
    fn message(&self) -> Option<String> {
        let Kind::Panicked(payload) = &self.0 else {
            return None;
        };
        unwind::text(&**payload.lock()).map(str::to_owned)
    }
}

impl fmt::Display for JoinError {
    #[inline]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.0, self.message()) {
            (Kind::Cancelled, _) => f.write_str("the task was cancelled before it was done"),
            (Kind::Panicked(_), Some(message)) => write!(f, "the task panicked: {message}"),
            (Kind::Panicked(_), None) => f.write_str("the task panicked"),
        }
    }
}

impl fmt::Debug for JoinError {
    #[inline]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.0, self.message()) {
            (Kind::Cancelled, _) => f.write_str("Cancelled"),
            (Kind::Panicked(_), message) => f
                .debug_tuple("Panicked")
                .field(&message.unwrap_or_default())
                .finish(),
        }
    }
}

impl Error for JoinError {}
