//! How a pool is to be, and who starts its threads.

mod error;
mod threads;

use std::any::Any;
use std::env;
use std::fmt;
use std::io;
use std::process;

use roving::Pool;
use roving::raw;
use roving::raw::calls::{StandIn, Target};

use error::Reason;

pub use error::ThreadPoolBuildError;
pub use threads::ThreadBuilder;
pub(crate) use threads::ThreadSpawn;
use threads::{CustomSpawn, DefaultSpawn};

type IndexHandler = Box<dyn Fn(usize) + Send + Sync>;
type PanicHandler = Box<dyn Fn(Box<dyn Any + Send>) + Send + Sync>;

/// Configures and builds a [`ThreadPool`](crate::ThreadPool), or the global pool.
///
/// ```
/// let pool = rayon_core::ThreadPoolBuilder::new()
///     .num_threads(2)
///     .thread_name(|index| format!("search-{index}"))
///     .build()?;
/// assert_eq!(pool.current_num_threads(), 2);
/// # Ok::<(), rayon_core::ThreadPoolBuildError>(())
/// ```
pub struct ThreadPoolBuilder<S = DefaultSpawn> {
    num_threads: usize,
    use_current_thread: bool,
    breadth_first: bool,
    thread_name: Option<Box<dyn FnMut(usize) -> String>>,
    stack_size: Option<usize>,
    panic_handler: Option<PanicHandler>,
    start_handler: Option<IndexHandler>,
    exit_handler: Option<IndexHandler>,
    spawn_handler: S,
}

impl Default for ThreadPoolBuilder {
    fn default() -> ThreadPoolBuilder {
        ThreadPoolBuilder {
            num_threads: 0,
            use_current_thread: false,
            breadth_first: false,
            thread_name: None,
            stack_size: None,
            panic_handler: None,
            start_handler: None,
            exit_handler: None,
            spawn_handler: DefaultSpawn,
        }
    }
}

impl ThreadPoolBuilder {
    /// A builder with the defaults.
    ///
    /// ```
    /// assert!(rayon_core::ThreadPoolBuilder::new().build().is_ok());
    /// ```
    pub fn new() -> ThreadPoolBuilder {
        ThreadPoolBuilder::default()
    }
}

// The bound is Rayon's: nobody else can name the trait, or implement it.
#[allow(private_bounds)]
impl<S: ThreadSpawn> ThreadPoolBuilder<S> {
    /// Starts the pool as the global one, and waits until its threads are up.
    ///
    /// # Errors
    /// As [`Self::build`], and when the global pool has been started already: by this, by first
    /// use, or by [`roving`].
    ///
    /// ```
    /// rayon_core::ThreadPoolBuilder::new().num_threads(2).build_global().unwrap();
    /// assert_eq!(rayon_core::current_num_threads(), 2);
    /// assert!(rayon_core::ThreadPoolBuilder::new().build_global().is_err());
    /// ```
    pub fn build_global(self) -> Result<(), ThreadPoolBuildError> {
        let exists = || ThreadPoolBuildError::from(Reason::GlobalPoolExists);
        let pool = raw::calls::set_global(|| self.build_pool(), exists)?;
        Target::of(&pool).wait_for_threads();
        Ok(())
    }

    /// Which compensation threads the pool has. None, if its user has set up the threads in any
    /// way: others would lack what a handler has made for its thread, and the name that it was
    /// given.
    fn stand_in(&self) -> StandIn {
        let handlers = [&self.start_handler, &self.exit_handler];
        let is_set_up = self.thread_name.is_some() || handlers.into_iter().any(Option::is_some);
        match S::STAND_IN {
            _ if is_set_up => StandIn::Nobody,
            StandIn::ForJobs if asks_for_tasks() => StandIn::ForAll,
            stand_in => stand_in,
        }
    }

