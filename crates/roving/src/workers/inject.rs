//! Work that comes from outside the task stacks: the injector of a pool, the mailbox of a worker,
//! and the detached tasks that it has spawned.

use std::collections::VecDeque;
use std::mem;

use crate::machine::prim::{AtomicBool, AtomicUsize, Mutex, Ordering};
use crate::workers::job::Job;
use crate::workers::priority::{Priority, Ranked};

/// Whether somebody waits for a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum JobKind {
    /// A call, or a ticket for what others wait for: it runs in any case.
    Awaited,
    /// A detached task: a pool that is stopped at once drops it.
    Detached,
}

/// A queue of jobs, first in, first out.
///
/// The lock is what orders it with sleep: a worker looks in under the lock after it has announced
/// that it is idle, and a sender adds under the lock before it looks for idle workers. One of the
/// two critical sections comes first, so either the worker finds the job or the sender finds the
/// worker.
pub(crate) struct JobQueue {
    jobs: Mutex<VecDeque<(JobKind, Job)>>,
    /// Length, for a look without the lock.
    length: AtomicUsize,
}

impl JobQueue {
    pub(crate) fn new() -> JobQueue {
        JobQueue {
            jobs: Mutex::new(VecDeque::new()),
            length: AtomicUsize::new(0),
        }
    }

    pub(crate) fn push(&self, kind: JobKind, job: Job) {
        let mut jobs = self.jobs.lock();
        jobs.push_back((kind, job));
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

    /// Takes out all detached tasks, for the caller to drop; the others stay in their order.
    #[inline]
    pub(crate) fn take_detached(&self) -> VecDeque<Job> {
        let mut jobs = self.jobs.lock();
        let (mut taken, mut left) = (VecDeque::new(), VecDeque::new());
        for (kind, job) in jobs.drain(..) {
            match kind {
                JobKind::Awaited => left.push_back((kind, job)),
                JobKind::Detached => taken.push_back(job),
            }
        }
        *jobs = left;
        // Ordering: Relaxed; a hint, the lock decides.
        self.length.store(jobs.len(), Ordering::Relaxed);
        taken
    }

    /// Takes out all jobs. Looks under the lock.
    pub(crate) fn take_all(&self) -> impl Iterator<Item = Job> + use<> {
        let mut jobs = self.jobs.lock();
        // Ordering: Relaxed; a hint, the lock decides.
        self.length.store(0, Ordering::Relaxed);
        mem::take(&mut *jobs).into_iter().map(|(_, job)| job)
    }

    fn pop_with(
        &self,
        pop: impl FnOnce(&mut VecDeque<(JobKind, Job)>) -> Option<(JobKind, Job)>,
    ) -> Option<Job> {
        if self.is_hint_empty() {
            return None;
        }
        let mut jobs = self.jobs.lock();
        let job = pop(&mut jobs);
        // Ordering: Relaxed; a hint, the lock decides.
        self.length.store(jobs.len(), Ordering::Relaxed);
        job.map(|(_, job)| job)
    }

    /// For the last look before sleep: asks under the lock.
    pub(crate) fn is_surely_empty(&self) -> bool {
        self.jobs.lock().is_empty()
    }
}

/// The jobs that a pool gets from outside, by their classes. In everything else like a
/// [`JobQueue`].
pub(crate) struct Injector {
    jobs: Mutex<Ranked<(JobKind, Job)>>,
    /// How many there are, for a look without the lock.
    length: AtomicUsize,
    /// Whether there is one of a high class.
    is_pressing: AtomicBool,
}

/// A job, and its class if it has one.
pub(crate) type Classed = (Job, Option<Priority>);
type Popped = Option<((JobKind, Job), Option<Priority>)>;

impl Injector {
    pub(crate) fn new() -> Injector {
        Injector {
            jobs: Mutex::new(Ranked::new()),
            length: AtomicUsize::new(0),
            is_pressing: AtomicBool::new(false),
        }
    }

