//! Shapes on Roving: as closures, and as async tasks in either order.

use std::pin::Pin;
use std::thread;
use std::time::{Duration, Instant};

use roving::task::{Scope, Task};

use crate::forms::fork_join::Roving;
use crate::forms::tasks::{Adaptive, BranchOrder, Form, HelpFirst, WorkFirst};
use crate::shapes::closures::{self, Pools};
use crate::shapes::shape::{CalledFrom, Leaves, ShapePart, ShapedProgram, TimedUntil, begun_since};

/// The pools of all forms: they take turns.
#[derive(Debug)]
pub(crate) struct Ours([roving::Pool; 2]);

impl Ours {
    /// With pools that count on as many cores as they have workers, or on those that there are.
    pub(crate) fn start(workers: usize, crowded: bool) -> Result<Ours, roving::BuildError> {
        let pool = || {
            let builder = roving::Pool::builder().workers(workers);
            match crowded {
                true => builder.build(),
                false => builder.assume_cores(workers).build(),
            }
        };
        Ok(Ours([pool()?, pool()?]))
    }

    /// One run in that form, if it can do the shape.
    pub(crate) fn run(
        &self,
        form: Form,
        shape: &ShapedProgram,
        leaves: Leaves,
    ) -> Option<Duration> {
        match form {
            Form::Join => closures::run(self, shape, leaves),
            Form::Fork => self.run_tasks::<WorkFirst>(shape, leaves),
            Form::Spawn => self.run_tasks::<HelpFirst>(shape, leaves),
            Form::Branch => self.run_tasks::<Adaptive>(shape, leaves),
        }
    }

    fn run_tasks<O: BranchOrder>(&self, shape: &ShapedProgram, leaves: Leaves) -> Option<Duration> {
        let (pool, called) = (&self.0[0], Instant::now());
        let one = |part| {
            pool.run(|scope| async move {
                let start = Instant::now();
                walk::<O>(scope, part, leaves).await;
                start
            })
        };
        let start = match shape.kind.entry {
            CalledFrom::Inside => one(&shape.parts[0]),
            CalledFrom::Callers => {
                let start = Instant::now();
                thread::scope(|scope| {
                    for part in &shape.parts {
                        scope.spawn(|| one(part));
                    }
                });
                start
            }
            CalledFrom::TwoPools => return None,
        };
        Some(match shape.kind.until {
            TimedUntil::Ended => start.elapsed(),
            TimedUntil::Begun => begun_since(called),
        })
    }
}

impl Pools for Ours {
    type Context = Roving;
    const CALLER_WORKS: bool = false;

    fn enter<R: Send>(&self, pool: usize, work: impl FnOnce(&mut Roving) -> R + Send) -> R {
        self.0[pool].install(|| work(&mut Roving))
    }
}

fn walk<'scope, O: BranchOrder>(
    scope: Scope<'scope>,
    part: &'scope ShapePart,
    leaves: Leaves,
) -> Pin<Box<dyn Task<()> + 'scope>> {
    Box::pin(async move {
        match part {
            ShapePart::Leaf(time_us) => leaves.pass(*time_us),
            ShapePart::Series(parts) => {
                for part in parts {
                    scope.call(walk::<O>(scope, part, leaves)).await;
                }
            }
            ShapePart::Join(both) => {
                let [a, b] = &**both;
                let first = O::branch(scope, walk::<O>(scope, a, leaves)).await;
                scope.call(walk::<O>(scope, b, leaves)).await;
                first.await;
            }
            ShapePart::Spawn(parts) | ShapePart::Loop(parts) => {
                let mut children = Vec::with_capacity(parts.len());
                for part in parts {
                    children.push(O::branch(scope, walk::<O>(scope, part, leaves)).await);
                }
                while let Some(newest) = children.pop() {
                    newest.await;
                }
            }
        }
    })
}
