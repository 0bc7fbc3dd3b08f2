//! The builder of a pool, which checks its settings.

mod counts;
mod embed;
mod policy;
mod replay;
#[cfg(feature = "diagnostics")]
mod reports;

use std::any::Any;
use std::fmt;

use super::Pool;
use super::error::{self, BuildError, Reason};
use super::making;
use crate::machine::apart::Apart;
use crate::machine::os;
use crate::observe::diagnostics;
use crate::replay::{Schedule, Wish};
use crate::workers::arena::Landlord;
use crate::workers::frames::order::SpawnOrder;
use crate::workers::job_limit::Places;
use crate::workers::pins::Pins;
use crate::workers::pool_kind::{Crewed, Given, PoolKind};
use crate::workers::priority::Priority;
use crate::workers::registry::Plan;
use crate::workers::settings::{Debt, IndexHandler, PanicHandler, SPARES_MAX, Settings};
use crate::workers::sleep::spares::StandIn;
use crate::workers::steal::amount::Amount;

/// Slots of one task stack. What goes beyond runs in place. Miri follows each of them.
const SLOTS: usize = if cfg!(miri) { 1 << 5 } else { 1 << 13 };
/// Makes the kind of a deterministic pool with so many workers.
type Replays = fn(Schedule, usize) -> Box<dyn PoolKind>;

impl Pool {
    /// Creates a pool of `workers` workers, with the defaults of [`Pool::builder`] for the rest.
    ///
    /// # Errors
    /// As [`PoolBuilder::build`].
    ///
    /// ```
    /// assert!(roving::Pool::new(2).is_ok());
    /// assert!(roving::Pool::new(0).is_err());
    /// ```
    #[inline]
    pub fn new(workers: usize) -> Result<Pool, BuildError> {
        Pool::builder().workers(workers).build()
    }

    /// Returns a builder with the defaults.
    ///
    /// ```
    /// let pool = roving::Pool::builder().workers(1).build().unwrap();
    /// assert_eq!(pool.workers(), 1);
    /// ```
    pub fn builder() -> PoolBuilder {
        PoolBuilder::new()
    }
}

/// Where workers are pinned, of the processors that there are and the number of workers.
type Pinning = fn(Vec<usize>, usize) -> Pins;

/// Configures and builds a [`Pool`].
///
/// ```
/// use roving::Pool;
///
/// let pool = Pool::builder()
///     .workers(2)
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
    arena: Option<Box<dyn Landlord>>,
    priority: Priority,
    workers_least: Option<usize>,
    cores: Option<usize>,
    amount: Amount,
    spawn_order: SpawnOrder,
    migrate: bool,
    slots: usize,
    profile: bool,
    debt: Debt,
    in_place: Option<fn() -> Box<dyn PoolKind>>,
    pub(crate) schedule: Wish,
    /// How it is followed.
    replayed: Option<Replays>,
    adopts: Option<fn(bool) -> Box<dyn PoolKind>>,
    stand_in: StandIn,
    pin: Option<Pinning>,
    name: String,
    stack_size: Option<usize>,
    on_start: Option<IndexHandler>,
    on_exit: Option<IndexHandler>,
    panic_handler: Option<PanicHandler>,
    queue_limit: Option<usize>,
}

impl PoolBuilder {
    pub(super) fn new() -> PoolBuilder {
        PoolBuilder {
            workers: None,
            workers_max: None,
            follow_quota: false,
            arena: None,
            priority: Priority::Normal,
            workers_least: None,
            cores: None,
            amount: Amount::One,
            spawn_order: SpawnOrder::default(),
            migrate: false,
            slots: SLOTS,
            profile: false,
            debt: Debt::default(),
            in_place: None,
            schedule: Wish::default(),
            replayed: None,
            adopts: None,
            stand_in: StandIn::ForAll,
            pin: None,
            name: "roving".to_owned(),
            stack_size: None,
            on_start: None,
            on_exit: None,
            panic_handler: None,
            queue_limit: None,
        }
    }

    /// Sets the number of workers, 1 to 768. By default one for each core that the process may use:
    /// the affinity mask and the cgroup quota count. In a share of an arena: how many of its
    /// threads can work for this pool at a time; by default all.
    ///
    /// ```
    /// let pool = roving::Pool::builder().workers(3).build().unwrap();
    /// assert_eq!(pool.workers(), 3);
    /// ```
    #[inline]
    pub fn workers(mut self, workers: usize) -> PoolBuilder {
        self.workers = Some(workers);
        self
    }

