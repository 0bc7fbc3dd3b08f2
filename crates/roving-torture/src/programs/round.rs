//! A round: some pools, and the programs that they run.

use std::any::Any;
use std::panic::{self, AssertUnwindSafe};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use super::generate::{self, Limits};
use super::node::ClosureNode;
use super::parallel::{PartContext, node, thrown};
use super::serial::{self, Expected};
use super::setup::{RoundPools, RoundSetup};
use crate::census::Census;
use crate::dog::Dog;
use crate::random::{SplitMix, mix2};

/// Most threads that hand in programs at once.
pub(crate) const CLIENTS_MAX: usize = 3;
/// Native stack of these threads, which are workers themselves where the pool is in place.
const CLIENT_STACK: usize = 16 << 20;

/// All of a round: it follows from its seed, and from how large its programs may be.
#[derive(Clone, Debug)]
pub(crate) struct DrawnRound {
    pub(crate) seed: u64,
    pub(crate) tasks_max: u64,
    pub(crate) setup: RoundSetup,
    pub(crate) clients: usize,
    /// The pools are shut down, with work in them, instead of dropped.
    ends_at_once: bool,
    pub(crate) programs: Vec<(u64, Limits)>,
}

impl DrawnRound {
    pub(crate) fn new(seed: u64, tasks_max: u64) -> DrawnRound {
        let mut random = SplitMix::new(seed);
        let setup = RoundSetup::random(&mut random);
        let clients = random.between(1, CLIENTS_MAX as u64) as usize;
        let usual = tasks_max.min(1 << 17);
        let programs = (0..random.between(1, 24))
            .map(|number| {
                let tasks = match random.one_in(300) {
                    true => tasks_max,
                    false => random.magnitude(usual),
                };
                let limits = Limits {
                    tasks: tasks.min(setup.tasks_max()),
                    pools: setup.others.len(),
                    resize: setup.resizes.then_some(setup.workers),
                    may_come_back: !setup.threads.is_nobodys(),
                    throws: random.one_in(2),
                };
                (mix2(seed, number), limits)
            })
            .collect();
        DrawnRound {
            seed,
            tasks_max,
            setup,
            clients,
            ends_at_once: random.one_in(3),
            programs,
        }
    }

    pub(crate) fn replay(&self, program: Option<usize>) -> String {
        let (seed, tasks) = (self.seed, self.tasks_max);
        match program {
            None => format!("torture programs --replay {seed} --tasks {tasks}"),
            Some(program) => {
                format!("torture programs --replay {seed} --tasks {tasks} --only {program}")
            }
        }
    }
}

/// The counts of what was done.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RoundCounts {
    pub(crate) programs: u64,
    pub(crate) tasks: u64,
    pub(crate) values: u64,
    pub(crate) panics: u64,
    pub(crate) jobs: u64,
}

impl RoundCounts {
    pub(crate) fn add(&mut self, other: &RoundCounts) {
        self.programs += other.programs;
        self.tasks += other.tasks;
        self.values += other.values;
        self.panics += other.panics;
        self.jobs += other.jobs;
    }
}

/// A program that went wrong.
#[derive(Clone, Debug)]
pub(crate) struct Wrong {
    /// Its number in the round; `None` when it is the round as a whole.
    pub(crate) program: Option<usize>,
    pub(crate) text: String,
}

