//! The tasks of a scope that were spawned by threads which are no workers of its pool.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::machine::meeting_points::{park, unpark};
use crate::machine::prim::Mutex;
use crate::machine::prim::thread::{self, Thread};
use crate::workers::Worker;
use crate::workers::job::Job;
use crate::workers::job_runs::Jobs;
use crate::workers::wait::Wait;

/// The tasks of a scope that were spawned from outside. The injector gets a ticket for each; who
/// draws it runs the oldest that is left, and so does the scope itself when it waits for them.
/// Shared, because tickets outlive the scope.
#[derive(Default)]
pub(super) struct Remote {
    open: Mutex<Open>,
}

#[derive(Default)]
struct Open {
    waiting: VecDeque<Job>,
    running: usize,
    /// The scope's own thread, once it waits.
    waiter: Option<Thread>,
}

impl Remote {
    fn with<R>(&self, f: impl FnOnce(&mut Open) -> R) -> R {
        f(&mut self.open.lock())
    }

    #[inline]
    pub(super) fn push(&self, job: Job) {
        self.with(|open| {
            open.waiting.push_back(job);
            open.wake();
        });
    }

    /// Runs the oldest task, if one is left.
    #[inline]
    pub(super) fn run_one(&self) {
        let job = self.with(|open| {
            let job = open.waiting.pop_front();
            open.running += usize::from(job.is_some());
            job
        });
        if let Some(job) = job {
            Worker::with_current(|worker| match worker {
                Some(worker) => Jobs(worker).on_top(|| job.run()),
                None => unreachable!("tickets are drawn by workers"),
            });
            self.end_one();
        }
    }

    /// A task that was counted as running has ended.
    #[inline]
    fn end_one(&self) {
        self.with(|open| {
            open.running -= 1;
            open.wake();
        });
    }

    /// A thread that does not run the tasks itself: returns when none is left.
    #[inline]
    pub(super) fn wait(&self, worker: Option<&Worker>) {
        self.with(|open| open.waiter = Some(thread::current()));
        let is_over = || self.with(|open| open.is_over());
        match worker {
            Some(worker) => Wait(worker).park_until(is_over),
            None => {
                while !is_over() {
                    park();
                }
            }
        }
    }

    /// The scope's own worker: returns when none is left.
    #[inline]
    pub(super) fn finish(&self, worker: &Worker) {
        self.with(|open| open.waiter = Some(thread::current()));
        while !self.with(|open| open.is_over()) {
            self.run_one();
            if self.with(|open| open.waiting.is_empty() && !open.is_over()) {
                Wait(worker)
                    .park_until(|| self.with(|open| !open.waiting.is_empty() || open.is_over()));
            }
        }
    }
}

impl Open {
    fn is_over(&self) -> bool {
        self.waiting.is_empty() && self.running == 0
    }

    /// Something has changed that the scope may wait for.
    #[inline]
    fn wake(&self) {
        if let Some(waiter) = &self.waiter {
            unpark(waiter);
        }
    }
}

/// A task of a scope that counts as running, until this is dropped.
pub(super) struct Running(Arc<Remote>);

impl Running {
    #[inline]
    pub(super) fn new(remote: &Arc<Remote>) -> Running {
        remote.with(|open| open.running += 1);
        Running(Arc::clone(remote))
    }
}

impl Drop for Running {
    #[inline]
    fn drop(&mut self) {
        self.0.end_one();
    }
}
