//! `spawn`: a task that runs by itself.

use std::sync::Arc;

use super::handle::{self, JoinHandle};
use crate::pool::{Pool, with_current_registry};
use crate::workers::job_limit::QueueFullError;
use crate::workers::priority::Priority;
use crate::workers::registry::Registry;

/// Runs `f` at some later time on a worker of the current pool (the global one, for a thread that
/// is no worker), and returns a handle: a future, which tasks of any runtime can await, with
/// [`JoinHandle::join`] for threads. A handle that is dropped lets the task run on by itself, and
/// costs nothing. If the pool is dropped first, the task runs before the drop ends.
///
/// It is queued first in, first out, and never runs on top of a waiting frame, but for a worker
/// that waits for this very task. A panic goes to who waits for the handle; without a handle to the
/// pool's panic handler. Costs an allocation and a lock.
///
/// ```
/// let sum = roving::spawn(|| roving::map_reduce(0..1000, 0, |n| n, |a, b| a + b));
/// assert_eq!(sum.join().unwrap(), 499_500);
///
/// let (sender, receiver) = std::sync::mpsc::channel();
/// roving::spawn(move || sender.send("nobody waits for the task"));
/// assert_eq!(receiver.recv(), Ok("nobody waits for the task"));
/// ```
pub fn spawn<F, T>(f: F) -> JoinHandle<T>
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    with_current_registry(|registry| spawn_in(registry, Priority::Normal, f))
}

/// Spawns a detached task like [`spawn`], unless the queue of the current pool is full: see
/// [`Pool::try_spawn`]. The global pool has a limit if [`PoolBuilder::build_global`] made it with
/// one.
///
/// # Errors
/// The queue is full. The error has the closure.
///
/// ```
/// assert_eq!(roving::try_spawn(|| 6 * 7).unwrap().join().unwrap(), 42);
/// ```
///
/// [`PoolBuilder::build_global`]: crate::PoolBuilder::build_global
pub fn try_spawn<F, T>(f: F) -> Result<JoinHandle<T>, QueueFullError<F>>
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    with_current_registry(|registry| try_spawn_in(registry, Priority::Normal, f))
}

impl Pool {
    /// Runs `f` on a worker of this pool at some later time, and returns a handle to wait for it;
    /// see [`crate::spawn`].
    ///
    /// ```
    /// let pool = roving::Pool::new(2).unwrap();
    /// let seven = pool.spawn(|| 3 + 4);
    /// assert_eq!(seven.join().unwrap(), 7);
    /// ```
    pub fn spawn<F, T>(&self, f: F) -> JoinHandle<T>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        spawn_in(self.registry(), Priority::Normal, f)
    }

    /// Spawns a detached task like [`Self::spawn`], with a priority class: of the jobs that wait
    /// for a worker, those of a higher class begin first; see [`Priority`]. [`Self::spawn`] and
    /// [`Self::install`] use the class [`Priority::Normal`]. Tasks that a job pushes or forks have
    /// no class: they belong to a job that has begun.
    ///
    /// ```
    /// use roving::{Pool, Priority};
    ///
    /// let pool = Pool::new(1).unwrap();
    /// let (sender, receiver) = std::sync::mpsc::channel();
    /// pool.install(|| {
    ///     // The only worker is here, so all of them wait.
    ///     for priority in [Priority::Low, Priority::Normal, Priority::High] {
    ///         let sender = sender.clone();
    ///         pool.spawn_with(priority, move || sender.send(priority).unwrap());
    ///     }
    /// });
    /// let order: Vec<Priority> = receiver.iter().take(3).collect();
    /// assert_eq!(order, [Priority::High, Priority::Normal, Priority::Low]);
    /// ```
    pub fn spawn_with<F, T>(&self, priority: Priority, f: F) -> JoinHandle<T>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        spawn_in(self.registry(), priority, f)
    }

    /// Spawns a detached task like [`Self::spawn`], unless too many wait: of those that this method
    /// and [`Self::try_spawn_with`] have spawned, at most [`PoolBuilder::queue_limit`] may not have
    /// begun. So a server that is asked for more than it can do says so at once. In a pool without
    /// a limit no task is refused. A task that is aborted, or cancelled by its handle, gives its
    /// place back at once.
    ///
    /// # Errors
    /// The queue is full. The error has the closure.
    ///
    /// ```
    /// let pool = roving::Pool::builder().workers(1).queue_limit(2).build()?;
    /// let spawned = pool.install(|| {
    ///     // The only worker is here, so all of them wait.
    ///     (0..5).filter(|&n| pool.try_spawn(move || n * n).is_ok()).count()
    /// });
    /// assert_eq!(spawned, 2);
    /// # Ok::<(), roving::BuildError>(())
    /// ```
    ///
    /// [`PoolBuilder::queue_limit`]: crate::PoolBuilder::queue_limit
    pub fn try_spawn<F, T>(&self, f: F) -> Result<JoinHandle<T>, QueueFullError<F>>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        try_spawn_in(self.registry(), Priority::Normal, f)
    }

    /// Spawns a detached task like [`Self::try_spawn`], with a priority class as in
    /// [`Self::spawn_with`]. All classes share the places.
    ///
    /// # Errors
    /// The queue is full. The error has the closure.
    ///
    /// ```
    /// use roving::{Pool, Priority};
    ///
    /// let pool = Pool::builder().workers(1).queue_limit(1).build()?;
    /// pool.install(|| {
    ///     assert!(pool.try_spawn_with(Priority::Low, || ()).is_ok());
    ///     assert!(pool.try_spawn_with(Priority::High, || ()).is_err());
    /// });
    /// # Ok::<(), roving::BuildError>(())
    /// ```
    pub fn try_spawn_with<F, T>(
        &self,
        priority: Priority,
        f: F,
    ) -> Result<JoinHandle<T>, QueueFullError<F>>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        try_spawn_in(self.registry(), priority, f)
    }
}

/// See [`Pool::spawn_with`].
fn spawn_in<F, T>(registry: &Arc<Registry>, priority: Priority, f: F) -> JoinHandle<T>
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    let (job, handle) = handle::new(registry, f);
    registry.kind.spawn(registry, priority, job);
    handle
}

/// See [`Pool::try_spawn`].
fn try_spawn_in<F, T>(
    registry: &Arc<Registry>,
    priority: Priority,
    f: F,
) -> Result<JoinHandle<T>, QueueFullError<F>>
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    let Some(places) = &registry.settings.places else {
        return Ok(spawn_in(registry, priority, f));
    };
    match places.take() {
        None => Err(QueueFullError::new(f, places.limit())),
        Some(place) => Ok(spawn_in(registry, priority, move || {
            drop(place);
            f()
        })),
    }
}
