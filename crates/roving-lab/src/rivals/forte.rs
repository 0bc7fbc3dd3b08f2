//! Forte: `join` and `scope` of a worker that is passed along by hand.
#![allow(unsafe_code)] // The worker is kept as a pointer, because its lifetime has no name here.

use std::collections::BTreeMap;
use std::ptr::NonNull;
use std::sync::{Mutex, PoisonError};

use ::forte::{ThreadPool, Worker};

use super::{Absent, Contender, timed};
use crate::forms::fork_join::ForkJoin;
use crate::job::measure;
use crate::shapes::closures::Pools;
use crate::workloads::{TimedAnswer, WorkloadJob};

/// The most threads of its own that a Forte pool starts.
const MANAGED_MAX: usize = 16;

/// Forte as the workloads see it. Made for one call with a worker, and never outlives it.
pub(super) struct ForteJoin(NonNull<Worker>);

impl ForteJoin {
    #[inline(always)]
    fn new(worker: &Worker) -> ForteJoin {
        ForteJoin(NonNull::from(worker))
    }

    #[inline(always)]
    fn worker(&self) -> &Worker {
        // SAFETY: every `ForteJoin` is made in a closure to which Forte lent the worker, is only
        // lent on to calls inside that closure, and is never sent or kept.
        unsafe { self.0.as_ref() }
    }
}

impl ForkJoin for ForteJoin {
    #[inline(always)]
    fn join<A, B, RA, RB>(&mut self, a: A, b: B) -> (RA, RB)
    where
        A: FnOnce(&mut Self) -> RA + Send,
        B: FnOnce(&mut Self) -> RB + Send,
        RA: Send,
        RB: Send,
    {
        self.worker().join(
            |worker| a(&mut ForteJoin::new(worker)),
            |worker| b(&mut ForteJoin::new(worker)),
        )
    }

    fn spawn_all<F>(&mut self, tasks: usize, each: &F)
    where
        F: Fn(&mut Self, usize) + Sync,
    {
        self.worker().scope(|scope| {
            for task in 0..tasks {
                scope.spawn(move |_| {
                    Worker::with_current(|worker| {
                        let worker = worker.expect("a worker runs what was spawned");
                        each(&mut ForteJoin::new(worker), task);
                    });
                });
            }
        });
    }
}

/// One pool for each number of workers. Forte wants pools that live forever, and its threads are
/// left to the end of the process too: this version's way to end them (`depopulate`) waits for ever
/// at times. One thread of a pool beats all the time, so there are no more pools than needed.
static POOLS: Mutex<BTreeMap<usize, &ThreadPool>> = Mutex::new(BTreeMap::new());

/// A pool of Forte's. The calling thread is one of its workers.
pub(super) struct FortePool(&'static ThreadPool);

impl FortePool {
    pub(super) fn start(workers: usize) -> Result<Box<dyn Contender>, Absent> {
        Ok(Box::new(FortePool::of(workers)?))
    }

    pub(super) fn of(workers: usize) -> Result<FortePool, Absent> {
        if workers > MANAGED_MAX + 1 {
            return Err(Absent(format!(
                "forte starts no more than {MANAGED_MAX} threads"
            )));
        }
        let mut pools = POOLS.lock().unwrap_or_else(PoisonError::into_inner);
        let pool = pools.entry(workers).or_insert_with(|| {
            let pool: &'static ThreadPool = Box::leak(Box::new(ThreadPool::new()));
            pool.resize_to(workers - 1);
            pool
        });
        Ok(FortePool(pool))
    }
}

impl Pools for FortePool {
    type Context = ForteJoin;
    const CALLER_WORKS: bool = true;

    fn enter<R: Send>(&self, _: usize, work: impl FnOnce(&mut ForteJoin) -> R + Send) -> R {
        self.0
            .with_worker(|worker| work(&mut ForteJoin::new(worker)))
    }
}

impl Contender for FortePool {
    fn run(&mut self, job: &mut WorkloadJob) -> Result<TimedAnswer, String> {
        let pool = self.0;
        let stack_bytes = job.stack_bytes();
        let time = measure::on_stack(stack_bytes, || {
            pool.with_worker(|worker| timed(job, &mut ForteJoin::new(worker)))
        })
        .map_err(|failure| failure.to_string())?;
        Ok(TimedAnswer {
            time,
            answer: job.answer(),
        })
    }
}
