//! Indices that waiting workers lend to compensation threads.
//!
//! To the user of a pool whose compensation threads run jobs
//! ([`super::spares::StandIn::ForJobs`]), an index below the number of workers is that of
//! one running thread. In Rayon a waiting worker runs a job on top of its frame; here the job runs
//! on a thread of its own, and each index is a stack of those who would stand on each other there:
//! the worker, jobs that began while what is below them waited, and what the worker runs meanwhile
//! (a broadcast). Only the topmost runs. Who wants to go on waits until it is the topmost again, so
//! nobody waits for another who could not have been on top of it in Rayon. A worker serves
//! broadcasts in that wait as well: the one above it may wait for its part of one.
//!
//! Hence a job gets its place when it begins, not when it asks for its index: by then a worker may
//! wait in a part of that very job, and would never go on.
//!
//! Most programs never ask. Until somebody in the pool has, nobody waits here: a worker takes its
//! index away from those above it, and a job that finds somebody above it leaves the stack. Such a
//! job shows the index of its compensation thread, which is none of a worker's. From the first
//! question on all keep their places, and no job begins without one.

use std::cell::Cell;

use crate::machine::prim::thread::{self, Thread};
use crate::machine::prim::{Condvar, Mutex, mutant, wait_while};
use crate::machine::waiters::Waiters;

pub(crate) struct Lending {
    stacks: Mutex<Stacks>,
    changed: Condvar,
}

#[derive(Default)]
struct Stacks {
    /// Those who have an index, for each index of a worker that has waited.
    by_index: Vec<Holders>,
    /// How many loans there have been.
    loans: u64,
    /// Somebody has asked for an index.
    is_asked: bool,
    /// Threads that have found no place for a job, and park until there may be one.
    wanting: Waiters,
}

/// Those who have an index.
struct Holders {
    /// From the worker itself upwards.
    all: Vec<Holder>,
    /// The worker, if it waits for something to change.
    worker: Option<Thread>,
}

struct Holder {
    /// The number of the loan. None for the worker, and for what it runs on top of its wait.
    loan: Option<u64>,
    runs: bool,
}

impl Holder {
    fn of_the_worker() -> Holder {
        let (loan, runs) = (None, true);
        Holder { loan, runs }
    }
}

impl Holders {
    fn new() -> Holders {
        let (all, worker) = (vec![Holder::of_the_worker()], None);
        Holders { all, worker }
    }

    fn top(&self) -> &Holder {
        self.all.last().expect("a worker keeps its place")
    }

    /// Where the worker, or what it runs on top of its wait, has its place.
    fn of_the_worker(&self) -> usize {
        let place = self.all.iter().rposition(|place| place.loan.is_none());
        place.expect("a worker keeps its place")
    }

    fn of(&self, loan: Loan) -> Option<usize> {
        let is_its = |place: &Holder| place.loan == Some(loan.number);
        self.all.iter().position(is_its)
    }
}

/// The place of a job in the stack of an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Loan {
    worker: usize,
    number: u64,
}

impl Stacks {
    fn stack(&mut self, worker: usize) -> &mut Holders {
        if self.by_index.len() <= worker {
            self.by_index.resize_with(worker + 1, Holders::new);
        }
        &mut self.by_index[worker]
    }

    /// Somebody above the worker waits or has ended.
    fn tell_worker(&mut self, worker: usize) {
        if let Some(thread) = self.stack(worker).worker.take() {
            thread.unpark();
        }
    }

    /// Somebody waits, or has ended, and a job may have its place there.
    fn tell_wanting(&mut self) {
        if !mutant("lending_tells_who_wants") {
            self.wanting.tell_all();
        }
    }

    /// Unless indices are asked for, nobody needs one who does not run on the worker itself.
    fn take_back(&mut self, worker: usize) {
        if !self.is_asked && !mutant("lending_takes_back") {
            let stack = self.stack(worker);
            stack.all.truncate(stack.of_the_worker() + 1);
        }
    }
}

impl Lending {
    pub(crate) fn new() -> Lending {
        Lending {
            stacks: Mutex::new(Stacks::default()),
            changed: Condvar::new(),
        }
    }

