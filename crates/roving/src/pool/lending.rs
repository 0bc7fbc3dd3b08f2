//! Indices that waiting workers lend to spare threads.
//!
//! To the user of a pool whose spare threads run jobs ([`crate::sleep::spares::StandIn::ForJobs`]),
//! an index below the number of workers is that of one running thread. A spare thread that is asked
//! for its index borrows that of a worker which is parked in a wait, and keeps it until its job has
//! ended; that worker goes on only then. A spare thread that is not asked borrows none.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

#[derive(Default)]
pub(crate) struct Lending {
    away: Mutex<Away>,
    given_back: Condvar,
}

#[derive(Default)]
struct Away {
    /// Workers parked in a wait.
    waiting: Vec<usize>,
    /// Those of them whose index is lent.
    lent: Vec<usize>,
}

impl Lending {
    fn away(&self) -> MutexGuard<'_, Away> {
        self.away.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The worker's index may be lent until it calls [`Self::back`].
    pub(crate) fn leave(&self, worker: usize) {
        self.away().waiting.push(worker);
    }

    /// The worker wants to go on: returns when its index is its own again.
    pub(crate) fn back(&self, worker: usize) {
        let mut away = self.away();
        while away.lent.contains(&worker) {
            away = self
                .given_back
                .wait(away)
                .unwrap_or_else(PoisonError::into_inner);
        }
        away.waiting.retain(|&waiting| waiting != worker);
    }

    /// The index of a worker that waits, if there is one.
    pub(crate) fn borrow(&self) -> Option<usize> {
        let mut away = self.away();
        let free = |&&worker: &&usize| !away.lent.contains(&worker);
        let worker = away.waiting.iter().find(free).copied()?;
        away.lent.push(worker);
        Some(worker)
    }

    pub(crate) fn give_back(&self, worker: usize) {
        self.away().lent.retain(|&lent| lent != worker);
        self.given_back.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::thread;
    use std::time::Duration;

    use super::Lending;

    #[test]
    fn an_index_is_lent_once_and_awaited() {
        let lending = Lending::default();
        assert_eq!(lending.borrow(), None, "nobody waits");
        lending.leave(3);
        assert_eq!(lending.borrow(), Some(3));
        assert_eq!(lending.borrow(), None, "it is lent");
        let given_back = AtomicBool::new(false);
        thread::scope(|s| {
            s.spawn(|| {
                thread::sleep(Duration::from_millis(20));
                // Ordering: SeqCst, for want of a reason to choose another.
                given_back.store(true, Ordering::SeqCst);
                lending.give_back(3);
            });
            lending.back(3);
            // Ordering: SeqCst, as above.
            assert!(given_back.load(Ordering::SeqCst));
        });
        assert_eq!(lending.borrow(), None, "it is back");
    }
}
