//! Indices that are lent and come back, explored by loom.

use std::sync::Arc;

use loom::thread;

use super::lending::{Lending, Loan};
use crate::machine::meeting_points::park;
use crate::machine::prim::{self, AtomicBool, Ordering, explore, explore_within};
use crate::stack::loom_tests::Made;

/// Who has an index touches what is beside it.
struct Index {
    lending: Lending,
    used: Made,
}

impl Index {
    fn new() -> Arc<Index> {
        let (lending, used) = (Lending::new(), Made::new());
        Arc::new(Index { lending, used })
    }

    fn used(&self) {
        self.used.make();
    }

    /// Runs `f` on another thread.
    fn beside(self: &Arc<Index>, f: impl FnOnce(&Index) + 'static) -> thread::JoinHandle<()> {
        let index = Arc::clone(self);
        thread::spawn(move || f(&index))
    }

    /// A job with that loan asks for its index, uses it if it has it, and ends.
    fn ask_and_end(&self, loan: Loan) {
        if self.lending.ask(Some(loan)) {
            self.used();
        }
        self.lending.give_back(loan);
    }
}

/// A thread that has a job, and no index for it, gets one when a worker waits.
#[test]
fn loom_who_wants_an_index_is_told_of_one() {
    explore(|| {
        let index = Index::new();
        index.lending.ask(None);
        let borrower = index.beside(|index| {
            let loan = loop {
                match index.lending.borrow() {
                    Ok(loan) => break loan,
                    Err(_) => park(),
                }
            };
            index.used();
            index.lending.give_back(loan);
        });
        index.used();
        index.lending.leave(3);
        borrower.join().unwrap();
        index.lending.back(3, park);
        index.used();
    });
}

/// The job of a waiting worker's compensation thread uses the worker's index and waits, and the
/// worker goes on.
#[test]
fn loom_a_lent_index_comes_back() {
    explore_within(Some(3), || {
        let index = Index::new();
        index.lending.ask(None);
        index.used();
        index.lending.leave(3);
        let borrower = index.beside(|index| {
            if let Ok(loan) = index.lending.borrow() {
                index.used();
                index.lending.suspend(loan);
                index.lending.resume(loan);
                index.used();
                index.lending.give_back(loan);
            }
        });
        index.lending.back(3, park);
        index.used();
        borrower.join().unwrap();
    });
}

/// A worker goes on while the job in its place asks for its index, as the first one in the pool:
/// one of the two has it.
#[test]
fn loom_an_index_is_taken_back_or_awaited() {
    explore(|| {
        let index = Index::new();
        index.used();
        index.lending.leave(3);
        let loan = index.lending.borrow().expect("it waits");
        let borrower = index.beside(move |index| index.ask_and_end(loan));
        index.lending.back(3, park);
        index.used();
        borrower.join().unwrap();
    });
}

/// A worker goes on while the job in its place waits for that, and does not ask for its index.
#[test]
fn loom_an_index_that_nobody_asks_for_is_not_awaited() {
    explore(|| {
        let index = Index::new();
        index.lending.leave(3);
        let loan = index.lending.borrow().expect("it waits");
        let borrower = index.beside(move |index| {
            thread::park();
            index.lending.give_back(loan);
        });
        index.lending.back(3, park);
        borrower.thread().unpark();
        borrower.join().unwrap();
    });
}

/// A job that waits goes on while one that has begun on top of it asks for the index, as the first
/// one in the pool: one of the two has it.
#[test]
fn loom_of_two_borrowers_one_has_the_index() {
    explore_within(Some(3), || {
        let index = Index::new();
        index.used();
        index.lending.leave(3);
        let lower = index.lending.borrow().expect("it waits");
        index.lending.suspend(lower);
        let upper = index.lending.borrow().expect("the job waits");
        let above = index.beside(move |index| index.ask_and_end(upper));
        index.lending.resume(lower);
        index.ask_and_end(lower);
        index.lending.back(3, park);
        index.used();
        above.join().unwrap();
    });
}

/// A worker runs something on top of its wait, for which the borrower of its index may wait. The
/// borrower goes on when that has ended.
#[test]
fn loom_a_borrower_and_what_runs_on_the_wait_take_turns() {
    for waits_for_it in [true, false] {
        explore_within(Some(3), move || {
            let index = Index::new();
            index.lending.ask(None);
            index.used();
            index.lending.leave(3);
            let loan = index.lending.borrow().expect("it waits");
            let borrower = index.beside(move |index| {
                index.used();
                index.lending.suspend(loan);
                if waits_for_it {
                    thread::park();
                }
                index.lending.resume(loan);
                index.used();
                index.lending.give_back(loan);
            });
            while !index.lending.wake(3) {
                park();
            }
            index.used();
            if waits_for_it {
                borrower.thread().unpark();
            }
            index.lending.rest(3);
            index.lending.back(3, park);
            index.used();
            borrower.join().unwrap();
        });
    }
}

/// A worker wants its index back from a borrower, which waits for something that is addressed to
/// the worker, as its part of a broadcast is.
#[test]
fn loom_who_wants_an_index_back_serves_the_borrower() {
    explore_within(Some(3), || {
        let index = Index::new();
        index.lending.ask(None);
        let (mail, served) = (AtomicBool::new(false), AtomicBool::new(false));
        let letters = Arc::new((mail, served));
        index.lending.leave(3);
        let loan = index.lending.borrow().expect("it waits");
        let borrower = prim::thread::current();
        let letters_of = Arc::clone(&letters);
        let worker = index.beside(move |index| {
            let (mail, served) = &*letters_of;
            index.lending.back(3, || {
                if !(mail.load(Ordering::Acquire) && index.lending.wake(3)) {
                    return park();
                }
                index.used();
                mail.store(false, Ordering::Relaxed);
                served.store(true, Ordering::Release);
                borrower.unpark();
                index.lending.rest(3);
            });
            index.used();
        });
        let (mail, served) = &*letters;
        index.used();
        mail.store(true, Ordering::Release);
        index.lending.suspend(loan);
        while !served.load(Ordering::Acquire) {
            park();
        }
        index.lending.resume(loan);
        index.used();
        index.lending.give_back(loan);
        worker.join().unwrap();
    });
}
