//! Ends of streams of which it is not known whether they are whole.

use std::mem;
use std::task::Waker;

use crate::machine::prim::{Mutex, lock};
use crate::machine::unwind::DueWaker;

/// Processes that wait within their turns, and have closed ports which a panic had dropped: each
/// may go on, or be about to fail with that panic. No other process is to take what is closed for
/// the end of a stream meanwhile.
pub(crate) struct Doubt(Mutex<Doubts>);

struct Doubts {
    processes: u32,
    /// Who has come to such an end.
    waiting: Vec<Waker>,
}

impl Doubt {
    pub(crate) fn new() -> Doubt {
        Doubt(Mutex::new(Doubts {
            processes: 0,
            waiting: Vec::new(),
        }))
    }

    /// By one of these, before it closes such ports: whoever sees one closed sees this.
    pub(crate) fn begin(&self) {
        lock(&self.0).processes += 1;
    }

    /// Its turn ends. If it has failed, the network has been told.
    pub(crate) fn end(&self) {
        let mut doubts = lock(&self.0);
        doubts.processes -= 1;
        let woken = mem::take(&mut doubts.waiting);
        drop(doubts);
        for waker in woken {
            DueWaker::new(Some(waker)).wake();
        }
    }

    /// Has that waker woken when one of them is over. False if there is none: the failure that one
    /// may have ended with is seen then.
    #[must_use]
    pub(crate) fn wait(&self, waker: &Waker) -> bool {
        if lock(&self.0).processes == 0 {
            return false;
        }
        // Without the lock: it may run anything to clone a waker, or to drop one.
        let mut waker = Some(waker.clone());
        let mut doubts = lock(&self.0);
        let is_open = doubts.processes != 0;
        if is_open {
            doubts.waiting.extend(waker.take());
        }
        drop(doubts);
        is_open
    }
}
