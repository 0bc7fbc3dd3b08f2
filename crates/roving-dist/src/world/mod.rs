//! Ranks: who they are, how they talk, and how they end together.

mod backoff;
#[cfg(feature = "mpi")]
mod bulk;
mod collective;
mod engine;
mod fault;
mod launch;
pub(crate) mod link;
mod local;
pub(crate) mod long_waits;
#[cfg(all(test, loom))]
mod loom_tests;
#[cfg(feature = "mpi")]
#[allow(unsafe_code, reason = "calls MPI; listed in the crate's root")]
mod mpi;
mod outbox;
pub(crate) mod plan;
mod progress;
mod pulse;
pub(crate) mod random;
pub(crate) mod raw;
mod record;
mod transport;
mod whereabouts;

use std::fmt;
use std::marker::PhantomData;
use std::panic::{self, AssertUnwindSafe};
use std::sync::{Arc, MutexGuard};
use std::thread;
use std::time::Duration;

use crate::error::Error;
use collective::{Collective, Purpose};
use fault::FirstFault;
use link::Link;
use plan::Plan;
use progress::Progress;
use pulse::{Pulse, SILENCE_MAX};
use transport::Transport;

/// The kind of ranks.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ranks {
    /// Of this process.
    Threads,
    /// That somebody started.
    #[cfg(feature = "mpi")]
    Processes,
}

impl Ranks {
    /// How many of so many are on this machine.
    fn here(self, ranks: usize) -> usize {
        match self {
            Ranks::Threads => ranks,
            #[cfg(feature = "mpi")]
            Ranks::Processes => launch::ranks_here(ranks),
        }
    }

    /// Whether one of them can end the others.
    fn are_processes(self) -> bool {
        self != Ranks::Threads
    }
}

/// One rank, and its way to the others. The same program runs on every rank, and creates one of
/// these.
///
/// Dropping it waits until all ranks do so; see [`World::finish`]. So it stays on the thread that
/// made it, and ends there: of two worlds on one thread the first would wait for the second, and
/// MPI wants to be finalised by the thread that has initialised it. Other threads share it by
/// reference.
///
/// ```
/// use roving_dist::World;
///
/// let sums = World::threads(3, |world| {
///     let all = world.all_gather(&[world.rank() as u8]).unwrap();
///     all.iter().map(|bytes| bytes[0]).sum::<u8>()
/// });
/// assert_eq!(sums, [3, 3, 3]);
/// ```
///
/// The worlds of two ranks cannot come to one thread:
///
/// ```compile_fail,E0277
/// let worlds = roving_dist::World::threads(2, |world| world);
/// ```
pub struct World {
    link: Arc<Link>,
    collective: Collective,
    /// None once the world has finished.
    threads: Option<(Pulse, Progress)>,
    /// As a guard it may be shared by threads, and not be sent to another one.
    stays: PhantomData<MutexGuard<'static, ()>>,
}

impl World {
    /// Joins the world that this process was started in: the ranks of `mpirun` or, without
    /// `mpirun`, one rank.
    ///
    /// # Errors
    /// The process was started as one of several ranks, and MPI cannot be used.
    ///
    /// ```
    /// let world = roving_dist::World::init()?;
    /// println!("rank {} of {}", world.rank(), world.ranks());
    /// # Ok::<(), roving_dist::Error>(())
    /// ```
    pub fn init() -> Result<World, Error> {
        if launch::is_rank() {
            return World::launched();
        }
        World::alone()
    }

    /// A world of this process only.
    fn alone() -> Result<World, Error> {
        let end = local::ends(&Plan::new(1)).remove(0);
        World::start(
            (0, 1),
            Box::new(end),
            Arc::default(),
            Ranks::Threads,
            SILENCE_MAX,
        )
    }

    /// One of the ranks that somebody started.
    #[cfg(feature = "mpi")]
    fn launched() -> Result<World, Error> {
        let silence_max = launch::silence_max(SILENCE_MAX)?;
        let end = mpi::start()?;
        let of = (end.rank(), end.ranks());
        World::start(
            of,
            Box::new(end),
            Arc::default(),
            Ranks::Processes,
            silence_max,
        )
    }

