//! The statement of a process: for which operations it waits.

use std::ptr;

use super::op::Op;
use crate::state::process_word::AtomicWord;

/// The last statement of a process. Whether it still waits there, the channel tells: so a process
/// need not say that it runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Statement {
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

// No channel has such an address: no memory lies there. Each process begins with null.
const RUNS: usize = 0;
const ENDED: usize = 2;
const OUTSIDE: usize = 4;
const MANY: usize = 6;

impl Statement {
    #[inline(always)]
    fn pack(self) -> *mut () {
        match self {
            Statement::Runs => ptr::without_provenance_mut(RUNS),
            Statement::Ended => ptr::without_provenance_mut(ENDED),
            Statement::Outside => ptr::without_provenance_mut(OUTSIDE),
            Statement::Many => ptr::without_provenance_mut(MANY),
            Statement::One(op) => op.pack().cast(),
        }
    }
}

impl AtomicWord {
    pub(crate) fn get(&self) -> Statement {
        let word = self.load();
        match word.addr() {
            RUNS => Statement::Runs,
            ENDED => Statement::Ended,
            OUTSIDE => Statement::Outside,
            MANY => Statement::Many,
            // SAFETY: what is stored was packed by a statement, so anything else is an operation,
            // whose network runs while its processes' words are looked at.
            _ => Statement::One(unsafe { Op::unpack(word.cast()) }),
        }
    }

    /// By the process alone.
    #[inline(always)]
    pub(crate) fn set(&self, statement: Statement) {
        // SAFETY: just packed.
        unsafe { self.store(statement.pack()) };
    }
}
