//! `broadcast`: once on each worker.

use std::panic::{self, AssertUnwindSafe};
use std::ptr;
use std::sync::Arc;

use crate::forkjoin::detached::detached;
use crate::inherit::cancelled::keep_first;
use crate::inherit::node;
use crate::machine::latch::{Latch, SendPtr};
use crate::machine::prim::{Mutex, thread};
use crate::machine::unwind::{drop_quietly, with_frame_lent};
use crate::pool::{Pool, with_current_registry};
use crate::workers::Worker;
use crate::workers::inject::JobKind;
use crate::workers::job::Job;
use crate::workers::job_runs::Jobs;
use crate::workers::priority::Priority;
use crate::workers::registry::Registry;
use crate::workers::wait::Wait;

/// Why there is a worker, where a kind of pool has a broadcast run on the calling thread.
const IN_PLACE: &str = "the thread is the pool's only worker";

/// Runs `f` once on each worker of the current pool (the global one, for a thread that is no
/// worker), with the worker's index, and returns the results in that order.
///
/// A busy worker gets to it when it has finished what it does; a worker that waits in a `join`,
/// `scope` or `broadcast` gets to it at once, on top of the waiting frame. That is the one
/// exception to the rule that nothing unrelated runs there (and a worker that waits for such a
/// worker may run what `f` spawns), so do not broadcast a closure that needs a lock which may be
/// held across such a wait. A worker that blocks its thread, in [`blocking`](crate::blocking) or
/// without it, is busy: if it joins a thread that broadcasts to it, say, neither ever ends.
/// The part of the calling worker is called in place: where an async task calls, that part can
/// spawn children of the task, and no other part can.
/// Compensation threads are left out, and so are workers that a [`Pool::resize`] has put to sleep,
/// and those that have no thread: a [`WorkerThread`](crate::embed::WorkerThread) was dropped
/// without having run, an adopted thread has left, or the pool has ended (in its `on_exit`).
///
/// # Panics
/// With the payload of the lowest index that panicked, when all have ended. But a
/// [`CancelledError`](crate::CancelledError), by which a cancelled loop unwinds, gives way to a
/// panic.
///
/// ```
/// let pool = roving::Pool::new(3).unwrap();
/// assert_eq!(pool.install(|| roving::broadcast(|index| index * 10)), [0, 10, 20]);
/// ```
pub fn broadcast<F, R>(f: F) -> Vec<R>
where
    F: Fn(usize) -> R + Sync,
    R: Send,
{
    with_current_registry(|registry| broadcast_to(registry, f))
}

impl Pool {
    /// Runs `f` once on each worker of this pool; see [`broadcast`].
    ///
    /// ```
    /// let pool = roving::Pool::new(2).unwrap();
    /// assert_eq!(pool.broadcast(|index| index), [0, 1]);
    /// ```
    pub fn broadcast<F, R>(&self, f: F) -> Vec<R>
    where
        F: Fn(usize) -> R + Sync,
        R: Send,
    {
        broadcast_to(self.registry(), f)
    }
}

pub(crate) fn broadcast_to<F, R>(registry: &Arc<Registry>, f: F) -> Vec<R>
where
    F: Fn(usize) -> R + Sync,
    R: Send,
{
    let mut here = None;
    let mut run = || {
        let run = || panic::catch_unwind(AssertUnwindSafe(|| f(0)));
        here = Worker::with_current(|worker| Some(worker.expect(IN_PLACE).framed(run)));
    };
    let results = match registry.kind.broadcast(registry, &mut run) {
        true => here.into_iter().collect(),
        false => broadcast_to_threads(registry, &f),
    };
    // What `f` owns may panic in its drop: not beside a panic that goes on.
    let dropped = panic::catch_unwind(AssertUnwindSafe(|| drop(f)));
    all_or_first_panic(results, dropped)
}

/// The outcome of each worker that has a thread.
fn broadcast_to_threads<F, R>(registry: &Arc<Registry>, f: &F) -> Vec<thread::Result<R>>
where
    F: Fn(usize) -> R + Sync,
    R: Send,
{
    registry.check_has_threads();
    let workers = registry.size.roster.size();
    let results: Vec<Mutex<Option<thread::Result<R>>>> =
        (0..workers).map(|_| Mutex::new(None)).collect();
    let run = |index: usize| {
        let result = panic::catch_unwind(AssertUnwindSafe(|| f(index)));
        *results[index].lock() = Some(result);
    };
    let mut run_on_all = || with_frame_lent(|| run_on_all(registry, workers, &run));
    registry.kind.visit(&mut run_on_all);
    let results = results.into_iter();
    results.filter_map(|r| r.into_inner()).collect()
}