/// Runs the programs of a plan, or one of them only, each against its serial evaluation.
pub(crate) fn run(
    plan: &DrawnRound,
    only: Option<usize>,
    censuses: &[&'static Census],
    dog: &Dog,
) -> Result<RoundCounts, Wrong> {
    let pools = plan.setup.build().map_err(|error| Wrong {
        program: None,
        text: format!("the pools could not be built: {error}"),
    })?;
    let pools = Arc::new(pools);
    let next = AtomicUsize::new(only.unwrap_or(0));
    let end = only.map_or(plan.programs.len(), |only| only + 1);
    let result = Mutex::new(Ok(RoundCounts::default()));
    let client = |census: &'static Census| {
        loop {
            let number = next.fetch_add(1, Relaxed);
            if number >= end || lock(&result).is_err() {
                return;
            }
            let done = one(plan, number, &pools, census, dog);
            let mut result = lock(&result);
            match (&mut *result, done) {
                (Ok(sum), Ok(done)) => sum.add(&done),
                (Ok(_), Err(text)) => {
                    let program = Some(number);
                    *result = Err(Wrong { program, text });
                }
                (Err(_), _) => {}
            }
        }
    };
    thread::scope(|threads| {
        for census in &censuses[..plan.clients] {
            let named = thread::Builder::new().name("client".to_owned());
            let client = named
                .stack_size(CLIENT_STACK)
                .spawn_scoped(threads, || client(census));
            client.expect("a thread can be started");
        }
    });
    let leash = dog.watch(
        format!("the end of the pools ({})", plan.setup),
        plan.replay(only),
    );
    let result = result
        .into_inner()
        .unwrap_or_else(PoisonError::into_inner)?;
    if let Some(pools) = Arc::into_inner(pools) {
        match plan.ends_at_once {
            true => pools.end_now(censuses[0]).map_err(|text| Wrong {
                program: None,
                text,
            })?,
            false => pools.end(),
        }
    }
    drop(leash);
    Ok(result)
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn one(
    plan: &DrawnRound,
    number: usize,
    pools: &Arc<RoundPools>,
    census: &'static Census,
    dog: &Dog,
) -> Result<RoundCounts, String> {
    let (seed, limits) = plan.programs[number];
    let program = generate::program(seed, limits);
    let leash = dog.watch_with(
        format!("program {number} of round {} on {}", plan.seed, plan.setup),
        plan.replay(Some(number)),
        Some(pools.told_later()),
    );
    let expected = serial::expected(&program, &plan.setup.all_workers());
    let done = check(&program, &expected, pools, census, dog.limit())?;
    drop(leash);
    Ok(done)
}

/// The outcome of a program.
enum Real {
    Value(u64),
    Thrown(u32),
    Other(String),
}

/// Runs a program and compares everything that can be seen with what is expected.
pub(crate) fn check(
    program: &ClosureNode,
    expected: &Expected,
    pools: &RoundPools,
    census: &'static Census,
    limit: Duration,
) -> Result<RoundCounts, String> {
    census.reset();
    let cx = PartContext {
        census,
        pools: &pools.all,
    };
    let first = &pools.all[0];
    let run = || match pools.in_place() {
        // A pool with a seed prints a line for each panic that leaves it.
        true => first.install(|| panic::catch_unwind(AssertUnwindSafe(|| node(program, cx)))),
        false => panic::catch_unwind(AssertUnwindSafe(|| first.install(|| node(program, cx)))),
    };
    let real = match run() {
        Ok(value) => Real::Value(value),
        Err(payload) => real_panic(payload),
    };
    let (mut values, mut panics) = (0, 0);
    match (&real, &expected.outcome) {
        (Real::Value(value), Ok(expected)) if value == expected => values = 1,
        (Real::Thrown(id), Err(ids)) if ids.contains(id) => panics = 1,
        (Real::Value(value), expected) => {
            return Err(format!("it came to {value}, which should be {expected:?}"));
        }
        (Real::Thrown(id), expected) => {
            return Err(format!(
                "it panicked with {id}, which should be {expected:?}"
            ));
        }
        (Real::Other(text), _) => return Err(format!("a panic of its own: {text}")),
    }
    wait_for_jobs(expected, pools, census, limit)?;
    check_counts(expected, census)?;
    Ok(RoundCounts {
        programs: 1,
        tasks: census.counts().ran,
        values,
        panics,
        jobs: expected.jobs,
    })
}

fn real_panic(payload: Box<dyn Any + Send>) -> Real {
    match thrown(payload) {
        Ok(id) => Real::Thrown(id),
        Err(text) => Real::Other(text),
    }
}

fn wait_for_jobs(
    expected: &Expected,
    pools: &RoundPools,
    census: &'static Census,
    limit: Duration,
) -> Result<(), String> {
    if expected.jobs == 0 {
        return Ok(());
    }
    if pools.in_place() {
        // The jobs of such a pool run when it is next used.
        while !census.wait_for_jobs(expected.jobs, Duration::from_millis(1)) {
            pools.all[0].install(|| ());
        }
    } else if !census.wait_for_jobs(expected.jobs, limit) {
        let ended = census.jobs().ended;
        return Err(format!("of {} detached jobs {ended} ended", expected.jobs));
    }
    let jobs = census.jobs().clone();
    let failed = jobs.panics.len() as u64;
    if failed != expected.jobs_failed {
        let should = expected.jobs_failed;
        return Err(format!(
            "{failed} detached jobs panicked, but {should} should"
        ));
    }
    if let Some(id) = jobs.panics.iter().find(|id| !expected.job_ids.contains(id)) {
        return Err(format!(
            "a detached job panicked with {id}, which none throws"
        ));
    }
    match jobs.sum == expected.jobs_sum {
        true => Ok(()),
        false => Err("the detached jobs came to something else".to_owned()),
    }
}

fn check_counts(expected: &Expected, census: &Census) -> Result<(), String> {
    let counts = census.counts();
    let (first, last) = (expected.ran_min, expected.ran_max);
    if !(first..=last).contains(&counts.ran) {
        let ran = counts.ran;
        return Err(format!("{ran} tasks ran, but {first} to {last} should"));
    }
    counts.complaint().map_or(Ok(()), Err)
}
