//! Rayon: `join` and `scope` on a pool of its own.

use ::rayon::iter::{IntoParallelIterator, ParallelIterator};
use ::rayon::{ThreadPool, ThreadPoolBuilder};

use super::{Absent, Contender, Run, timed};
use crate::fork_join::ForkJoin;
use crate::shapes::closures::{Pools, STACK_BYTES};
use crate::workloads::Job;

/// Rayon as the workloads see it; its worker is found through a thread-local.
pub(super) struct Join;

impl ForkJoin for Join {
    #[inline(always)]
    fn join<A, B, RA, RB>(&mut self, a: A, b: B) -> (RA, RB)
    where
        A: FnOnce(&mut Self) -> RA + Send,
        B: FnOnce(&mut Self) -> RB + Send,
        RA: Send,
        RB: Send,
    {
        ::rayon::join(|| a(&mut Join), || b(&mut Join))
    }

    fn spawn_all<F>(&mut self, tasks: usize, each: &F)
    where
        F: Fn(&mut Self, usize) + Sync,
    {
        ::rayon::scope(|scope| {
            for task in 0..tasks {
                scope.spawn(move |_| each(&mut Join, task));
            }
        });
    }

    fn loop_all<F>(&mut self, tasks: usize, each: &F)
    where
        F: Fn(&mut Self, usize) + Sync,
    {
        let tasks = (0..tasks).into_par_iter();
        tasks.for_each(|task| each(&mut Join, task));
    }
}

/// A pool of Rayon's.
pub(super) struct Pool(ThreadPool);

impl Pool {
    pub(super) fn start(job: &Job, workers: usize) -> Result<Box<dyn Contender>, Absent> {
        let pool = Pool::with_stack(workers, job.stack_bytes())?;
        Ok(Box::new(pool))
    }

    fn with_stack(workers: usize, stack_bytes: usize) -> Result<Pool, Absent> {
        let builder = ThreadPoolBuilder::new()
            .num_threads(workers)
            .stack_size(stack_bytes);
        builder
            .build()
            .map(Pool)
            .map_err(|error| Absent(format!("rayon made no pool of {workers} threads: {error}")))
    }
}

/// Rayon, ready for shapes: one pool, and for shapes that need one a second.
pub(super) struct Sleepers([Pool; 2]);

impl Sleepers {
    pub(super) fn start(workers: usize) -> Result<Sleepers, Absent> {
        let pool = || Pool::with_stack(workers, STACK_BYTES);
        Ok(Sleepers([pool()?, pool()?]))
    }
}

impl Pools for Sleepers {
    type Context = Join;
    const CALLER_WORKS: bool = false;

    fn enter<R: Send>(&self, pool: usize, work: impl FnOnce(&mut Join) -> R + Send) -> R {
        self.0[pool].0.install(|| work(&mut Join))
    }
}

impl Contender for Pool {
    fn run(&mut self, job: &mut Job) -> Result<Run, String> {
        let time = self.0.install(|| timed(job, &mut Join));
        Ok(Run {
            time,
            answer: job.answer(),
        })
    }
}
