//! Tests under many schedules: an error that depends on the order is found by a seed, and replayed.
//!
//! A wrong parallel program has many outcomes, of which a test sees one per run. A
//! [deterministic pool](crate::PoolBuilder::deterministic) makes the schedule a function of a seed;
//! [`explore`] runs a program under many seeds.
//!
//! ```
//! use std::sync::Mutex;
//!
//! let explored = roving::testing::explore(200, || {
//!     let seen = Mutex::new(Vec::new());
//!     roving::join(|| seen.lock().unwrap().push(1), || seen.lock().unwrap().push(2));
//!     let mut seen = seen.into_inner().unwrap();
//!     seen.sort(); // without this line it is found, and replayed with ROVING_SEED
//!     assert_eq!(seen, [1, 2]);
//! });
//! assert_eq!(explored.runs, 200);
//! ```

use std::any::Any;
use std::collections::HashSet;
use std::io::Write as _;
use std::ops::Range;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use crate::machine::prim::{Mutex, thread};
use crate::pool::error::Reason;
use crate::pool::{BuildError, Pool};
use crate::replay::{Schedule, VARIABLE, WORKERS, seed_of_environment};

/// Most decisions that are shown of a schedule that is replayed and ends in a panic.
const LAST: usize = 30;

/// A program that has not ended after this time is said to hang; it goes on nevertheless.
const LONG: Duration = Duration::from_secs(60);

/// Runs `program` on a deterministic pool, once for each seed below `seeds`; or, if the environment
/// says `ROVING_SEED=N`, under that seed alone. Inside, [`crate::join`] and the like use that pool.
///
/// # Panics
/// With what `program` panics with, or what a task panics with that it has detached, under the
/// first seed that makes one do so. A line on standard error says the seed; under `ROVING_SEED`,
/// more lines say what was decided last. And if `ROVING_SEED` says none.
///
/// ```
/// let explored = roving::testing::explore(100, || {
///     let sum = roving::map_reduce(0..1000, 0, |n| n, |a, b| a + b);
///     assert_eq!(sum, 499_500);
/// });
/// assert!(explored.schedules <= explored.runs);
/// ```
pub fn explore(seeds: u64, program: impl Fn() + Sync) -> Explored {
    Explorer::new().seeds(0..seeds).run(program)
}

/// The settings of an exploration: [`explore`] with a choice of seeds and workers.
///
/// ```
/// use roving::testing::Explorer;
///
/// let explored = Explorer::new().seeds(1000..1050).workers(2).run(|| {
///     let (a, b) = roving::join(|| roving::current_worker() < Some(2), roving::current_workers);
///     assert!(a && b == 2);
/// });
/// # if std::env::var_os("ROVING_SEED").is_none() {
/// assert!(explored.schedules > 1);
/// # }
/// ```
#[derive(Clone, Debug)]
#[must_use = "an explorer does nothing until it runs"]
pub struct Explorer {
    seeds: Range<u64>,
    workers: usize,
}

/// The extent of an exploration, which shows whether more seeds are worth their time.
///
/// ```
/// use roving::testing::Explorer;
///
/// let explored = Explorer::new().seeds(0..10).run(|| {
///     assert_eq!(roving::join(|| 1, || 2), (1, 2));
/// });
/// assert_eq!(explored.runs, 10);
/// assert!(explored.schedules <= explored.runs);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Explored {
    /// The number of runs of the program.
    pub runs: u64,
    /// The number of different schedules among the runs.
    pub schedules: u64,
    /// The number of decisions in all runs together.
    pub decisions: u64,
}

impl Default for Explorer {
    fn default() -> Explorer {
        Explorer::new()
    }
}

impl Explorer {
    /// Creates an explorer of 100 seeds with 4 workers.
    ///
    /// ```
    /// roving::testing::Explorer::new().run(|| assert_eq!(roving::current_workers(), 4));
    /// ```
    pub fn new() -> Explorer {
        Explorer {
            seeds: 0..100,
            workers: WORKERS,
        }
    }

    /// Sets the seeds to go through.
    ///
    /// ```
    /// let explored = roving::testing::Explorer::new().seeds(7..8).run(|| ());
    /// assert_eq!(explored.runs, 1);
    /// ```
    pub fn seeds(mut self, seeds: Range<u64>) -> Explorer {
        self.seeds = seeds;
        self
    }

    /// Sets how many workers the pools have, as [`crate::PoolBuilder::workers`].
    ///
    /// ```
    /// let explorer = roving::testing::Explorer::new().workers(2);
    /// explorer.run(|| assert_eq!(roving::current_workers(), 2));
    /// ```
    pub fn workers(mut self, workers: usize) -> Explorer {
        self.workers = workers;
        self
    }

    /// Runs `program` under each seed, one after the other, as [`explore`] does. After a minute
    /// under the same seed, a line on standard error says which it is.
    ///
    /// # Panics
    /// As [`explore`]; and if the number of workers is out of its range.
    ///
    /// ```
    /// let explored = roving::testing::Explorer::new().run(|| {
    ///     roving::scope(|s| (0..5).for_each(|_| s.spawn(|_| ())));
    /// });
    /// assert!(explored.decisions > 0);
    /// ```
    pub fn run(&self, program: impl Fn() + Sync) -> Explored {
        self.run_on(|pool| pool.install(&program))
    }

