//! The tasks of a scope that lie on no worker's stack: those that were spawned by threads which are
//! no workers of its pool, and those that are kept where a worker's stack has no room.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::machine::meeting_points::{park, unpark};
use crate::machine::prim::Mutex;
use crate::machine::prim::thread::{self, Thread};
use crate::workers::Worker;
use crate::workers::inject::JobKind;
use crate::workers::job::Job;
use crate::workers::job_runs::Jobs;
use crate::workers::registry::Registry;
use crate::workers::wait::Wait;

/// Those tasks. The injector gets a ticket for each, up to as many as there are workers; who draws
/// one runs the oldest task that is left, and sees to it that there is a ticket for the next. The
/// scope itself runs them, too, when it waits for them. Shared, because tickets outlive the scope.
#[derive(Default)]
pub(super) struct Remote {
    open: Mutex<Open>,
}

#[derive(Default)]
struct Open {
    waiting: VecDeque<Job>,
    running: usize,
    /// Those that nobody has drawn.
    tickets: usize,
    /// The scope's own thread, once it waits.
    waiter: Option<Thread>,
}

impl Remote {
    fn with<R>(&self, f: impl FnOnce(&mut Open) -> R) -> R {
        f(&mut self.open.lock())
    }

    /// Leaves a job to the workers of that pool, the scope's.
    #[inline]
    pub(super) fn push(self: &Arc<Remote>, registry: &Arc<Registry>, job: Job) {
        let needs_ticket = self.with(|open| {
            open.waiting.push_back(job);
            open.wake();
            open.needs_ticket(registry)
        });
        if needs_ticket {
            self.issue_ticket(registry);
        }
    }

    fn issue_ticket(self: &Arc<Remote>, registry: &Arc<Registry>) {
        registry.kind.queued(&mut || {
            let remote = Arc::clone(self);
            let ticket = Job::new(move || remote.serve_ticket());
            registry.inject(JobKind::Awaited, ticket);
        });
    }

    /// Runs the oldest task, if one is left, for a ticket that the calling worker has drawn.
    #[inline]
    fn serve_ticket(self: &Arc<Remote>) {
        Worker::with_current(|worker| {
            let worker = worker.expect("tickets are drawn by workers");
            let (job, needs_ticket) = self.with(|open| {
                open.tickets -= 1;
                (open.begin_one(), open.needs_ticket(worker.registry()))
            });
            if needs_ticket {
                self.issue_ticket(worker.registry());
            }
            if let Some(job) = job {
                Jobs(worker).on_top(|| job.run());
                self.with(Open::end_one);
            }
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
    #[cold]
    #[inline]
    pub(super) fn finish(&self, worker: &Worker) {
        self.with(|open| open.waiter = Some(thread::current()));
        loop {
            let mut job = self.with(Open::begin_one);
            while let Some(one) = job {
                Jobs(worker).on_top(|| one.run());
                job = self.with(|open| {
                    open.end_one();
                    open.begin_one()
                });
            }
            if self.with(|open| open.is_over()) {
                return;
            }
            Wait(worker)
                .park_until(|| self.with(|open| !open.waiting.is_empty() || open.is_over()));
        }
    }
}

impl Open {
    fn begin_one(&mut self) -> Option<Job> {
        let job = self.waiting.pop_front();
        self.running += usize::from(job.is_some());
        job
    }

    /// A task that was counted as running has ended.
    fn end_one(&mut self) {
        self.running -= 1;
        self.wake();
    }

    /// Whether a ticket is to be issued. It counts from now on.
    fn needs_ticket(&mut self, registry: &Registry) -> bool {
        let needs_one = self.tickets < self.waiting.len().min(registry.workers());
        self.tickets += usize::from(needs_one);
        needs_one
    }

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
        self.0.with(Open::end_one);
    }
}
