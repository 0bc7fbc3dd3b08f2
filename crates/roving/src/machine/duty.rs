//! Duties: what a change of a shared word leaves its caller to do.
//!
//! Who wakes, frees or passes on is decided by one read-modify-write, and the thread that made it
//! is the only one that knows. If that thread forgets, a worker sleeps for ever or memory is lost,
//! and nothing else notices. So the change returns a [`Due`] instead of a `bool`: the compiler
//! warns of one that is not used, and where debug assertions are on, one that was due and is
//! dropped panics. In release it is the `bool` that it stands for.

use std::marker::PhantomData;
use std::mem;

/// Perhaps a duty of the kind `D`. [`Due::pay`] does it, [`Due::waive`] says why it need not be
/// done; there is no other way to get rid of it.
#[must_use = "if it is due and nobody does it, a thread sleeps for ever or memory is lost"]
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Due<D> {
    is_due: bool,
    kind: PhantomData<D>,
}

impl<D> Due<D> {
    /// Nothing is to be done.
    #[inline(always)]
    pub(crate) const fn none() -> Due<D> {
        Due::when(false)
    }

    #[inline(always)]
    pub(crate) const fn when(is_due: bool) -> Due<D> {
        Due {
            is_due,
            kind: PhantomData,
        }
    }

    /// Two of one kind become one: to do it once is enough.
    #[inline(always)]
    pub(crate) fn and(self, other: Due<D>) -> Due<D> {
        Due::when(self.take() | other.take())
    }

    /// Does it, if it is due.
    #[inline(always)]
    pub(crate) fn pay(self, act: impl FnOnce()) {
        if self.take() {
            act();
        }
    }

    /// Does it, if it is due, where the memory that the duty is about can be gone if it is not due:
    /// another thread frees it then. A reference to it that is moved into `act` would be used after
    /// that, by the move alone, so `act` can have none.
    #[inline(always)]
    pub(crate) fn pay_gone(self, act: impl FnOnce() + 'static) {
        self.pay(act);
    }

    /// Does one thing with `value` if it is due, and another one if it is not.
    #[inline(always)]
    pub(crate) fn pay_or<T, R>(
        self,
        value: T,
        act: impl FnOnce(T) -> R,
        otherwise: impl FnOnce(T) -> R,
    ) -> R {
        match self.take() {
            true => act(value),
            false => otherwise(value),
        }
    }

    /// It need not be done, due or not, for that reason.
    #[inline(always)]
    pub(crate) fn waive(self, _why: &'static str) {
        self.take();
    }

    /// Whether it is due: for tests, which do it in their own way.
    #[cfg(test)]
    pub(crate) fn told(self) -> bool {
        self.take()
    }

    #[inline(always)]
    fn take(self) -> bool {
        let is_due = self.is_due;
        mem::forget(self);
        is_due
    }
}

/// The duty of who gave up the last reference to some memory: nobody else knows of it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Free {}

#[cfg(debug_assertions)]
impl<D> Drop for Due<D> {
    fn drop(&mut self) {
        let is_forgotten = self.is_due && !std::thread::panicking();
        assert!(!is_forgotten, "a duty was forgotten");
    }
}

#[cfg(test)]
mod tests {
    use std::panic;

    use super::Due;

    #[derive(Debug)]
    enum Any {}

    #[test]
    fn what_is_due_is_done_once_and_what_is_not_is_not() {
        let mut done = 0;
        Due::<Any>::none().pay(|| done += 1);
        Due::<Any>::when(true).pay(|| done += 1);
        Due::<Any>::when(true)
            .and(Due::when(true))
            .pay(|| done += 1);
        Due::<Any>::when(true).waive("a test");
        assert_eq!(done, 2);
        let told = [true, false].map(|is| Due::<Any>::when(is).pay_or(1, |one| one, |one| -one));
        assert_eq!(told, [1, -1]);
    }

    #[test]
    #[cfg(debug_assertions)]
    fn a_duty_that_is_forgotten_is_heard_of() {
        assert!(panic::catch_unwind(|| drop(Due::<Any>::when(true))).is_err());
        drop(Due::<Any>::none());
    }
}