    /// Explores a program that needs the pool itself. The program runs on the calling thread, and
    /// each schedule governs what it brings into the pool.
    ///
    /// # Panics
    /// As [`Self::run`].
    ///
    /// ```
    /// let explored = roving::testing::Explorer::new().seeds(0..20).run_on(|pool| {
    ///     let sum = pool.run(|s| async move { s.spawn(async { 1 }).await + s.spawn(async { 2 }).await });
    ///     assert_eq!(sum, 3);
    /// });
    /// assert_eq!(explored.runs, 20);
    /// ```
    pub fn run_on(&self, program: impl Fn(&Pool)) -> Explored {
        let replayed = seed_of_environment();
        let logs = matches!(replayed, Ok(Some(_)));
        let seeds = match replayed {
            Ok(Some(seed)) => seed..=seed,
            Ok(None) if self.seeds.is_empty() => return Explored::default(),
            Ok(None) => self.seeds.start..=self.seeds.end - 1,
            Err(text) => panic!("{}", BuildError::from(Reason::Seed(text))),
        };
        let mut explored = Explored::default();
        let mut digests = HashSet::new();
        let watch = Watch::start();
        for seed in seeds {
            watch.begins(seed);
            let (decisions, digest) = self.run_one(seed, logs, &program);
            explored.runs += 1;
            explored.decisions += decisions;
            digests.insert((decisions, digest));
        }
        explored.schedules = digests.len() as u64;
        explored
    }

    fn run_one(&self, seed: u64, logs: bool, program: impl Fn(&Pool)) -> (u64, u64) {
        let detached = Arc::new(Mutex::new(None::<Box<dyn Any + Send>>));
        let first = Arc::clone(&detached);
        let built = Pool::builder()
            .deterministic(seed)
            .log_schedule(logs)
            .workers(self.workers)
            .panic_handler(move |payload| {
                let mut first = first.lock();
                first.get_or_insert(payload);
            })
            .build();
        let pool = built.unwrap_or_else(|error| panic!("{error}"));
        let run = panic::catch_unwind(AssertUnwindSafe(|| program(&pool)));
        let registry = Arc::clone(pool.registry());
        let (mut digest, mut log) = Default::default();
        registry.kind.with_schedule(&mut |schedule| {
            (digest, log) = (schedule.digest(), schedule.log());
        });
        // Runs what the program has left behind.
        drop(pool);
        let first = detached.lock().take();
        match (run, first) {
            (Ok(()), None) => digest,
            (Err(payload), _) | (Ok(()), Some(payload)) => {
                registry.kind.with_schedule(&mut Schedule::say_seed);
                say_last(&log);
                panic::resume_unwind(payload)
            }
        }
    }
}

/// A thread that says which seed hangs. Ends when this is dropped.
struct Watch(Option<mpsc::Sender<u64>>);

impl Watch {
    // Compiled where programs are explored, and not in every program.
    #[inline]
    fn start() -> Watch {
        let (begins, begun) = mpsc::channel();
        let watch = thread::Builder::new().name("roving-explore".to_owned());
        let watching = watch.spawn(move || {
            let mut last = None;
            loop {
                match (begun.recv_timeout(LONG), last) {
                    (Ok(seed), _) => last = Some(seed),
                    (Err(RecvTimeoutError::Timeout), Some(seed)) => say_hangs(seed),
                    (Err(RecvTimeoutError::Timeout), None) => {}
                    (Err(RecvTimeoutError::Disconnected), _) => return,
                }
            }
        });
        // Without a thread to be had, nobody says it.
        Watch(watching.is_ok().then_some(begins))
    }

    #[inline]
    fn begins(&self, seed: u64) {
        if let Some(begins) = &self.0 {
            let _ = begins.send(seed);
        }
    }
}

/// Prints the last decisions of a replayed schedule whose program panicked.
#[inline]
fn say_last(log: &str) {
    let lines: Vec<&str> = log.lines().collect();
    let last = lines.len().saturating_sub(LAST);
    if !lines.is_empty() {
        let (shown, all) = (lines.len() - last, lines.len());
        let text = lines[last..].join("\n  ");
        eprintln!("roving: the last {shown} of {all} decisions:\n  {text}");
    }
}

#[inline]
fn say_hangs(seed: u64) {
    let seconds = LONG.as_secs();
    // Not with a macro: what those print is kept back until a test has ended.
    let text = format!(
        "roving: not over after {seconds} s under the deterministic schedule of seed {seed}: \
         set {VARIABLE}={seed} to replay it\n"
    );
    let _ = std::io::stderr().write_all(text.as_bytes());
}

/// How often a property is tried that holds of any text.
#[cfg(test)]
pub(crate) fn of_any_text() -> proptest::test_runner::Config {
    let usual = proptest::test_runner::Config::default();
    proptest::test_runner::Config {
        cases: if cfg!(miri) { 4 } else { usual.cases },
        failure_persistence: None,
        ..usual
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::task::{block_on, fork, spawn};

    /// A little of everything that has unsafe code of its own under a schedule: small enough
    /// for Miri.
    #[test]
    fn small_programs_of_all_kinds() {
        let explored = Explorer::new().seeds(0..4).workers(3).run(|| {
            let count = AtomicUsize::new(0);
            let add = |number| {
                count.fetch_add(number, Ordering::Relaxed);
            };
            crate::join(|| crate::join(|| add(1), || add(1)), || add(1));
            crate::scope(|s| {
                for number in 0..4 {
                    let add = &add;
                    s.spawn(move |s| {
                        // One that fits its slot, and one that does not.
                        s.spawn(move |_| add(number));
                        let large = [number; 8];
                        s.spawn(move |_| add(large[7]));
                    });
                }
            });
            crate::context::with(5_usize, || {
                crate::par_for(0..4, |_| add(crate::context::get().unwrap_or(0)));
            });
            let sum = block_on(async {
                let first = fork(async { 1 }).await;
                let second = spawn(async { String::from("two").len() });
                first.await + second.await
            });
            add(sum);
            crate::spawn(|| ());
            assert_eq!(count.into_inner(), 3 + 12 + 20 + 4);
        });
        assert!(explored.schedules > 2, "{explored:?}");
    }
}
