//! Rayon's names for pools, and for what a thread may ask about its own.

use std::error::Error;
use std::fmt;
use std::thread;

use roving::raw::calls::Target;
use roving::{BuildError, Pool, PoolBuilder, Scope};

/// A pool of workers: [`roving::Pool`] under Rayon's name.
///
/// ```
/// use roving_iter::prelude::*;
///
/// let pool = roving_iter::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
/// assert_eq!(pool.install(|| (0..10).into_par_iter().sum::<u32>()), 45);
/// ```
#[derive(Debug)]
pub struct ThreadPool {
    pool: Pool,
}

impl ThreadPool {
    /// Runs `f` on a worker of this pool; iterators inside use its workers.
    ///
    /// ```
    /// let pool = roving_iter::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    /// assert_eq!(pool.install(roving_iter::current_num_threads), 2);
    /// ```
    pub fn install<F, R>(&self, f: F) -> R
    where
        F: FnOnce() -> R + Send,
        R: Send,
    {
        self.pool.install(f)
    }

    /// Runs two closures in this pool, perhaps at the same time.
    ///
    /// ```
    /// let pool = roving_iter::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    /// assert_eq!(pool.join(|| 1, || 2), (1, 2));
    /// ```
    pub fn join<A, B, RA, RB>(&self, a: A, b: B) -> (RA, RB)
    where
        A: FnOnce() -> RA + Send,
        B: FnOnce() -> RB + Send,
        RA: Send,
        RB: Send,
    {
        self.install(|| roving::join(a, b))
    }

    /// Opens a scope on a worker of this pool.
    ///
    /// ```
    /// let pool = roving_iter::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    /// let mut text = String::new();
    /// pool.scope(|s| s.spawn(|_| text.push_str("done")));
    /// assert_eq!(text, "done");
    /// ```
    pub fn scope<'scope, F, R>(&self, f: F) -> R
    where
        F: FnOnce(&Scope<'scope>) -> R + Send,
        R: Send,
    {
        self.install(|| roving::scope(f))
    }

    /// Opens a scope whose body runs on the calling thread, and whose tasks run in this pool.
    ///
    /// ```
    /// let pool = roving_iter::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    /// let mut text = String::new();
    /// pool.in_place_scope(|s| s.spawn(|_| text.push_str("done")));
    /// assert_eq!(text, "done");
    /// ```
    pub fn in_place_scope<'scope, F, R>(&self, f: F) -> R
    where
        F: FnOnce(&Scope<'scope>) -> R,
    {
        self.pool.in_place_scope(f)
    }

    /// Runs `f` at some later time in this pool.
    ///
    /// ```
    /// let pool = roving_iter::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    /// let (sender, receiver) = std::sync::mpsc::channel();
    /// pool.spawn(move || sender.send(42).unwrap());
    /// assert_eq!(receiver.recv(), Ok(42));
    /// ```
    pub fn spawn<F: FnOnce() + Send + 'static>(&self, f: F) {
        self.pool.spawn(f);
    }

    /// Runs `f` once on each worker of this pool.
    ///
    /// ```
    /// let pool = roving_iter::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    /// assert_eq!(pool.broadcast(|context| context.index()), [0, 1]);
    /// ```
    pub fn broadcast<F, R>(&self, f: F) -> Vec<R>
    where
        F: Fn(BroadcastContext) -> R + Sync,
        R: Send,
    {
        let workers = self.pool.workers();
        Target::of(&self.pool).broadcast(|index| f(BroadcastContext { index, workers }))
    }

    /// Returns the number of workers.
    ///
    /// ```
    /// let pool = roving_iter::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    /// assert_eq!(pool.current_num_threads(), 2);
    /// ```
    pub fn current_num_threads(&self) -> usize {
        self.pool.workers()
    }
}

/// Configures and builds a [`ThreadPool`]: [`roving::PoolBuilder`] under Rayon's names.
///
/// ```
/// let builder = roving_iter::ThreadPoolBuilder::new().num_threads(2);
/// let pool = builder.thread_name(|index| format!("search-{index}")).build().unwrap();
/// let name = pool.install(|| std::thread::current().name().map(str::to_owned));
/// assert!(name.unwrap().starts_with("search-"));
/// ```
pub struct ThreadPoolBuilder {
    builder: PoolBuilder,
    name: Option<Box<dyn FnMut(usize) -> String>>,
    stack_size: Option<usize>,
}

impl fmt::Debug for ThreadPoolBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut fields = f.debug_struct("ThreadPoolBuilder");
        fields
            .field("builder", &self.builder)
            .finish_non_exhaustive()
    }
}

