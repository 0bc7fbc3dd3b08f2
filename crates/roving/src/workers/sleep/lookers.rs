//! The workers that look around in vain. What an owner shows meanwhile is theirs to find, and it
//! wakes nobody for that.
//!
//! To wake a thread is a system call, as long as hundreds of pushes. An owner that made one for
//! each task that it shows would be slower than those that take the tasks, and never get ahead of
//! them; they would run out of tasks, go to sleep, and be what it wakes for the next one.
//!
//! | step | by whom | number, left |
//! |---|---|---|
//! | [`Looking::begin`] | a worker that has looked for a while | n, l → n + 1, l |
//! | [`Lookers::leave_to`] | the owner, when its task is public | n > 0, l → n, true |
//! | [`Looking::end`] | a worker that found something or sleeps | n > 1, l → n − 1, l |
//! | the same | the last one | 1, l → 0, false |
//!
//! The last one to end takes over what was left to all of them: it may have found something else.
//! If l was true, it looks once more, or wakes one that sleeps.

use std::cell::Cell;

use crate::machine::duty::Due;
use crate::machine::prim::{AtomicUsize, Ordering, ord};

/// Something was left to the lookers since there were none.
const LEFT: usize = 1;
/// One looker.
const ONE: usize = 2;

/// The duty of the last looker: what was left to all of them may be there still.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum LookAgain {}

/// How many workers of a pool look around, and whether something was left to them.
pub(crate) struct Lookers(AtomicUsize);

impl Lookers {
    pub(crate) fn new() -> Lookers {
        Lookers(AtomicUsize::new(0))
    }

    /// Leaves what the caller has published to those that look around. False if nobody does.
    #[inline]
    pub(crate) fn leave_to(&self) -> bool {
        // Ordering: Edge [left_to_lookers]: Release, so that the last of them finds the task, and
        // whoever sleeps. By a read-modify-write also where it changes nothing, because the other
        // side's is one: one of the two comes first. Relaxed where there is nobody: a hint.
        let order = ord("left_to_lookers", Ordering::Release);
        let left = |now: usize| (now >= ONE).then_some(now | LEFT);
        self.0.fetch_update(order, Ordering::Relaxed, left).is_ok()
    }

    #[inline(never)]
    fn end_one(&self) -> Due<LookAgain> {
        // Ordering: Acquire. Pairs with [left_to_lookers], also by way of others that have begun or
        // ended since.
        let order = ord("end_of_look", Ordering::Acquire);
        let without = |now: usize| match now - ONE {
            LEFT => Some(0),
            others => Some(others),
        };
        let before = self.0.fetch_update(order, Ordering::Relaxed, without);
        Due::when(before == Ok(ONE | LEFT))
    }
}

/// Whether a worker is one of its pool's lookers.
#[derive(Default)]
pub(crate) struct Looking(Cell<bool>);

impl Looking {
    /// The worker has found nothing for a while, and looks on.
    #[inline]
    pub(crate) fn begin(&self, lookers: &Lookers) {
        if !self.0.replace(true) {
            // Ordering: Relaxed; nothing has been left to this one yet.
            lookers.0.fetch_add(ONE, Ordering::Relaxed);
        }
    }

    /// Whether it is one of them.
    #[inline(always)]
    pub(crate) fn is_on(&self) -> bool {
        self.0.get()
    }

    /// The worker has found something, or looks around for the last time after this.
    pub(crate) fn end(&self, lookers: &Lookers) -> Due<LookAgain> {
        match self.0.replace(false) {
            true => lookers.end_one(),
            false => Due::none(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_looker_takes_over_what_was_left() {
        let lookers = Lookers::new();
        let [first, second] = [Looking::default(), Looking::default()];
        assert!(!lookers.leave_to(), "nobody looks");
        first.begin(&lookers);
        first.begin(&lookers);
        second.begin(&lookers);
        assert!(lookers.leave_to());
        assert!(!first.end(&lookers).told(), "the other one looks on");
        assert!(second.end(&lookers).told());
        assert!(!second.end(&lookers).told(), "it has ended");
        second.begin(&lookers);
        assert!(!second.end(&lookers).told(), "nothing was left to this one");
        assert!(!lookers.leave_to());
    }
}