    pub(crate) fn build_pool(mut self) -> Result<Pool, ThreadPoolBuildError> {
        if let (true, Some(name)) = (self.use_current_thread, &mut self.thread_name) {
            // For the caller's thread, which keeps its own. The closure may count its calls.
            let _: String = name(0);
        }
        if self.use_current_thread && raw::waits::lent_index().is_some() {
            return Err(Reason::CurrentThreadInPool.into());
        }
        let threads = match self.num_threads {
            0 => default_num_threads(),
            number => number,
        };
        let threads = threads.clamp(1, raw::calls::WORKERS_LIMIT);
        let builder = Pool::builder().workers(threads).name("rayon");
        let mut builder = raw::calls::stand_in(builder, self.stand_in())
            .panic_handler(handle_panic(self.panic_handler.take()));
        if let Some(size) = self.stack_size {
            builder = builder.stack_size(size);
        }
        if let Some(handler) = self.start_handler.take() {
            builder = builder.on_start(handler);
        }
        if let Some(handler) = self.exit_handler.take() {
            builder = builder.on_exit(handler);
        }
        if self.use_current_thread {
            builder = builder.adopt_current_thread();
        }
        let built = builder.build_with(|worker| {
            let name = self.thread_name.as_mut().map(|name| name(worker.index()));
            self.spawn_handler
                .spawn(ThreadBuilder::new(worker, name, self.stack_size))
        });
        built.map_err(ThreadPoolBuildError::from)
    }
}

/// The pool's handler, or the end of the process; that is also what a handler that panics comes to.
fn handle_panic(handler: Option<PanicHandler>) -> impl Fn(Box<dyn Any + Send>) + Send + Sync {
    struct Abort;
    impl Drop for Abort {
        fn drop(&mut self) {
            eprintln!("Rayon: detected unexpected panic; aborting");
            process::abort();
        }
    }
    move |payload| {
        let abort = Abort;
        if let Some(handler) = &handler {
            handler(payload);
            std::mem::forget(abort);
        }
    }
}

impl<S> ThreadPoolBuilder<S> {
    /// Has `spawn` start the threads: it is called for each, and has some thread call
    /// [`ThreadBuilder::run`].
    ///
    /// ```
    /// let pool = rayon_core::ThreadPoolBuilder::new()
    ///     .num_threads(2)
    ///     .spawn_handler(|thread| {
    ///         std::thread::Builder::new().spawn(|| thread.run())?;
    ///         Ok(())
    ///     })
    ///     .build()?;
    /// assert_eq!(pool.install(|| 5), 5);
    /// # Ok::<(), rayon_core::ThreadPoolBuildError>(())
    /// ```
    pub fn spawn_handler<F>(self, spawn: F) -> ThreadPoolBuilder<CustomSpawn<F>>
    where
        F: FnMut(ThreadBuilder) -> io::Result<()>,
    {
        ThreadPoolBuilder {
            num_threads: self.num_threads,
            use_current_thread: self.use_current_thread,
            breadth_first: self.breadth_first,
            thread_name: self.thread_name,
            stack_size: self.stack_size,
            panic_handler: self.panic_handler,
            start_handler: self.start_handler,
            exit_handler: self.exit_handler,
            spawn_handler: CustomSpawn::new(spawn),
        }
    }

    /// The name of each thread; unnamed by default. What it panics with, `build` panics with. It is
    /// asked for in the order of the indices, also where thread 0 is the caller's, which keeps its
    /// own name.
    ///
    /// ```
    /// let pool = rayon_core::ThreadPoolBuilder::new()
    ///     .num_threads(1)
    ///     .thread_name(|index| format!("worker {index}"))
    ///     .build()
    ///     .unwrap();
    /// let name = pool.install(|| std::thread::current().name().map(str::to_owned));
    /// assert_eq!(name.as_deref(), Some("worker 0"));
    /// ```
    pub fn thread_name<F>(mut self, closure: F) -> Self
    where
        F: FnMut(usize) -> String + 'static,
    {
        self.thread_name = Some(Box::new(closure));
        self
    }

    /// The number of threads, at most [`max_num_threads`](crate::max_num_threads). With 0, the
    /// default: `RAYON_NUM_THREADS` if that is set to a positive number, or else as many as the
    /// process may use processors.
    ///
    /// ```
    /// let pool = rayon_core::ThreadPoolBuilder::new().num_threads(4).build().unwrap();
    /// assert_eq!(pool.current_num_threads(), 4);
    /// ```
    pub fn num_threads(mut self, num_threads: usize) -> Self {
        self.num_threads = num_threads;
        self
    }

    /// The calling thread becomes thread 0 of the pool until the pool is dropped. It runs tasks
    /// when it waits in a `join`, `scope` or the like, or yields. The handlers are not called for
    /// it.
    ///
    /// ```
    /// std::thread::spawn(|| {
    ///     let builder = rayon_core::ThreadPoolBuilder::new().num_threads(2);
    ///     let pool = builder.use_current_thread().build().unwrap();
    ///     assert_eq!(rayon_core::current_thread_index(), Some(0));
    ///     assert_eq!(pool.join(|| 1, || 2), (1, 2));
    /// })
    /// .join()
    /// .unwrap();
    /// ```
    pub fn use_current_thread(mut self) -> Self {
        self.use_current_thread = true;
        self
    }

