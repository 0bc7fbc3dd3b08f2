//! A pool of its own.

use std::fmt;
use std::thread;

use roving::Pool;
use roving::raw::calls::{Order, Target};

use crate::broadcast::{broadcast_in, spawn_broadcast_in};
use crate::build::ThreadSpawn;
use crate::scope::{in_place_scope_fifo_in, in_place_scope_in};
use crate::{
    BroadcastContext, Scope, ScopeFifo, ThreadBuilder, ThreadPoolBuildError, ThreadPoolBuilder,
    Yield, current_thread_has_pending_tasks, current_thread_index, join, scope, scope_fifo,
    yield_local, yield_now,
};

/// A pool of threads. Dropping it lets its threads end when they have run what was spawned, and
/// does not wait for that.
///
/// ```
/// let pool = rayon_core::ThreadPoolBuilder::new().num_threads(2).build()?;
/// assert_eq!(pool.install(|| rayon_core::join(|| 1, || 2)), (1, 2));
/// # Ok::<(), rayon_core::ThreadPoolBuildError>(())
/// ```
pub struct ThreadPool {
    pub(crate) pool: Pool,
}

impl ThreadPoolBuilder {
    /// Builds a pool for the duration of `with_pool`, with threads that call `wrapper` each, which
    /// calls [`ThreadBuilder::run`]. Threads and closures may borrow from the caller; all threads
    /// have ended when this returns.
    ///
    /// # Errors
    /// As [`Self::build`].
    ///
    /// ```
    /// let name = String::from("scoped");
    /// let length = rayon_core::ThreadPoolBuilder::new().num_threads(2).build_scoped(
    ///     |thread| {
    ///         assert_eq!(name, "scoped");
    ///         thread.run();
    ///     },
    ///     |pool| pool.install(|| name.len()),
    /// )?;
    /// assert_eq!(length, 6);
    /// # Ok::<(), rayon_core::ThreadPoolBuildError>(())
    /// ```
    pub fn build_scoped<W, F, R>(self, wrapper: W, with_pool: F) -> Result<R, ThreadPoolBuildError>
    where
        W: Fn(ThreadBuilder) + Sync,
        F: FnOnce(&ThreadPool) -> R,
    {
        thread::scope(|scope| {
            let wrapper = &wrapper;
            let pool = self
                .spawn_handler(|thread| {
                    let os_thread = thread.os_thread();
                    os_thread.spawn_scoped(scope, move || wrapper(thread))?;
                    Ok(())
                })
                .build()?;
            Ok(with_pool(&pool))
        })
    }
}

// The bound is Rayon's: nobody else can name the trait, or implement it.
#[allow(private_bounds)]
impl<S: ThreadSpawn> ThreadPoolBuilder<S> {
    /// Starts the pool.
    ///
    /// # Errors
    /// A thread cannot be started (then those already started end again), or the calling thread is
    /// to be used and belongs to a pool already.
    ///
    /// ```
    /// let pool = rayon_core::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    /// assert_eq!(pool.current_num_threads(), 2);
    /// ```
    pub fn build(self) -> Result<ThreadPool, ThreadPoolBuildError> {
        self.build_pool().map(|pool| ThreadPool { pool })
    }
}

