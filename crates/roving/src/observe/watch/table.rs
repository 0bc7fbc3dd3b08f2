//! The watcher's table of a pool's threads.

use std::backtrace::Backtrace;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

use super::system;

/// The reason for which a worker is parked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Why {
    /// Tasks that others have.
    Task,
    /// Something that need not be work of this pool: an event that a root of async tasks waits for,
    /// a call into another pool.
    Event,
    /// It is in `blocking`.
    Blocks,
}

/// The record of a pool that is watched.
pub(crate) struct Watch {
    pub(super) patience: Duration,
    /// By worker slot.
    threads: Mutex<Vec<Option<Entry>>>,
}

/// A seat's thread.
#[derive(Clone)]
pub(super) struct Entry {
    pub(super) thread: ThreadId,
    /// The system's number of it.
    pub(super) number: Option<u32>,
    /// Where it is parked; the innermost is the last.
    pub(super) waits: Vec<Wait>,
}

#[derive(Clone)]
pub(super) struct Wait {
    pub(super) why: Why,
    pub(super) since: Instant,
    pub(super) stack: Arc<Backtrace>,
}

impl Watch {
    pub(crate) fn new(patience: Duration) -> Watch {
        Watch {
            patience,
            threads: Mutex::new(Vec::new()),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Option<Entry>>> {
        self.threads.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The calling thread is that of the seat from now on.
    pub(crate) fn enlist(&self, seat: usize) {
        let entry = Entry {
            thread: thread::current().id(),
            number: system::own_number(),
            waits: Vec::new(),
        };
        let mut threads = self.lock();
        while threads.len() <= seat {
            threads.push(None);
        }
        threads[seat] = Some(entry);
    }

    /// The calling thread, which is that of the seat, parks until what this returns is dropped.
    pub(crate) fn begin(&self, seat: usize, why: Why) -> Parked<'_> {
        let wait = Wait {
            why,
            since: Instant::now(),
            stack: Arc::new(Backtrace::force_capture()),
        };
        if let Some(Some(entry)) = self.lock().get_mut(seat) {
            entry.waits.push(wait);
        }
        Parked { watch: self, seat }
    }

    /// A copy of the entries, each with its worker slot.
    pub(super) fn entries(&self) -> Vec<(usize, Entry)> {
        let mut entries = Vec::new();
        for (seat, entry) in self.lock().iter().enumerate() {
            if let Some(entry) = entry {
                entries.push((seat, entry.clone()));
            }
        }
        entries
    }
}

/// A wait that lasts.
pub(crate) struct Parked<'w> {
    watch: &'w Watch,
    seat: usize,
}

impl Drop for Parked<'_> {
    fn drop(&mut self) {
        if let Some(Some(entry)) = self.watch.lock().get_mut(self.seat) {
            entry.waits.pop();
        }
    }
}
