//! `scope`: any number of tasks that may borrow from the caller.

mod remote;
mod spawn;
mod spawned;

use std::any::Any;
use std::fmt;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::panic::{self, AssertUnwindSafe, RefUnwindSafe, UnwindSafe};
use std::sync::{Arc, OnceLock};

use self::remote::{Remote, Running};
use self::spawn::{IN_PLACE, KEPT};
use self::spawned::{SendTask, Task};
use crate::forkjoin::broadcast::post_to_all;
use crate::inherit::cancelled::{first_of, keep_first};
use crate::inherit::node;
use crate::machine::prim::{AtomicUsize, Mutex, Ordering, thread};
use crate::machine::unwind::drop_quietly;
use crate::pool::global::Roving;
use crate::pool::home::Home;
use crate::pool::{Pool, global, install, with_registry_at};
use crate::workers::Worker;
use crate::workers::drop_cancelled;
use crate::workers::enter::run_in;
use crate::workers::inject::JobKind;
use crate::workers::job::Job;
use crate::workers::registry::Registry;

/// Calls `f` with a scope in which it can spawn tasks, and returns when `f` and all of them have
/// ended. The tasks may borrow whatever outlives the call.
///
/// Spawned tasks that are not stolen run on this worker when `f` has returned, newest first. While
/// it waits for stolen ones, the worker runs no unrelated task. On a thread that is no worker the
/// whole call moves to the global pool.
///
/// # Panics
/// If `f` or a task panics, `scope` does too, when all have ended: with `f`'s payload, or else
/// that of the task that panicked first. The other payloads are dropped. But a
/// [`CancelledError`](crate::CancelledError), by which a cancelled loop unwinds, gives way to a
/// panic.
///
/// ```
/// let mut numbers = [1, 2, 3];
/// roving::scope(|s| {
///     for number in &mut numbers {
///         s.spawn(move |_| *number *= 10);
///     }
/// });
/// assert_eq!(numbers, [10, 20, 30]);
/// ```
#[inline]
pub fn scope<'scope, F, R>(f: F) -> R
where
    F: FnOnce(&Scope<'scope>) -> R + Send,
    R: Send,
{
    scope_at::<Roving, _, _>(f)
}

/// Opens a scope like [`scope`]; a thread that is no worker uses the pool of selector `H`.
#[inline]
pub fn scope_at<'scope, H, F, R>(f: F) -> R
where
    H: Home,
    F: FnOnce(&Scope<'scope>) -> R + Send,
    R: Send,
{
    Worker::with_current(|worker| match worker {
        Some(worker) => scope_here(worker, f),
        None => scope_outside::<H, _, _>((f,)),
    })
}

/// All of a scope on a worker. The closure comes in a tuple, so that a worker's own scope need not
/// keep it in memory.
#[cold]
#[inline(never)]
fn scope_outside<'scope, H, F, R>((f,): (F,)) -> R
where
    H: Home,
    F: FnOnce(&Scope<'scope>) -> R + Send,
    R: Send,
{
    install(global::of::<H>().registry(), || scope_at::<H, _, _>(f))
}

/// Opens a scope whose body `f` runs on the calling thread, whatever that is, and need not be
/// `Send`. The tasks run in the current pool (the global one, for a thread that is no worker),
/// which the calling thread only waits for unless it is one of its workers. Otherwise like
/// [`scope`].
///
/// # Panics
/// As [`scope`]; and at the scope's end in a forked child, if `f` forked on a thread that is no
/// worker of the pool, and tasks were spawned.
///
/// ```
/// let not_send = std::rc::Rc::new(5);
/// let mut numbers = [1, 2, 3];
/// roving::in_place_scope(|s| {
///     for number in &mut numbers {
///         let factor = *not_send;
///         s.spawn(move |_| *number *= factor);
///     }
/// });
/// assert_eq!(numbers, [5, 10, 15]);
/// ```
pub fn in_place_scope<'scope, F, R>(f: F) -> R
where
    F: FnOnce(&Scope<'scope>) -> R,
{
    with_registry_at::<Roving, _>(|registry| in_place_scope_in(registry, f))
}

impl Pool {
    /// Opens a scope whose body runs on the calling thread, like [`in_place_scope`], and whose
    /// tasks run in this pool.
    ///
    /// ```
    /// let pool = roving::Pool::new(2).unwrap();
    /// let ran_on = std::sync::Mutex::new(None);
    /// pool.in_place_scope(|s| s.spawn(|_| *ran_on.lock().unwrap() = roving::current_worker()));
    /// assert!(ran_on.into_inner().unwrap().is_some());
    /// ```
    pub fn in_place_scope<'scope, F, R>(&self, f: F) -> R
    where
        F: FnOnce(&Scope<'scope>) -> R,
    {
        in_place_scope_in(self.registry(), f)
    }
}

/// See [`in_place_scope`].
pub(crate) fn in_place_scope_in<'scope, F, R>(registry: &Arc<Registry>, f: F) -> R
where
    F: FnOnce(&Scope<'scope>) -> R,
{
    Worker::with_current(|worker| match worker {
        Some(worker) if Arc::ptr_eq(worker.registry(), registry) => scope_here(worker, f),
        _ => {
            let (mut f, mut result) = (Some(f), None);
            let mut inside = || {
                let f = f.take().expect("it is called once");
                let here = |worker: Option<&Worker>| scope_here(worker.expect("it is inside"), f);
                result = Some(Worker::with_current(here));
            };
            if registry.kind.enter(registry, &mut inside) {
                return result.expect("it was called");
            }
            let mut outside = || {
                let f = f.take().expect("it was not called");
                result = Some(scope_from_outside(registry, f));
            };
            registry.kind.visit(&mut outside);
            result.expect("it was called")
        }
    })
}

fn scope_from_outside<'scope, F, R>(registry: &Arc<Registry>, f: F) -> R
where
    F: FnOnce(&Scope<'scope>) -> R,
{
    registry.check_has_threads();
    let mut scope = ManuallyDrop::new(Scope::new(registry));
    let result = panic::catch_unwind(AssertUnwindSafe(|| f(&scope)));
    if let Some(remote) = scope.remote.get() {
        // If `f` has forked, nobody in the child runs the tasks, or uses the frames that they
        // borrow.
        registry.check_is_here();
        Worker::with_waiting(|worker| remote.wait(worker));
    }
    Scope::end((&mut scope, result))
}

fn scope_here<'scope, F, R>(worker: &Worker, f: F) -> R
where
    F: FnOnce(&Scope<'scope>) -> R,
{
    let mut scope = ManuallyDrop::new(Scope::new(worker.registry()));
    let result = worker.framed(|| panic::catch_unwind(AssertUnwindSafe(|| f(&scope))));
    match result {
        // A scope from which nothing panicked, and into which nobody spawned from outside, has
        // nothing to drop. As long as tasks from outside run, it is theirs, too.
        Ok(result) if scope.remote.get().is_none() && scope.panic.get_mut().is_none() => result,
        result => {
            if let Some(remote) = scope.remote.get() {
                remote.finish(worker);
            }
            Scope::end((&mut scope, result))
        }
    }
}

/// A scope: tasks that are spawned into it end before [`scope`] returns.
///
/// ```
/// use std::sync::atomic::{AtomicUsize, Ordering};
///
/// // Tasks spawn tasks.
/// fn count<'scope>(s: &roving::Scope<'scope>, depth: u32, leaves: &'scope AtomicUsize) {
///     if depth == 0 {
///         leaves.fetch_add(1, Ordering::Relaxed);
///     } else {
///         s.spawn(move |s| count(s, depth - 1, leaves));
///         s.spawn(move |s| count(s, depth - 1, leaves));
///     }
/// }
/// let leaves = AtomicUsize::new(0);
/// roving::scope(|s| count(s, 5, &leaves));
/// assert_eq!(leaves.into_inner(), 32);
/// ```
pub struct Scope<'scope> {
    /// Of the pool whose workers run the tasks.
    registry: *const Arc<Registry>,
    /// The address of that pool.
    pool: *const (),
    /// 0, or of the two bits below: one word, so that a task looks once.
    state: AtomicUsize,
    /// In which it was made.
    context: node::Place,
    /// The payload of the first task that panicked.
    panic: Mutex<Option<Box<dyn Any + Send>>>,
    /// Tasks that lie on no worker's stack.
    remote: OnceLock<Arc<Remote>>,
    /// Invariant in `'scope`, as `std::thread::Scope` is.
    marker: PhantomData<fn(&'scope ()) -> &'scope ()>,
}

// SAFETY: the registry is shared by nature and outlives the scope, whose caller holds it; all else
// is `Send` and `Sync` itself.
unsafe impl Sync for Scope<'_> {}

// SAFETY: as for `Sync`: none of it belongs to the thread that made it.
unsafe impl Send for Scope<'_> {}

// A panic leaves a scope as it was: tasks that were spawned before it run, and more may follow.
impl UnwindSafe for Scope<'_> {}
impl RefUnwindSafe for Scope<'_> {}

/// [`Scope::cancel`] was called.
const CANCELLED: usize = 1;
/// It was made in a context, which may have a token.
const IN_CONTEXT: usize = 2;

impl<'scope> Scope<'scope> {
    #[inline]
    fn new(registry: &Arc<Registry>) -> Scope<'scope> {
        let context = node::place();
        Scope {
            registry,
            pool: Arc::as_ptr(registry).cast(),
            state: AtomicUsize::new(if context.is_null() { 0 } else { IN_CONTEXT }),
            context,
            panic: Mutex::new(None),
            remote: OnceLock::new(),
            marker: PhantomData,
        }
    }

    fn registry(&self) -> &Arc<Registry> {
        // SAFETY: who made the scope holds the registry until the scope has ended.
        unsafe { &*self.registry }
    }

    /// All tasks have ended, and the scope's own closure with `result`.
    #[cold]
    #[inline(never)]
    fn end<R>((this, result): (&mut ManuallyDrop<Self>, thread::Result<R>)) -> R {
        let first = this.panic.get_mut().take();
        // SAFETY: dropped here alone, at the end of its use.
        unsafe { ManuallyDrop::drop(this) };
        match (result, first) {
            (Ok(result), None) => result,
            (Ok(result), Some(payload)) => {
                drop_quietly(result);
                panic::resume_unwind(payload)
            }
            (Err(payload), other) => panic::resume_unwind(first_of(payload, other)),
        }
    }

    /// Spawns a task. It runs once, some time before the scope ends: here, or where it is stolen;
    /// at once and in place if the task stack is full. Costs a few nanoseconds; a closure of more
    /// than 32 bytes costs an allocation too. Called by a thread that is no worker of the scope's
    /// pool, it goes through the injector.
    ///
    /// A call that waits further in, as [`join`](crate::join), another [`scope`], a loop or
    /// [`broadcast`](crate::broadcast), runs or waits for what is spawned inside of it, too. So no
    /// lock may be held across it that such a task wants.
    ///
    /// # Panics
    /// On a thread that is no worker of the scope's pool, in a child that was forked since the
    /// scope was opened.
    ///
    /// ```
    /// let mut text = String::new();
    /// roving::scope(|s| s.spawn(|_| text.push_str("done")));
    /// assert_eq!(text, "done");
    /// ```
    #[inline(always)]
    pub fn spawn<F>(&self, f: F)
    where
        F: FnOnce(&Scope<'scope>) + Send + 'scope,
    {
        self.spawn_or::<IN_PLACE, F>(f);
    }

    /// [`Self::spawn`], but with no room on the stack it keeps the task in the scope, and does not
    /// run it.
    #[doc(hidden)]
    #[inline(always)]
    pub fn spawn_later<F>(&self, f: F)
    where
        F: FnOnce(&Scope<'scope>) + Send + 'scope,
    {
        self.spawn_or::<KEPT, F>(f);
    }

    /// The tasks for other threads, which are not there in a child that was forked since the scope
    /// was opened: it is refused.
    fn remote(&self) -> Arc<Remote> {
        self.registry().check_is_here();
        Arc::clone(self.remote.get_or_init(Arc::default))
    }

    /// Spawns a task for each worker of the pool, which runs it with the worker's index, when the
    /// worker has finished what it does, or waits: see [`crate::broadcast`]. Costs an allocation a
    /// worker.
    ///
    /// # Panics
    /// In a child that was forked since the scope was opened.
    ///
    /// ```
    /// use std::sync::atomic::{AtomicUsize, Ordering};
    ///
    /// let pool = roving::Pool::new(3).unwrap();
    /// let sum = AtomicUsize::new(0);
    /// pool.in_place_scope(|s| {
    ///     s.spawn_broadcast(|_, index| {
    ///         sum.fetch_add(index, Ordering::Relaxed);
    ///     });
    /// });
    /// assert_eq!(sum.into_inner(), 0 + 1 + 2);
    /// ```
    pub fn spawn_broadcast<F>(&self, f: F)
    where
        F: Fn(&Scope<'scope>, usize) + Send + Sync + 'scope,
    {
        let remote = self.remote();
        let shared = SendTask(Task { scope: self, f });
        let (shared, context) = (Arc::new(shared), node::current());
        let job = |index| {
            let context = context.clone();
            let share = Share {
                task: Arc::clone(&shared),
                _running: Running::new(&remote),
            };
            let job = move || {
                let Share { task, _running } = { share };
                // SAFETY: the scope waits until this job has ended.
                run_in(context.as_ref(), || unsafe { run_broadcast(task, index) });
            };
            // SAFETY: the scope does not end before the job has run, or been dropped.
            unsafe { Job::borrowing(job) }
        };
        let (kind, registry) = (&self.registry().kind, self.registry());
        if !kind.broadcast_later(registry, &mut || remote.push(registry, job(0))) {
            post_to_all(registry, JobKind::Awaited, job);
        }
    }

    /// The calling thread's index among the workers and compensation threads of the scope's pool.
    #[doc(hidden)]
    #[inline]
    pub fn worker_index(&self) -> Option<usize> {
        let mine = |worker: &&Worker| Arc::ptr_eq(worker.registry(), self.registry());
        Worker::with_current(|worker| worker.filter(mine).map(Worker::index))
    }

    /// Number of workers of the scope's pool.
    #[doc(hidden)]
    pub fn workers(&self) -> usize {
        self.registry().workers()
    }

    /// Asks for the scope to end early: tasks that have not started are dropped instead of run.
    /// Those that run go on; they can ask [`Self::is_cancelled`].
    ///
    /// A scope is a leaf of the cancellation tree: its tasks belong to it, but what these call does
    /// not. For that, and to cancel from outside, call [`scope`] within
    /// [`Cancel::run`](crate::Cancel::run).
    ///
    /// ```
    /// roving::scope(|s| {
    ///     s.cancel();
    ///     s.spawn(|_| unreachable!("dropped"));
    /// });
    /// ```
    pub fn cancel(&self) {
        // Ordering: Relaxed; a request, not a signal that something has happened.
        self.state.fetch_or(CANCELLED, Ordering::Relaxed);
    }

    /// Returns whether [`Self::cancel`] was called, or the scope belongs to a cancelled pool or
    /// [`Cancel`](crate::Cancel) in whose [`run`](crate::Cancel::run) it was made. A few loads.
    ///
    /// ```
    /// roving::scope(|s| {
    ///     assert!(!s.is_cancelled());
    ///     s.cancel();
    ///     assert!(s.is_cancelled());
    /// });
    /// ```
    #[inline]
    pub fn is_cancelled(&self) -> bool {
        self.state() != 0 && self.is_cancelled_or_context() || self.registry().cancel.is_flagged()
    }

    #[inline]
    fn state(&self) -> usize {
        // Ordering: Relaxed, as in `cancel`.
        self.state.load(Ordering::Relaxed)
    }

    #[cold]
    #[inline]
    fn is_cancelled_or_context(&self) -> bool {
        // SAFETY: null, or kept by who made the scope in it, and waits for its end.
        let context = unsafe { self.context.as_ref() };
        self.state() & CANCELLED != 0 || context.is_some_and(node::Node::is_cancelled)
    }

    /// Whether [`Self::drops_task`] has to be asked.
    #[inline]
    fn may_drop(&self) -> bool {
        self.state() | node::place().addr() != 0
    }

    /// Whether a task that is about to begin here, in the context in which it was spawned, is
    /// dropped instead. Counts it, then.
    #[cold]
    #[inline]
    fn drops_task(&self) -> bool {
        if !self.is_cancelled_or_context() {
            return drop_cancelled::is_dropped();
        }
        drop_cancelled::count_dropped();
        true
    }

    /// Keeps the first payload, as [`keep_first`] does. The others are dropped.
    #[cold]
    #[inline]
    fn panicked(&self, payload: Box<dyn Any + Send>) {
        let beaten = keep_first(&mut self.panic.lock(), payload);
        drop_quietly(beaten);
    }
}

impl fmt::Debug for Scope<'_> {
    #[inline]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scope")
            .field("cancelled", &self.is_cancelled())
            .finish_non_exhaustive()
    }
}

/// One worker's share of a broadcast task, which is dropped with it where a worker has no thread.
struct Share<T> {
    /// Dropped first: it may borrow what ends with the scope.
    task: Arc<T>,
    _running: Running,
}

/// Runs one worker's share of a broadcast task, and drops it.
///
/// # Safety
/// The scope has not ended.
unsafe fn run_broadcast<'scope, F>(shared: Arc<SendTask<Task<'scope, F>>>, index: usize)
where
    F: Fn(&Scope<'scope>, usize) + Send + Sync + 'scope,
{
    // SAFETY: the caller says so.
    let scope = unsafe { &*shared.0.scope };
    let call = || {
        if !(scope.may_drop() && scope.drops_task()) {
            (shared.0.f)(scope, index);
        }
    };
    if let Err(payload) = panic::catch_unwind(AssertUnwindSafe(call)) {
        scope.panicked(payload);
    }
    // Apart: the last share drops what the task owns, which may panic as well.
    if let Err(payload) = panic::catch_unwind(AssertUnwindSafe(|| drop(shared))) {
        scope.panicked(payload);
    }
}
