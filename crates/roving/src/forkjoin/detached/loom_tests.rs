//! The word of a detached task, explored.

use crate::workers::frames::child_end::{Awaiting, Ending, Retracted};
use std::sync::Arc;

use super::word::{Keeper, Word};

use crate::machine::prim::thread;
use crate::machine::prim::{AtomicUsize, DataCell, Ordering, explore};

const OUTCOME: u64 = 7;
/// In the place of a closure that nobody has begun.
const CLOSURE: u64 = 1;

/// A task as `cell.rs` and `handle.rs` use the word, with numbers for what is in its memory.
struct Model {
    word: Word,
    /// The task's memory as such: read by all that use it, written by who frees it.
    memory: DataCell<()>,
    body: DataCell<u64>,
    awaiter: DataCell<u64>,
    begun: AtomicUsize,
    disposed: AtomicUsize,
    freed: AtomicUsize,
    woken: AtomicUsize,
}

// SAFETY: the cells are touched as the word says, which loom checks.
unsafe impl Sync for Model {}

impl Model {
    fn new() -> Arc<Model> {
        Arc::new(Model {
            word: Word::new(true),
            memory: DataCell::new(()),
            body: DataCell::new(CLOSURE),
            awaiter: DataCell::new(0),
            begun: AtomicUsize::new(0),
            disposed: AtomicUsize::new(0),
            freed: AtomicUsize::new(0),
            woken: AtomicUsize::new(0),
        })
    }

    /// The caller keeps the task, so it has not been freed.
    fn touch(&self) {
        // SAFETY: nothing is read; loom checks that nobody frees it at the same time.
        self.memory.with(|at| unsafe { *at });
    }

    fn count(of: &AtomicUsize) {
        // Ordering: Relaxed; read after all threads have been joined.
        of.fetch_add(1, Ordering::Relaxed);
    }

    fn read(of: &AtomicUsize) -> usize {
        // Ordering: Relaxed; read after all threads have been joined.
        of.load(Ordering::Relaxed)
    }

    /// Takes the closure out, and puts the outcome in.
    fn settle(&self) {
        Model::count(&self.begun);
        // SAFETY: claimed, or alone; loom checks that.
        let closure = self.body.with_mut(|at| unsafe { at.replace(OUTCOME) });
        assert_eq!(closure, CLOSURE);
    }

    fn take_outcome(&self) {
        // SAFETY: the caller has the outcome; loom checks that.
        let outcome = self.body.with_mut(|at| unsafe { at.replace(0) });
        assert_eq!(outcome, OUTCOME);
        Model::count(&self.disposed);
    }

    fn free(&self) {
        // SAFETY: nothing is written; loom checks that nobody uses it at the same time.
        self.memory.with_mut(|at| unsafe { *at = () });
        // Nothing is left.
        // SAFETY: both keepers are through; loom checks that.
        assert_eq!(self.body.with_mut(|at| unsafe { *at }), 0);
        // SAFETY: as for the body.
        self.awaiter.with_mut(|at| unsafe { *at = 0 });
        Model::count(&self.freed);
    }

    fn end(&self, by: Keeper) {
        let mut is_awaited = false;
        loop {
            match self.word.end(by) {
                Ending::TakeAwaiter => {
                    // SAFETY: the word says so; loom checks that.
                    let waker = self.awaiter.with_mut(|at| unsafe { at.replace(0) });
                    assert_eq!(waker, 1);
                    is_awaited = true;
                }
                Ending::HandedOver => break,
                Ending::Abandoned => {
                    self.take_outcome();
                    self.free();
                    break;
                }
            }
        }
        if is_awaited {
            Model::count(&self.woken);
        }
    }

    /// Models a worker that has taken the job out of its queue.
    fn run_queued(&self) {
        self.touch();
        if self.word.is_alone() {
            self.settle();
            self.take_outcome();
            self.free();
        } else if self.word.claim() {
            self.settle();
            self.end(Keeper::Job);
        } else {
            self.word.take_out().pay(|| self.free());
        }
    }

