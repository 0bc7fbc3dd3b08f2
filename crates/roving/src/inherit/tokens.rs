//! The tokens that one place belongs to, and waiting until one of them is cancelled.

use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use super::token::Token;

use crate::machine::os::forks;
use crate::machine::prim::{mutant, thread};
use crate::machine::unwind::run_quietly;

/// How long who waits for a deadline sleeps between two looks when there is no thread for that.
const LOOK_EVERY: Duration = Duration::from_millis(1);

/// The tokens to look at.
pub(crate) struct Tokens {
    /// With all above them; each with its waker's number there.
    all: Vec<(Arc<Token>, Option<u64>)>,
    /// Left with each of them.
    waker: Option<Waker>,
    /// [`forks`] in the process in which it was left. No child of that has it woken.
    forks: usize,
}

impl Tokens {
    pub(crate) fn of<'t>(entered: impl Iterator<Item = &'t Arc<Token>>) -> Tokens {
        let all = entered.flat_map(|token| token.upwards());
        Tokens {
            all: all.map(|token| (Arc::clone(token), None)).collect(),
            waker: None,
            forks: forks(),
        }
    }

    #[inline]
    pub(crate) fn add(&mut self, token: &Arc<Token>) {
        let upwards = token.upwards().map(|token| (Arc::clone(token), None));
        self.all.extend(upwards);
    }

    #[inline]
    pub(crate) fn is_cancelled(&self) -> bool {
        self.all.iter().any(|(token, _)| token.is_up_itself())
    }

    /// Has the waker woken when one is cancelled. False if a deadline is to be looked for instead.
    #[inline]
    fn wait(&mut self, waker: &Waker) -> bool {
        let is_left = self
            .waker
            .as_ref()
            .is_some_and(|left| left.will_wake(waker));
        if is_left && self.forks == forks() {
            // Whoever took it away has cancelled its token, and this is not asked again.
            return true;
        }
        self.forget();
        let mut all_timed = true;
        for (token, id) in &mut self.all {
            let (number, is_timed) = token.wait(waker);
            *id = Some(number);
            all_timed &= is_timed;
        }
        self.waker = all_timed.then(|| waker.clone());
        self.forks = forks();
        all_timed
    }

    #[inline]
    fn forget(&mut self) {
        let waker = self.waker.take();
        run_quietly(|| drop(waker));
        for (token, id) in &mut self.all {
            if let Some(id) = id.take() {
                token.forget(id);
            }
        }
    }
}

impl Tokens {
    /// Ready when one is cancelled; else the task is woken when one is.
    #[inline]
    pub(crate) fn poll(&mut self, context: &mut Context<'_>) -> Poll<()> {
        if self.is_cancelled() {
            return Poll::Ready(());
        }
        let is_timed = self.wait(context.waker());
        // Again, because it may have come between: see `Token::wait`.
        if !mutant("look_again") && self.is_cancelled() {
            return Poll::Ready(());
        }
        if !is_timed {
            // No thread can be started now: looks again after a while, slow but sure.
            thread::sleep(LOOK_EVERY);
            context.waker().wake_by_ref();
        }
        Poll::Pending
    }

    /// Has the waker woken when one is cancelled, or at once if that has happened. False if nobody
    /// looks for a deadline.
    #[inline]
    pub(crate) fn wake_at_end(&mut self, waker: &Waker) -> bool {
        let is_timed = self.wait(waker);
        // Again, because it may have come before: see `Token::wait`.
        if !mutant("tell_what_was") && self.is_cancelled() {
            waker.wake_by_ref();
        }
        is_timed
    }
}

impl Drop for Tokens {
    #[inline]
    fn drop(&mut self) {
        self.forget();
    }
}
