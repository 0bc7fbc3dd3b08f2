//! Scopes: any number of tasks that may borrow from the caller.

use std::collections::VecDeque;
use std::fmt;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::ptr;
use std::sync::{Mutex, OnceLock, PoisonError};

use roving::raw::calls::{Target, scope_at};

use crate::BroadcastContext;
use crate::global::{Global, with_current};

/// Calls `op` with a scope in which it can spawn tasks, and returns when `op` and all of them have
/// ended. On a thread of no pool the call moves to the global pool. See [`roving::scope`].
///
/// # Panics
/// If `op` or a task panics, when all have ended; with `op`'s payload, or that of a task.
///
/// ```
/// let mut numbers = [1, 2, 3];
/// rayon_core::scope(|s| {
///     for number in &mut numbers {
///         s.spawn(move |_| *number *= 10);
///     }
/// });
/// assert_eq!(numbers, [10, 20, 30]);
/// ```
pub fn scope<'scope, OP, R>(op: OP) -> R
where
    OP: FnOnce(&Scope<'scope>) -> R + Send,
    R: Send,
{
    scope_at::<Global, _, _>(|inner| op(Scope::of(inner)))
}

/// As [`fn@scope`], with tasks that each thread starts in the order in which it spawned them.
///
/// ```
/// let pool = rayon_core::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
/// let order = std::sync::Mutex::new(Vec::new());
/// pool.scope_fifo(|s| {
///     for number in 0..3 {
///         let order = &order;
///         s.spawn_fifo(move |_| order.lock().unwrap().push(number));
///     }
/// });
/// assert_eq!(order.into_inner().unwrap(), [0, 1, 2]);
/// ```
pub fn scope_fifo<'scope, OP, R>(op: OP) -> R
where
    OP: FnOnce(&ScopeFifo<'scope>) -> R + Send,
    R: Send,
{
    // Out here, because tasks use it after `op` has returned.
    let place = OnceLock::new();
    scope_at::<Global, _, _>(|inner| op(place.get_or_init(|| ScopeFifo::of(inner))))
}

/// As [`fn@scope`], but `op` runs on the calling thread, whatever that is. The tasks run in the
/// current pool.
///
/// ```
/// let not_send = std::rc::Rc::new(1);
/// let mut numbers = [1, 2];
/// rayon_core::in_place_scope(|s| {
///     for number in &mut numbers {
///         let one = *not_send;
///         s.spawn(move |_| *number += one);
///     }
/// });
/// assert_eq!(numbers, [2, 3]);
/// ```
pub fn in_place_scope<'scope, OP, R>(op: OP) -> R
where
    OP: FnOnce(&Scope<'scope>) -> R,
{
    with_current(|pool| in_place_scope_in(pool, op))
}

/// As [`in_place_scope`], with the order of [`scope_fifo`].
///
/// ```
/// let mut number = 0;
/// rayon_core::in_place_scope_fifo(|s| s.spawn_fifo(|_| number += 1));
/// assert_eq!(number, 1);
/// ```
pub fn in_place_scope_fifo<'scope, OP, R>(op: OP) -> R
where
    OP: FnOnce(&ScopeFifo<'scope>) -> R,
{
    with_current(|pool| in_place_scope_fifo_in(pool, op))
}

/// See [`in_place_scope`].
pub(crate) fn in_place_scope_in<'scope, OP, R>(pool: Target<'_>, op: OP) -> R
where
    OP: FnOnce(&Scope<'scope>) -> R,
{
    pool.in_place_scope(|inner| op(Scope::of(inner)))
}

/// See [`in_place_scope_fifo`].
pub(crate) fn in_place_scope_fifo_in<'scope, OP, R>(pool: Target<'_>, op: OP) -> R
where
    OP: FnOnce(&ScopeFifo<'scope>) -> R,
{
    let place = OnceLock::new();
    pool.in_place_scope(|inner| op(place.get_or_init(|| ScopeFifo::of(inner))))
}

/// Where tasks are spawned that end before [`fn@scope`] returns.
///
/// ```
/// use std::sync::atomic::{AtomicU32, Ordering};
///
/// fn count<'scope>(s: &rayon_core::Scope<'scope>, depth: u32, leaves: &'scope AtomicU32) {
///     if depth == 0 {
///         leaves.fetch_add(1, Ordering::Relaxed);
///         return;
///     }
///     s.spawn(move |s| count(s, depth - 1, leaves));
///     s.spawn(move |s| count(s, depth - 1, leaves));
/// }
/// let leaves = AtomicU32::new(0);
/// rayon_core::scope(|s| count(s, 4, &leaves));
/// assert_eq!(leaves.into_inner(), 16);
/// ```
#[repr(transparent)]
pub struct Scope<'scope> {
    inner: roving::Scope<'scope>,
}

impl<'scope> Scope<'scope> {
    fn of<'a>(inner: &'a roving::Scope<'scope>) -> &'a Scope<'scope> {
        // SAFETY: `Scope` is a transparent wrapper of it.
        unsafe { &*ptr::from_ref(inner).cast::<Scope<'scope>>() }
    }

    /// Spawns a task: it runs once, some time before the scope ends, with the scope itself for
    /// argument. A worker takes the newest first, thieves the oldest.
    ///
    /// ```
    /// let mut text = String::new();
    /// rayon_core::scope(|s| s.spawn(|_| text.push_str("done")));
    /// assert_eq!(text, "done");
    /// ```
    pub fn spawn<BODY>(&self, body: BODY)
    where
        BODY: FnOnce(&Scope<'scope>) + Send + 'scope,
    {
        self.inner.spawn_later(move |inner| body(Scope::of(inner)));
    }

    /// Spawns a task for each thread of the pool.
    ///
    /// ```
    /// use std::sync::atomic::{AtomicUsize, Ordering};
    ///
    /// let calls = AtomicUsize::new(0);
    /// rayon_core::scope(|s| {
    ///     s.spawn_broadcast(|_, _| {
    ///         calls.fetch_add(1, Ordering::Relaxed);
    ///     });
    /// });
    /// assert_eq!(calls.into_inner(), rayon_core::current_num_threads());
    /// ```
    pub fn spawn_broadcast<BODY>(&self, body: BODY)
    where
        BODY: Fn(&Scope<'scope>, BroadcastContext<'_>) + Send + Sync + 'scope,
    {
        let threads = self.inner.workers();
        self.inner.spawn_broadcast(move |inner, index| {
            body(Scope::of(inner), BroadcastContext::new(index, threads));
        });
    }
}

impl fmt::Debug for Scope<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scope").finish_non_exhaustive()
    }
}

/// A task of a [`ScopeFifo`].
type InOrder<'scope> = Box<dyn FnOnce(&ScopeFifo<'scope>) + Send + 'scope>;

/// Where tasks are spawned that end before [`scope_fifo`] returns.
///
/// ```
/// let mut number = 0;
/// rayon_core::scope_fifo(|s| s.spawn_fifo(|s| s.spawn_fifo(|_| number += 1)));
/// assert_eq!(number, 1);
/// ```
pub struct ScopeFifo<'scope> {
    inner: *const roving::Scope<'scope>,
    /// The tasks that each worker has spawned and that have not begun. For each of them there is a
    /// [`FifoTurn`] in the scope that begins or drops the oldest of these, so their number is the
    /// same, and only the order differs. The last queue is for the compensation threads.
    queues: Box<[Mutex<VecDeque<InOrder<'scope>>>]>,
    marker: PhantomData<fn(&'scope ()) -> &'scope ()>,
}

// SAFETY: the pointer leads to the scope, which is `Sync` and waits for all who use it; the tasks
// are `Send` and behind locks.
unsafe impl Send for ScopeFifo<'_> {}
// SAFETY: as for `Send`.
unsafe impl Sync for ScopeFifo<'_> {}

/// A scope that waits for the task which has the pointer.
#[derive(Clone, Copy)]
struct InScope<'scope>(*const ScopeFifo<'scope>);

// SAFETY: `ScopeFifo` is `Sync`.
unsafe impl Send for InScope<'_> {}

impl<'scope> InScope<'scope> {
    fn with<R>(self, f: impl FnOnce(&ScopeFifo<'scope>) -> R) -> R {
        // SAFETY: it lies in a frame outside of the scope's call, which returns only when the task
        // that calls this has ended.
        f(unsafe { &*self.0 })
    }
}

/// The right and the duty of one task of the scope to begin the oldest task of a queue. If that
/// task of the scope is dropped instead of run, so is the one in the queue, in the same place: left
/// to the end of the queues, its drop would have nobody who takes a panic.
struct FifoTurn<'scope> {
    scope: InScope<'scope>,
    queue: usize,
}

impl<'scope> FifoTurn<'scope> {
    fn run(self) {
        let FifoTurn { scope, queue } = *ManuallyDrop::new(self);
        scope.with(|this| this.pop(queue)(this));
    }
}

impl Drop for FifoTurn<'_> {
    fn drop(&mut self) {
        let queue = self.queue;
        drop(self.scope.with(|this| this.pop(queue)));
    }
}

