//! Indices that waiting workers lend to compensation threads.
//!
//! To the user of a pool whose compensation threads run jobs
//! ([`super::spares::StandIn::ForJobs`]), an index below the number of workers is that of
//! one running thread. A compensation thread that is asked for its index borrows that of a worker
//! which is parked in a wait, and keeps it until its job has ended; that worker goes on only then.
//! A compensation thread that is not asked borrows none.
//!
//! Two threads with one index never run at the same time, as if the compensation thread's job ran
//! on top of the waiting worker's frame. What else runs there, a broadcast, does so while that job
//! waits in its turn, or after it.

use std::cell::Cell;

use crate::machine::prim::{Condvar, Mutex, MutexGuard, mutant, wait_while};

pub(crate) struct Lending {
    away: Mutex<Away>,
    changed: Condvar,
}

#[derive(Default)]
struct Away {
    /// Workers parked in a wait, once for each wait.
    waiting: Vec<usize>,
    /// Those of them that run something on top of their wait.
    awake: Vec<usize>,
    /// Those of them whose index is lent.
    lent: Vec<Loan>,
}

struct Loan {
    worker: usize,
    /// The borrower runs: it does not wait itself.
    runs: bool,
}

impl Away {
    fn loan(&mut self, worker: usize) -> Option<&mut Loan> {
        self.lent.iter_mut().find(|loan| loan.worker == worker)
    }
}

fn remove_one(from: &mut Vec<usize>, worker: usize) {
    if let Some(at) = from.iter().rposition(|&one| one == worker) {
        from.swap_remove(at);
    }
}

impl Lending {
    pub(crate) fn new() -> Lending {
        Lending {
            away: Mutex::new(Away::default()),
            changed: Condvar::new(),
        }
    }

    fn away(&self) -> MutexGuard<'_, Away> {
        self.away.lock()
    }

    /// The worker's index may be lent until it calls [`Self::back`].
    pub(crate) fn leave(&self, worker: usize) {
        self.away().waiting.push(worker);
    }

    /// The worker wants to go on: returns when its index is its own again.
    pub(crate) fn back(&self, worker: usize) {
        let mut away = self.away();
        // First, so that it is not lent again.
        remove_one(&mut away.waiting, worker);
        if !away.awake.contains(&worker) && !mutant("lending_awaits_the_end") {
            drop(wait_while(&self.changed, away, |away| {
                away.loan(worker).is_some()
            }));
        }
    }

    /// The worker wants to run something, and then to wait on: returns when no borrower runs.
    pub(crate) fn wake(&self, worker: usize) {
        let mut away = self.away();
        away.awake.push(worker);
        let runs = |away: &mut Away| away.loan(worker).is_some_and(|loan| loan.runs);
        if !mutant("lending_awaits_a_wait") {
            drop(wait_while(&self.changed, away, runs));
        }
    }

    /// The worker has run that.
    pub(crate) fn rest(&self, worker: usize) {
        remove_one(&mut self.away().awake, worker);
        if !mutant("lending_tells_of_rest") {
            self.changed.notify_all();
        }
    }

    /// The index of a worker that waits, if there is one.
    #[inline]
    pub(crate) fn borrow(&self) -> Option<usize> {
        let mut away = self.away();
        let free = |&&worker: &&usize| {
            let is_lent = away.lent.iter().any(|loan| loan.worker == worker);
            !is_lent && !away.awake.contains(&worker)
        };
        let worker = away.waiting.iter().find(free).copied()?;
        let runs = true;
        away.lent.push(Loan { worker, runs });
        Some(worker)
    }

    /// The borrower waits.
    pub(crate) fn suspend(&self, worker: usize) {
        if let Some(loan) = self.away().loan(worker) {
            loan.runs = false;
        }
        if !mutant("lending_tells_of_a_wait") {
            self.changed.notify_all();
        }
    }

    /// The borrower wants to go on: returns when the worker runs nothing.
    pub(crate) fn resume(&self, worker: usize) {
        let busy = |away: &mut Away| !mutant("lending_awaits_rest") && away.awake.contains(&worker);
        let mut away = wait_while(&self.changed, self.away(), busy);
        if let Some(loan) = away.loan(worker) {
            loan.runs = true;
        }
    }

    pub(crate) fn give_back(&self, worker: usize) {
        self.away().lent.retain(|loan| loan.worker != worker);
        if !mutant("lending_tells_of_the_end") {
            self.changed.notify_all();
        }
    }
}

