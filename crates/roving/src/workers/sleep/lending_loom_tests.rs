//! Indices that are lent and come back, explored by loom.

use std::sync::Arc;

use loom::thread;

use super::lending::Lending;
use crate::machine::meeting_points::park;
use crate::machine::prim::{self, AtomicBool, Ordering, explore, explore_within};
use crate::stack::loom_tests::Made;

/// Who has an index touches what is beside it.
struct Index {
    lending: Lending,
    beside: Made,
}

impl Index {
    fn new() -> Arc<Index> {
        let (lending, beside) = (Lending::new(), Made::new());
        Arc::new(Index { lending, beside })
    }

    fn used(&self) {
        self.beside.make();
    }
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
        let borrower = {
            let index = Arc::clone(&index);
            thread::spawn(move || {
                if let Ok(loan) = index.lending.borrow() {
                    index.used();
                    index.lending.suspend(loan);
                    index.lending.resume(loan);
                    index.used();
                    index.lending.give_back(loan);
                }
            })
        };
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
        let borrower = {
            let index = Arc::clone(&index);
            thread::spawn(move || {
                if index.lending.ask(Some(loan)) {
                    index.used();
                }
                index.lending.give_back(loan);
            })
        };
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
        let borrower = {
            let index = Arc::clone(&index);
            thread::spawn(move || {
                thread::park();
                index.lending.give_back(loan);
            })
        };
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
        let asks = |index: &Index, loan| {
            if index.lending.ask(Some(loan)) {
                index.used();
            }
            index.lending.give_back(loan);
        };
        let above = {
            let index = Arc::clone(&index);
            thread::spawn(move || asks(&index, upper))
        };
        index.lending.resume(lower);
        asks(&index, lower);
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
            let borrower = {
                let index = Arc::clone(&index);
                thread::spawn(move || {
                    index.used();
                    index.lending.suspend(loan);
                    if waits_for_it {
                        thread::park();
                    }
                    index.lending.resume(loan);
                    index.used();
                    index.lending.give_back(loan);
                })
            };
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
        let worker = {
            let (index, letters) = (Arc::clone(&index), Arc::clone(&letters));
            thread::spawn(move || {
                let (mail, served) = &*letters;
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
            })
        };
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