/// Counts down its latch when a job has run, or is dropped because nobody is there to run it.
struct CountDown(SendPtr<*const Latch>);

impl Drop for CountDown {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: the frame that made the latch waits for each of its jobs, and each has one of
        // these.
        unsafe { Latch::count_down(self.0.0) };
    }
}

/// Has each of so many workers call `run` with its index, and returns when all have that have a
/// thread.
fn run_on_all(registry: &Arc<Registry>, workers: usize, run: &(impl Fn(usize) + Sync)) {
    let here = Worker::with_current(|worker| {
        let mine = worker.filter(|worker| Arc::ptr_eq(worker.registry(), registry));
        mine.map(Worker::index)
    });
    let others = (0..workers).filter(|&index| Some(index) != here);
    let latch = Latch::new(others.clone().count());
    let context = node::place();
    for index in others {
        let there = SendPtr((ptr::from_ref(run), context));
        let done = CountDown(SendPtr(&raw const latch));
        let job = move || {
            // By pointer, because what the job itself holds is protected until it returns.
            let (SendPtr((run, context)), done) = ({ there }, { done });
            Worker::with_current(|worker| {
                let worker = worker.expect("mailboxes are emptied by workers");
                // SAFETY: the frame, which is in that context, waits for this job to count down.
                unsafe { worker.framed_in(context, || (*run)(index)) };
            });
            // The last thing that the job does with the frame.
            drop(done);
        };
        // SAFETY: this frame does not return before the latch is down, which needs this job,
        // and a posted job always runs or is dropped.
        registry.post(index, JobKind::Awaited, unsafe { Job::borrowing(job) });
    }
    if let Some(index) = here.filter(|&index| index < workers) {
        run(index);
    }
    Worker::with_waiting(|worker| match worker {
        Some(worker) => Wait(worker).park_until(|| latch.is_over()),
        None => latch.wait(),
    });
}

/// Gives each worker the job that `job` makes for its index.
pub(crate) fn post_to_all(registry: &Arc<Registry>, kind: JobKind, job: impl Fn(usize) -> Job) {
    let mut run = || {
        let job = job(0);
        Worker::with_current(|worker| Jobs(worker.expect(IN_PLACE)).on_top(|| job.run()));
    };
    if registry.kind.broadcast(registry, &mut run) {
        return;
    }
    // All are made before one can run: it may be the last of those made so far.
    let jobs: Vec<Job> = (0..registry.size.roster.size()).map(job).collect();
    let mut jobs = jobs.into_iter().enumerate();
    registry.kind.visit(&mut || {
        jobs.by_ref()
            .for_each(|(index, job)| registry.post(index, kind, job));
    });
}

/// See [`crate::raw::calls::Target::spawn_broadcast`].
pub(crate) fn spawn_broadcast_to<F>(registry: &Arc<Registry>, f: F)
where
    F: Fn(usize) + Send + Sync + 'static,
{
    let shared = Arc::new(f);
    let job = |index| {
        let shared = Arc::clone(&shared);
        detached(registry, move || run_detached(shared, index))
    };
    let kind = &registry.kind;
    if !kind.broadcast_later(registry, &mut || {
        kind.spawn(registry, Priority::Normal, job(0))
    }) {
        post_to_all(registry, JobKind::Detached, job);
    }
}

/// Calls `f` for one worker, and drops it: the last one drops what it owns. A panic of that does
/// not meet the one of the call. Who calls this hears of the first, and the pool's handler of both.
fn run_detached(f: Arc<impl Fn(usize)>, index: usize) {
    let called = panic::catch_unwind(AssertUnwindSafe(|| f(index)));
    let dropped = panic::catch_unwind(AssertUnwindSafe(|| drop(f)));
    match (called, dropped) {
        (Ok(()), Ok(())) => {}
        (Ok(()), Err(payload)) | (Err(payload), Ok(())) => panic::resume_unwind(payload),
        (Err(payload), Err(other)) => {
            Worker::with_current(|worker| match worker {
                Some(worker) => worker.registry().settings.handle_panic(other),
                None => drop_quietly(other),
            });
            panic::resume_unwind(payload)
        }
    }
}

/// All results, or the first panic goes on, which may be that of the closure's drop; then nothing
/// else that panics in its drop may.
fn all_or_first_panic<R>(results: Vec<thread::Result<R>>, dropped: thread::Result<()>) -> Vec<R> {
    if dropped.is_ok() && results.iter().all(Result::is_ok) {
        return results.into_iter().flatten().collect();
    }
    let mut first = None;
    let mut keep = |payload| drop_quietly(keep_first(&mut first, payload));
    for result in results {
        result.map_or_else(&mut keep, drop_quietly);
    }
    dropped.unwrap_or_else(keep);
    panic::resume_unwind(first.expect("not all are well"))
}