/// The index that a thread shows to its user: a worker's own, or one that a compensation thread has
/// borrowed.
pub(crate) struct ShownIndex {
    own: usize,
    borrowed: Cell<Option<usize>>,
}

impl ShownIndex {
    pub(crate) fn new(own: usize) -> ShownIndex {
        let borrowed = Cell::new(None);
        ShownIndex { own, borrowed }
    }

    /// The index of a worker; that which a compensation thread borrows as long as there is one.
    pub(crate) fn get(&self, lending: &Lending, is_spare: bool) -> usize {
        if !is_spare {
            return self.own;
        }
        if self.borrowed.get().is_none() {
            self.borrowed.set(lending.borrow());
        }
        self.borrowed.get().unwrap_or(self.own)
    }

    /// The thread is about to wait: another one can have its index meanwhile, if it `lends`.
    pub(crate) fn leave(&self, lending: &Lending, lends: bool) {
        if lends {
            lending.leave(self.own);
        } else if let Some(index) = self.borrowed.get() {
            lending.suspend(index);
        }
    }

    /// The wait is over.
    pub(crate) fn back(&self, lending: &Lending, lends: bool) {
        if lends {
            lending.back(self.own);
        } else if let Some(index) = self.borrowed.get() {
            lending.resume(index);
        }
    }

    /// The job for which it was borrowed has ended.
    pub(crate) fn give_back(&self, lending: &Lending) {
        if let Some(index) = self.borrowed.take() {
            lending.give_back(index);
        }
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
        let lending = Lending::new();
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

    #[test]
    fn an_index_is_not_lent_again_to_who_could_starve_its_worker() {
        let lending = Lending::new();
        lending.leave(3);
        assert_eq!(lending.borrow(), Some(3));
        let is_back = AtomicBool::new(false);
        thread::scope(|s| {
            s.spawn(|| {
                lending.back(3);
                // Ordering: SeqCst, for want of a reason to choose another.
                is_back.store(true, Ordering::SeqCst);
            });
            // Until the worker wants it back, a borrower may come again at once.
            while lending.away().waiting.contains(&3) {
                thread::yield_now();
            }
            lending.give_back(3);
            assert_eq!(lending.borrow(), None, "its worker wants it");
        });
        assert!(is_back.into_inner());
    }

    #[test]
    fn what_runs_on_top_of_a_wait_and_the_borrower_take_turns() {
        let lending = Lending::new();
        lending.leave(3);
        lending.leave(3);
        assert_eq!(lending.borrow(), Some(3));
        lending.suspend(3);
        lending.wake(3);
        assert_eq!(lending.borrow(), None, "neither of the two waits is free");
        // A wait inside of what runs on top does not wait for the borrower's end.
        lending.back(3);
        let rested = AtomicBool::new(false);
        thread::scope(|s| {
            s.spawn(|| {
                thread::sleep(Duration::from_millis(20));
                // Ordering: SeqCst, for want of a reason to choose another.
                rested.store(true, Ordering::SeqCst);
                lending.rest(3);
            });
            lending.resume(3);
            // Ordering: SeqCst, as above.
            assert!(rested.load(Ordering::SeqCst));
        });
        lending.give_back(3);
        lending.back(3);
        assert_eq!(lending.borrow(), None, "it is back");
    }
}
