//! How a pool is to be.

use std::any::Any;
use std::fmt;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use super::{Pool, WorkerThread};
use crate::arena::{Arena, Share};
use crate::os;
use crate::priority::Priority;
use crate::sleep::spares::StandIn;
use crate::stack::state::WORKERS_MAX;
use crate::stats::Keep;
use crate::steal::amount::{AMOUNT_MAX, Amount};
use crate::task::SpawnOrder;
use crate::trace::exit::{Debt, wishes};

/// Called with the index of a worker.
pub(crate) type IndexHandler = Box<dyn Fn(usize) + Send + Sync>;
/// Called with what a detached task panicked with.
pub(crate) type PanicHandler = Box<dyn Fn(Box<dyn Any + Send>) + Send + Sync>;

/// What a pool needs to know; made by [`PoolBuilder::build`], then never changed.
pub(crate) struct Settings {
    pub(crate) workers: usize,
    /// How many of them work at first.
    pub(crate) size: usize,
    pub(crate) follow_quota: bool,
    pub(crate) arena: Option<Arena>,
    pub(crate) priority: Priority,
    pub(crate) spares: usize,
    pub(crate) stand_in: StandIn,
    pub(crate) cores: usize,
    pub(crate) slots: usize,
    pub(crate) patience: usize,
    pub(crate) quick_rounds: usize,
    pub(crate) amount: Amount,
    pub(crate) spawn_order: SpawnOrder,
    pub(crate) migrate: bool,
    pub(crate) profile: bool,
    pub(crate) debt: Debt,
    pub(crate) in_place: bool,
    /// The building thread is worker 0.
    pub(crate) adopts: bool,
    /// The threads of the workers are the user's, who also joins them.
    pub(crate) own_threads: bool,
    pub(crate) name: String,
    pub(crate) stack_size: Option<usize>,
    pub(crate) processors: Vec<usize>,
    pub(crate) on_start: Option<IndexHandler>,
    pub(crate) on_exit: Option<IndexHandler>,
    pub(crate) panic_handler: Option<PanicHandler>,
}

impl Settings {
    pub(crate) fn thread_name(&self, index: usize) -> String {
        format!("{}-{index}", self.name)
    }

    pub(crate) fn keep(&self) -> Keep {
        match (self.debt.has_trace(), self.profile || self.debt.is_any()) {
            (true, _) => Keep::Trace,
            (false, true) => Keep::Times,
            (false, false) => Keep::Nothing,
        }
    }

    pub(crate) fn is_pinned(&self) -> bool {
        !self.processors.is_empty()
    }

    /// What a pool without threads of its own has instead.
    pub(crate) fn take_share(&mut self) -> Option<Share> {
        let arena = self.arena.take()?;
        Some(Share::new(arena.core(), self.priority))
    }

    /// The processor that worker `index` is pinned to. Spare threads are not pinned.
    pub(crate) fn processor(&self, index: usize) -> Option<usize> {
        let processors = &self.processors;
        (index < self.workers && !processors.is_empty())
            .then(|| processors[index % processors.len()])
    }
}

/// Slots of one task stack. What goes beyond runs in place. Miri follows each of them.
const SLOTS: usize = if cfg!(miri) { 1 << 5 } else { 1 << 13 };
/// Most spare threads of a pool.
pub(crate) const SPARES_MAX: usize = 256;
/// Fruitless rounds before a worker parks: some 20 µs, a few times what a wake-up costs.
const PATIENCE: usize = 192;
/// Rounds before a worker without work first gives its core to whoever else wants it.
const QUICK_ROUNDS: usize = 24;
/// The same two where there are fewer cores than workers: who has nothing to do makes room at once.
const PATIENCE_CROWDED: usize = 48;
const QUICK_ROUNDS_CROWDED: usize = 8;