impl<'scope> ScopeFifo<'scope> {
    fn of(inner: &roving::Scope<'scope>) -> ScopeFifo<'scope> {
        ScopeFifo {
            inner,
            queues: (0..=inner.workers()).map(|_| Mutex::default()).collect(),
            marker: PhantomData,
        }
    }

    fn inner(&self) -> &roving::Scope<'scope> {
        // SAFETY: whoever can call this is inside of the scope.
        unsafe { &*self.inner }
    }

    /// Spawns a task. Of the tasks that one thread spawns so in this scope, those spawned first
    /// start first.
    ///
    /// ```
    /// let mut text = String::new();
    /// rayon_core::scope_fifo(|s| s.spawn_fifo(|_| text.push_str("done")));
    /// assert_eq!(text, "done");
    /// ```
    pub fn spawn_fifo<BODY>(&self, body: BODY)
    where
        BODY: FnOnce(&ScopeFifo<'scope>) + Send + 'scope,
    {
        let this = InScope(self);
        let Some(worker) = self.inner().worker_index() else {
            // From outside they start in that order anyhow.
            return self.inner().spawn_later(move |_| this.with(body));
        };
        let queue = worker.min(self.queues.len() - 1);
        self.with_queue(queue, |tasks| tasks.push_back(Box::new(body)));
        let turn = FifoTurn { scope: this, queue };
        self.inner().spawn_later(move |_| turn.run());
    }

    /// Takes the oldest task out of a queue.
    fn pop(&self, queue: usize) -> InOrder<'scope> {
        let task = self.with_queue(queue, VecDeque::pop_front);
        task.expect("a task for each that is spawned")
    }

