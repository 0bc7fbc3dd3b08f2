//! The table of a watched pool: its threads, and where each is parked. Workers write it, and the
//! watcher in [`crate::watch`] reads it.

use std::backtrace::Backtrace;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::ParkReason;
use crate::machine::os;
use crate::machine::prim::thread::{self, ThreadId};
use crate::machine::prim::{Mutex, MutexGuard};
use crate::workers::settings::Debt;

/// The threads of a pool that is watched, and where each is parked.
pub(crate) struct ParkTable {
    pub(crate) patience: Duration,
    /// By worker slot.
    threads: Mutex<Vec<Option<WatchedThread>>>,
}

/// A seat's thread.
#[derive(Clone)]
pub(crate) struct WatchedThread {
    pub(crate) thread: ThreadId,
    /// The system's number of it.
    pub(crate) number: Option<u32>,
    /// Where it is parked; the innermost is the last.
    pub(crate) waits: Vec<Wait>,
}

#[derive(Clone)]
pub(crate) struct Wait {
    pub(crate) why: ParkReason,
    pub(crate) since: Instant,
    pub(crate) stack: Arc<Backtrace>,
}

impl ParkTable {
    /// That of a pool, if it is to be watched.
    pub(crate) fn of(debt: &Debt) -> Option<ParkTable> {
        debt.watch.map(|patience| ParkTable {
            patience,
            threads: Mutex::new(Vec::new()),
        })
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Option<WatchedThread>>> {
        self.threads.lock()
    }

    /// The calling thread is that of the seat from now on.
    pub(crate) fn enlist(&self, seat: usize) {
        let entry = WatchedThread {
            thread: thread::current().id(),
            number: os::thread_number(),
            waits: Vec::new(),
        };
        let mut threads = self.lock();
        while threads.len() <= seat {
            threads.push(None);
        }
        threads[seat] = Some(entry);
    }

    /// The calling thread, which is that of the seat, parks until what this returns is dropped.
    pub(crate) fn begin(&self, seat: usize, why: ParkReason) -> Parked<'_> {
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
    pub(crate) fn entries(&self) -> Vec<(usize, WatchedThread)> {
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
    watch: &'w ParkTable,
    seat: usize,
}

impl Drop for Parked<'_> {
    fn drop(&mut self) {
        if let Some(Some(entry)) = self.watch.lock().get_mut(self.seat) {
            entry.waits.pop();
        }
    }
}

/// The path of this file below the crate's own: [`ParkTable::begin`] captures the stacks here, so
/// it leads the reader of a stack to the files of this crate.
pub(crate) const FILE: &str = "workers/watched_parks/watch.rs";

#[cfg(test)]
mod tests {
    #[test]
    fn the_file_is_where_it_says() {
        let file = file!().replace('\\', "/");
        let root = file.strip_suffix(super::FILE).expect("the file's path");
        assert!(root.ends_with("src/"), "{root}");
    }
}
