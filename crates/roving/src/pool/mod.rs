//! Pools: start, hand work in, stop.

pub(crate) mod arena;
pub(crate) mod builder;
pub mod embed;
pub(crate) mod error;
pub(crate) mod global;
mod here;
pub(crate) mod home;
#[cfg(feature = "metrics")]
pub mod metrics;
mod muster;
pub mod policy;
mod size;
pub(crate) mod stop;
pub mod testing;
pub(crate) mod threads;

use std::fmt;
use std::io;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;

pub use builder::PoolBuilder;
pub use error::BuildError;
pub use global::{StillUsedError, shutdown_global, shutdown_global_now};
pub use here::PoolRef;
pub use stop::Dropped;
pub use threads::WorkerThread;

use crate::inherit::node;
use crate::machine::latch::{Latch, SendPtr};
use crate::machine::os;
use crate::machine::unwind::with_frame_lent;
use crate::observe::trace;
use crate::observe::watch;
use crate::stats::Profile;
use crate::workers::Worker;
use crate::workers::arena::Arena;
use crate::workers::inject::Kind;
use crate::workers::job::Job;
use crate::workers::parked::Why;
use crate::workers::registry::Registry;
use crate::workers::settings::Settings;
use crate::workers::sleep::Parts;
use crate::workers::sleep::spares::StandIn;
use builder::SPARES_MAX;
use error::Reason;
use home::Home;

/// A set of workers. Dropping it runs the tasks that it still holds and joins its threads;
/// [`Pool::shutdown_now`] drops tasks that no caller waits for instead. One of its own tasks may
/// drop it: the pool ends by itself after that task. But a thread that such a task waits for
/// (another thread, a worker of another pool) must not drop it: it would wait for its own end.
///
/// Threads do not survive `fork`: in a child process a pool that was built before panics with a
/// message that says so, rather than to hang; build one in the child.
///
/// ```
/// let pool = roving::Pool::new(2)?;
/// let (a, b) = pool.install(|| roving::join(|| 6 * 7, || "answer"));
/// assert_eq!((a, b), (42, "answer"));
/// # Ok::<(), roving::BuildError>(())
/// ```
pub struct Pool {
    registry: Arc<Registry>,
    /// Of what arena it is a share. Dropped last: then the arena's threads may end.
    _arena: Option<Arena>,
}

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

    pub(crate) fn registry(&self) -> &Arc<Registry> {
        &self.registry
    }

    /// The pool, and why it has fewer workers than were asked for.
    fn start(settings: Box<Settings>) -> Result<(Pool, Option<BuildError>), BuildError> {
        let is_exact = settings.workers_least == settings.workers || settings.arena.is_some();
        if !is_exact && !settings.in_place && !settings.adopts {
            return muster::start(settings);
        }
        let start = |registry: &Arc<Registry>, index| registry.start_thread(index).map(drop);
        Ok((Pool::start_with(settings, start)?, None))
    }

    /// Has `start` see to a thread for each worker that needs one.
    fn start_with(
        settings: Box<Settings>,
        mut start: impl FnMut(&Arc<Registry>, usize) -> io::Result<()>,
    ) -> Result<Pool, BuildError> {
        let threads = match (settings.in_place, settings.adopts) {
            (true, _) => 0..0,
            (false, adopts) => usize::from(adopts)..settings.workers,
        };
        os::count_forks();
        let arena = settings.arena.clone();
        let registry = Registry::new(settings);
        let registry = registry.map_err(|settings| Reason::Memory(settings.workers))?;
        let pool = Pool {
            registry: Arc::new(registry),
            _arena: arena,
        };
        let registry = &pool.registry;
        enter_books(registry);
        if let Some(share) = &registry.share {
            share.belongs_to(registry);
            registry.put_to_sleep();
            return Ok(pool);
        }
        if registry.settings.adopts && !Worker::adopt(registry) {
            return Err(Reason::IsWorker.into());
        }
        for index in threads {
            // An error drops the pool, which ends the threads that were started.
            start(registry, index).map_err(|error| Reason::Thread {
                index,
                error: Arc::new(error),
            })?;
        }
        Ok(pool)
    }

    /// Returns the number of workers, as of the last [`Pool::resize`]. Compensation threads do not
    /// count.
    ///
    /// ```
    /// assert_eq!(roving::Pool::new(3).unwrap().workers(), 3);
    /// ```
    pub fn workers(&self) -> usize {
        self.registry.working()
    }

    /// Runs `f` on a worker of this pool and returns its result. [`crate::join`], [`crate::scope`]
    /// and the like use this pool inside. Called by a worker of this pool, it just calls `f`;
    /// otherwise the calling thread blocks, and if it is a worker of another pool, a compensation
    /// thread takes its core there. Costs a wake-up of some microseconds.
    ///
    /// Pools may be installed into each other, 256 calls deep: each keeps a thread. An in-place
    /// pool ([`PoolBuilder::use_current_thread`]) has one seat: a call into it from another pool's
    /// worker, on which its own worker waits, waits for ever.
    ///
    /// # Panics
    /// With what `f` panics with; and when more than 256 calls wait for each other.
    ///
    /// ```
    /// let pool = roving::Pool::new(2).unwrap();
    /// assert!(pool.install(roving::current_worker).is_some());
    /// ```
    pub fn install<F, R>(&self, f: F) -> R
    where
        F: FnOnce() -> R + Send,
        R: Send,
    {
        install(&self.registry, f)
    }

    /// Returns what the workers have done since the pool started, or since [`Self::reset_profile`].
    ///
    /// ```
    /// let pool = roving::Pool::new(2).unwrap();
    /// assert!(pool.profile().workers.len() >= 2);
    /// ```
    pub fn profile(&self) -> Profile {
        self.registry.profile()
    }

    /// Resets all figures to zero.
    ///
    /// ```
    /// let pool = roving::Pool::new(2).unwrap();
    /// pool.reset_profile();
    /// assert_eq!(pool.profile().total().counters.leapfrogs, 0);
    /// ```
    pub fn reset_profile(&self) {
        self.registry.reset_profile();
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.end();
    }
}

