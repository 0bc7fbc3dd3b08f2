//! The word in which a process says what it waits for.

use std::ptr;

use crate::channel::Op;
use crate::channel::words::Words;
use crate::prim::{AtomicPtr, Ordering, ord};

/// The last statement of a process. Whether it still waits there, the channel tells: so a process
/// need not say that it runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Word {
    /// It can run, or does, or has not begun.
    Runs,
    /// It has ended.
    Ended,
    /// For something that is no channel of this network; perhaps for channels as well.
    Outside,
    /// For any of several: those of its channels where it waits.
    Many,
    /// For that one.
    One(Op),
}

/// A [`Word`] that its process writes, and others read while the network runs.
pub(crate) struct AtomicWord(AtomicPtr<Words>);

// No channel has such an address: no memory lies there.
const RUNS: usize = 0;
const ENDED: usize = 2;
const OUTSIDE: usize = 4;
const MANY: usize = 6;

impl Word {
    #[inline(always)]
    fn pack(self) -> *mut Words {
        match self {
            Word::Runs => ptr::without_provenance_mut(RUNS),
            Word::Ended => ptr::without_provenance_mut(ENDED),
            Word::Outside => ptr::without_provenance_mut(OUTSIDE),
            Word::Many => ptr::without_provenance_mut(MANY),
            Word::One(op) => op.pack(),
        }
    }
}

impl AtomicWord {
    pub(crate) fn new() -> AtomicWord {
        AtomicWord(AtomicPtr::new(Word::Runs.pack()))
    }

    pub(crate) fn get(&self) -> Word {
        // Ordering: Acquire. Pairs with [wait], a fence before the word says that a process waits
        // for any of several: all those waits are seen.
        let word = self.0.load(ord("see_word", Ordering::Acquire));
        match word.addr() {
            RUNS => Word::Runs,
            ENDED => Word::Ended,
            OUTSIDE => Word::Outside,
            MANY => Word::Many,
            // SAFETY: anything else was packed from an operation, whose network runs while its
            // processes' words are looked at.
            _ => Word::One(unsafe { Op::unpack(word) }),
        }
    }

    /// By the process alone.
    #[inline(always)]
    pub(crate) fn set(&self, word: Word) {
        let word = word.pack();
        // Ordering: Relaxed; only the process writes it.
        if self.0.load(Ordering::Relaxed) != word {
            // Ordering: Relaxed; between this and what it is about there is a fence, or [wait] or
            // [resumed].
            self.0.store(word, Ordering::Relaxed);
        }
    }
}
