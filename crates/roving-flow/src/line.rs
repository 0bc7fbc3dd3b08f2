//! What each thread counts, so that a network knows when nothing in it can go on.

use std::cell::Cell;
use std::sync::{Mutex, OnceLock, PoisonError};

use crate::prim::{AtomicI64, AtomicU32, AtomicU64, Ordering, fence};

/// So many threads have a line of their own; the others share the last one.
const LINES: usize = 128;

/// The counters of one thread in one network. Written by that thread, but for `started_elsewhere`.
#[repr(align(128))]
pub(crate) struct Line {
    pub(crate) index: u32,
    /// Several threads write it, which then takes read-modify-writes.
    is_common: bool,
    /// Processes that were woken here, less those of them that were then polled here.
    woken: AtomicI64,
    /// Processes that were woken here and polled elsewhere.
    started_elsewhere: AtomicI64,
    /// Polls under way on this thread; more than one when a process waits for closures.
    polls: AtomicU32,
    /// Suspensions since the last look at the whole network.
    suspensions: AtomicU64,
}

impl Line {
    fn new(index: usize) -> Line {
        Line {
            index: index as u32,
            is_common: index == LINES - 1,
            woken: AtomicI64::new(0),
            started_elsewhere: AtomicI64::new(0),
            polls: AtomicU32::new(0),
            suspensions: AtomicU64::new(0),
        }
    }

    #[inline(always)]
    fn add(&self, delta: i64) {
        // Ordering: Relaxed, all; a line is read after a fence, see `Lines::are_quiet`.
        if self.is_common {
            self.woken.fetch_add(delta, Ordering::Relaxed);
        } else {
            self.woken.store(
                self.woken.load(Ordering::Relaxed) + delta,
                Ordering::Relaxed,
            );
        }
    }

    /// This thread has the right to wake a process, and is about to.
    #[inline(always)]
    pub(crate) fn woke(&self) {
        self.add(1);
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
        // Ordering: Relaxed, all; see `Lines::are_quiet`.
        self.polls.load(Ordering::Relaxed) == 0
            && self.woken.load(Ordering::Relaxed) == self.started_elsewhere.load(Ordering::Relaxed)
    }
}

/// The lines of all threads that have had to do with a network.
pub(crate) struct Lines {
    /// No two networks have the same.
    serial: u64,
    lines: Box<[OnceLock<Box<Line>>]>,
    /// Which thread has which.
    threads: Mutex<Vec<u64>>,
}

thread_local! {
    /// The network that this thread last had to do with, and the index of its line there.
    static LAST: Cell<(u64, usize)> = const { Cell::new((0, 0)) };
    static THREAD: Cell<u64> = const { Cell::new(0) };
}

/// A number that no other thread has or had.
fn this_thread() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    THREAD.with(|thread| {
        if thread.get() == 0 {
            // Ordering: Relaxed; only that it is a number of its own.
            thread.set(NEXT.fetch_add(1, Ordering::Relaxed));
        }
        thread.get()
    })
}

impl Lines {
    pub(crate) fn new() -> Lines {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        Lines {
            // Ordering: Relaxed; only that it is a number of its own.
            serial: NEXT.fetch_add(1, Ordering::Relaxed),
            lines: (0..LINES).map(|_| OnceLock::new()).collect(),
            threads: Mutex::new(Vec::new()),
        }
    }

    fn at(&self, index: usize) -> &Line {
        self.lines[index].get_or_init(|| Box::new(Line::new(index)))
    }

    /// The line of the calling thread.
    #[inline(always)]
    pub(crate) fn mine(&self) -> &Line {
        let (serial, index) = LAST.with(Cell::get);
        if serial == self.serial
            && let Some(line) = self.lines[index].get()
        {
            return line;
        }
        self.find_mine()
    }

    #[cold]
    #[inline(never)]
    fn find_mine(&self) -> &Line {
        let thread = this_thread();
        let mut threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner);
        let index = threads.iter().position(|&one| one == thread);
        let index = index.unwrap_or_else(|| {
            if threads.len() < LINES - 1 {
                threads.push(thread);
                threads.len() - 1
            } else {
                LINES - 1
            }
        });
        // Under the lock, so that lines come to be in order: who reads them stops at the first gap.
        let line = self.at(index);
        drop(threads);
        LAST.with(|last| last.set((self.serial, index)));
        line
    }

    /// A process is polled that was woken by the thread with line `index`.
    #[inline(always)]
    pub(crate) fn started(&self, mine: &Line, index: u32) {
        if mine.index == index {
            mine.add(-1);
        } else {
            let theirs = self.at(index as usize);
            // Ordering: Relaxed; the fence is that of `are_quiet`.
            theirs.started_elsewhere.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Whether no process is being polled, nor has been woken from here and not been polled yet:
    /// then nothing can go on but by what comes from outside.
    ///
    /// Each thread asks this after its own counters have become quiet, and after a fence. Of two
    /// threads that become quiet at the same time, one at least sees both. A thread with a woken
    /// process need not ask: that process is going to be polled, and whoever does that asks later,
    /// and sees what was written before the fence here; for else this thread would have seen its
    /// `started_elsewhere`.
    pub(crate) fn are_quiet(&self) -> bool {
        fence("quiet_fence");
        let lines = self.lines.iter();
        lines.map_while(OnceLock::get).all(|line| line.is_quiet())
    }
}