impl Default for ThreadPoolBuilder {
    fn default() -> Self {
        ThreadPoolBuilder::new()
    }
}

impl ThreadPoolBuilder {
    /// Begins with what [`roving::Pool::builder`] begins with.
    ///
    /// ```
    /// assert!(roving_iter::ThreadPoolBuilder::new().build().is_ok());
    /// ```
    pub fn new() -> ThreadPoolBuilder {
        ThreadPoolBuilder {
            builder: Pool::builder(),
            name: None,
            stack_size: None,
        }
    }

    /// Sets the number of workers; 0 means as many as without this.
    ///
    /// ```
    /// let pool = roving_iter::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
    /// assert_eq!(pool.current_num_threads(), 3);
    /// ```
    pub fn num_threads(mut self, threads: usize) -> ThreadPoolBuilder {
        if threads > 0 {
            self.builder = self.builder.workers(threads);
        }
        self
    }

    /// Sets the names of the threads.
    ///
    /// ```
    /// let builder = roving_iter::ThreadPoolBuilder::new().num_threads(1);
    /// let pool = builder.thread_name(|index| format!("worker {index}")).build().unwrap();
    /// pool.install(|| assert_eq!(std::thread::current().name(), Some("worker 0")));
    /// ```
    pub fn thread_name<F>(mut self, name: F) -> ThreadPoolBuilder
    where
        F: FnMut(usize) -> String + 'static,
    {
        self.name = Some(Box::new(name));
        self
    }

    /// Sets the size of each worker's native stack in bytes.
    ///
    /// ```
    /// let builder = roving_iter::ThreadPoolBuilder::new().num_threads(1);
    /// let pool = builder.stack_size(32 << 20).build().unwrap();
    /// pool.install(|| assert_eq!(std::hint::black_box(&[1_u8; 4 << 20])[0], 1));
    /// ```
    pub fn stack_size(mut self, bytes: usize) -> ThreadPoolBuilder {
        self.stack_size = Some(bytes);
        self.builder = self.builder.stack_size(bytes);
        self
    }

    /// Calls `f` on each worker's thread before it begins, with the worker's index.
    ///
    /// ```
    /// let builder = roving_iter::ThreadPoolBuilder::new().num_threads(1);
    /// let pool = builder.start_handler(|index| assert_eq!(index, 0)).build().unwrap();
    /// assert_eq!(pool.install(|| 1), 1);
    /// ```
    pub fn start_handler<F>(mut self, f: F) -> ThreadPoolBuilder
    where
        F: Fn(usize) + Send + Sync + 'static,
    {
        self.builder = self.builder.on_start(f);
        self
    }

    /// Calls `f` on each worker's thread before it ends, with the worker's index.
    ///
    /// ```
    /// let builder = roving_iter::ThreadPoolBuilder::new().num_threads(1);
    /// let pool = builder.exit_handler(|index| assert_eq!(index, 0)).build().unwrap();
    /// assert_eq!(pool.install(|| 1), 1);
    /// ```
    pub fn exit_handler<F>(mut self, f: F) -> ThreadPoolBuilder
    where
        F: Fn(usize) + Send + Sync + 'static,
    {
        self.builder = self.builder.on_exit(f);
        self
    }

    /// Builds the pool.
    ///
    /// # Errors
    /// As [`roving::PoolBuilder::build`].
    ///
    /// ```
    /// let pool = roving_iter::ThreadPoolBuilder::new().num_threads(2).build()?;
    /// assert_eq!(pool.current_num_threads(), 2);
    /// # Ok::<(), roving_iter::ThreadPoolBuildError>(())
    /// ```
    pub fn build(self) -> Result<ThreadPool, ThreadPoolBuildError> {
        let (stack_size, builder) = (self.stack_size, self.builder);
        let pool = match self.name {
            None => builder.build(),
            Some(mut name) => {
                let mut index = 0;
                builder.build_with(|worker| {
                    let mut thread = thread::Builder::new().name(name(index));
                    index += 1;
                    if let Some(bytes) = stack_size {
                        thread = thread.stack_size(bytes);
                    }
                    thread.spawn(move || worker.run()).map(drop)
                })
            }
        };
        pool.map(|pool| ThreadPool { pool })
            .map_err(ThreadPoolBuildError)
    }