    /// Without MPI there is one rank only.
    #[cfg(not(feature = "mpi"))]
    fn launched() -> Result<World, Error> {
        match launch::ranks() {
            Some(1) => World::alone(),
            ranks => Err(Error::anywhere(format_args!(
                "this process is one of {} ranks, and was built without MPI: build it with \
                 `--features mpi`",
                ranks.map_or("several".into(), |ranks| ranks.to_string()),
            ))),
        }
    }

    /// Runs `f` on as many ranks as given, as threads of this process, and returns their results by
    /// rank. Each rank needs a pool of its own, made in `f`: a rank that waits for another one
    /// holds a worker, and a pool that they share may have none left for the other.
    ///
    /// # Panics
    /// With what the first rank that panics panics with. The others get an error wherever they wait
    /// for it.
    ///
    /// ```
    /// let ranks = roving_dist::World::threads(4, |world| world.rank());
    /// assert_eq!(ranks, [0, 1, 2, 3]);
    /// ```
    pub fn threads<R: Send>(ranks: usize, f: impl Fn(World) -> R + Sync) -> Vec<R> {
        World::threads_with(&Plan::new(ranks), f)
    }

    /// Runs `f` on ranks that are threads, with delays and faults between them.
    ///
    /// # Panics
    /// As [`World::threads`].
    ///
    /// ```
    /// let plan = roving_dist::Plan::new(2).seed(1);
    /// assert_eq!(roving_dist::World::threads_with(&plan, |world| world.ranks()), [2, 2]);
    /// ```
    pub fn threads_with<R: Send>(plan: &Plan, f: impl Fn(World) -> R + Sync) -> Vec<R> {
        let (f, fault) = (&f, Arc::new(FirstFault::default()));
        let run = |rank: usize, end: local::ThreadTransport| {
            let of = (rank, plan.ranks);
            let shared = Arc::clone(&fault);
            let world = World::start(of, Box::new(end), shared, Ranks::Threads, plan.silence_max);
            let world = world.unwrap_or_else(|error| panic!("{error}"));
            panic::catch_unwind(AssertUnwindSafe(|| f(world))).inspect_err(|_| {
                // A world that `f` has leaked says nothing of it.
                fault.set(Error::at(rank, plan.ranks, "panicked"));
            })
        };
        let outcomes: Vec<thread::Result<R>> = thread::scope(|scope| {
            let ends = local::ends(plan).into_iter().enumerate();
            let threads: Vec<_> = ends
                .map(|(rank, end)| scope.spawn(move || run(rank, end)))
                .collect();
            let joined = threads.into_iter().map(|thread| thread.join());
            joined
                .map(|outcome| outcome.and_then(|outcome| outcome))
                .collect()
        });
        // Others may have panicked because of the one that was first.
        let first = fault.get().and_then(|error| error.rank());
        let mut results = Vec::new();
        let mut payloads = Vec::new();
        for (rank, outcome) in outcomes.into_iter().enumerate() {
            match outcome {
                Ok(result) => results.push(result),
                Err(payload) if Some(rank) == first => payloads.insert(0, payload),
                Err(payload) => payloads.push(payload),
            }
        }
        match payloads.into_iter().next() {
            Some(payload) => panic::resume_unwind(payload),
            None => results,
        }
    }

    fn start(
        (rank, ranks): (usize, usize),
        transport: Box<dyn Transport>,
        fault: Arc<FirstFault>,
        kind: Ranks,
        silence_max: Duration,
    ) -> Result<World, Error> {
        let crowded = kind.here(ranks) > launch::cores();
        let processes = kind.are_processes();
        let link = Link::new((rank, ranks), transport, fault, processes, crowded);
        let link = Arc::new(link);
        let collective = Collective::new(&link);
        let failed = |error| link.fail(format_args!("no thread for progress: {error}"));
        let pulse = Pulse::start(&link, silence_max).map_err(failed)?;
        let progress = Progress::start(&link).map_err(failed)?;
        Ok(World {
            link,
            collective,
            threads: Some((pulse, progress)),
            stays: PhantomData,
        })
    }

    /// Returns this rank's number, from 0 on.
    ///
    /// ```
    /// assert_eq!(roving_dist::World::threads(2, |world| world.rank()), [0, 1]);
    /// ```
    pub fn rank(&self) -> usize {
        self.link.rank()
    }