    /// Called with what a detached task or one of the handlers panicked with. Without it, and if it
    /// panics itself, the process is aborted.
    ///
    /// ```
    /// let (sender, receiver) = std::sync::mpsc::channel();
    /// let builder = rayon_core::ThreadPoolBuilder::new().num_threads(1);
    /// let pool = builder.panic_handler(move |payload| sender.send(payload).unwrap()).build().unwrap();
    /// pool.spawn(|| panic!("for the handler"));
    /// assert_eq!(receiver.recv().unwrap().downcast_ref(), Some(&"for the handler"));
    /// ```
    pub fn panic_handler<H>(mut self, panic_handler: H) -> Self
    where
        H: Fn(Box<dyn Any + Send>) + Send + Sync + 'static,
    {
        self.panic_handler = Some(Box::new(panic_handler));
        self
    }

    /// The stack of each thread in bytes; by default what the standard library gives.
    ///
    /// ```
    /// let builder = rayon_core::ThreadPoolBuilder::new().num_threads(1);
    /// assert!(builder.stack_size(1 << 20).build().is_ok());
    /// ```
    pub fn stack_size(mut self, stack_size: usize) -> Self {
        self.stack_size = Some(stack_size);
        self
    }

    /// Does nothing.
    ///
    /// ```
    /// # #![allow(deprecated)]
    /// assert!(rayon_core::ThreadPoolBuilder::new().breadth_first().build().is_ok());
    /// ```
    #[deprecated(note = "use `scope_fifo` and `spawn_fifo` for similar effect")]
    pub fn breadth_first(mut self) -> Self {
        self.breadth_first = true;
        self
    }

    /// Called on each thread with its index, before it works.
    ///
    /// ```
    /// let (sender, receiver) = std::sync::mpsc::channel();
    /// let builder = rayon_core::ThreadPoolBuilder::new().num_threads(1);
    /// let _pool = builder.start_handler(move |index| sender.send(index).unwrap()).build().unwrap();
    /// assert_eq!(receiver.recv(), Ok(0));
    /// ```
    pub fn start_handler<H>(mut self, start_handler: H) -> Self
    where
        H: Fn(usize) + Send + Sync + 'static,
    {
        self.start_handler = Some(Box::new(start_handler));
        self
    }

    /// Called on each thread with its index, after its last task.
    ///
    /// ```
    /// let (sender, receiver) = std::sync::mpsc::channel();
    /// let builder = rayon_core::ThreadPoolBuilder::new().num_threads(1);
    /// drop(builder.exit_handler(move |index| sender.send(index).unwrap()).build().unwrap());
    /// assert_eq!(receiver.recv(), Ok(0));
    /// ```
    pub fn exit_handler<H>(mut self, exit_handler: H) -> Self
    where
        H: Fn(usize) + Send + Sync + 'static,
    {
        self.exit_handler = Some(Box::new(exit_handler));
        self
    }
}

impl<S> fmt::Debug for ThreadPoolBuilder<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ThreadPoolBuilder")
            .field("num_threads", &self.num_threads)
            .field("use_current_thread", &self.use_current_thread)
            .field("stack_size", &self.stack_size)
            .field("breadth_first", &self.breadth_first)
            .finish_non_exhaustive()
    }
}

/// The environment variable that says what compensation threads run.
const VARIABLE: &str = "ROVING_RAYON_STAND_IN";

/// Whether compensation threads are to run tasks as well, for programs that take no index of a
/// thread for that of an array. Any other value counts as not set.
fn asks_for_tasks() -> bool {
    env::var_os(VARIABLE).is_some_and(|value| value == "tasks")
}

/// How many threads a pool has that does not say: `RAYON_NUM_THREADS`, or the older
/// `RAYON_RS_NUM_CPUS`, or as many as the process may use processors (affinity mask and cgroup
/// quota count).
fn default_num_threads() -> usize {
    let processors = || std::thread::available_parallelism().map_or(1, |number| number.get());
    let variable = |name| env::var(name).ok()?.parse::<usize>().ok();
    match variable("RAYON_NUM_THREADS") {
        Some(0) => processors(),
        Some(number) => number,
        None => match variable("RAYON_RS_NUM_CPUS") {
            None | Some(0) => processors(),
            Some(number) => number,
        },
    }
}