    /// Builds the pool as the global one, which iterators outside of pools use. Its threads have
    /// names of the pool's own.
    ///
    /// # Errors
    /// As [`roving::PoolBuilder::build_global`].
    ///
    /// ```
    /// roving_iter::ThreadPoolBuilder::new().num_threads(3).build_global().unwrap();
    /// assert_eq!(roving_iter::current_num_threads(), 3);
    /// ```
    pub fn build_global(self) -> Result<(), ThreadPoolBuildError> {
        let mut builder = self.builder;
        if let Some(mut name) = self.name {
            let first = name(0);
            let prefix = first.trim_end_matches('0');
            builder = builder.name(prefix.trim_end_matches(['-', '_', ' ', '#']));
        }
        builder.build_global().map_err(ThreadPoolBuildError)
    }
}

/// The error of a pool that could not be built.
///
/// ```
/// let error = roving_iter::ThreadPoolBuilder::new().num_threads(usize::MAX).build().unwrap_err();
/// assert!(!error.to_string().is_empty());
/// ```
#[derive(Debug)]
pub struct ThreadPoolBuildError(BuildError);

impl fmt::Display for ThreadPoolBuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Error for ThreadPoolBuildError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.0.source()
    }
}

/// Returns the number of workers of the current pool.
///
/// ```
/// assert!(roving_iter::current_num_threads() > 0);
/// ```
pub fn current_num_threads() -> usize {
    roving::current_workers()
}

/// Returns the index of the worker that the calling thread is; `None` on other threads.
///
/// ```
/// assert_eq!(roving_iter::current_thread_index(), None);
/// ```
pub fn current_thread_index() -> Option<usize> {
    roving::current_worker()
}

/// A closure's knowledge of whether it runs on another thread than its caller.
///
/// ```
/// let (first, _) = roving_iter::join_context(|context| context.migrated(), |_| ());
/// assert!(first); // it was brought into the pool
/// ```
#[derive(Clone, Copy, Debug)]
pub struct FnContext {
    migrated: bool,
}

impl FnContext {
    /// Whether the closure runs on another thread than the one that called.
    ///
    /// ```
    /// let (_, second) = roving_iter::join_context(|_| (), |context| context.migrated());
    /// assert!(second);
    /// ```
    pub fn migrated(&self) -> bool {
        self.migrated
    }
}

/// Runs two closures, perhaps at the same time, and tells each whether it has migrated.
///
/// ```
/// assert_eq!(roving_iter::join_context(|_| 1, |_| 2), (1, 2));
/// ```
pub fn join_context<A, B, RA, RB>(a: A, b: B) -> (RA, RB)
where
    A: FnOnce(FnContext) -> RA + Send,
    B: FnOnce(FnContext) -> RB + Send,
    RA: Send,
    RB: Send,
{
    roving::join_context(
        |migrated| a(FnContext { migrated }),
        |migrated| b(FnContext { migrated }),
    )
}

/// A closure's knowledge of which worker runs it.
///
/// ```
/// let counts = roving_iter::broadcast(|context| context.num_threads());
/// assert_eq!(counts.len(), counts[0]);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct BroadcastContext {
    index: usize,
    workers: usize,
}

impl BroadcastContext {
    /// Returns the index of the worker.
    ///
    /// ```
    /// assert_eq!(roving_iter::broadcast(|context| context.index())[0], 0);
    /// ```
    pub fn index(&self) -> usize {
        self.index
    }

    /// Returns the number of workers.
    ///
    /// ```
    /// let counts = roving_iter::broadcast(|context| context.num_threads());
    /// assert_eq!(counts.len(), counts[0]);
    /// ```
    pub fn num_threads(&self) -> usize {
        self.workers
    }
}

/// Runs `f` once on each worker of the current pool.
///
/// ```
/// assert_eq!(roving_iter::broadcast(|context| context.index())[0], 0);
/// ```
pub fn broadcast<F, R>(f: F) -> Vec<R>
where
    F: Fn(BroadcastContext) -> R + Sync,
    R: Send,
{
    roving::broadcast(|index| {
        f(BroadcastContext {
            index,
            workers: roving::current_workers(),
        })
    })
}

/// Runs a closure at some later time: [`roving::spawn`] without a handle.
///
/// ```
/// let (sender, receiver) = std::sync::mpsc::channel();
/// roving_iter::spawn(move || sender.send(42).unwrap());
/// assert_eq!(receiver.recv(), Ok(42));
/// ```
pub fn spawn<F: FnOnce() + Send + 'static>(f: F) {
    roving::spawn(f);
}