/// Configures and builds a [`Pool`].
///
/// ```
/// use roving::{Amount, Pool};
///
/// let pool = Pool::builder()
///     .workers(2)
///     .steal(Amount::Half)
///     .name("search")
///     .on_start(|index| println!("worker {index} is up"))
///     .build()?;
/// assert_eq!(pool.workers(), 2);
/// # Ok::<(), roving::BuildError>(())
/// ```
#[must_use = "a builder does nothing until it is built"]
pub struct PoolBuilder {
    workers: Option<usize>,
    workers_max: Option<usize>,
    follow_quota: bool,
    arena: Option<Arena>,
    priority: Priority,
    amount: Amount,
    spawn_order: SpawnOrder,
    migrate: bool,
    profile: bool,
    debt: Debt,
    in_place: bool,
    adopts: bool,
    stand_in: StandIn,
    pin: bool,
    name: String,
    stack_size: Option<usize>,
    on_start: Option<IndexHandler>,
    on_exit: Option<IndexHandler>,
    panic_handler: Option<PanicHandler>,
}

impl PoolBuilder {
    pub(super) fn new() -> PoolBuilder {
        PoolBuilder {
            workers: None,
            workers_max: None,
            follow_quota: false,
            arena: None,
            priority: Priority::Normal,
            amount: Amount::One,
            spawn_order: SpawnOrder::default(),
            migrate: false,
            profile: false,
            debt: Debt::default(),
            in_place: false,
            adopts: false,
            stand_in: StandIn::ForAll,
            pin: false,
            name: "roving".to_owned(),
            stack_size: None,
            on_start: None,
            on_exit: None,
            panic_handler: None,
        }
    }

    /// Number of workers, 1 to 768. By default one for each core that the process may use: the
    /// affinity mask and the cgroup quota count. In a share of an arena: how many of its threads can
    /// work for this pool at a time; by default all.
    pub fn workers(mut self, workers: usize) -> PoolBuilder {
        self.workers = Some(workers);
        self
    }

    /// To how many workers the pool can be [resized](Pool::resize), 1 to 768. By default what it starts
    /// with. Those that do not work have threads all the same, which sleep.
    ///
    /// ```
    /// let pool = roving::Pool::builder().workers(1).workers_max(2).build().unwrap();
    /// assert_eq!((pool.workers(), pool.workers_max()), (1, 2));
    /// ```
    pub fn workers_max(mut self, workers: usize) -> PoolBuilder {
        self.workers_max = Some(workers);
        self
    }

    /// Resizes the pool by itself when the process may use more or fewer processors than before, as
    /// [`Pool::refresh_quota`] does when it is called. Looked at when work comes from outside, at
    /// most once a second; there is no thread for it. Off by default. Without [`Self::workers`] and
    /// [`Self::workers_max`] the pool can grow to as many workers as the machine has processors.
    ///
    /// ```
    /// let pool = roving::Pool::builder().follow_quota(true).build().unwrap();
    /// assert!(pool.workers() <= pool.workers_max());
    /// ```
    pub fn follow_quota(mut self, follow: bool) -> PoolBuilder {
        self.follow_quota = follow;
        self
    }

    /// Makes the pool a share of an arena: it has no threads of its own, but the arena's come when it has
    /// work. See [`Arena`].
    ///
    /// ```
    /// use roving::{Arena, Pool};
    ///
    /// let arena = Arena::new(2)?;
    /// let pool = Pool::builder().arena(&arena).workers(1).build()?;
    /// assert_eq!(pool.install(|| 6 * 7), 42);
    /// # Ok::<(), roving::BuildError>(())
    /// ```
    pub fn arena(mut self, arena: &Arena) -> PoolBuilder {
        self.arena = Some(arena.clone());
        self
    }

    /// The pool's class among the shares of its arena; [`Priority::Normal`] by default. Without an arena
    /// it says nothing.
    ///
    /// ```
    /// use roving::{Arena, Priority};
    ///
    /// let arena = Arena::new(2)?;
    /// let background = arena.pool().priority(Priority::Low).build()?;
    /// assert_eq!(background.install(|| 6 * 7), 42);
    /// # Ok::<(), roving::BuildError>(())
    /// ```
    pub fn priority(mut self, priority: Priority) -> PoolBuilder {
        self.priority = priority;
        self
    }

    /// How many tasks one theft takes; [`Amount::One`] by default.
    pub fn steal(mut self, amount: Amount) -> PoolBuilder {
        self.amount = amount;
        self
    }

    /// How [`crate::task::branch`] goes on; [`SpawnOrder::Adaptive`] by default.
    pub fn spawn_order(mut self, order: SpawnOrder) -> PoolBuilder {
        self.spawn_order = order;
        self
    }

