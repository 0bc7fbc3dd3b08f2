//! How the parts of a loop tell each other that it ends before its range does, because one of them
//! panicked, found what was searched for or saw that the loop was cancelled; and how many items a
//! block may have.

use std::mem;
use std::panic;

use super::pace::Pace;
use crate::context::CancelledError;
use crate::inherit::node;
use crate::machine::prim::{AtomicBool, AtomicUsize, Ordering, thread};

/// The word of one loop by which its parts tell each other that it ends early. Each part asks
/// before its next block of items.
pub(super) struct Early {
    /// 0 as long as there is nothing to look at; else of the values below.
    ends: AtomicUsize,
    /// Items were left out because of a cancelled token, so the loop has no result.
    is_cancelled: AtomicBool,
    /// The length of the last block of a part that has read the clock; 0 before.
    block: AtomicUsize,
}

/// The loop belongs to a token, and may unwind where that was cancelled.
const HEEDS_TOKENS: usize = 1;
/// No part begins another block.
const ENDS: usize = 2;

impl Early {
    /// For a loop that the calling thread is about to begin.
    pub(super) fn new() -> Early {
        let heeds = Heed::of_caller().0;
        Early {
            ends: AtomicUsize::new(if heeds { HEEDS_TOKENS } else { 0 }),
            is_cancelled: AtomicBool::new(false),
            block: AtomicUsize::new(0),
        }
    }

    /// The pace of a part that begins: as another part has found it.
    pub(super) fn pace(&self) -> Pace {
        // Ordering: Relaxed; a hint.
        Pace::with_block(self.block.load(Ordering::Relaxed))
    }

    /// A part that went at that pace has ended.
    pub(super) fn learn(&self, pace: &Pace) {
        // Ordering: Relaxed, both; as in `pace`. Written only where it changes, since all parts
        // look at this line.
        if let Some(block) = pace.known() {
            if block != self.block.load(Ordering::Relaxed) {
                self.block.store(block, Ordering::Relaxed);
            }
        }
    }

    /// Whether the calling part, which has items left, is to leave them out.
    #[inline]
    pub(super) fn is_due(&self) -> bool {
        // Ordering: Relaxed; a request, not a signal that something has happened.
        match self.ends.load(Ordering::Relaxed) {
            0 => false,
            HEEDS_TOKENS => self.sees_cancelled_token(),
            _ => true,
        }
    }

    #[inline(never)]
    fn sees_cancelled_token(&self) -> bool {
        let is_cancelled = node::is_cancelled();
        if is_cancelled {
            // Ordering: Relaxed; that the parts end orders it before `result_of` looks.
            self.is_cancelled.store(true, Ordering::Relaxed);
            self.end();
        }
        is_cancelled
    }

    /// Ends the loop in all its parts.
    pub(super) fn end(&self) {
        // Ordering: Relaxed, as in `is_due`.
        self.ends.store(ENDS, Ordering::Relaxed);
    }

    /// Calls `f`; if that unwinds, the loop ends: what is left would run for nobody.
    pub(super) fn unless<R>(&self, f: impl FnOnce() -> R) -> R {
        struct Unwinds<'e>(&'e Early);
        impl Drop for Unwinds<'_> {
            fn drop(&mut self) {
                self.0.end();
            }
        }
        let unwinds = Unwinds(self);
        let result = f();
        mem::forget(unwinds);
        result
    }

    /// Returns what the whole loop came to, once all parts have ended; unwinds with
    /// [`CancelledError`], without a message, if a token has made it leave out items.
    pub(super) fn result_of<T>(&self, result: T) -> T {
        // Ordering: Relaxed, as in `sees_cancelled_token`.
        if self.is_cancelled.load(Ordering::Relaxed) {
            drop(result);
            leave();
        }
        result
    }
}

/// Whether work that a thread begins ends early where its token is cancelled.
#[derive(Clone, Copy, Debug)]
pub struct Heed(bool);

impl Heed {
    /// For work that the calling thread is about to begin, on whatever threads. It heeds no token
    /// where there is none. A thread that is unwinding already cannot unwind from the work as well,
    /// and a program that aborts on panic not at all: such work runs to its end.
    #[inline]
    pub fn of_caller() -> Heed {
        let has_token = node::with_current(|node| node.is_some_and(node::Node::has_token));
        Heed(has_token && cfg!(panic = "unwind") && !thread::panicking())
    }

    /// Whether there is a token to look at.
    pub fn is_due(self) -> bool {
        self.0
    }

    /// Unwinds with [`CancelledError`], without a message, if the token has been cancelled.
    #[inline]
    pub fn look(self) {
        if self.0 && node::is_cancelled() {
            leave();
        }
    }
}

#[cold]
fn leave() -> ! {
    panic::resume_unwind(Box::new(CancelledError))
}
