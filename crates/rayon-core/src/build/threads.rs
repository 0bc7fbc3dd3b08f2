//! Who starts the threads of a pool.

use std::fmt;
use std::io;
use std::thread;

use roving::embed::WorkerThread;
use roving::raw::calls::StandIn;

/// A thread that a pool wants; see [`crate::ThreadPoolBuilder::spawn_handler`].
pub struct ThreadBuilder {
    worker: WorkerThread,
    name: Option<String>,
    stack_size: Option<usize>,
}

impl ThreadBuilder {
    pub(super) fn new(
        worker: WorkerThread,
        name: Option<String>,
        stack_size: Option<usize>,
    ) -> ThreadBuilder {
        ThreadBuilder {
            worker,
            name,
            stack_size,
        }
    }

    /// The index of the thread in its pool.
    ///
    /// ```
    /// let builder = rayon_core::ThreadPoolBuilder::new().num_threads(1);
    /// builder.build_scoped(|thread| assert_eq!(thread.index(), 0), |_| ()).unwrap();
    /// ```
    pub fn index(&self) -> usize {
        self.worker.index()
    }

    /// The name that was asked for.
    ///
    /// ```
    /// let builder = rayon_core::ThreadPoolBuilder::new().num_threads(1);
    /// builder.build_scoped(|thread| assert_eq!(thread.name(), None), |_| ()).unwrap();
    /// ```
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// The size of the stack in bytes that was asked for.
    ///
    /// ```
    /// let builder = rayon_core::ThreadPoolBuilder::new().num_threads(1).stack_size(1 << 20);
    /// builder.build_scoped(|thread| assert_eq!(thread.stack_size(), Some(1 << 20)), |_| ()).unwrap();
    /// ```
    pub fn stack_size(&self) -> Option<usize> {
        self.stack_size
    }

    /// Works for the pool until that has ended. Blocks that long.
    ///
    /// ```
    /// let builder = rayon_core::ThreadPoolBuilder::new().num_threads(2);
    /// let sum = builder.build_scoped(|thread| thread.run(), |pool| pool.install(|| 1 + 1));
    /// assert_eq!(sum.unwrap(), 2);
    /// ```
    pub fn run(self) {
        self.worker.run();
    }

    /// A thread of the standard library with that name and stack.
    pub(crate) fn os_thread(&self) -> thread::Builder {
        let mut builder = thread::Builder::new();
        if let Some(name) = &self.name {
            builder = builder.name(name.clone());
        }
        if let Some(size) = self.stack_size {
            builder = builder.stack_size(size);
        }
        builder
    }
}

impl fmt::Debug for ThreadBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ThreadBuilder")
            .field("index", &self.index())
            .field("name", &self.name)
            .field("stack_size", &self.stack_size)
            .finish_non_exhaustive()
    }
}

/// Which compensation threads a pool has, by who starts its threads.
pub(super) trait StandInOf {
    const STAND_IN: StandIn;
}

impl StandInOf for DefaultSpawn {
    const STAND_IN: StandIn = StandIn::ForJobs;
}

impl<F> StandInOf for CustomSpawn<F> {
    // What the user's threads are set up with, others would lack.
    const STAND_IN: StandIn = StandIn::Nobody;
}

/// Starts threads. In no public module, so that nobody can name or implement it.
#[allow(private_bounds)]
pub trait ThreadSpawn: StandInOf {
    /// Has a thread run the worker.
    ///
    /// # Errors
    /// No thread can be started.
    fn spawn(&mut self, thread: ThreadBuilder) -> io::Result<()>;
}

/// Starts threads of the standard library.
#[derive(Debug, Default)]
pub struct DefaultSpawn;

impl ThreadSpawn for DefaultSpawn {
    fn spawn(&mut self, thread: ThreadBuilder) -> io::Result<()> {
        thread.os_thread().spawn(|| thread.run())?;
        Ok(())
    }
}

/// Has a closure start threads.
#[derive(Debug)]
pub struct CustomSpawn<F>(F);

impl<F> CustomSpawn<F> {
    pub(super) fn new(spawn: F) -> CustomSpawn<F> {
        CustomSpawn(spawn)
    }
}

impl<F> ThreadSpawn for CustomSpawn<F>
where
    F: FnMut(ThreadBuilder) -> io::Result<()>,
{
    fn spawn(&mut self, thread: ThreadBuilder) -> io::Result<()> {
        (self.0)(thread)
    }
}
