//! Shapes whose leaves sleep, as tasks of tokio. Its last spawned task cannot be stolen from a
//! worker that blocks, which such leaves do.

use std::future::Future;
use std::pin::Pin;
use std::time::Instant;

use ::tokio::runtime::{Builder, Runtime};

use super::Absent;
use crate::shapes::runner::{Runner, here};
use crate::shapes::shape::{CalledFrom, Leaves, ShapePart, ShapedProgram, TimedUntil, begun_since};

/// tokio's runtime with so many threads.
pub(super) fn start(workers: usize) -> Result<Runner, Absent> {
    match Builder::new_multi_thread().worker_threads(workers).build() {
        Ok(runtime) => Ok(here(move |shape, leaves| run(&runtime, shape, leaves))),
        Err(error) => Err(Absent(format!(
            "tokio made no runtime of {workers}: {error}"
        ))),
    }
}

fn run(
    runtime: &Runtime,
    shape: &'static ShapedProgram,
    leaves: Leaves,
) -> Option<std::time::Duration> {
    let called = Instant::now();
    let ended = match shape.kind.entry {
        CalledFrom::Inside => {
            let timed = runtime.spawn(async move {
                let start = Instant::now();
                walk(&shape.parts[0], leaves).await;
                start.elapsed()
            });
            runtime.block_on(timed).ok()?
        }
        CalledFrom::Callers => {
            let start = Instant::now();
            std::thread::scope(|scope| {
                for part in &shape.parts {
                    scope.spawn(|| runtime.block_on(runtime.spawn(walk(part, leaves))));
                }
            });
            start.elapsed()
        }
        CalledFrom::TwoPools => return None,
    };
    Some(match shape.kind.until {
        TimedUntil::Ended => ended,
        TimedUntil::Begun => begun_since(called),
    })
}

fn walk(part: &'static ShapePart, leaves: Leaves) -> Pin<Box<dyn Future<Output = ()> + Send>> {
    Box::pin(async move {
        match part {
            ShapePart::Leaf(time_us) => leaves.pass(*time_us),
            ShapePart::Series(parts) => {
                for part in parts {
                    walk(part, leaves).await;
                }
            }
            ShapePart::Join(_) | ShapePart::Spawn(_) | ShapePart::Loop(_) => {
                let Some((first, others)) = part.parts().split_first() else {
                    return;
                };
                let others = others.iter().map(|part| ::tokio::spawn(walk(part, leaves)));
                let others: Vec<_> = others.collect();
                walk(first, leaves).await;
                for other in others {
                    super::tokio::joined(other).await;
                }
            }
        }
    })
}