    /// The worker waits: its index may be lent until it calls [`Self::back`].
    pub(crate) fn leave(&self, worker: usize) {
        let mut stacks = self.stacks.lock();
        let stack = stacks.stack(worker);
        let place = stack.of_the_worker();
        stack.all[place].runs = false;
        stacks.tell_wanting();
    }

    /// The worker wants to go on: returns when its index is its own again. In between it calls
    /// `meanwhile`, which parks the thread if it finds nothing to do.
    pub(crate) fn back(&self, worker: usize, meanwhile: impl Fn()) {
        while !self.is_back(worker) {
            meanwhile();
        }
    }

    fn is_back(&self, worker: usize) -> bool {
        let mut stacks = self.stacks.lock();
        stacks.take_back(worker);
        let stack = stacks.stack(worker);
        let is_back = stack.top().loan.is_none() || mutant("lending_awaits_the_end");
        if is_back {
            let place = stack.of_the_worker();
            stack.all[place].runs = true;
        } else {
            stack.worker = Some(thread::current());
        }
        is_back
    }

    /// The worker, which waits, wants to run something that is addressed to it, and then to wait
    /// on. Not while a borrower runs: then the thread is unparked when that waits or has ended.
    pub(crate) fn wake(&self, worker: usize) -> bool {
        let mut stacks = self.stacks.lock();
        stacks.take_back(worker);
        let stack = stacks.stack(worker);
        let top = stack.top();
        let may = !(top.loan.is_some() && top.runs) || mutant("lending_awaits_a_wait");
        if may {
            stack.all.push(Holder::of_the_worker());
        } else {
            stack.worker = Some(thread::current());
        }
        may
    }

    /// The worker has run that.
    pub(crate) fn rest(&self, worker: usize) {
        let mut stacks = self.stacks.lock();
        let stack = stacks.stack(worker);
        stack.all.remove(stack.of_the_worker());
        stacks.tell_wanting();
        if !mutant("lending_tells_of_rest") {
            self.changed.notify_all();
        }
    }

    /// A place for a job that begins: on top of a worker that waits, with few others on it. There
    /// is none if none waits; the error says whether the job can do without. If it cannot, the
    /// thread is unparked when there may be one.
    pub(crate) fn borrow(&self) -> Result<Loan, bool> {
        let mut stacks = self.stacks.lock();
        let number = stacks.loans;
        let all = stacks.by_index.iter_mut().enumerate();
        let free = all.filter(|(_, stack)| !stack.top().runs);
        let Some((worker, stack)) = free.min_by_key(|(_, stack)| stack.all.len()) else {
            if stacks.is_asked {
                stacks.wanting.enter();
            }
            return Err(!stacks.is_asked);
        };
        let (loan, runs) = (Some(number), true);
        stack.all.push(Holder { loan, runs });
        stacks.loans += 1;
        Ok(Loan { worker, number })
    }

    /// Somebody asks for an index. Whether it has that of the loan.
    pub(crate) fn ask(&self, loan: Option<Loan>) -> bool {
        let mut stacks = self.stacks.lock();
        stacks.is_asked = true;
        loan.is_some_and(|loan| stacks.stack(loan.worker).of(loan).is_some())
    }

    /// The borrower waits.
    pub(crate) fn suspend(&self, loan: Loan) {
        let mut stacks = self.stacks.lock();
        let stack = stacks.stack(loan.worker);
        if let Some(place) = stack.of(loan) {
            stack.all[place].runs = false;
        }
        stacks.tell_wanting();
        if !mutant("lending_tells_of_a_wait") {
            stacks.tell_worker(loan.worker);
        }
    }

    /// The borrower wants to go on: returns when what has begun on top of it has ended. It goes on
    /// at once, without the index, if nobody has asked for one.
    pub(crate) fn resume(&self, loan: Loan) {
        let is_below = |stacks: &mut Stacks| {
            let stack = stacks.stack(loan.worker);
            stack.of(loan).is_some_and(|at| at + 1 < stack.all.len())
        };
        let mut stacks = self.stacks.lock();
        let leaves = !stacks.is_asked && is_below(&mut stacks);
        if !(leaves || mutant("lending_awaits_rest")) {
            stacks = wait_while(&self.changed, stacks, is_below);
        }
        let stack = stacks.stack(loan.worker);
        if let Some(place) = stack.of(loan) {
            if leaves && !mutant("lending_leaves") {
                stack.all.remove(place);
            } else {
                stack.all[place].runs = true;
            }
        }
    }

