//! The handle of a detached task.

use std::fmt;
use std::marker::PhantomData;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

use super::cell::{self, Begin, Failure, Task};
use super::error::JoinError;
use super::word::{Keeper, Word};
use crate::machine::meeting_points::{park, unpark};
use crate::machine::prim::thread::{self, Thread};
use crate::workers::Worker;
use crate::workers::frames::awaited::{ask, take_back};
use crate::workers::job::Job;
use crate::workers::job_runs::Jobs;
use crate::workers::registry::{PoolMark, Registry};
use crate::workers::wait::Wait;
use crate::workers::watched_parks::ParkReason;

/// A handle to a detached task, made by [`spawn`](crate::spawn) and its kin. It is a future, to be
/// awaited by tasks of any runtime, and [`Self::join`] waits for the task on a thread.
///
/// Dropping a handle lets the task run on by itself; its result is dropped, and its panic goes to
/// the pool's panic handler. [`Self::abort_on_drop`] makes the drop end the task instead.
///
/// Whoever waits gets a [`JoinError`] if the task panicked, or was cancelled: by [`Self::abort`],
/// by a [`Cancel`](crate::Cancel), or because its pool was shut down before the task began.
///
/// ```
/// use roving::JoinHandle;
///
/// let sum: JoinHandle<u64> = roving::spawn(|| roving::map_reduce(0..10, 0, |n| n as u64, |a, b| a + b));
/// assert_eq!(sum.join().unwrap(), 45);
///
/// // Any task may await it, and blocks no thread meanwhile.
/// let answer = roving::spawn(|| 6 * 7);
/// assert_eq!(roving::task::block_on(answer).unwrap(), 42);
/// ```
pub struct JoinHandle<T> {
    task: Task,
    result: PhantomData<T>,
}

// SAFETY: the result is a `T`, which the handle takes out; closure and word are for any thread.
unsafe impl<T: Send> Send for JoinHandle<T> {}
// SAFETY: a shared handle gives no access to the result.
unsafe impl<T: Send> Sync for JoinHandle<T> {}

impl<T> Unpin for JoinHandle<T> {}
impl<T> UnwindSafe for JoinHandle<T> {}
impl<T> RefUnwindSafe for JoinHandle<T> {}

/// Makes the job of a detached task, and its handle. The task inherits the context that the calling
/// thread is in; if that has been cancelled before the task begins, the task is dropped.
#[inline(always)]
pub(crate) fn new<F, T>(registry: &Arc<Registry>, f: F) -> (Job, JoinHandle<T>)
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    let task = cell::new(registry, f, true);
    let handle = JoinHandle {
        task,
        result: PhantomData,
    };
    // SAFETY: a new task.
    (unsafe { cell::job::<F, T>(task) }, handle)
}

/// Makes the job of a detached task without a handle: its panic goes to the pool's handler.
pub(crate) fn detached<F>(registry: &Arc<Registry>, f: F) -> Job
where
    F: FnOnce() + Send + 'static,
{
    // SAFETY: a new task.
    unsafe { cell::job::<F, ()>(cell::new(registry, f, false)) }
}

/// A waker that unparks a thread.
struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Unpark>) {
        unpark(&self.0);
    }
}

/// The worker of that pool which the thread of this one is, here or further out.
fn worker_of(worker: Option<&Worker>, pool: PoolMark) -> Option<&Worker> {
    worker?
        .outwards()
        .find(|worker| worker.registry().mark == pool)
}

/// A handle has claimed a task of that pool, so its job is void. The calling thread is a worker
/// there, which may be busy for long: the job does not wait in the queue until one is free.
#[cold]
#[inline]
fn drop_void_jobs(registry: &Registry) {
    if !registry.is_left_behind() {
        registry.injector.drop_void();
    }
}

impl<T> JoinHandle<T> {
    /// Waits for the task, and returns its result.
    ///
    /// A worker of the task's pool runs the task itself, here and now, if nobody has begun it.
    /// Otherwise a worker gives its core to a compensation thread while it waits, as in
    /// [`Pool::install`](crate::Pool::install) of another pool, and runs nothing unrelated: a lock
    /// may be held across the call, if the task does not need it. Other threads sleep. In a task,
    /// await the handle instead: that blocks no thread.
    ///
    /// # Errors
    /// The task was cancelled, or panicked.
    ///
    /// ```
    /// let pool = roving::Pool::new(1).unwrap();
    /// // The pool's only worker waits for what nobody else could run.
    /// let sum = pool.install(|| roving::spawn(|| 1 + 1).join());
    /// assert_eq!(sum.unwrap(), 2);
    /// ```
    ///
    /// # Panics
    /// If the handle was awaited to its end before; and in a forked child, if the task's pool is
    /// one of the parent's with threads, and the task had not ended by the fork. If that pool has
    /// none, and another thread of the parent was in it, this waits for ever there.
    pub fn join(mut self) -> Result<T, JoinError> {
        self.run_here(|_, run| run());
        let waker = Waker::from(Arc::new(Unpark(thread::current())));
        let mut context = Context::from_waker(&waker);
        loop {
            if let Poll::Ready(result) = Pin::new(&mut self).poll(&mut context) {
                return result;
            }
            Worker::with_waiting(|worker| match worker {
                Some(worker) => Wait(worker).park_for(ParkReason::Event, || self.is_finished()),
                None => park(),
            });
        }
    }

