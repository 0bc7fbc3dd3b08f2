//! Panics that must not go further.

use std::any::Any;
use std::panic::{self, AssertUnwindSafe};
use std::task::Waker;
use std::thread;

use roving::raw::panics::{drop_quietly, run_quietly};

/// A waker of another executor, taken out of a channel by who owes it a wake-up.
///
/// It may run anything when it wakes, also what wants a lock that its owner has. It is woken when
/// this is dropped, so that no way out forgets it: that is to be done when the lock is free.
#[derive(Debug, Default)]
#[must_use = "somebody may be woken when this is dropped: not under a lock that he could want"]
pub struct DueWaker(Option<Waker>);

impl DueWaker {
    pub(crate) fn new(waker: Option<Waker>) -> DueWaker {
        DueWaker(waker)
    }

    /// Wakes, as the drop does. A panic of the waker ends here.
    pub fn wake(self) {}
}

impl Drop for DueWaker {
    fn drop(&mut self) {
        if let Some(waker) = self.0.take() {
            run_quietly(|| waker.wake());
        }
    }
}

/// The payload of a panic.
pub(crate) type Payload = Box<dyn Any + Send>;

/// Calls `step` until it says that there is nothing more to do, and goes on when it panics: what is
/// left over must not be lost for that. The first panic is returned.
pub(crate) fn to_the_end(mut step: impl FnMut() -> bool) -> Option<Payload> {
    let mut first = None;
    loop {
        match panic::catch_unwind(AssertUnwindSafe(&mut step)) {
            Ok(true) => {}
            Ok(false) => return first,
            // What loom panics with is a fault that it has found, and it finds it again each time.
            Err(payload) if cfg!(loom) => return Some(payload),
            Err(payload) if first.is_none() => first = Some(payload),
            Err(payload) => drop_quietly(payload),
        }
    }
}

/// The first of two panics; the other one ends here.
pub(crate) fn first_of(first: Option<Payload>, second: Option<Payload>) -> Option<Payload> {
    match first {
        None => second,
        first => {
            drop_quietly(second);
            first
        }
    }
}

/// Lets a panic that was held up go on; but not on top of another one, which would end the process.
pub(crate) fn go_on(payload: Option<Payload>) {
    match payload {
        None => {}
        Some(payload) if thread::panicking() => drop_quietly(payload),
        Some(payload) => panic::resume_unwind(payload),
    }
}