impl ThreadPool {
    fn target(&self) -> Target<'_> {
        Target::of(&self.pool)
    }

    /// Runs `op` on a thread of this pool and returns what it returns. Inside, [`fn@join`] and the
    /// like use this pool. On a thread of this pool it just calls `op`; another thread blocks.
    ///
    /// # Panics
    /// With what `op` panics with.
    ///
    /// ```
    /// let pool = rayon_core::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    /// assert_eq!(pool.install(rayon_core::current_num_threads), 2);
    /// ```
    pub fn install<OP, R>(&self, op: OP) -> R
    where
        OP: FnOnce() -> R + Send,
        R: Send,
    {
        self.target().install(op)
    }

    /// As [`fn@crate::broadcast`], in this pool.
    ///
    /// ```
    /// let pool = rayon_core::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    /// assert_eq!(pool.broadcast(|context| context.index()), [0, 1]);
    /// ```
    pub fn broadcast<OP, R>(&self, op: OP) -> Vec<R>
    where
        OP: Fn(BroadcastContext<'_>) -> R + Sync,
        R: Send,
    {
        broadcast_in(self.target(), op)
    }

    /// The number of threads of this pool. Compensation threads do not count.
    ///
    /// ```
    /// let pool = rayon_core::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
    /// assert_eq!(pool.current_num_threads(), 3);
    /// ```
    pub fn current_num_threads(&self) -> usize {
        self.target().workers()
    }

    /// As [`current_thread_index`], and `None` for a thread of another pool.
    ///
    /// ```
    /// let pool = rayon_core::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    /// assert_eq!(pool.current_thread_index(), None);
    /// assert_eq!(pool.install(|| pool.current_thread_index()), Some(0));
    /// ```
    pub fn current_thread_index(&self) -> Option<usize> {
        self.if_here(current_thread_index)
    }

    /// As [`current_thread_has_pending_tasks`], and `None` for a thread of another pool.
    ///
    /// ```
    /// let pool = rayon_core::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    /// assert_eq!(pool.current_thread_has_pending_tasks(), None);
    /// ```
    pub fn current_thread_has_pending_tasks(&self) -> Option<bool> {
        self.if_here(current_thread_has_pending_tasks)
    }

    fn if_here<T>(&self, f: impl FnOnce() -> Option<T>) -> Option<T> {
        self.target().is_current().then(f).flatten()
    }

    /// As [`fn@join`], in this pool.
    ///
    /// ```
    /// let pool = rayon_core::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    /// assert_eq!(pool.join(|| 1, || 2), (1, 2));
    /// ```
    pub fn join<A, B, RA, RB>(&self, oper_a: A, oper_b: B) -> (RA, RB)
    where
        A: FnOnce() -> RA + Send,
        B: FnOnce() -> RB + Send,
        RA: Send,
        RB: Send,
    {
        self.install(|| join(oper_a, oper_b))
    }

    /// As [`fn@scope`], in this pool.
    ///
    /// ```
    /// let pool = rayon_core::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    /// let mut number = 0;
    /// pool.scope(|s| s.spawn(|_| number += 1));
    /// assert_eq!(number, 1);
    /// ```
    pub fn scope<'scope, OP, R>(&self, op: OP) -> R
    where
        OP: FnOnce(&Scope<'scope>) -> R + Send,
        R: Send,
    {
        self.install(|| scope(op))
    }

    /// As [`scope_fifo`], in this pool.
    ///
    /// ```
    /// let pool = rayon_core::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    /// let mut number = 0;
    /// pool.scope_fifo(|s| s.spawn_fifo(|_| number += 1));
    /// assert_eq!(number, 1);
    /// ```
    pub fn scope_fifo<'scope, OP, R>(&self, op: OP) -> R
    where
        OP: FnOnce(&ScopeFifo<'scope>) -> R + Send,
        R: Send,
    {
        self.install(|| scope_fifo(op))
    }

    /// As [`in_place_scope`](crate::in_place_scope), with tasks in this pool.
    ///
    /// ```
    /// let pool = rayon_core::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    /// let mut number = 0;
    /// pool.in_place_scope(|s| s.spawn(|_| number += 1));
    /// assert_eq!(number, 1);
    /// ```
    pub fn in_place_scope<'scope, OP, R>(&self, op: OP) -> R
    where
        OP: FnOnce(&Scope<'scope>) -> R,
    {
        in_place_scope_in(self.target(), op)
    }

    /// As [`in_place_scope_fifo`](crate::in_place_scope_fifo), with tasks in this pool.
    ///
    /// ```
    /// let pool = rayon_core::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    /// let mut number = 0;
    /// pool.in_place_scope_fifo(|s| s.spawn_fifo(|_| number += 1));
    /// assert_eq!(number, 1);
    /// ```
    pub fn in_place_scope_fifo<'scope, OP, R>(&self, op: OP) -> R
    where
        OP: FnOnce(&ScopeFifo<'scope>) -> R,
    {
        in_place_scope_fifo_in(self.target(), op)
    }

    /// As [`spawn`](fn@crate::spawn), in this pool.
    ///
    /// ```
    /// let pool = rayon_core::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    /// let (sender, receiver) = std::sync::mpsc::channel();
    /// pool.spawn(move || sender.send(7).unwrap());
    /// assert_eq!(receiver.recv(), Ok(7));
    /// ```
    pub fn spawn<OP>(&self, op: OP)
    where
        OP: FnOnce() + Send + 'static,
    {
        self.target().spawn(Order::NewestFirst, op);
    }

    /// As [`spawn_fifo`](crate::spawn_fifo), in this pool.
    ///
    /// ```
    /// let pool = rayon_core::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    /// let (sender, receiver) = std::sync::mpsc::channel();
    /// pool.spawn_fifo(move || sender.send(7).unwrap());
    /// assert_eq!(receiver.recv(), Ok(7));
    /// ```
    pub fn spawn_fifo<OP>(&self, op: OP)
    where
        OP: FnOnce() + Send + 'static,
    {
        self.target().spawn(Order::OldestFirst, op);
    }

    /// As [`spawn_broadcast`](crate::spawn_broadcast), in this pool.
    ///
    /// ```
    /// let pool = rayon_core::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    /// let (sender, receiver) = std::sync::mpsc::channel();
    /// pool.spawn_broadcast(move |context| sender.send(context.index()).unwrap());
    /// assert_eq!(receiver.into_iter().count(), 2);
    /// ```
    pub fn spawn_broadcast<OP>(&self, op: OP)
    where
        OP: Fn(BroadcastContext<'_>) + Send + Sync + 'static,
    {
        spawn_broadcast_in(self.target(), op);
    }

    /// As [`yield_now`], and `None` on a thread of another pool.
    ///
    /// ```
    /// let pool = rayon_core::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    /// assert_eq!(pool.yield_now(), None);
    /// ```
    pub fn yield_now(&self) -> Option<Yield> {
        self.if_here(yield_now)
    }

    /// As [`yield_local`], and `None` on a thread of another pool.
    ///
    /// ```
    /// let pool = rayon_core::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    /// assert_eq!(pool.yield_local(), None);
    /// ```
    pub fn yield_local(&self) -> Option<Yield> {
        self.if_here(yield_local)
    }
}

impl fmt::Debug for ThreadPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ThreadPool")
            .field("num_threads", &self.current_num_threads())
            .finish_non_exhaustive()
    }
}

// As Rayon's: a pool may be shared by threads, and sent to another.
const _: fn() = || {
    fn is_send_and_sync<T: Send + Sync>() {}
    is_send_and_sync::<ThreadPool>();
    is_send_and_sync::<ThreadPoolBuildError>();
    let _ = ThreadPoolBuilder::new;
};