    /// Accepts fewer workers, down to this many, when no more threads can be started or there is no
    /// memory for more. Without this, all of them start or [`Self::build`] fails. No effect on
    /// pools that start no threads ([`Self::caller_runs`], [`Self::build_with`]) or adopt
    /// one.
    ///
    /// ```
    /// let pool = roving::Pool::builder().workers(4).workers_at_least(1).build()?;
    /// assert!((1..=4).contains(&pool.workers()));
    /// # Ok::<(), roving::BuildError>(())
    /// ```
    pub fn workers_at_least(mut self, workers: usize) -> PoolBuilder {
        self.workers_least = Some(workers);
        self
    }

    /// Sets how many cores the pool counts on, in place of those that the process may use: it has
    /// so many workers, unless their number is set. Where there are more workers than these, or
    /// than the process may use, they park sooner when they are idle. For tests.
    ///
    /// ```
    /// let pool = roving::Pool::builder().workers(16).assume_cores(16).build().unwrap();
    /// assert_eq!(pool.install(|| roving::join(|| 1, || 2)), (1, 2));
    /// ```
    #[inline]
    pub fn assume_cores(mut self, cores: usize) -> PoolBuilder {
        self.cores = Some(cores.max(1));
        self
    }

    /// Sets the prefix of the thread names, which get `-INDEX`; "roving" by default. Linux shows
    /// the first 15 bytes.
    ///
    /// ```
    /// let pool = roving::Pool::builder().workers(1).name("search").build().unwrap();
    /// let name = pool.install(|| std::thread::current().name().map(str::to_owned));
    /// assert_eq!(name.unwrap(), "search-0");
    /// ```
    pub fn name(mut self, name: impl Into<String>) -> PoolBuilder {
        self.name = name.into();
        self
    }

    /// Sets the size of each worker's native stack in bytes; by default that of `std::thread`. A
    /// worker's stack gets no deeper than the program's own nesting of `join`, `scope` and calls. A
    /// stack that is full ends the process, with a line that names this limit (on Linux).
    ///
    /// ```
    /// let pool = roving::Pool::builder().workers(1).stack_size(32 << 20).build().unwrap();
    /// pool.install(|| assert_eq!(std::hint::black_box(&[1_u8; 4 << 20])[0], 1));
    /// ```
    pub fn stack_size(mut self, bytes: usize) -> PoolBuilder {
        self.stack_size = Some(bytes);
        self
    }

    /// Pins each worker to one processor, one after the other. Linux only; ignored elsewhere. Off
    /// by default.
    ///
    /// Where some of these processors share a last-level cache and others do not, a thief looks for
    /// work at those near it first, half of the times; which ones, the system is asked when the
    /// pool is built, some 20 µs for each processor.
    ///
    /// ```
    /// let pool = roving::Pool::builder().workers(1).pin(true).build().unwrap();
    /// assert_eq!(pool.install(|| 6 * 7), 42);
    /// ```
    pub fn pin(mut self, pin: bool) -> PoolBuilder {
        self.pin = pin.then_some(Pins::of_machine);
        self
    }

    /// Keeps times and counts tasks for [`Pool::profile`]. Off by default; every push is counted
    /// when on, which costs a nanosecond or two a task.
    ///
    /// ```
    /// let pool = roving::Pool::builder().workers(1).profile(true).build().unwrap();
    /// pool.install(|| roving::join(|| (), || ()));
    /// assert_eq!(pool.profile().total().counters.tasks, 1);
    /// ```
    pub fn profile(mut self, profile: bool) -> PoolBuilder {
        self.profile = profile;
        self
    }

    /// Sets a callback for the start of each worker's thread, which gets the worker's index. It is
    /// called for compensation threads too, whose indices start at [`Pool::workers_max`]. Its
    /// panics go to the panic handler.
    ///
    /// ```
    /// let (sender, started) = std::sync::mpsc::channel();
    /// let pool = roving::Pool::builder().workers(1).on_start(move |index| sender.send(index).unwrap());
    /// let _pool = pool.build().unwrap();
    /// assert_eq!(started.recv(), Ok(0));
    /// ```
    pub fn on_start(mut self, callback: impl Fn(usize) + Send + Sync + 'static) -> PoolBuilder {
        self.on_start = Some(Box::new(callback));
        self
    }