    /// Hands the parent to another worker at each fork of an async task. For tests: it makes rare
    /// orders of events frequent, and everything slow.
    #[doc(hidden)]
    pub fn migrate_at_each_fork(mut self) -> PoolBuilder {
        self.migrate = true;
        self
    }

    /// Prefix of the thread names, which get `-INDEX`; "roving" by default. Linux shows the first
    /// 15 bytes.
    pub fn name(mut self, name: impl Into<String>) -> PoolBuilder {
        self.name = name.into();
        self
    }

    /// Native stack of each worker in bytes; by default what `std::thread` gives. A worker's stack
    /// gets no deeper than the program's own nesting of `join`, `scope` and calls.
    pub fn stack_size(mut self, bytes: usize) -> PoolBuilder {
        self.stack_size = Some(bytes);
        self
    }

    /// Keeps each worker on one processor, in turn. Linux only; ignored elsewhere. Off by default.
    pub fn pin(mut self, pin: bool) -> PoolBuilder {
        self.pin = pin;
        self
    }

    /// Keeps times and counts tasks for [`Pool::profile`]. Off by default; every push is counted
    /// when on, which costs a nanosecond or two a task.
    pub fn profile(mut self, profile: bool) -> PoolBuilder {
        self.profile = profile;
        self
    }

    /// Prints the profile to standard error when the pool ends, or the program. Implies
    /// [`Self::profile`]. Also to be had without a change of the program: `ROVING_PROFILE=1`; see
    /// [`crate::trace`].
    pub fn report(mut self, report: bool) -> PoolBuilder {
        self.debt.report = report;
        self
    }

    /// Writes a trace to `file` when the pool ends, or the program. Implies [`Self::profile`]. For all
    /// pools of a program together: `ROVING_TRACE=FILE`; see [`crate::trace`].
    pub fn trace(mut self, file: impl Into<PathBuf>) -> PoolBuilder {
        self.debt.trace = Some(file.into());
        self
    }

    /// Called on the thread of each worker with its index, before it works. What it panics with goes to
    /// the panic handler.
    pub fn on_start(mut self, callback: impl Fn(usize) + Send + Sync + 'static) -> PoolBuilder {
        self.on_start = Some(Box::new(callback));
        self
    }

    /// Called on the thread of each worker with its index, after its last task.
    pub fn on_exit(mut self, callback: impl Fn(usize) + Send + Sync + 'static) -> PoolBuilder {
        self.on_exit = Some(Box::new(callback));
        self
    }

    /// Called with what a detached task ([`crate::spawn`]) panicked with. Without a handler the
    /// panic hook's message is all there is; the worker goes on either way.
    pub fn panic_handler(
        mut self,
        handler: impl Fn(Box<dyn Any + Send>) + Send + Sync + 'static,
    ) -> PoolBuilder {
        self.panic_handler = Some(Box::new(handler));
        self
    }

    /// One worker and no thread: whoever calls [`Pool::install`] is the worker for that long.
    /// Good for instruction counts, debuggers, and places where no thread can be started. Calls
    /// from several threads take turns. Overrides [`Self::workers`].
    pub fn use_current_thread(mut self) -> PoolBuilder {
        self.in_place = true;
        self
    }

    /// The calling thread becomes worker 0 of the pool, for the rest of its life; the others get
    /// threads. It has no loop of its own: it runs tasks when it waits in a `join` or `scope`. The
    /// callbacks are not called for it, and the pool's memory is never freed.
    ///
    /// ```
    /// std::thread::spawn(|| {
    ///     let pool = roving::Pool::builder().workers(2).adopt_current_thread().build().unwrap();
    ///     assert_eq!(roving::current_worker(), Some(0));
    ///     assert_eq!(pool.install(|| roving::join(|| 1, || 2)), (1, 2));
    /// });
    /// ```
    pub fn adopt_current_thread(mut self) -> PoolBuilder {
        self.adopts = true;
        self
    }

    /// What is done in the place of a worker that is parked in a wait.
    #[doc(hidden)]
    pub fn stand_in(mut self, stand_in: StandIn) -> PoolBuilder {
        self.stand_in = stand_in;
        self
    }

    /// Starts the pool.
    ///
    /// # Errors
    /// A value out of its range, or a thread that cannot be started; those already started are
    /// ended again.
    pub fn build(self) -> Result<Pool, BuildError> {
        Pool::start(self.settings()?)
    }