    fn with<R>(&self, change: impl FnOnce(&mut Ranked<(JobKind, Job)>) -> R) -> R {
        let mut jobs = self.jobs.lock();
        let result = change(&mut jobs);
        // Ordering: Relaxed; a hint, the lock decides.
        self.length.store(jobs.len(), Ordering::Relaxed);
        let is_pressing = jobs.has_urgent() || jobs.has(Priority::High);
        // Ordering: Relaxed; a hint, the lock decides.
        self.is_pressing.store(is_pressing, Ordering::Relaxed);
        result
    }

    #[inline]
    pub(crate) fn push(&self, class: Priority, kind: JobKind, job: Job) {
        let mut jobs = self.jobs.lock();
        jobs.push(class, (kind, job));
        // Ordering: Relaxed, both; hints, the lock decides.
        self.length.store(self.length() + 1, Ordering::Relaxed);
        if class == Priority::High {
            self.is_pressing.store(true, Ordering::Relaxed);
        }
    }

    /// Somebody waits for it who may hold up others.
    pub(crate) fn push_urgent(&self, job: Job) {
        self.with(|jobs| jobs.push_urgent((JobKind::Awaited, job)));
    }

    /// Takes out all detached tasks, for the caller to drop; the others stay in their order.
    #[inline]
    pub(crate) fn take_detached(&self) -> Vec<Job> {
        let taken = self.with(|jobs| jobs.take_where(|(kind, _)| *kind == JobKind::Detached));
        taken.into_iter().map(|(_, job)| job).collect()
    }

    /// Drops void jobs from both ends of each class: there they lie for who joins what it spawns.
    #[inline]
    pub(crate) fn drop_void(&self) {
        while !self.is_hint_empty() {
            let void = self.with(|jobs| jobs.take_at_an_end(|(_, job)| job.is_void()));
            // Not under the lock.
            if void.is_none() {
                return;
            }
        }
    }

    /// Whether there is an urgent one. Asks under the lock.
    pub(crate) fn has_urgent(&self) -> bool {
        self.jobs.lock().has_urgent()
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

    /// Whether there seems to be a job that a worker between two tasks should look for at once.
    pub(crate) fn is_hint_pressing(&self) -> bool {
        // Ordering: Relaxed; a hint, the lock decides.
        self.is_pressing.load(Ordering::Relaxed)
    }

    /// The job whose turn it is.
    pub(crate) fn pop(&self) -> Option<Classed> {
        self.pop_with(Ranked::pop)
    }

    /// The oldest job that is not below that class.
    pub(crate) fn pop_not_below(&self, class: Priority) -> Option<Classed> {
        self.pop_with(|jobs| jobs.pop_not_below(class))
    }

    fn pop_with(&self, pop: impl FnOnce(&mut Ranked<(JobKind, Job)>) -> Popped) -> Option<Classed> {
        if self.is_hint_empty() {
            return None;
        }
        let mut jobs = self.jobs.lock();
        let ((_, job), class) = pop(&mut jobs)?;
        // Ordering: Relaxed, both; hints, the lock decides.
        self.length.store(self.length() - 1, Ordering::Relaxed);
        if self.is_hint_pressing() {
            let is_pressing = jobs.has_urgent() || jobs.has(Priority::High);
            self.is_pressing.store(is_pressing, Ordering::Relaxed);
        }
        Some((job, class))
    }

    /// Calls `f` while it is locked.
    #[cfg(test)]
    pub(crate) fn locked<R>(&self, f: impl FnOnce() -> R) -> R {
        let _jobs = self.jobs.lock();
        f()
    }

    /// Whether nobody has it locked.
    pub(crate) fn is_unlocked(&self) -> bool {
        self.jobs.try_lock().is_some()
    }

    /// For the last look before sleep: whether there is a job that is not below that class. Asks
    /// under the lock.
    pub(crate) fn has_not_below(&self, class: Priority) -> bool {
        let jobs = self.jobs.lock();
        jobs.has_not_below(class)
    }
}
