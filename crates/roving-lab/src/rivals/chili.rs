//! chili: `join` on a scope that is passed along by hand. It has no spawn, so that its flat
//! spawns are a tree of joins.
#![allow(unsafe_code)] // A reference is cast to a wrapper of the same layout.

use std::num::NonZero;
use std::ptr;

use ::chili::{Config, Scope, ThreadPool};

use super::{Absent, Contender, timed};
use crate::forms::fork_join::ForkJoin;
use crate::job::measure;
use crate::shapes::closures::Pools;
use crate::workloads::{TimedAnswer, WorkloadJob};

/// chili as the workloads see it. The lifetime of the scope is hidden, because each call has
/// another one and [`ForkJoin`] knows one type only. Never moved, copied or given out.
#[repr(transparent)]
pub(super) struct Join(Scope<'static>);

impl Join {
    #[inline(always)]
    fn from_scope<'a>(scope: &'a mut Scope<'_>) -> &'a mut Join {
        // SAFETY: `Join` is a transparent wrapper of `Scope`, and the borrow keeps its lifetime
        // `'a`, within which the scope is alive. The longer lifetime in the type cannot escape:
        // the field is private, and `join` below only lends it to chili's own `join`.
        unsafe { &mut *ptr::from_mut(scope).cast::<Join>() }
    }
}

impl ForkJoin for Join {
    #[inline(always)]
    fn join<A, B, RA, RB>(&mut self, a: A, b: B) -> (RA, RB)
    where
        A: FnOnce(&mut Self) -> RA + Send,
        B: FnOnce(&mut Self) -> RB + Send,
        RA: Send,
        RB: Send,
    {
        self.0.join(
            |scope| a(Join::from_scope(scope)),
            |scope| b(Join::from_scope(scope)),
        )
    }
}

/// A pool of chili's. The calling thread is one of its workers.
pub(super) struct ChiliPool(ThreadPool);

impl ChiliPool {
    pub(super) fn start(workers: usize) -> Result<Box<dyn Contender>, Absent> {
        Ok(Box::new(ChiliPool::of(workers)))
    }

    pub(super) fn of(workers: usize) -> ChiliPool {
        let config = Config {
            thread_count: NonZero::new(workers),
            ..Config::default()
        };
        ChiliPool(ThreadPool::with_config(config))
    }
}

impl Pools for ChiliPool {
    type Context = Join;
    const CALLER_WORKS: bool = true;

    fn enter<R: Send>(&self, _: usize, work: impl FnOnce(&mut Join) -> R + Send) -> R {
        work(Join::from_scope(&mut self.0.scope()))
    }
}

impl Contender for ChiliPool {
    fn run(&mut self, job: &mut WorkloadJob) -> Result<TimedAnswer, String> {
        let pool = &self.0;
        let stack_bytes = job.stack_bytes();
        // A scope keeps chili's heartbeat going, so it lives no longer than the run.
        let time = measure::on_stack(stack_bytes, || {
            let mut scope = pool.scope();
            timed(job, Join::from_scope(&mut scope))
        })
        .map_err(|failure| failure.to_string())?;
        Ok(TimedAnswer {
            time,
            answer: job.answer(),
        })
    }
}
