//! Shapes as closures: the same code for every runtime that has a `join`.

use std::thread;
use std::time::{Duration, Instant};

use super::shape::{CalledFrom, Leaves, ShapePart, ShapedProgram, TimedUntil, begun_since};
use crate::forms::fork_join::ForkJoin;

/// The native stack of a worker.
pub(crate) const STACK_BYTES: usize = 2 << 20;

/// A runtime's pool, and a second one for the shapes that have two.
pub(crate) trait Pools: Sync {
    /// The context that its workers pass along.
    type Context: ForkJoin;
    /// Whether who enters is one of the workers: then there is one caller and one pool only.
    const CALLER_WORKS: bool;

    /// Calls `work` on a worker of that pool.
    fn enter<R: Send>(&self, pool: usize, work: impl FnOnce(&mut Self::Context) -> R + Send) -> R;
}

/// One run, if the runtime can do that shape.
pub(crate) fn run<P: Pools>(pools: &P, shape: &ShapedProgram, leaves: Leaves) -> Option<Duration> {
    let (parts, called) = (&shape.parts, Instant::now());
    let ended = match shape.kind.entry {
        CalledFrom::Inside => pools.enter(0, |cx| {
            let start = Instant::now();
            walk(cx, &parts[0], leaves);
            start.elapsed()
        }),
        _ if P::CALLER_WORKS => return None,
        CalledFrom::Callers => {
            let start = Instant::now();
            thread::scope(|scope| {
                for part in parts {
                    scope.spawn(|| pools.enter(0, |cx| walk(cx, part, leaves)));
                }
            });
            start.elapsed()
        }
        CalledFrom::TwoPools => pools.enter(0, |cx| {
            let start = Instant::now();
            cx.loop_all(parts.len(), &|_: &mut P::Context, part| {
                pools.enter(1, |cx| walk(cx, &parts[part], leaves));
            });
            start.elapsed()
        }),
    };
    Some(match shape.kind.until {
        TimedUntil::Ended => ended,
        TimedUntil::Begun => begun_since(called),
    })
}

fn walk<C: ForkJoin>(cx: &mut C, part: &ShapePart, leaves: Leaves) {
    match part {
        ShapePart::Leaf(time_us) => leaves.pass(*time_us),
        ShapePart::Series(parts) => parts.iter().for_each(|part| walk(cx, part, leaves)),
        ShapePart::Join(both) => {
            let [a, b] = &**both;
            cx.join(|cx| walk(cx, a, leaves), |cx| walk(cx, b, leaves));
        }
        ShapePart::Spawn(parts) => {
            cx.spawn_all(parts.len(), &|cx: &mut C, one| {
                walk(cx, &parts[one], leaves)
            });
        }
        ShapePart::Loop(parts) => {
            cx.loop_all(parts.len(), &|cx: &mut C, one| {
                walk(cx, &parts[one], leaves)
            });
        }
    }
}
