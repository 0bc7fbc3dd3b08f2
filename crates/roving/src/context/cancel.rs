//! `Cancel`: what a user holds of the cancellation tree.

use std::fmt;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::inherit::cancelled::CancelledError;
use crate::inherit::node::{self, Inherited, Node};
use crate::inherit::token::Token;
use crate::workers::Worker;
use crate::workers::drop_cancelled::count_dropped;
use crate::workers::enter::run_in;

/// A request to stop: a token for all work that belongs to it, and for the tokens below it.
///
/// [`Self::run`] makes all work inside belong to the token: both halves of a `join`, the tasks of
/// scopes, detached tasks, calls into other pools, async tasks, the processes of a network. Loops
/// of this crate end early. Other running code is never interrupted: it asks [`is_cancelled`], or
/// waits for [`crate::context::cancelled`]. Work that has not begun is dropped instead of run,
/// unless a caller needs its result; see [`crate::context`] for the list.
///
/// Clones are the same token. Creating one costs an allocation, cancelling it a lock and a wake-up
/// for each waiting task, and asking it a load for each token on the way up.
///
/// ```
/// use roving::Cancel;
///
/// let request = Cancel::new();
/// let part = request.child();
/// part.cancel();
/// assert!(part.is_cancelled() && !request.is_cancelled());
/// request.cancel();
/// assert!(request.child().is_cancelled());
/// ```
#[derive(Clone)]
pub struct Cancel {
    token: Arc<Token>,
}

impl Cancel {
    /// Creates a token without a parent.
    ///
    /// ```
    /// assert!(!roving::Cancel::new().is_cancelled());
    /// ```
    #[expect(clippy::new_without_default, reason = "no two of them are equal")]
    #[inline]
    pub fn new() -> Cancel {
        Cancel::with(None, None)
    }

    #[inline]
    fn with(parent: Option<Arc<Token>>, deadline: Option<Instant>) -> Cancel {
        Cancel {
            token: Token::new(parent, deadline),
        }
    }

    /// Creates a token that is cancelled by itself at `deadline`.
    ///
    /// There is no ticker: [`Self::is_cancelled`] reads the clock. Only while a task is suspended
    /// until a deadline ([`crate::context::cancelled`]) does a thread sleep for all deadlines of
    /// the process.
    ///
    /// ```
    /// use std::time::Instant;
    ///
    /// assert!(roving::Cancel::at(Instant::now()).is_cancelled());
    /// ```
    #[inline]
    pub fn at(deadline: Instant) -> Cancel {
        Cancel::with(None, Some(deadline))
    }

    /// Creates a token that is cancelled by itself after `time`. A time that is too long for the
    /// clock is never.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// assert!(roving::Cancel::after(Duration::ZERO).is_cancelled());
    /// assert!(!roving::Cancel::after(Duration::MAX).is_cancelled());
    /// ```
    #[inline]
    pub fn after(time: Duration) -> Cancel {
        Cancel::with(None, Instant::now().checked_add(time))
    }

    /// Creates a child of this token. It is cancelled when this one is, and can be cancelled alone.
    ///
    /// ```
    /// let request = roving::Cancel::new();
    /// let (one, other) = (request.child(), request.child());
    /// one.cancel();
    /// assert!(one.is_cancelled() && !other.is_cancelled());
    /// request.cancel();
    /// assert!(other.is_cancelled());
    /// ```
    #[must_use]
    #[inline]
    pub fn child(&self) -> Cancel {
        Cancel::with(Some(Arc::clone(&self.token)), None)
    }

    /// Creates a child of this token that has a deadline. The earlier deadline of the two counts: a
    /// child does not outlast its parent.
    ///
    /// ```
    /// use std::time::{Duration, Instant};
    ///
    /// let soon = Instant::now() + Duration::from_secs(1);
    /// let request = roving::Cancel::at(soon);
    /// let part = request.child_at(soon + Duration::from_secs(1));
    /// assert_eq!(part.deadline(), Some(soon));
    /// ```
    #[must_use]
    #[inline]
    pub fn child_at(&self, deadline: Instant) -> Cancel {
        Cancel::with(Some(Arc::clone(&self.token)), Some(deadline))
    }

    /// Returns the time at which this token is cancelled by itself: the earliest deadline of its
    /// own and its ancestors, if there is one.
    ///
    /// ```
    /// use std::time::{Duration, Instant};
    ///
    /// let request = roving::Cancel::after(Duration::from_secs(60));
    /// assert!(request.deadline().is_some_and(|deadline| deadline > Instant::now()));
    /// assert_eq!(roving::Cancel::new().deadline(), None);
    /// ```
    pub fn deadline(&self) -> Option<Instant> {
        self.token.deadline()
    }

