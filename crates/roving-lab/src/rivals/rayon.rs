//! Rayon: `join` and `scope` on a pool of its own.

use ::rayon::{ThreadPool, ThreadPoolBuilder};

use super::{Absent, Contender, Run, timed};
use crate::fork_join::ForkJoin;
use crate::workloads::Job;

/// Rayon as the workloads see it; its worker is found through a thread-local.
struct Join;

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
        F: Fn(usize) + Sync,
    {
        ::rayon::scope(|scope| {
            for task in 0..tasks {
                scope.spawn(move |_| each(task));
            }
        });
    }
}

/// A pool of Rayon's.
pub(super) struct Pool(ThreadPool);

impl Pool {
    pub(super) fn start(job: &Job, workers: usize) -> Result<Box<dyn Contender>, Absent> {
        let builder = ThreadPoolBuilder::new()
            .num_threads(workers)
            .stack_size(job.stack_bytes());
        match builder.build() {
            Ok(pool) => Ok(Box::new(Pool(pool))),
            Err(error) => Err(Absent(format!(
                "rayon made no pool of {workers} threads: {error}"
            ))),
        }
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
