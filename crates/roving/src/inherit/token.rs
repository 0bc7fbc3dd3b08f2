//! The cancellation tree: flags, deadlines, and who is suspended until they are up.
//!
//! To cancel is to set one flag and to wake who waits at that token. Nothing is sent down the tree:
//! who asks looks up it, from the token to its ancestors. So a token costs its parent nothing, and
//! to drop one costs nothing either.

use std::collections::BTreeMap;
use std::mem;
use std::sync::Arc;
use std::task::Waker;
use std::time::Instant;

use super::timer;
use crate::machine::os::{count_forks, forks};
use crate::machine::prim::{AtomicBool, Mutex, MutexGuard, Ordering, mutant, pause};
use crate::machine::unwind::run_quietly;

/// One node of the tree.
pub(crate) struct Token {
    parent: Option<Arc<Token>>,
    /// A request, not a signal that something has happened.
    cancelled: AtomicBool,
    /// The earliest of its own deadline and of those of its ancestors.
    deadline: Option<Instant>,
    waiters: Mutex<Waiters>,
}

/// One after the other: a chain of any length fits the native stack.
impl Drop for Token {
    fn drop(&mut self) {
        let mut parent = self.parent.take();
        while let Some(mut token) = parent.and_then(Arc::into_inner) {
            parent = token.parent.take();
        }
    }
}

/// Who is to be woken when the token is cancelled.
#[derive(Default)]
struct Waiters {
    wakers: BTreeMap<u64, Waker>,
    next: u64,
    /// The timer's entry for this token, as long as somebody waits.
    timed: Option<timer::Entry>,
    /// [`forks`] in the process in which they wait.
    forks: usize,
}

impl Waiters {
    /// Those that there are wait in the process that this one was forked from: they are not woken
    /// here, and not dropped, because their pools have no threads here and may be locked.
    #[cold]
    fn leave_behind(&mut self) {
        mem::forget(mem::take(&mut self.wakers));
        self.timed = None;
        self.forks = forks();
    }
}

impl Token {
    /// A token below `parent`, or a root of its own.
    pub(crate) fn new(parent: Option<Arc<Token>>, deadline: Option<Instant>) -> Arc<Token> {
        let above = parent.as_ref().and_then(|parent| parent.deadline);
        let deadline = match (deadline, above) {
            (Some(own), Some(above)) => Some(own.min(above)),
            (own, above) => own.or(above),
        };
        Arc::new(Token {
            parent,
            cancelled: AtomicBool::new(false),
            deadline,
            waiters: Mutex::new(Waiters::default()),
        })
    }

    #[inline]
    fn waiters(&self) -> MutexGuard<'_, Waiters> {
        let mut waiters = self.waiters.lock();
        if waiters.forks != forks() {
            waiters.leave_behind();
        }
        waiters
    }

    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    /// This token and those above it, itself first.
    pub(super) fn upwards(self: &Arc<Token>) -> impl Iterator<Item = &Arc<Token>> {
        std::iter::successors(Some(self), |token| token.parent.as_ref())
    }

    /// Sets the flag, and wakes who waits.
    #[inline]
    pub(crate) fn cancel(&self) {
        // Ordering: Relaxed; a request. Who is about to wait looks at it under the lock that `wake`
        // takes next.
        self.cancelled.store(true, Ordering::Relaxed);
        self.wake();
    }

    /// Its time is up, says the thread that serves all deadlines. Not only wakes: who looks at the
    /// clock on another processor may be told an earlier time.
    #[inline]
    pub(super) fn come(&self) {
        match mutant("timer_cancels") {
            true => self.wake(),
            false => self.cancel(),
        }
    }

    /// Whether this very token was cancelled. One load.
    #[inline]
    pub(crate) fn is_flagged(&self) -> bool {
        // Ordering: Relaxed, as in `cancel`.
        self.cancelled.load(Ordering::Relaxed)
    }

    /// Whether it, or one above it, was cancelled, or its time is up. A load for each token on the
    /// way up, and a look at the clock if one of them has a deadline.
    pub(crate) fn is_cancelled(self: &Arc<Token>) -> bool {
        self.upwards().any(|token| token.is_flagged()) || self.is_late()
    }

    /// Whether its time is up, or that of one above it.
    fn is_late(&self) -> bool {
        let is_late = self.deadline.is_some_and(|at| Instant::now() >= at);
        if is_late {
            // The next look needs no clock.
            // Ordering: Relaxed, as in `cancel`.
            self.cancelled.store(true, Ordering::Relaxed);
        }
        is_late
    }

    /// [`Self::is_cancelled`] of a token all of whose ancestors are asked as well.
    #[inline]
    pub(super) fn is_up_itself(&self) -> bool {
        self.is_flagged() || self.is_late()
    }

    /// Wakes all that wait at this token.
    #[inline]
    fn wake(&self) {
        let woken = mem::take(&mut self.waiters().wakers);
        pause();
        // Outside of the lock: a waker may run anything.
        for waker in woken.into_values() {
            run_quietly(|| waker.wake());
        }
    }

    /// Has `waker` woken when this token is cancelled, or its time is up. Returns what
    /// [`Self::forget`] needs, and whether the latter is seen to: not if the timer has no thread.
    ///
    /// The caller looks whether it is cancelled afterwards: under the lock either `cancel` finds
    /// the waker, or this call comes after the flag was set.
    #[inline]
    pub(super) fn wait(self: &Arc<Token>, waker: &Waker) -> (u64, bool) {
        // A program may fork before it has a pool: the child would take who waits for one of its
        // own, and the timer's thread as well.
        count_forks();
        // Outside of the lock, as in `wake`: its clone may run anything, too.
        let waker = waker.clone();
        let mut waiters = self.waiters();
        let id = waiters.next;
        waiters.next += 1;
        waiters.wakers.insert(id, waker);
        if let (Some(deadline), None) = (self.deadline, &waiters.timed) {
            waiters.timed = timer::enter(deadline, self);
        }
        let is_timed = self.deadline.is_none() || waiters.timed.is_some();
        (id, is_timed)
    }

    /// Nobody waits for that any more.
    #[inline]
    pub(super) fn forget(&self, id: u64) {
        let mut waiters = self.waiters();
        let waker = waiters.wakers.remove(&id);
        let timed = match waiters.wakers.is_empty() {
            true => waiters.timed.take(),
            false => None,
        };
        drop(waiters);
        // It may be another executor's, and who waits may be unwinding.
        run_quietly(|| drop(waker));
        if let Some(entry) = timed {
            timer::leave(entry);
        }
    }

    /// How many wait here: for tests.
    #[cfg(test)]
    pub(crate) fn waiting(&self) -> usize {
        self.waiters().wakers.len()
    }
}