    /// Returns the number of ranks.
    ///
    /// ```
    /// assert_eq!(roving_dist::World::threads(2, |world| world.ranks()), [2, 2]);
    /// ```
    pub fn ranks(&self) -> usize {
        self.link.ranks()
    }

    /// Active messages.
    pub(crate) fn link(&self) -> &Arc<Link> {
        &self.link
    }

    /// Waits until every rank has called this. Like all collective calls, all ranks make it in the
    /// same order, and from one thread of each at a time.
    ///
    /// # Errors
    /// The run has failed on some rank.
    ///
    /// ```
    /// use std::sync::atomic::{AtomicUsize, Ordering};
    ///
    /// let before = AtomicUsize::new(0);
    /// roving_dist::World::threads(3, |world| {
    ///     before.fetch_add(1, Ordering::Relaxed);
    ///     world.barrier().unwrap();
    ///     assert_eq!(before.load(Ordering::Relaxed), 3);
    /// });
    /// ```
    pub fn barrier(&self) -> Result<(), Error> {
        self.all_gather(&[]).map(drop)
    }

    /// Gives every rank the bytes of all, by rank.
    ///
    /// # Errors
    /// The run has failed on some rank.
    ///
    /// ```
    /// let all = roving_dist::World::threads(2, |world| {
    ///     world.all_gather(format!("I am {}", world.rank()).as_bytes()).unwrap()
    /// });
    /// assert_eq!(all[0], [b"I am 0", b"I am 1"]);
    /// assert_eq!(all[0], all[1]);
    /// ```
    pub fn all_gather(&self, bytes: &[u8]) -> Result<Vec<Vec<u8>>, Error> {
        self.collective.all_gather(&self.link, Purpose::GoOn, bytes)
    }

    /// Gives rank 0 the bytes of all, and the others what it makes of them.
    pub(crate) fn meet<V>(
        &self,
        bytes: &[u8],
        make: impl FnOnce(Vec<Vec<u8>>) -> Result<(V, Vec<u8>), Error>,
        read: impl FnOnce(&[u8]) -> Result<V, Error>,
    ) -> Result<V, Error> {
        let collective = &self.collective;
        collective.meet(&self.link, Purpose::GoOn, bytes, make, read)
    }

    /// Ends the run on all ranks, with an error that names this one. Where ranks are processes, it
    /// prints the error and ends them, and does not return; where they are threads, every call that
    /// waits for another rank returns the error.
    ///
    /// ```
    /// let errors = roving_dist::World::threads(2, |world| match world.rank() {
    ///     1 => world.fail("the disk is full"),
    ///     _ => world.barrier().unwrap_err(),
    /// });
    /// assert_eq!(errors[0].to_string(), "rank 1 of 2: the disk is full");
    /// ```
    pub fn fail(&self, what: impl fmt::Display) -> Error {
        self.link.fail(what)
    }

    /// Waits until all ranks have finished, and all messages have left; then the ranks part.
    /// Dropping the world does the same, and reports no errors.
    ///
    /// # Errors
    /// The run has failed on some rank.
    ///
    /// ```
    /// let ends = roving_dist::World::threads(2, |world| world.finish());
    /// assert_eq!(ends, [Ok(()), Ok(())]);
    /// ```
    pub fn finish(mut self) -> Result<(), Error> {
        self.end()
    }

    fn end(&mut self) -> Result<(), Error> {
        let Some((pulse, progress)) = self.threads.take() else {
            return Ok(());
        };
        let gathered = match self.link.fault() {
            Some(error) => Err(error),
            None => self.collective.all_gather(&self.link, Purpose::Finish, &[]),
        };
        // From now on nobody sends anything: whoever waits until all has left waits for a last sign
        // of life as well.
        drop(pulse);
        drop(progress);
        let parted = gathered.and_then(|_| self.link.wait_until_sent());
        self.link.end(parted)
    }
}

impl Drop for World {
    fn drop(&mut self) {
        if thread::panicking() && self.threads.is_some() {
            self.link.fail("panicked");
        }
        // A program that wants the error calls `finish`.
        let _ = self.end();
    }
}

impl fmt::Debug for World {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("World")
            .field("rank", &self.rank())
            .field("ranks", &self.ranks())
            .finish_non_exhaustive()
    }
}