    /// The borrower has ended.
    pub(crate) fn give_back(&self, loan: Loan) {
        let mut stacks = self.stacks.lock();
        let stack = stacks.stack(loan.worker);
        stack.all.retain(|place| place.loan != Some(loan.number));
        stacks.tell_wanting();
        if !mutant("lending_tells_of_the_end") {
            stacks.tell_worker(loan.worker);
            self.changed.notify_all();
        }
    }
}

/// How a thread uses its index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IndexUse {
    /// Nobody else has it.
    Keeps,
    /// Another thread can have it while the worker waits.
    Lends,
    /// Its own is no worker's, so it borrows one for each job.
    Borrows,
}

/// The index that a thread shows to its user: a worker's own, or one that a compensation thread has
/// borrowed for the job that it runs.
pub(crate) struct ShownIndex {
    own: usize,
    index_use: IndexUse,
    loan: Cell<Option<Loan>>,
    /// The question for it has been told, so that a loan lasts until it is given back.
    is_asked: Cell<bool>,
    /// The thread waits or blocks, and another one may have the index.
    is_away: Cell<bool>,
}

impl ShownIndex {
    pub(crate) fn new(own: usize, index_use: IndexUse) -> ShownIndex {
        let (is_asked, is_away) = (Cell::new(false), Cell::new(false));
        let loan = Cell::new(None);
        ShownIndex {
            own,
            index_use,
            loan,
            is_asked,
            is_away,
        }
    }

    /// The thread wants to run a job. Whether it may begin one.
    #[inline]
    pub(crate) fn borrow(&self, lending: &Lending) -> bool {
        if self.index_use != IndexUse::Borrows {
            return true;
        }
        let loan = lending.borrow();
        self.loan.set(loan.ok());
        self.is_asked.set(false);
        loan.is_ok() || loan == Err(true)
    }

    /// The index of a worker; that which a compensation thread has borrowed as long as it has one.
    /// None for code that blocks.
    pub(crate) fn get(&self, lending: &Lending) -> Option<usize> {
        if !self.is_asked.replace(true) && !lending.ask(self.loan.get()) {
            self.loan.set(None);
        }
        let index = self.loan.get().map_or(self.own, |loan| loan.worker);
        (!self.is_away.get()).then_some(index)
    }

    /// Calls `f`, in which the thread waits or blocks: another one can have its index meanwhile. It
    /// calls what it is given when it can go on; as long as another one has the index of a worker
    /// then, that calls `meanwhile`.
    pub(crate) fn while_away(
        &self,
        lending: &Lending,
        meanwhile: impl Fn(),
        f: impl FnOnce(&dyn Fn()),
    ) {
        if self.index_use == IndexUse::Keeps || self.is_away.replace(true) {
            return f(&|| {});
        }
        let lends = self.index_use == IndexUse::Lends;
        match self.loan.get() {
            Some(loan) => lending.suspend(loan),
            None if lends => lending.leave(self.own),
            // There was none for the job, or it was taken back.
            None => {}
        }
        f(&|| match self.loan.get() {
            Some(loan) => lending.resume(loan),
            None if lends => lending.back(self.own, &meanwhile),
            None => {}
        });
        self.is_away.set(false);
    }

    /// Calls `f`, in which the worker runs something that is addressed to it, and says what that
    /// says. False if it waits and another one runs with its index: then the thread is unparked
    /// when that can have changed.
    pub(crate) fn on_top(&self, lending: &Lending, f: impl FnOnce() -> bool) -> bool {
        if self.index_use != IndexUse::Lends || !self.is_away.get() {
            return f();
        }
        if !lending.wake(self.own) {
            return false;
        }
        self.is_away.set(false);
        let result = f();
        lending.rest(self.own);
        self.is_away.set(true);
        result
    }

