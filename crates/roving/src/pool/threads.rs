//! Threads that the user of a pool provides.

use std::fmt;
use std::mem;
use std::sync::Arc;

use super::stop::join_threads;
use crate::machine::prim::Mutex;
use crate::workers::registry::Registry;
use crate::workers::sleep::Parts;
use crate::workers::sleep::roster;
use crate::workers::thread_loop::run_thread;

/// A worker that needs a thread; see [`crate::PoolBuilder::build_with`].
///
/// Dropped without having run, it leaves the pool with a worker less:
/// [`Pool::workers`](crate::Pool::workers) does not count it, and a broadcast leaves it out. In the
/// place of the last one the pool starts a thread of its own when it has been built, so that jobs
/// still run; if none can be started, they wait for ever.
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
    building: Arc<Building>,
}

/// The making of a pool on threads of the user's, as far as its [`WorkerThread`]s have to know.
pub(super) struct Building(Mutex<BuiltYet>);

enum BuiltYet {
    /// Under way, or given up. The last worker, if that was dropped meanwhile.
    No(Option<usize>),
    Yes,
}

impl Building {
    #[inline]
    pub(super) fn begin() -> Arc<Building> {
        Arc::new(Building(Mutex::new(BuiltYet::No(None))))
    }

    /// The pool has been built, and may be given jobs.
    #[inline]
    pub(super) fn end(&self, registry: &Arc<Registry>) {
        let before = mem::replace(&mut *self.0.lock(), BuiltYet::Yes);
        let BuiltYet::No(Some(last)) = before else {
            return;
        };
        if !registry.start_thread(last).unwrap_or(false) {
            roster::vacate(registry, last, false);
        }
    }

    /// The thread of the last worker will not come. False, with nothing done, if another one is to
    /// take its place at once: not as long as nobody can give the pool a job, which may be for
    /// ever. (A thread that it has adopted can, and may have left it.)
    fn keep_last(&self, registry: &Registry, index: usize) -> bool {
        let has_some = || registry.has_jobs() || !registry.mailbox(index).is_surely_empty();
        match &mut *self.0.lock() {
            BuiltYet::No(last) if !has_some() => {
                *last = Some(index);
                registry.expect_no_thread();
                true
            }
            BuiltYet::No(_) | BuiltYet::Yes => false,
        }
    }
}

impl WorkerThread {
    #[inline]
    pub(super) fn promised(
        registry: &Arc<Registry>,
        index: usize,
        building: &Arc<Building>,
    ) -> WorkerThread {
        registry.crew.expect_thread();
        WorkerThread {
            registry: Some(Arc::clone(registry)),
            index,
            building: Arc::clone(building),
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
            if is_the_last && self.building.keep_last(&registry, self.index) {
                return;
            }
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