    fn with_queue<R>(
        &self,
        queue: usize,
        f: impl FnOnce(&mut VecDeque<InOrder<'scope>>) -> R,
    ) -> R {
        let tasks = self.queues[queue].lock();
        f(&mut tasks.unwrap_or_else(PoisonError::into_inner))
    }

    /// Spawns a task for each thread of the pool.
    ///
    /// ```
    /// use std::sync::atomic::{AtomicUsize, Ordering};
    ///
    /// let calls = AtomicUsize::new(0);
    /// rayon_core::scope_fifo(|s| {
    ///     s.spawn_broadcast(|_, _| {
    ///         calls.fetch_add(1, Ordering::Relaxed);
    ///     });
    /// });
    /// assert_eq!(calls.into_inner(), rayon_core::current_num_threads());
    /// ```
    pub fn spawn_broadcast<BODY>(&self, body: BODY)
    where
        BODY: Fn(&ScopeFifo<'scope>, BroadcastContext<'_>) + Send + Sync + 'scope,
    {
        let threads = self.inner().workers();
        let this = SharedInScope(self);
        self.inner().spawn_broadcast(move |_, index| {
            this.with(|this| body(this, BroadcastContext::new(index, threads)));
        });
    }
}

/// As [`InScope`], for several calls.
struct SharedInScope<'scope>(*const ScopeFifo<'scope>);

// SAFETY: as for `InScope`.
unsafe impl Send for SharedInScope<'_> {}
// SAFETY: as for `InScope`.
unsafe impl Sync for SharedInScope<'_> {}

impl<'scope> SharedInScope<'scope> {
    fn with(&self, f: impl FnOnce(&ScopeFifo<'scope>)) {
        InScope(self.0).with(f);
    }
}

impl fmt::Debug for ScopeFifo<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScopeFifo").finish_non_exhaustive()
    }
}
