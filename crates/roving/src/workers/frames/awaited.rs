//! How a handle waits for the end of what it belongs to: with a waker that it leaves there.

use std::task::{Context, Poll, Waker};

use super::child_end::{Awaiting, Retracted};
use crate::machine::unwind::run_quietly;

/// A word that says when there is an outcome, and a place for the waker of who awaits it.
pub(crate) trait Awaited {
    fn is_ended(&self) -> bool;
    fn retract_awaiter(&self) -> Retracted;
    fn leave_awaiter(&self) -> Awaiting;

    /// # Safety
    /// No waker is there, and the word says that nobody looks.
    unsafe fn put_awaiter(&self, waker: Waker);

    /// # Safety
    /// A waker is there, and the word says that it is the caller's to take out.
    unsafe fn take_awaiter(&self) -> Waker;
}

/// The handle goes: nobody is to be woken by what it has left, nor is that kept until the end.
///
/// # Safety
/// As [`ask`].
#[cold]
pub(crate) unsafe fn take_back(awaited: &impl Awaited) {
    if awaited.retract_awaiter() == Retracted::Back {
        // SAFETY: left there before, and taken back just now.
        let waker = unsafe { awaited.take_awaiter() };
        // It may be another executor's.
        run_quietly(|| drop(waker));
    }
}

/// Ready when there is an outcome; before that, leaves a waker.
///
/// # Safety
/// The caller has the handle, and no other thread asks meanwhile.
#[inline]
pub(crate) unsafe fn ask(awaited: &impl Awaited, context: &Context<'_>) -> Poll<()> {
    let mut left = None;
    loop {
        if awaited.is_ended() {
            return Poll::Ready(());
        }
        match awaited.retract_awaiter() {
            Retracted::None => {}
            // SAFETY: left there before, and taken back just now.
            Retracted::Back => left = Some(unsafe { awaited.take_awaiter() }),
            Retracted::Ended => continue,
            Retracted::BeingWoken => {
                // Whoever left a waker is woken; this call may come from somebody else.
                context.waker().wake_by_ref();
                return Poll::Pending;
            }
        }
        let waker = match left.take() {
            Some(waker) if waker.will_wake(context.waker()) => waker,
            _ => context.waker().clone(),
        };
        // SAFETY: there is none, and the word says that nobody looks.
        unsafe { awaited.put_awaiter(waker) };
        match awaited.leave_awaiter() {
            Awaiting::Left => return Poll::Pending,
            // SAFETY: put there just now, and still this call's.
            Awaiting::Ended => drop(unsafe { awaited.take_awaiter() }),
        }
    }
}
