//! Where threads meet: the seam at which a replay decides who goes on.
//!
//! The places at which threads of a pool can come in each other's way call [`meet`]; whoever parks,
//! unparks another thread or asks for the time does so by the functions here. As long as no
//! deterministic pool was built in the process that is all. The first one sets the table of
//! functions that decide; they are compiled where such a pool is built, and nowhere else.

use std::time::{Duration, Instant};

use crate::machine::faults;
use crate::machine::prim::thread::{Thread, ThreadId};
use crate::machine::prim::{IS_EXPLORED, OnceLock};

/// A place where threads meet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum At {
    /// A task was pushed.
    Push,
    /// The owner is about to publish tasks.
    Publish,
    /// The owner is about to take back a task that is public.
    TakeBack,
    /// A thief is about to look into a stack.
    Look,
    /// A thief has claimed tasks, and nobody knows yet what becomes of them.
    Claim,
    /// A task that was claimed has ended, and its owner has not been told.
    End,
    /// A worker has looked for something in vain.
    Poll,
    /// A worker has said that it is about to sleep.
    Sleep,
    /// A sleeper is to be woken, and has not been.
    Wake,
    /// Somebody who may sleep has been told of something.
    Told,
    /// A frame is about to be suspended.
    Suspend,
    /// A thread parks.
    Park,
}

impl At {
    /// In a few words.
    #[inline]
    pub(crate) fn name(self) -> &'static str {
        match self {
            At::Push => "after a push",
            At::Publish => "before it publishes",
            At::TakeBack => "before it takes back",
            At::Look => "before a look into a stack",
            At::Claim => "after a claim",
            At::End => "before it says that a stolen task has ended",
            At::Poll => "after a look around",
            At::Sleep => "before it sleeps",
            At::Wake => "before it wakes another",
            At::Told => "after it has told another",
            At::Suspend => "before it suspends a task",
            At::Park => "unparked before it parks",
        }
    }
}

/// The number of places.
pub(crate) const PLACES: usize = At::Park as usize + 1;

/// The functions that decide at the places.
pub(crate) struct Turns {
    pub(crate) meet: fn(At),
    /// Parks the calling thread, if it takes turns.
    pub(crate) park: fn() -> bool,
    /// Unparks that thread, if it takes turns.
    pub(crate) unpark: fn(ThreadId) -> bool,
    /// The time of the calling thread, if it takes turns.
    pub(crate) now: fn() -> Option<Instant>,
    /// Calls the closure, in which the calling thread blocks.
    pub(crate) away: fn(&mut dyn FnMut()),
}

static TURNS: OnceLock<&'static Turns> = OnceLock::new();

/// From now on these decide.
pub(crate) fn set(turns: &'static Turns) {
    let _ = TURNS.set(turns);
}

/// The calling thread is at a place where it may meet others, and holds no lock.
#[inline]
pub(crate) fn meet(at: At) {
    if let Some(turns) = TURNS.get() {
        (turns.meet)(at);
    }
}

/// Parks the calling thread, which may return for no reason.
#[inline(never)]
pub(crate) fn park() {
    if !TURNS.get().is_some_and(|turns| (turns.park)()) {
        faults::park();
    }
}

/// Unparks that thread.
#[inline(never)]
pub(crate) fn unpark(thread: &Thread) {
    if !TURNS.get().is_some_and(|turns| (turns.unpark)(thread.id())) {
        thread.unpark();
    }
}

/// The time, as the calling thread has it.
#[inline(never)]
pub(crate) fn now() -> Instant {
    let now = TURNS.get().and_then(|turns| (turns.now)());
    now.unwrap_or_else(Instant::now)
}

/// A moment that a waiting thread remembers.
pub(crate) struct Since(Instant);

impl Since {
    pub(crate) fn now() -> Since {
        Since(now())
    }

    /// Whether that much time has passed since. The model checker has no time: any span of it is
    /// past at once.
    pub(crate) fn is_past(&self, time: Duration) -> bool {
        IS_EXPLORED || now().saturating_duration_since(self.0) >= time
    }
}

/// Calls `f`, in which the calling thread blocks.
#[inline]
pub(crate) fn away(f: &mut dyn FnMut()) {
    match TURNS.get() {
        Some(turns) => (turns.away)(f),
        None => f(),
    }
}