    /// Sets a callback for the end of each worker's thread, after its last task, which gets the
    /// worker's index. It is called for compensation threads too. Other workers may have ended by
    /// then.
    ///
    /// ```
    /// let (sender, ended) = std::sync::mpsc::channel();
    /// let pool = roving::Pool::builder().workers(1).on_exit(move |index| sender.send(index).unwrap());
    /// drop(pool.build().unwrap());
    /// assert_eq!(ended.recv(), Ok(0));
    /// ```
    pub fn on_exit(mut self, callback: impl Fn(usize) + Send + Sync + 'static) -> PoolBuilder {
        self.on_exit = Some(Box::new(callback));
        self
    }

    /// Sets the handler for panics of detached tasks ([`crate::spawn`]); it gets the payload.
    /// Without a handler only the panic hook prints its message; the worker goes on either way.
    ///
    /// ```
    /// let (sender, caught) = std::sync::mpsc::channel();
    /// let pool = roving::Pool::builder().panic_handler(move |_payload| sender.send("caught").unwrap());
    /// pool.build().unwrap().spawn(|| panic!("nobody waits for this"));
    /// assert_eq!(caught.recv(), Ok("caught"));
    /// ```
    pub fn panic_handler(
        mut self,
        handler: impl Fn(Box<dyn Any + Send>) + Send + Sync + 'static,
    ) -> PoolBuilder {
        self.panic_handler = Some(Box::new(handler));
        self
    }

    /// Starts the pool.
    ///
    /// # Errors
    /// A value out of its range, a thread that cannot be started, or no memory for the task stacks;
    /// the threads already started are ended again.
    ///
    /// ```
    /// let error = roving::Pool::builder().workers(1_000).build().unwrap_err();
    /// println!("{error}"); // says which value is wrong, and which would do
    /// ```
    pub fn build(self) -> Result<Pool, BuildError> {
        Ok(self.build_short()?.0)
    }

    /// Builds the pool, and gives the reason if it has fewer workers than were asked for.
    pub(super) fn build_short(self) -> Result<(Pool, Option<BuildError>), BuildError> {
        let (plan, arena) = self.plan(false)?;
        Pool::start(plan, arena)
    }

    /// The pool's settings and its kind, and who lends it threads. It starts none itself if they
    /// are `given`.
    fn plan(self, given: bool) -> Result<(Plan, Option<Box<dyn Landlord>>), BuildError> {
        // Read before any thread is pinned, because pinning changes it.
        let allowed = os::allowed_processors();
        // To ask the system for the quota too takes a dozen calls: only if it is to decide.
        let cores = match (self.cores, self.workers, allowed.len()) {
            (Some(cores), ..) => cores,
            (None, None, _) | (None, _, 0) => os::processors(),
            (None, Some(_), allowed) => allowed,
        };
        let checked = self.check(cores).inspect_err(|_| making::give_up());
        let (size, workers, workers_least, schedule) = checked?;
        // Those that look for work share the cores that there are, whatever is assumed.
        let shared = match allowed.len() {
            0 => cores,
            allowed => cores.min(allowed),
        };
        let pins = match (self.pin, self.replayed.is_some()) {
            (None, _) => Pins::default(),
            (Some(pins), false) => pins(allowed, workers),
            // A schedule that is drawn is the same on any machine.
            (Some(_), true) => Pins::alone(allowed),
        };
        // Who looks around in a replay does it once: how long is no matter of time.
        let cores = self.replayed.is_none().then_some(shared);
        let kind = self.kind(given, schedule, workers);
        let settings = Apart::new(Box::new(Settings {
            workers,
            size,
            follow_quota: self.follow_quota && self.replayed.is_none(),
            workers_least,
            spares: SPARES_MAX,
            stand_in: self.stand_in,
            slots: self.slots,
            cores,
            amount: self.amount,
            spawn_order: self.spawn_order,
            migrate: self.migrate,
            profile: self.profile,
            debt: diagnostics::owed(self.debt),
            name: self.name,
            stack_size: self.stack_size,
            pins,
            on_start: self.on_start,
            on_exit: self.on_exit,
            panic_handler: self.panic_handler,
            places: self.queue_limit.map(Places::new),
        }));
        Ok(((settings, kind), self.arena))
    }

