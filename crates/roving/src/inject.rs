//! Work that comes from outside the task stacks: the injector of a pool, the mailbox of a worker,
//! and the detached tasks that it has spawned.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use crate::prim::{AtomicUsize, Ordering};

/// A closure that catches its own panics.
pub(crate) type Job = Box<dyn FnOnce() + Send>;

/// A queue of jobs, first in, first out.
///
/// The lock is what orders it with sleep: a worker looks in under the lock after it has announced
/// that it is idle, and a sender adds under the lock before it looks for idle workers. One of the
/// two critical sections comes first, so either the worker finds the job or the sender finds the
/// worker.
pub(crate) struct Queue {
    jobs: Mutex<VecDeque<Job>>,
    /// Length, for a look without the lock.
    length: AtomicUsize,
}

impl Queue {
    pub(crate) fn new() -> Queue {
        Queue {
            jobs: Mutex::new(VecDeque::new()),
            length: AtomicUsize::new(0),
        }
    }

    pub(crate) fn push(&self, job: Job) {
        let mut jobs = self.jobs.lock().unwrap_or_else(PoisonError::into_inner);
        jobs.push_back(job);
        // Ordering: Relaxed; a hint, the lock decides.
        self.length.store(jobs.len(), Ordering::Relaxed);
    }

    /// Whether there seems to be nothing.
    pub(crate) fn is_hint_empty(&self) -> bool {
        self.length() == 0
    }

    /// About how many there are.
    pub(crate) fn length(&self) -> usize {
        // Ordering: Relaxed; a hint, the lock decides.
        self.length.load(Ordering::Relaxed)
    }

    /// The oldest job.
    pub(crate) fn pop(&self) -> Option<Job> {
        self.pop_with(VecDeque::pop_front)
    }

    /// The newest job.
    pub(crate) fn pop_newest(&self) -> Option<Job> {
        self.pop_with(VecDeque::pop_back)
    }

    /// The one after that many older ones.
    pub(crate) fn pop_at(&self, older: usize) -> Option<Job> {
        self.pop_with(|jobs| jobs.remove(older))
    }

    fn pop_with(&self, pop: impl FnOnce(&mut VecDeque<Job>) -> Option<Job>) -> Option<Job> {
        if self.is_hint_empty() {
            return None;
        }
        let mut jobs = self.jobs.lock().unwrap_or_else(PoisonError::into_inner);
        let job = pop(&mut jobs);
        // Ordering: Relaxed; a hint, the lock decides.
        self.length.store(jobs.len(), Ordering::Relaxed);
        job
    }

    /// For the last look before sleep: asks under the lock.
    pub(crate) fn is_surely_empty(&self) -> bool {
        self.jobs
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .is_empty()
    }
}