    /// As [`Self::build`], with threads that `start` provides: it is called for each worker, and has
    /// some thread call [`WorkerThread::run`], which returns when the pool has ended. Dropping the
    /// pool does not wait for these threads: who started them joins them. Names and stack sizes are
    /// the caller's business too.
    ///
    /// # Errors
    /// As [`Self::build`], and what `start` returns.
    ///
    /// ```
    /// let mut threads = Vec::new();
    /// let pool = roving::Pool::builder().workers(2).build_with(|worker| {
    ///     threads.push(std::thread::Builder::new().spawn(move || worker.run())?);
    ///     Ok(())
    /// })?;
    /// assert_eq!(pool.install(|| roving::join(|| 1, || 2)), (1, 2));
    /// drop(pool);
    /// threads.into_iter().for_each(|thread| thread.join().unwrap());
    /// # Ok::<(), roving::BuildError>(())
    /// ```
    pub fn build_with<S>(self, mut start: S) -> Result<Pool, BuildError>
    where
        S: FnMut(WorkerThread) -> io::Result<()>,
    {
        let mut settings = self.settings()?;
        if settings.arena.is_some() {
            return Err(Reason::Share("build_with").into());
        }
        settings.own_threads = true;
        Pool::start_with(settings, |registry, index| {
            start(WorkerThread::promised(registry, index))
        })
    }

    /// Starts the pool as the global one, which [`crate::join`] and the like use outside of pools.
    ///
    /// # Errors
    /// As [`Self::build`], and when the global pool has been started already.
    pub fn build_global(self) -> Result<(), BuildError> {
        super::global::set(self)
    }

    fn settings(self) -> Result<Settings, BuildError> {
        // Read before any thread is pinned, because pinning changes it.
        let allowed = os::allowed_processors();
        // To ask the system for the quota too takes a dozen calls: only if it is to decide.
        let cores = match (self.workers, allowed.len()) {
            (None, _) | (_, 0) => std::thread::available_parallelism().map_or(1, |n| n.get()),
            (Some(_), allowed) => allowed,
        };
        let processors = match self.pin {
            true => allowed,
            false => Vec::new(),
        };
        self.check_share()?;
        let threads = self.arena.as_ref().map(Arena::threads);
        let size = match self.in_place {
            true => 1,
            false => self.workers.or(threads).unwrap_or(cores),
        };
        let workers = self.most(size, cores);
        for count in [size, workers] {
            if count == 0 || count > WORKERS_LIMIT {
                return Err(BuildError(Reason::Workers(count)));
            }
        }
        if size > workers {
            let most = workers;
            return Err(BuildError(Reason::Size {
                workers: size,
                most,
            }));
        }
        if !self.amount.is_valid() {
            return Err(BuildError(Reason::Amount(self.amount)));
        }
        let (patience, quick_rounds) = match workers > cores {
            true => (PATIENCE_CROWDED, QUICK_ROUNDS_CROWDED),
            false => (PATIENCE, QUICK_ROUNDS),
        };
        let wishes = wishes();
        let debt = Debt {
            report: self.debt.report || wishes.report,
            trace: self.debt.trace,
            shared: wishes.trace.is_some(),
            live: wishes.top.is_some(),
        };
        Ok(Settings {
            workers,
            size,
            follow_quota: self.follow_quota,
            arena: self.arena,
            priority: self.priority,
            spares: SPARES_MAX,
            stand_in: self.stand_in,
            cores,
            slots: SLOTS,
            patience,
            quick_rounds,
            amount: self.amount,
            spawn_order: self.spawn_order,
            migrate: self.migrate,
            profile: self.profile,
            debt,
            in_place: self.in_place,
            adopts: self.adopts,
            own_threads: false,
            name: self.name,
            stack_size: self.stack_size,
            processors,
            on_start: self.on_start,
            on_exit: self.on_exit,
            panic_handler: self.panic_handler,
        })
    }
}