    /// How many workers work at first, how many there can be, how many have to start, and the
    /// schedule; or what is wrong with the settings. Apart from what takes them to pieces, so that
    /// there is one place at which a builder ends that was refused.
    fn check(&self, cores: usize) -> Result<(usize, usize, usize, Option<Schedule>), BuildError> {
        error::check_name(&self.name)?;
        self.check_share()?;
        let (size, workers, workers_least) = self.counts(cores)?;
        let schedule = self.schedule.grant().map_err(Reason::Seed)?;
        if !self.amount.is_valid() {
            return Err(Reason::Amount(self.amount).into());
        }
        Ok((size, workers, workers_least, schedule))
    }

    #[inline(never)]
    fn kind(&self, given: bool, schedule: Option<Schedule>, workers: usize) -> Box<dyn PoolKind> {
        match (&self.arena, self.in_place, self.adopts) {
            (Some(arena), ..) => arena.share(self.priority),
            (None, in_place, adopts) => match (self.replayed.zip(schedule), in_place, adopts) {
                (Some((replayed, schedule)), ..) => replayed(schedule, workers),
                (None, Some(in_place), _) => in_place(),
                (None, None, Some(adopting)) => adopting(given),
                (None, None, None) if given => Box::new(Given),
                (None, None, None) => Box::new(Crewed),
            },
        }
    }
}

impl fmt::Debug for PoolBuilder {
    #[inline]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PoolBuilder")
            .field("workers", &self.workers)
            .field("steal", &self.amount)
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workers::steal::patience::{Manner, PATIENCE, PATIENCE_CROWDED};

    fn fib(n: u64) -> u64 {
        if n < 2 {
            return n;
        }
        let (a, b) = crate::join(|| fib(n - 1), || fib(n - 2));
        a + b
    }

    /// Also where it is told of more cores: to look around takes one that is there.
    #[test]
    fn workers_that_share_cores_park_sooner() {
        let allowed = os::allowed_processors().len();
        let patience_of = |pool: &Pool| {
            let cores = pool.registry.settings.cores.expect("it is no replay");
            let manner = Manner::of(pool.workers(), cores);
            (manner.limit, manner.yields_on)
        };
        let patience = |workers, cores| {
            let pool = Pool::builder().workers(workers).assume_cores(cores).build();
            patience_of(&pool.unwrap())
        };
        assert_eq!(patience(2, 1), (PATIENCE_CROWDED, Some(1)));
        assert_eq!(patience(1, 1), (PATIENCE, Some(1)));
        if allowed > 0 {
            let more = allowed + 1;
            assert_eq!(patience(more, more), (PATIENCE_CROWDED, Some(allowed)));
            assert_eq!(patience(allowed, more), (PATIENCE, Some(allowed)));
        }
        // Those that work at present count, not those that the pool may have.
        let pool = Pool::builder().workers(2).assume_cores(1).build().unwrap();
        pool.resize(1).unwrap();
        assert_eq!(patience_of(&pool).0, PATIENCE);
        pool.resize(2).unwrap();
        assert_eq!(patience_of(&pool).0, PATIENCE_CROWDED);
    }

    /// As on a machine with two caches; also while the pool is made smaller and larger, when those
    /// near may not be in use.
    #[test]
    fn a_pool_whose_workers_are_near_and_far_finds_all_work() {
        let pinned = |processors, workers| Pins::new(processors, workers, |of| of.to_string());
        let workers = if cfg!(miri) { 3 } else { 8 };
        let mut builder = Pool::builder().workers(workers).assume_cores(workers);
        builder.pin = Some(pinned);
        let pool = builder.build().unwrap();
        for size in [workers, 1, workers / 2, workers] {
            pool.resize(size).unwrap();
            let n = if cfg!(miri) { 7 } else { 18 };
            let found = pool.install(|| crate::join(|| fib(n), || fib(n - 1)));
            assert_eq!(found.0, if cfg!(miri) { 13 } else { 2584 });
        }
        let allowed = os::allowed_processors().len();
        let near = pool.registry.settings.pins.near(0).len();
        let is_split = (2..workers).contains(&allowed);
        assert_eq!(near > 0 && near < workers, is_split, "{near} of {allowed}");
    }
}
