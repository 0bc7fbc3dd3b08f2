//! Threads that the user of a pool provides.

use std::fmt;
use std::mem;
use std::sync::Arc;

use super::stop::join_threads;
use crate::workers::registry::Registry;
use crate::workers::sleep::Parts;
use crate::workers::sleep::roster;
use crate::workers::thread_loop::run_thread;

/// A worker that needs a thread; see [`crate::PoolBuilder::build_with`].
///
/// Dropped without having run, it leaves the pool with a worker less:
/// [`Pool::workers`](crate::Pool::workers) does not count it, and a broadcast leaves it out. In the
/// place of the last one the pool starts a thread of its own, so that jobs still run; if none can
/// be started, they wait for ever.
///
/// As long as it is kept, and has not run, its thread is expected: what is spawned and called runs
/// without it, but a broadcast waits for it, and so does [`Self::run`] of the other workers when
/// the pool is dropped. One that is forgotten ([`std::mem::forget`]) is waited for like that for
/// ever.
///
/// ```
/// use std::thread;
///
/// let mut threads = Vec::new();
/// let pool = roving::Pool::builder().workers(1).build_with(|worker| {
///     let name = format!("mine-{}", worker.index());
///     threads.push(thread::Builder::new().name(name).spawn(|| worker.run())?);
///     Ok(())
/// })?;
/// assert_eq!(pool.install(|| thread::current().name().map(str::to_owned)).unwrap(), "mine-0");
/// drop(pool);
/// threads.into_iter().for_each(|thread| thread.join().unwrap());
/// # Ok::<(), roving::BuildError>(())
/// ```
pub struct WorkerThread {
    registry: Option<Arc<Registry>>,
    index: usize,
}

impl WorkerThread {
    #[inline]
    pub(super) fn promised(registry: &Arc<Registry>, index: usize) -> WorkerThread {
        registry.crew.expect_thread();
        WorkerThread {
            registry: Some(Arc::clone(registry)),
            index,
        }
    }

    /// Returns the worker's index in its pool.
    ///
    /// ```
    /// let mut indices = Vec::new();
    /// roving::Pool::builder().workers(2).build_with(|worker| {
    ///     indices.push(worker.index());
    ///     std::thread::spawn(|| worker.run());
    ///     Ok(())
    /// }).unwrap();
    /// assert_eq!(indices, [0, 1]);
    /// ```
    pub fn index(&self) -> usize {
        self.index
    }

    /// Works until the pool has ended, and then joins the compensation threads that the pool has
    /// started itself, unless another worker's thread does: so when all of these calls have
    /// returned, the pool has no thread left. Blocks that long.
    ///
    /// # Panics
    /// In a forked child, if the pool is one of the parent's.
    ///
    /// ```
    /// let pool = roving::Pool::builder().workers(1).build_with(|worker| {
    ///     std::thread::spawn(|| worker.run());
    ///     Ok(())
    /// }).unwrap();
    /// assert_eq!(pool.install(roving::current_worker), Some(0));
    /// ```
    #[inline]
    pub fn run(mut self) {
        if let Some(registry) = self.registry.take() {
            registry.check_is_here();
            run_thread(Arc::clone(&registry), self.index);
            // The threads of a pool end together, so those have nothing left to do, and none is
            // started any more. The drop of the pool cannot wait for them: it would wait for this
            // thread as well, which perhaps nobody has started yet.
            join_threads(&registry);
        }
    }
}

impl Drop for WorkerThread {
    #[inline]
    fn drop(&mut self) {
        if let Some(registry) = self.registry.take() {
            if registry.is_left_behind() {
                // Its locks are not to be trusted.
                return mem::forget(registry);
            }
            // The last worker gets a thread of the pool's own, so that somebody runs what the pool
            // is given.
            let is_the_last = !roster::vacate(&registry, self.index, true);
            let is_left = is_the_last && !registry.start_thread(self.index).unwrap_or(false);
            registry.expect_no_thread();
            // When it is expected no more, so that whoever finds no worker finds no thread either.
            if is_left {
                roster::vacate(&registry, self.index, false);
            }
        }
    }
}

impl fmt::Debug for WorkerThread {
    #[inline]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WorkerThread")
            .field("index", &self.index)
            .finish_non_exhaustive()
    }
}
