//! The counters of all threads that have to do with a network.

use std::cell::Cell;

use super::thread_counts::{Line, are_quiet};
use crate::machine::prim::{Mutex, OnceLock, lock, per_thread, serial};

/// So many threads have a line of their own; the others share the last one. For loom there are few
/// threads.
const LINES: usize = if cfg!(loom) { 4 } else { 128 };

/// The lines of all threads that have had to do with a network.
pub(crate) struct Lines {
    /// No two networks have the same.
    serial: u64,
    lines: Box<[OnceLock<Box<Line>>]>,
    /// Which thread has which.
    threads: Mutex<Vec<u64>>,
}

per_thread! {
    /// The network that this thread last had to do with, and the index of its line there.
    static LAST: Cell<(u64, usize)> = Cell::new((0, 0));
}

per_thread! {
    static THREAD: Cell<u64> = Cell::new(0);
}

/// A number that no other thread has or had.
fn this_thread() -> u64 {
    THREAD.with(|thread| {
        if thread.get() == 0 {
            thread.set(serial());
        }
        thread.get()
    })
}

impl Lines {
    pub(crate) fn new() -> Lines {
        Lines {
            serial: serial(),
            lines: (0..LINES).map(|_| OnceLock::new()).collect(),
            threads: Mutex::new(Vec::new()),
        }
    }

    fn at(&self, index: usize) -> &Line {
        self.lines[index].get_or_init(|| Box::new(Line::new(index, index == LINES - 1)))
    }

    /// The line of the calling thread.
    #[inline(always)]
    pub(crate) fn mine(&self) -> &Line {
        let (serial, index) = LAST.with(Cell::get);
        if serial == self.serial {
            if let Some(line) = self.lines[index].get() {
                return line;
            }
        }
        self.find_mine()
    }

    #[cold]
    #[inline(never)]
    fn find_mine(&self) -> &Line {
        let thread = this_thread();
        let mut threads = lock(&self.threads);
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
        mine.started(match mine.index == index {
            true => mine,
            false => self.at(index as usize),
        });
    }

    /// See [`are_quiet`].
    pub(crate) fn are_quiet(&self) -> bool {
        are_quiet(
            self.lines
                .iter()
                .map_while(OnceLock::get)
                .map(|line| &**line),
        )
    }
}