    /// Models `abort`, and a worker that waits: true if nobody had begun the task.
    fn begin_by_handle(&self) -> bool {
        self.touch();
        let is_mine = self.word.claim();
        if is_mine {
            self.settle();
            self.end(Keeper::Handle);
        }
        is_mine
    }

    /// Models one poll. True if the task has ended.
    fn ask(&self) -> bool {
        loop {
            if self.word.is_ended() {
                return true;
            }
            match self.word.retract_awaiter() {
                // SAFETY: this handle's again; loom checks that.
                Retracted::Back => self.awaiter.with_mut(|at| unsafe { *at = 0 }),
                Retracted::None => {}
                Retracted::Ended => continue,
                Retracted::BeingWoken => return false,
            }
            // SAFETY: none is there; loom checks that nobody looks.
            self.awaiter.with_mut(|at| unsafe { *at = 1 });
            match self.word.leave_awaiter() {
                Awaiting::Left => return false,
                // SAFETY: still this handle's; loom checks that.
                Awaiting::Ended => self.awaiter.with_mut(|at| unsafe { *at = 0 }),
            }
        }
    }

    /// Models a poll that was ready, and the drop of the handle.
    fn take_and_go(&self) {
        self.word.set_empty();
        self.take_outcome();
        self.drop_handle();
    }

    /// Models the drop of a handle.
    fn drop_handle(&self) {
        self.touch();
        if self.word.let_go_at_once() {
            return;
        }
        let mut has_outcome = !self.word.is_empty();
        if has_outcome && self.word.is_ended() {
            self.take_outcome();
            has_outcome = false;
        }
        let left = self.word.let_go();
        match has_outcome {
            true => left.dispose.pay(|| self.take_outcome()),
            false => left.dispose.waive("it was taken before"),
        }
        left.free.pay(|| self.free());
    }

    fn assert_over(&self) {
        let counts = [&self.begun, &self.disposed, &self.freed].map(Model::read);
        assert_eq!(counts, [1, 1, 1], "begun, outcome taken, memory freed");
    }
}

/// Runs the job on another thread, and something else here meanwhile.
fn beside_the_job(here: impl Fn(&Model) + Send + Sync + 'static) {
    explore(move || {
        let task = Model::new();
        let job = {
            let task = Arc::clone(&task);
            thread_spawn(move || task.run_queued())
        };
        here(&task);
        job.join().unwrap();
        task.assert_over();
    });
}

fn thread_spawn(f: impl FnOnce() + Send + 'static) -> thread::JoinHandle<()> {
    thread::spawn(f)
}

#[test]
fn loom_a_task_outlives_a_handle_that_is_dropped() {
    beside_the_job(Model::drop_handle);
}

#[test]
fn loom_a_task_is_begun_once_and_freed_once() {
    beside_the_job(|task| {
        let _ = task.begin_by_handle();
        task.drop_handle();
    });
}

#[test]
fn loom_an_outcome_is_taken_once() {
    beside_the_job(|task| {
        let _ = task.begin_by_handle();
        match task.ask() {
            true => task.take_and_go(),
            false => task.drop_handle(),
        }
    });
}

#[test]
fn loom_a_handle_that_waits_is_woken() {
    explore(|| {
        let task = Model::new();
        let job = {
            let task = Arc::clone(&task);
            thread_spawn(move || task.run_queued())
        };
        let was_ready = task.ask();
        job.join().unwrap();
        assert!(was_ready || Model::read(&task.woken) == 1);
        assert!(task.ask());
        task.take_and_go();
        task.assert_over();
    });
}

#[test]
fn loom_a_handle_that_waited_is_dropped() {
    beside_the_job(|task| {
        let is_ended = task.ask() || task.ask();
        match is_ended {
            true => task.take_and_go(),
            false => task.drop_handle(),
        }
    });
}