    /// If the calling thread is a worker of the task's pool, calls `tell` with that and with what
    /// runs the task if nobody has begun it. If it is so further out, and nobody else can be it,
    /// runs the task.
    fn run_here(&self, tell: impl FnOnce(&Registry, &mut dyn FnMut())) {
        let task = self.task;
        Worker::with_waiting(|worker| {
            // SAFETY: the handle keeps the task.
            let header = unsafe { task.as_ref() };
            let Some(mine) = worker_of(worker, header.pool) else {
                return;
            };
            let registry = mine.registry();
            let run = &mut || {
                if header.word.claim() {
                    drop_void_jobs(registry);
                    Worker::with_current(|worker| {
                        let worker = worker.expect("it is one of the task's pool");
                        // SAFETY: claimed, once.
                        Jobs(worker).on_top(|| unsafe { header.settle(task, Begin::Run) });
                    });
                    // SAFETY: claimed, and settled.
                    unsafe { cell::end(task, Keeper::Handle) };
                }
            };
            if mine.is_current() {
                tell(registry, run);
            } else if header.word.is_unclaimed() && !registry.is_left_behind() {
                // Where there is a thread that would, this thread does not become the worker.
                registry.kind.enter(registry, run);
            }
        });
    }

    /// Ends the task: if nobody has begun it, its closure is dropped, here and now, and whoever
    /// waits gets a [`JoinError`] that says *cancelled*. A task that runs is not interrupted, and
    /// its result is that of any other. To end a task that runs, spawn it inside a
    /// [`Cancel`](crate::Cancel), which it can ask.
    ///
    /// ```
    /// let pool = roving::Pool::new(1).unwrap();
    /// let late = pool.install(|| {
    ///     let late = roving::spawn(|| unreachable!("the only worker is not free"));
    ///     late.abort();
    ///     late
    /// });
    /// assert!(late.join().unwrap_err().is_cancelled());
    /// ```
    pub fn abort(&self) {
        let task = self.task;
        // SAFETY: the handle keeps the task.
        let header = unsafe { task.as_ref() };
        if header.word.is_unclaimed() && header.word.claim() {
            Worker::with_waiting(|worker| {
                if let Some(mine) = worker_of(worker, header.pool) {
                    drop_void_jobs(mine.registry());
                }
            });
            crate::workers::drop_cancelled::count_dropped();
            // SAFETY: claimed, once.
            unsafe {
                header.settle(task, Begin::Drop);
                cell::end(task, Keeper::Handle);
            }
        }
    }

    /// Returns whether the task has ended, without waiting for it.
    ///
    /// ```
    /// let task = roving::spawn(|| ());
    /// while !task.is_finished() {
    ///     std::thread::yield_now();
    /// }
    /// assert!(task.join().is_ok());
    /// ```
    pub fn is_finished(&self) -> bool {
        self.word().is_ended()
    }

    /// Makes the drop of this handle [abort](Self::abort) the task. For a request whose client may
    /// go: what nobody has begun is not done for nobody.
    ///
    /// ```
    /// let pool = roving::Pool::new(1).unwrap();
    /// pool.install(|| {
    ///     let task = roving::spawn(|| unreachable!("the only worker is not free"));
    ///     drop(task.abort_on_drop());
    /// });
    /// ```
    #[must_use = "dropping it ends the task"]
    pub fn abort_on_drop(self) -> JoinHandle<T> {
        self.word().set_aborts();
        self
    }

    #[inline(always)]
    fn word(&self) -> &Word {
        // SAFETY: the handle keeps the task.
        &unsafe { self.task.as_ref() }.word
    }

    /// The handle goes, of a task that somebody has touched.
    #[cold]
    #[inline(never)]
    fn let_go(&mut self) {
        let task = self.task;
        // SAFETY: the handle keeps the task until it has let it go, and after that if the word
        // says so.
        unsafe {
            let header = task.as_ref();
            if header.word.aborts() {
                self.abort();
            }
            take_back(header);
            // Before the job's worker may free the memory.
            let mut has_outcome = !header.word.is_empty();
            if has_outcome && header.word.is_ended() {
                cell::dispose_any(task);
                has_outcome = false;
            }
            let left = header.word.let_go();
            match has_outcome {
                true => left.dispose.pay_gone(move || cell::dispose_any(task)),
                false => left.dispose.waive("it was taken or disposed of before"),
            }
            left.free.pay_gone(move || cell::free_any(task));
        }
    }
}

impl<T> Future for JoinHandle<T> {
    type Output = Result<T, JoinError>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        assert!(!self.word().is_empty(), "polled after it was ready");
        if !self.word().is_ended() {
            // Nobody would end it. A task that has ended gives its outcome also there.
            // SAFETY: the handle keeps the task.
            unsafe { self.task.as_ref() }.pool.check_is_here();
            self.run_here(|registry, run| registry.kind.handle_awaited(run));
        }
        // SAFETY: this is the handle, which keeps the task, and it is borrowed for this call alone.
        if unsafe { ask(self.task.as_ref(), context) }.is_pending() {
            return Poll::Pending;
        }
        self.word().set_empty();
        // SAFETY: it has ended, so the outcome is the handle's, which takes it once.
        let outcome = unsafe { self.task.as_ref().take_outcome::<T>(self.task) };
        Poll::Ready(outcome.map_err(|failure| match failure {
            Failure::Cancelled => JoinError::cancelled(),
            Failure::Panicked(panic) => JoinError::panicked(panic.payload),
        }))
    }
}

impl<T> Drop for JoinHandle<T> {
    #[inline(always)]
    fn drop(&mut self) {
        if !self.word().let_go_at_once() {
            self.let_go();
        }
    }
}

impl<T> fmt::Debug for JoinHandle<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JoinHandle")
            .field("finished", &self.is_finished())
            .finish_non_exhaustive()
    }
}
