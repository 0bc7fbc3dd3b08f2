//! Rayon: `join` and `scope` on a pool of its own.

use ::rayon::iter::{IntoParallelIterator, ParallelIterator};
use ::rayon::{ThreadPool, ThreadPoolBuilder};

use super::{Absent, Contender, timed};
use crate::forms::fork_join::ForkJoin;
use crate::shapes::closures::{Pools, STACK_BYTES};
use crate::workloads::{TimedAnswer, WorkloadJob};

/// Rayon as the workloads see it; its worker is found through a thread-local.
pub(crate) struct RayonJoin;

impl ForkJoin for RayonJoin {
    #[inline(always)]
    fn join<A, B, RA, RB>(&mut self, a: A, b: B) -> (RA, RB)
    where
        A: FnOnce(&mut Self) -> RA + Send,
        B: FnOnce(&mut Self) -> RB + Send,
        RA: Send,
        RB: Send,
    {
        ::rayon::join(|| a(&mut RayonJoin), || b(&mut RayonJoin))
    }

    fn spawn_all<F>(&mut self, tasks: usize, each: &F)
    where
        F: Fn(&mut Self, usize) + Sync,
    {
        ::rayon::scope(|scope| {
            for task in 0..tasks {
                scope.spawn(move |_| each(&mut RayonJoin, task));
            }
        });
    }

    fn loop_all<F>(&mut self, tasks: usize, each: &F)
    where
        F: Fn(&mut Self, usize) + Sync,
    {
        let tasks = (0..tasks).into_par_iter();
        tasks.for_each(|task| each(&mut RayonJoin, task));
    }
}

/// A pool of Rayon's.
pub(crate) struct RayonPool(ThreadPool);

impl RayonPool {
    pub(super) fn start(job: &WorkloadJob, workers: usize) -> Result<Box<dyn Contender>, Absent> {
        let pool = RayonPool::with_stack(workers, job.stack_bytes())?;
        Ok(Box::new(pool))
    }

    /// With native stacks for any workload.
    pub(crate) fn new(workers: usize) -> Result<RayonPool, Absent> {
        RayonPool::with_stack(workers, STACK_BYTES)
    }

    /// Runs `work` on a thread of the pool.
    pub(crate) fn install<R: Send>(&self, work: impl FnOnce(&mut RayonJoin) -> R + Send) -> R {
        self.0.install(|| work(&mut RayonJoin))
    }

    fn with_stack(workers: usize, stack_bytes: usize) -> Result<RayonPool, Absent> {
        let builder = ThreadPoolBuilder::new()
            .num_threads(workers)
            .stack_size(stack_bytes);
        builder
            .build()
            .map(RayonPool)
            .map_err(|error| Absent(format!("rayon made no pool of {workers} threads: {error}")))
    }
}

/// Rayon, ready for shapes: one pool, and for shapes that need one a second.
pub(super) struct Sleepers([RayonPool; 2]);

impl Sleepers {
    pub(super) fn start(workers: usize) -> Result<Sleepers, Absent> {
        let pool = || RayonPool::new(workers);
        Ok(Sleepers([pool()?, pool()?]))
    }
}

impl Pools for Sleepers {
    type Context = RayonJoin;
    const CALLER_WORKS: bool = false;

    fn enter<R: Send>(&self, pool: usize, work: impl FnOnce(&mut RayonJoin) -> R + Send) -> R {
        self.0[pool].install(work)
    }
}

impl Contender for RayonPool {
    fn run(&mut self, job: &mut WorkloadJob) -> Result<TimedAnswer, String> {
        let time = self.install(|cx| timed(job, cx));
        Ok(TimedAnswer {
            time,
            answer: job.answer(),
        })
    }
}
