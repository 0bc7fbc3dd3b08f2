//! The counts of each thread, by which a network knows that none of its processes can go on.

use crate::machine::prim::{AtomicU32, AtomicU64, Ordering, fence, ord};

/// The counters of one thread in one network. Written by that thread, but for `started_elsewhere`.
#[repr(align(128))]
pub(crate) struct Line {
    pub(crate) index: u32,
    /// Several threads write it, which then takes read-modify-writes.
    is_common: bool,
    /// Processes that were woken here, less those of them that were then polled here.
    woken: AtomicU64,
    /// Processes that were woken here and polled elsewhere.
    started_elsewhere: AtomicU64,
    /// Polls under way on this thread; more than one when a process waits for closures.
    polls: AtomicU32,
    /// A process was woken here while none was polled here, or messages were dropped that nobody
    /// would take; and it has not been asked since whether all is quiet.
    unasked: AtomicU32,
    /// Suspensions since the last look at the whole network.
    suspensions: AtomicU64,
}

impl Line {
    pub(crate) fn new(index: usize, is_common: bool) -> Line {
        Line {
            index: index as u32,
            is_common,
            woken: AtomicU64::new(0),
            started_elsewhere: AtomicU64::new(0),
            polls: AtomicU32::new(0),
            unasked: AtomicU32::new(0),
            suspensions: AtomicU64::new(0),
        }
    }

    #[inline(always)]
    fn add(&self, delta: i64) {
        let delta = delta as u64;
        // Ordering: Relaxed, all; a line is read after a fence, see `are_quiet`.
        if self.is_common {
            self.woken.fetch_add(delta, Ordering::Relaxed);
        } else {
            let woken = self.woken.load(Ordering::Relaxed).wrapping_add(delta);
            self.woken.store(woken, Ordering::Relaxed);
        }
    }

    /// This thread has the right to wake a process, and is about to. Whether it has to ask
    /// afterwards, because it polls none that will.
    #[inline(always)]
    pub(crate) fn woke(&self) -> bool {
        self.add(1);
        self.acted()
    }

    /// This thread has done what may have kept others from saying that all is at rest. Whether it
    /// has to ask afterwards, because it polls no process that will.
    #[inline(always)]
    pub(crate) fn acted(&self) -> bool {
        // Ordering: Relaxed, both; of this thread. Threads that share a line need not tell them
        // apart.
        let has_to_ask = self.is_common || self.polls.load(Ordering::Relaxed) == 0;
        if has_to_ask {
            self.unasked.store(1, Ordering::Relaxed);
        }
        has_to_ask
    }

    /// Whether this thread, which polls no process, has woken one and has to ask whether all is
    /// quiet: the process may have found by itself what it was woken for, and have ended before the
    /// thread had counted that. Or it has dropped messages, for whose drop a look has waited.
    pub(crate) fn has_to_ask(&self) -> bool {
        // Ordering: Relaxed, both; of this thread, as in `woke`.
        let has_to = self.unasked.load(Ordering::Relaxed) != 0;
        if has_to {
            self.unasked.store(0, Ordering::Relaxed);
        }
        has_to
    }

    /// A poll begins (1) or ends (-1) on this thread.
    #[inline(always)]
    fn add_poll(&self, delta: i32) {
        let delta = delta as u32;
        // Ordering: Relaxed, all, as above.
        if self.is_common {
            self.polls.fetch_add(delta, Ordering::Relaxed);
        } else {
            let polls = self.polls.load(Ordering::Relaxed).wrapping_add(delta);
            self.polls.store(polls, Ordering::Relaxed);
        }
    }

    #[inline(always)]
    pub(crate) fn enter(&self) {
        self.add_poll(1);
    }

    #[inline(always)]
    pub(crate) fn leave(&self) {
        self.add_poll(-1);
    }

    /// One more suspension; whether that makes `period`.
    pub(crate) fn count_suspension(&self, period: u64) -> bool {
        // Ordering: Relaxed, all; a number that need not be exact.
        let count = self.suspensions.load(Ordering::Relaxed) + 1;
        let is_due = count >= period;
        let count = if is_due { 0 } else { count };
        self.suspensions.store(count, Ordering::Relaxed);
        is_due
    }

    /// Whether nothing is under way here, nor woken here and not polled yet.
    #[inline(always)]
    pub(crate) fn is_quiet(&self) -> bool {
        // Ordering: Relaxed, all; see `are_quiet`.
        self.polls.load(Ordering::Relaxed) == 0
            && self.woken.load(Ordering::Relaxed) == self.started_elsewhere.load(Ordering::Relaxed)
    }

    /// A process is polled here that was woken by the thread with that line.
    #[inline(always)]
    pub(crate) fn started(&self, woken_by: &Line) {
        if self.index == woken_by.index {
            self.add(-1);
        } else {
            // Ordering: Relaxed; the fence is that of `are_quiet`.
            woken_by.started_elsewhere.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// Whether no process is being polled, nor has been woken from a thread and not been polled yet:
/// then nothing can go on but by what comes from outside.
///
/// Each thread asks this after its own counters have become quiet. Of two threads that become quiet
/// at the same time, one at least sees both, because each is a fence first. A thread with a woken
/// process need not ask, if it was a fence: that process is going to be polled, and whoever does
/// that asks later, and sees what was written before the fence here; for else this thread would
/// have seen its `started_elsewhere`. A thread that polls nothing and wakes a process asks after
/// that ([`Line::has_to_ask`]): the process may have gone on, and have ended, before the thread had
/// counted it as woken.
pub(crate) fn are_quiet<'l>(mut lines: impl Iterator<Item = &'l Line>) -> bool {
    // Ordering: Edge [quiet]: a fence between the thread's own counters and the look at the
    // others'.
    fence(ord("quiet_fence", Ordering::SeqCst));
    lines.all(Line::is_quiet)
}