/// The pool has been made: whoever looks at pools hears of it.
fn enter_books(registry: &Arc<Registry>) {
    trace::exit::enter(registry);
    watch::enter(registry);
}

/// Runs what was spawned into an in-place pool; a frame further out does so when it ends.
fn run_in_place(registry: &Arc<Registry>) {
    if !Worker::is_or_was(registry) {
        Worker::be_in_place(registry, || ());
    }
}

impl fmt::Debug for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pool")
            .field("workers", &self.workers())
            .field("steal", &self.registry.settings.amount)
            .field("name", &self.registry.settings.name)
            .finish_non_exhaustive()
    }
}

/// Calls `f` with the registry of the pool that the calling thread works for, or of the global one.
pub(crate) fn with_current_registry<R>(f: impl FnOnce(&Arc<Registry>) -> R) -> R {
    with_registry_at::<home::Roving, R>(f)
}

/// Calls `f` with the current worker's pool or, on a thread that is no worker, with the pool of
/// selector `H`.
pub(crate) fn with_registry_at<H: Home, R>(f: impl FnOnce(&Arc<Registry>) -> R) -> R {
    Worker::with_current(|worker| match worker {
        Some(worker) if !worker.leaves() => f(worker.registry()),
        _ => f(global::of::<H>().registry()),
    })
}

/// See [`Pool::install`].
pub(crate) fn install<F, R>(registry: &Arc<Registry>, f: F) -> R
where
    F: FnOnce() -> R + Send,
    R: Send,
{
    Worker::with_current(|worker| match worker {
        Some(worker) if Arc::ptr_eq(worker.registry(), registry) => f(),
        _ if registry.settings.in_place => Worker::be_in_place(registry, f),
        _ => Worker::with_waiting(|worker| match worker {
            Some(worker) if registry.share.is_some() => {
                registry.check_has_threads();
                match worker.seat_to_visit(registry) {
                    Some(index) => worker.visit(registry, index, f),
                    None => install_from_outside(registry, Some(worker), f),
                }
            }
            worker => install_from_outside(registry, worker, f),
        }),
    })
}

