//! The handle through which a program holds an arena.

use std::fmt;
use std::sync::Arc;

use crate::machine::os;
use crate::pool::error::{self, Reason};
use crate::pool::{BuildError, PoolBuilder};
use crate::workers::arena::Arena;
use crate::workers::arena::core::Core;
use crate::workers::settings::{SPARES_MAX, WORKERS_LIMIT};

impl Arena {
    /// Creates an arena of that many threads, with the defaults of [`Arena::builder`] for the rest.
    ///
    /// # Errors
    /// As [`ArenaBuilder::build`].
    ///
    /// ```
    /// assert_eq!(roving::Arena::new(2).unwrap().threads(), 2);
    /// let error = roving::Arena::new(0).unwrap_err();
    /// assert_eq!(error.to_string(), "an arena of 0 threads cannot be started: say 1 to 768");
    /// ```
    #[inline]
    pub fn new(threads: usize) -> Result<Arena, BuildError> {
        Arena::builder().threads(threads).build()
    }

    /// Returns a builder with the defaults.
    ///
    /// ```
    /// let arena = roving::Arena::builder().threads(1).name("shared").build().unwrap();
    /// assert_eq!(arena.threads(), 1);
    /// ```
    #[inline]
    pub fn builder() -> ArenaBuilder {
        ArenaBuilder {
            threads: None,
            name: "arena".to_owned(),
            stack_size: None,
        }
    }

    /// Returns how many threads are at work at a time. Threads that wait in a frame do not count
    /// while another thread has taken their place.
    ///
    /// ```
    /// assert_eq!(roving::Arena::new(3).unwrap().threads(), 3);
    /// ```
    pub fn threads(&self) -> usize {
        self.core.threads
    }

    /// Returns a builder for a pool that is a share of this arena; the same as
    /// [`Pool::builder().arena(&arena)`](PoolBuilder::arena). Building it takes some tens of
    /// microseconds: no thread is started.
    ///
    /// ```
    /// let arena = roving::Arena::new(2).unwrap();
    /// let pools: Vec<_> = (0..10).map(|_| arena.pool().build().unwrap()).collect();
    /// let squares = pools.iter().enumerate().map(|(n, pool)| pool.install(|| n * n));
    /// assert_eq!(squares.sum::<usize>(), 285);
    /// ```
    #[inline]
    pub fn pool(&self) -> PoolBuilder {
        crate::Pool::builder().arena(self)
    }
}

impl fmt::Debug for Arena {
    #[inline]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Arena")
            .field("threads", &self.threads())
            .field("name", &self.core.name())
            .finish_non_exhaustive()
    }
}

/// Configures and builds an [`Arena`].
///
/// ```
/// let arena = roving::Arena::builder().threads(2).name("cores").stack_size(1 << 20).build()?;
/// let pool = arena.pool().build()?;
/// let name = pool.install(|| std::thread::current().name().map(str::to_owned));
/// assert!(name.unwrap().starts_with("cores-"));
/// # Ok::<(), roving::BuildError>(())
/// ```
#[derive(Debug)]
#[must_use = "a builder does nothing until it is built"]
pub struct ArenaBuilder {
    threads: Option<usize>,
    name: String,
    stack_size: Option<usize>,
}

impl ArenaBuilder {
    /// Sets the number of threads, 1 to 768. By default one for each core that the process may use.
    ///
    /// ```
    /// let arena = roving::Arena::builder().threads(3).build()?;
    /// assert_eq!(arena.threads(), 3);
    /// # Ok::<(), roving::BuildError>(())
    /// ```
    pub fn threads(mut self, threads: usize) -> ArenaBuilder {
        self.threads = Some(threads);
        self
    }

    /// Sets the prefix of the thread names, which get `-NUMBER`; "arena" by default.
    ///
    /// ```
    /// let arena = roving::Arena::builder().threads(1).name("shared").build()?;
    /// let name = arena.pool().build()?.install(|| std::thread::current().name().map(str::to_owned));
    /// assert!(name.unwrap().starts_with("shared-"));
    /// # Ok::<(), roving::BuildError>(())
    /// ```
    pub fn name(mut self, name: impl Into<String>) -> ArenaBuilder {
        self.name = name.into();
        self
    }

    /// Sets the size of each thread's native stack in bytes; by default that of `std::thread`.
    ///
    /// ```
    /// fn depth(n: u32) -> u32 {
    ///     if n == 0 { 0 } else { roving::join(|| depth(n - 1) + 1, || ()).0 }
    /// }
    ///
    /// let arena = roving::Arena::builder().threads(1).stack_size(16 << 20).build()?;
    /// assert_eq!(arena.pool().build()?.install(|| depth(5_000)), 5_000);
    /// # Ok::<(), roving::BuildError>(())
    /// ```
    pub fn stack_size(mut self, bytes: usize) -> ArenaBuilder {
        self.stack_size = Some(bytes);
        self
    }

    /// Starts the threads, which sleep until a pool has work.
    ///
    /// # Errors
    /// A value out of its range, or a thread that cannot be started; those already started are
    /// ended again.
    ///
    /// ```
    /// let error = roving::Arena::builder().threads(0).build().unwrap_err();
    /// assert_eq!(error.to_string(), "an arena of 0 threads cannot be started: say 1 to 768");
    /// ```
    #[inline]
    pub fn build(self) -> Result<Arena, BuildError> {
        error::check_name(&self.name)?;
        let threads = self.threads.unwrap_or_else(os::processors);
        if threads == 0 || threads > WORKERS_LIMIT {
            return Err(Reason::ArenaThreads(threads).into());
        }
        let core = Core::new(threads, SPARES_MAX, self.name, self.stack_size);
        let arena = Arena {
            core: Arc::new(core),
        };
        for _ in 0..threads {
            if let Some(start) = arena.core.board.start_one() {
                // An error drops the arena, which ends the threads that were started.
                arena
                    .core
                    .start(start)
                    .map_err(|error| Reason::ArenaThread(Arc::new(error)))?;
            }
        }
        Ok(arena)
    }
}