    /// The job for which it was borrowed has ended, or there was none.
    pub(crate) fn give_back(&self, lending: &Lending) {
        if let Some(loan) = self.loan.take() {
            lending.give_back(loan);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
    use std::thread;

    use super::{Lending, Loan};
    use crate::machine::prim::thread::park;

    /// Of a pool in which indices are asked for.
    fn asked() -> Lending {
        let lending = Lending::new();
        assert!(!lending.ask(None));
        lending
    }

    /// Calls `f` while another thread runs `other`, which returns only when `f` has begun to wait
    /// or later: `f` must see that it has.
    fn waits_for(f: impl FnOnce(), other: impl FnOnce() + Send) {
        let has_run = AtomicBool::new(false);
        thread::scope(|s| {
            s.spawn(|| {
                thread::yield_now();
                has_run.store(true, SeqCst);
                other();
            });
            f();
            assert!(has_run.load(SeqCst));
        });
    }

    #[test]
    fn an_index_is_lent_and_awaited() {
        let lending = asked();
        assert_eq!(lending.borrow(), Err(false), "nobody waits");
        lending.leave(3);
        let loan = lending.borrow().expect("it waits");
        assert_eq!(loan.worker, 3);
        assert_eq!(lending.borrow(), Err(false), "it is lent");
        assert!(lending.ask(Some(loan)));
        waits_for(|| lending.back(3, park), || lending.give_back(loan));
        assert_eq!(lending.borrow(), Err(false), "it is back");
    }

    #[test]
    fn an_index_that_nobody_asks_for_is_taken_back() {
        let lending = Lending::new();
        lending.leave(3);
        let loan = lending.borrow().expect("it waits");
        lending.back(3, park);
        assert!(!lending.ask(Some(loan)), "it was taken back");
        lending.suspend(loan);
        lending.resume(loan);
        lending.give_back(loan);
        // From now on it waits.
        lending.leave(3);
        let loan = lending.borrow().expect("it waits");
        waits_for(|| lending.back(3, park), || lending.give_back(loan));
    }

    #[test]
    fn jobs_stand_on_jobs_that_wait() {
        let lending = asked();
        lending.leave(0);
        let lower = lending.borrow().expect("it waits");
        lending.suspend(lower);
        lending.leave(1);
        let beside = lending.borrow().expect("another waits");
        assert_eq!(beside.worker, 1, "there is nobody on it");
        let upper = lending.borrow().expect("the first job waits");
        assert_eq!(upper.worker, 0);
        assert!([lower, upper].iter().all(|&loan| lending.ask(Some(loan))));
        waits_for(|| lending.resume(lower), || lending.give_back(upper));
        lending.give_back(lower);
        lending.back(0, park);
        lending.give_back(beside);
        lending.back(1, park);
    }

    #[test]
    fn what_runs_on_top_of_a_wait_and_the_borrower_take_turns() {
        let lending = asked();
        lending.leave(3);
        let loan = lending.borrow().expect("it waits");
        lending.suspend(loan);
        assert!(lending.wake(3));
        assert_eq!(lending.borrow(), Err(false), "it runs");
        lending.leave(3);
        // A wait inside of what runs on top does not wait for the borrower's end.
        lending.back(3, park);
        waits_for(|| lending.resume(loan), || lending.rest(3));
        lending.give_back(loan);
        lending.back(3, park);
        assert_eq!(lending.borrow(), Err(false), "it is back");
    }

    #[test]
    fn a_borrower_that_nobody_asks_goes_on_beside_what_runs_on_top() {
        let lending = Lending::new();
        lending.leave(3);
        assert!(lending.wake(3));
        lending.leave(3);
        let loan: Loan = lending.borrow().expect("it waits");
        lending.suspend(loan);
        assert!(lending.wake(3));
        lending.resume(loan);
        assert!(!lending.ask(Some(loan)), "it was taken back");
        lending.rest(3);
        lending.back(3, park);
        lending.rest(3);
        lending.back(3, park);
        assert_eq!(lending.borrow(), Err(false), "it is back");
    }
}