fn install_from_outside<F, R>(registry: &Arc<Registry>, worker: Option<&Worker>, f: F) -> R
where
    F: FnOnce() -> R + Send,
    R: Send,
{
    registry.check_has_threads();
    let nesting = worker.map_or(0, |worker| worker.nesting().get() + 1);
    assert!(
        nesting <= SPARES_MAX,
        "pools are nested too deep: {nesting} calls of install wait for each other, each on a thread \
         of its own, and at most {SPARES_MAX} can; install less often from inside",
    );
    // All in this frame, and out of it by pointer: what the job itself holds is protected until it
    // returns, which is after it has let this frame go.
    let latch = Latch::new(1);
    let mut f = Some(f);
    let mut outcome = None;
    let context = node::place();
    let there = SendPtr((&raw mut f, &raw mut outcome, &raw const latch, context));
    let job = move || {
        let SendPtr((f, outcome, latch, context)) = { there };
        // SAFETY: the waiting frame keeps all three alive until the latch is down, and does not
        // touch the first two before.
        let f = unsafe { (*f).take() }.expect("a job runs once");
        let result = Worker::with_current(|worker| {
            let worker = worker.expect("jobs are run by workers");
            let before = worker.nesting().replace(nesting);
            // What `f` leaves unjoined belongs to a scope that waits for this call.
            let run = || panic::catch_unwind(AssertUnwindSafe(f));
            // SAFETY: the waiting frame is in that context.
            let result = unsafe { worker.framed_in(context, run) };
            worker.nesting().set(before);
            result
        });
        // SAFETY: the waiting frame keeps outcome and latch alive until the latch is down, and
        // reads the outcome only then.
        unsafe {
            *outcome = Some(result);
            Latch::count_down(latch);
        }
    };
    with_frame_lent(|| {
        // SAFETY: this frame does not return before the job has run, and a job that was injected
        // always runs: a pool that is being dropped runs what it holds.
        let job = unsafe { Job::borrowing(job) };
        let woken = match worker.is_some() && registry.share.is_some() {
            true => registry.inject_urgent(job),
            false => registry.inject(Kind::Awaited, job),
        };
        let spares_run_all = registry.spares.stand_in == StandIn::ForAll;
        if worker.is_some() && !woken && spares_run_all {
            // All may be busy, some with waiting for what this call is part of (a lock that a
            // frame further out holds, say). So it gets a thread of its own. (Elsewhere it gets one
            // when a worker waits, whose index that thread can show.)
            registry.spares.bring_in_one(registry);
        }
        if let (Some(_), Some(share)) = (worker, &registry.share) {
            // And that one a thread.
            share.urge(registry);
        }
        match worker {
            Some(worker) => worker.park_for(Why::Event, || latch.is_over()),
            None => latch.wait(),
        }
    });
    match outcome.expect("the latch is counted down after the outcome") {
        Ok(result) => result,
        Err(payload) => panic::resume_unwind(payload),
    }
}

/// A job was added to a pool whose only worker may be the caller.
pub(crate) fn run_if_alone(registry: &Arc<Registry>) {
    // A frame further out runs it when it ends. Another thread that has the pool is not waited for:
    // it may wait for this one.
    if registry.settings.in_place && !Worker::is_or_was(registry) {
        Worker::run_left_in_place(registry);
    }
    Worker::with_current(|worker| {
        let mine = worker.filter(|worker| Arc::ptr_eq(worker.registry(), registry));
        mine.inspect(|worker| worker.run_what_is_left());
    });
}

/// Returns the index of the worker that the calling thread is, in its pool; `None` on other
/// threads. Compensation threads have the indices from [`Pool::workers`] on.
///
/// ```
/// assert_eq!(roving::current_worker(), None);
/// let pool = roving::Pool::new(1).unwrap();
/// assert_eq!(pool.install(roving::current_worker), Some(0));
/// ```
pub fn current_worker() -> Option<usize> {
    Worker::with_current(|worker| worker.map(Worker::index))
}

/// Returns the number of workers of the current pool: the one that the calling thread works for, or
/// the global one.
///
/// ```
/// let pool = roving::Pool::new(3).unwrap();
/// assert_eq!(pool.install(roving::current_workers), 3);
/// ```
pub fn current_workers() -> usize {
    with_current_registry(|registry| registry.working())
}