impl PoolBuilder {
    /// How many workers the pool can have, if it starts with `size`.
    fn most(&self, size: usize, cores: usize) -> usize {
        if self.in_place {
            return 1;
        }
        let grows = self.follow_quota && self.workers.is_none() && self.arena.is_none();
        let machine = match grows {
            true => os::online().unwrap_or(cores).min(WORKERS_LIMIT),
            false => size,
        };
        self.workers_max.unwrap_or(machine.max(size))
    }

    /// What a share of an arena cannot have.
    fn check_share(&self) -> Result<(), BuildError> {
        let Some(arena) = &self.arena else {
            return Ok(());
        };
        if arena.core().is_left_behind() {
            return Err(Reason::LeftBehind(arena.core().name().to_owned()).into());
        }
        let refused = [
            (self.pin, "pin"),
            (self.stack_size.is_some(), "stack_size"),
            (self.in_place, "use_current_thread"),
            (self.adopts, "adopt_current_thread"),
            (self.stand_in != StandIn::ForAll, "stand_in"),
        ];
        match refused.into_iter().find(|(is_set, _)| *is_set) {
            Some((_, what)) => Err(Reason::Share(what).into()),
            None => Ok(()),
        }
    }
}

/// Most workers of a pool.
pub(crate) const WORKERS_LIMIT: usize = WORKERS_MAX - SPARES_MAX;

impl fmt::Debug for PoolBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PoolBuilder")
            .field("workers", &self.workers)
            .field("steal", &self.amount)
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

/// A pool could not be built. Says which value is wrong, and what would do.
///
/// ```
/// let error = roving::Pool::new(0).unwrap_err();
/// assert!(error.to_string().starts_with("0 workers"));
/// ```
#[derive(Clone, Debug)]
pub struct BuildError(Reason);

#[derive(Clone, Debug)]
pub(crate) enum Reason {
    Workers(usize),
    Size { workers: usize, most: usize },
    ArenaThreads(usize),
    ArenaThread(Arc<io::Error>),
    Share(&'static str),
    LeftBehind(String),
    WorkersVariable(String),
    Amount(Amount),
    Thread { index: usize, error: Arc<io::Error> },
    IsWorker,
    GlobalExists,
}

impl From<Reason> for BuildError {
    fn from(reason: Reason) -> BuildError {
        BuildError(reason)
    }
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Reason::Workers(workers) => {
                write!(
                    f,
                    "{workers} workers cannot be started: say 1 to {WORKERS_LIMIT}"
                )
            }
            Reason::Size { workers, most } => write!(
                f,
                "{workers} workers are out of range: say 1 to {most}, or build the pool with a higher \
                 workers_max"
            ),
            Reason::ArenaThreads(threads) => {
                write!(
                    f,
                    "an arena of {threads} threads cannot be started: say 1 to {WORKERS_LIMIT}"
                )
            }
            Reason::ArenaThread(error) => write!(
                f,
                "a thread of the arena could not be started ({error}): ask for fewer threads, a smaller \
                 stack_size, or a higher limit on threads"
            ),
            Reason::Share(what) => write!(
                f,
                "{what} cannot be had in a share of an arena, whose threads are the arena's: leave it \
                 out, or build the pool without an arena"
            ),
            Reason::LeftBehind(name) => write!(
                f,
                "the arena `{name}` has no threads in this process, which was forked after the arena was \
                 built: build one in the child"
            ),
            Reason::WorkersVariable(value) => write!(
                f,
                "ROVING_WORKERS={value:?} is no number of workers: say 1 to {WORKERS_LIMIT}, \
                 or unset it"
            ),
            Reason::Amount(amount) => {
                write!(
                    f,
                    "steal amount {amount} is out of range: D is 1 to {AMOUNT_MAX}"
                )
            }
            Reason::Thread { index, error } => write!(
                f,
                "the thread of worker {index} could not be started ({error}): ask for fewer \
                 workers, a smaller stack_size, or a higher limit on threads"
            ),
            Reason::IsWorker => f.write_str(
                "the calling thread is a worker already and cannot be adopted: build the pool on \
                 another thread, or without adopt_current_thread",
            ),
            Reason::GlobalExists => f.write_str(
                "the global pool has been started already: call build_global before the first \
                 join, scope or spawn outside of a pool",
            ),
        }
    }
}

impl std::error::Error for BuildError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.0 {
            Reason::Thread { error, .. } | Reason::ArenaThread(error) => Some(&**error),
            _ => None,
        }
    }
}