    /// Cancels this token and those below it. Returns at once; whatever waits for the token is
    /// woken.
    ///
    /// ```
    /// let request = roving::Cancel::new();
    /// request.cancel();
    /// assert!(request.run(|| "not begun").is_err());
    /// ```
    #[inline]
    pub fn cancel(&self) {
        self.token.cancel();
    }

    /// Returns whether this token or one of its ancestors was cancelled, or its time is up.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// assert!(roving::Cancel::after(Duration::ZERO).is_cancelled());
    /// assert!(!roving::Cancel::new().is_cancelled());
    /// ```
    #[inline]
    pub fn is_cancelled(&self) -> bool {
        self.token.is_cancelled()
    }

    /// Calls `f`, and makes all work inside belong to this token: see [`Cancel`]. `Ok` says that
    /// all of that work was done: nothing was dropped, no loop ended early, and nobody had asked
    /// for an end when `f` returned. [`Self::run_partial`] returns what `f` came to all the same.
    ///
    /// # Errors
    /// [`CancelledError`] if this token, or one above it, is cancelled before `f` has ended: before
    /// it began (then `f` is dropped), or while it ran (then its result is dropped).
    ///
    /// # Panics
    /// With what `f` panics with, also where a loop beside that was cut short.
    ///
    /// ```
    /// use roving::{Cancel, CancelledError};
    ///
    /// let request = Cancel::new();
    /// let sum = || roving::map_reduce(0..1000, 0, |n| n, |a, b| a + b);
    /// assert_eq!(request.run(sum), Ok(499_500));
    /// let given_up = request.run(|| {
    ///     request.cancel();
    ///     sum()
    /// });
    /// assert_eq!(given_up, Err(CancelledError), "not a part of the sum");
    /// ```
    pub fn run<R>(&self, f: impl FnOnce() -> R) -> Result<R, CancelledError> {
        let result = self.run_partial(f)?;
        match self.is_cancelled() {
            true => Err(CancelledError),
            false => Ok(result),
        }
    }

    /// Calls `f` like [`Self::run`], and returns what `f` returns also when the token was cancelled
    /// meanwhile: tasks of its scopes may have been dropped, so the result may be that of a part of
    /// the work. For a search that keeps the best it has found by its deadline.
    ///
    /// # Errors
    /// [`CancelledError`] if the token is cancelled before `f` begins (then `f` is dropped), or if
    /// `f` needed a result that is not there: a loop that ended early, or a task that was dropped.
    ///
    /// # Panics
    /// With what `f` panics with.
    ///
    /// ```
    /// use std::sync::atomic::{AtomicU32, Ordering};
    ///
    /// let begun = AtomicU32::new(0);
    /// let request = roving::Cancel::new();
    /// let pool = roving::Pool::new(1).unwrap();
    /// let search = || {
    ///     roving::scope(|s| {
    ///         for _ in 0..10 {
    ///             s.spawn(|_| {
    ///                 begun.fetch_add(1, Ordering::Relaxed);
    ///                 request.cancel();
    ///             });
    ///         }
    ///     });
    ///     begun.load(Ordering::Relaxed)
    /// };
    /// let seen = pool.install(|| request.run_partial(search));
    /// assert_eq!(seen, Ok(1), "the other tasks were dropped");
    /// ```
    pub fn run_partial<R>(&self, f: impl FnOnce() -> R) -> Result<R, CancelledError> {
        if self.is_cancelled() {
            count_dropped();
            return Err(CancelledError);
        }
        let node = Node::new(node::current(), Inherited::Token(Arc::clone(&self.token)));
        let run = || run_in(Some(&node), f);
        match panic::catch_unwind(AssertUnwindSafe(run)) {
            Ok(result) => Ok(result),
            Err(payload) if payload.is::<CancelledError>() && self.is_cancelled() => {
                Err(CancelledError)
            }
            Err(payload) => panic::resume_unwind(payload),
        }
    }

    pub(super) fn token(&self) -> &Arc<Token> {
        &self.token
    }
}

impl fmt::Debug for Cancel {
    #[inline]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cancel")
            .field("cancelled", &self.is_cancelled())
            .field("deadline", &self.deadline())
            .finish_non_exhaustive()
    }
}

/// Returns whether the calling code should end: its pool shuts down at once, or a [`Cancel`] that
/// it belongs to was cancelled. For loops that take long. A few loads; false outside of all that.
///
/// ```
/// assert!(!roving::is_cancelled());
/// ```
#[inline]
pub fn is_cancelled() -> bool {
    node::is_cancelled()
        || Worker::with_current(|worker| {
            worker.is_some_and(|worker| worker.registry().cancel.is_flagged())
        })
}
