//! Programs on a pool: the parts that are closures.

use std::any::Any;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

use roving::raw::panics;
use roving::{Pool, Priority, Scope, context};

use super::contexts;
use super::node::*;
use super::reduction::{self, Reduction};
use super::serial::CAUGHT;
use super::tasks;
use crate::census::{Census, Counted};
use crate::random::{mix, mix2};

/// The context of every part of a running program.
#[derive(Clone, Copy)]
pub(crate) struct PartContext<'p> {
    pub(crate) census: &'static Census,
    /// The pools that it may enter. None for a detached job.
    pub(crate) pools: &'p [Pool],
}

/// The payload of a program's panics: its drop is counted as well.
pub(crate) struct Thrown {
    pub(crate) id: Id,
    owned: Counted,
}

impl Thrown {
    pub(crate) fn census(&self) -> &'static Census {
        self.owned.census()
    }
}

/// Panics without a message.
pub(crate) fn throw(id: Id, census: &'static Census) -> ! {
    let owned = census.one();
    panic::resume_unwind(Box::new(Thrown { id, owned }))
}

/// The number of the place that threw, or a text for a panic that was not ours.
pub(crate) fn thrown(payload: Box<dyn Any + Send>) -> Result<Id, String> {
    let payload = match payload.downcast::<Thrown>() {
        Ok(thrown) => return Ok(thrown.id),
        Err(other) => other,
    };
    Err(panics::text(&*payload)
        .unwrap_or("a payload of another type")
        .to_owned())
}

/// Calls `f`; the error is what it threw. A panic that is not a program's goes on.
pub(crate) fn caught<R>(f: impl FnOnce() -> R) -> Result<R, Id> {
    match panic::catch_unwind(AssertUnwindSafe(f)) {
        Ok(value) => Ok(value),
        Err(payload) if payload.is::<Thrown>() => {
            Err(thrown(payload).unwrap_or_else(|_| unreachable!("looked at just now")))
        }
        Err(payload) => panic::resume_unwind(payload),
    }
}

/// A value too large for a slot.
struct OversizedValue(
    [u64; 12],
    #[expect(dead_code, reason = "its drop is counted")] Counted,
);

impl OversizedValue {
    fn new(value: u64, census: &'static Census) -> OversizedValue {
        OversizedValue([value; 12], census.one())
    }

    fn value(&self) -> u64 {
        let [first, .., last] = self.0;
        assert_eq!(first, last, "a value changed on its way");
        first
    }
}

/// Evaluates a part of a program on this worker and others.
pub(crate) fn node(node: &ClosureNode, cx: PartContext<'_>) -> u64 {
    match node {
        ClosureNode::Leaf(value) => mix(*value),
        ClosureNode::Throw(id) => throw(*id, cx.census),
        ClosureNode::Join(both) => join(both, cx),
        ClosureNode::Wide(both) => wide(both, cx),
        ClosureNode::Heap { depth, seed, owned } => match owned {
            true => owned_heap(*seed, *depth, 0, cx.census),
            false => {
                cx.census.ran((1 << depth) - 1);
                bare_heap(*seed, *depth, 0)
            }
        },
        ClosureNode::Scope { kind, steps } => scope(*kind, steps, cx),
        ClosureNode::Flat { tasks, seed, shape } => {
            flat(u64::from(*tasks), *seed, *shape, cx.census)
        }
        ClosureNode::Cancelled { tasks } => cancelled(*tasks, cx.census),
        ClosureNode::Cancelling { tasks, by } => cancelling(*tasks, *by, cx.census),
        ClosureNode::Loop {
            kind,
            end,
            seed,
            throw,
        } => counted_loop(*kind, *end as usize, *seed, *throw, cx.census),
        ClosureNode::Catch(inner) => caught(|| self::node(inner, cx)).unwrap_or(CAUGHT),
        ClosureNode::Broadcast { seed, throw } => broadcast(*seed, *throw, cx.census),
        ClosureNode::Blocking { sleep_us, node } => {
            let owned = cx.census.one();
            roving::blocking(move || {
                let _owned = owned;
                if *sleep_us > 0 {
                    thread::sleep(Duration::from_micros(u64::from(*sleep_us)));
                }
                self::node(node, cx)
            })
        }
        ClosureNode::Install { pool, node } => {
            let owned = cx.census.one();
            cx.pools[*pool].install(move || {
                let _owned = owned;
                self::node(node, cx)
            })
        }
        ClosureNode::Root { pool, task } => match pool {
            Some(pool) => cx.pools[*pool].run(|s| tasks::root(s, task, cx)),
            None => roving::task::scope(|s| tasks::root(s, task, cx)),
        },
        ClosureNode::Tagged { tag, node } => contexts::tagged(*tag, || self::node(node, cx)),
        ClosureNode::Seen => contexts::seen(),
        ClosureNode::Stoppable { stop, node } => contexts::stoppable(*stop, node, cx),
        ClosureNode::Waits { by_deadline } => contexts::waits(*by_deadline, cx),
        ClosureNode::Job { priority, node } => job(*priority, node, cx),
        ClosureNode::Resize(workers) => {
            let resized = cx.pools[0].resize(*workers);
            assert!(resized.is_ok(), "{resized:?}");
            4
        }
    }
}

fn join(both: &(ClosureNode, ClosureNode), cx: PartContext<'_>) -> u64 {
    let (in_a, in_b) = (cx.census.one(), cx.census.one());
    let a = move || (node(&both.0, cx), in_a);
    let b = move || {
        cx.census.ran(1);
        (node(&both.1, cx), in_b)
    };
    let (a, b) = roving::join(a, b);
    a.0.rotate_left(1) ^ b.0
}

fn wide(both: &(ClosureNode, ClosureNode), cx: PartContext<'_>) -> u64 {
    let (in_a, in_b) = (
        OversizedValue::new(1, cx.census),
        OversizedValue::new(2, cx.census),
    );
    let a = move |_| {
        assert_eq!(in_a.value(), 1, "a closure changed on its way");
        OversizedValue::new(node(&both.0, cx), cx.census)
    };
    let b = move |_| {
        cx.census.ran(1);
        assert_eq!(in_b.value(), 2, "a closure changed on its way");
        OversizedValue::new(node(&both.1, cx), cx.census)
    };
    let (a, b) = roving::join_context(a, b);
    a.value().rotate_left(1) ^ b.value()
}

fn bare_heap(seed: u64, depth: u32, from: u64) -> u64 {
    if depth == 0 {
        return leaf_value(seed, from);
    }
    let middle = from + (1 << (depth - 1));
    let (a, b) = roving::join(
        || bare_heap(seed, depth - 1, from),
        || bare_heap(seed, depth - 1, middle),
    );
    a.wrapping_add(b)
}

fn owned_heap(seed: u64, depth: u32, from: u64, census: &'static Census) -> u64 {
    if depth == 0 {
        return leaf_value(seed, from);
    }
    let middle = from + (1 << (depth - 1));
    let owned = census.one();
    let (a, b) = roving::join(
        || owned_heap(seed, depth - 1, from, census),
        move || {
            census.ran(1);
            (owned_heap(seed, depth - 1, middle, census), owned)
        },
    );
    a.wrapping_add(b.0)
}

fn scope(kind: ScopeKind, steps: &[ScopeStep], cx: PartContext<'_>) -> u64 {
    let sum = AtomicU64::new(0);
    let here = match kind {
        ScopeKind::Scope => roving::scope(|s| take_steps(s, steps, cx, &sum)),
        ScopeKind::InPlace => roving::in_place_scope(|s| take_steps(s, steps, cx, &sum)),
        ScopeKind::InPlaceOf(pool) => {
            cx.pools[pool].in_place_scope(|s| take_steps(s, steps, cx, &sum))
        }
    };
    here.wrapping_add(sum.into_inner())
}

fn take_steps<'s>(
    s: &Scope<'s>,
    steps: &'s [ScopeStep],
    cx: PartContext<'s>,
    sum: &'s AtomicU64,
) -> u64 {
    let mut here = 0_u64;
    for (index, step) in steps.iter().enumerate() {
        let index = index as u64;
        match step {
            ScopeStep::Spawn(node) => spawn(s, node, index, cx, sum),
            ScopeStep::SpawnTagged(tag, node) => {
                contexts::tagged(*tag, || spawn(s, node, index, cx, sum));
            }
            ScopeStep::Chain(first, second) => {
                let owned = cx.census.one();
                s.spawn(move |s| {
                    let _owned = owned;
                    cx.census.ran(1);
                    spawn(s, second, !index, cx, sum);
                    let value = node(first, cx);
                    sum.fetch_add(mix2(value, index), Relaxed);
                });
            }
            ScopeStep::Here(part) => {
                here = here.wrapping_add(mix2(node(part, cx), index));
            }
            ScopeStep::Foreign(node) => {
                // Such a thread inherits nothing: the context is carried there.
                let context = context::current();
                let there = || context.run(|| spawn(s, node, index, cx, sum));
                thread::scope(|threads| threads.spawn(there).join())
                    .unwrap_or_else(|payload| panic::resume_unwind(payload));
            }
            ScopeStep::Broadcast(seed) => {
                let owned = cx.census.one();
                s.spawn_broadcast(move |_, worker| {
                    let _owned = &owned;
                    cx.census.ran(1);
                    sum.fetch_add(leaf_value(*seed, worker as u64), Relaxed);
                });
            }
        }
    }
    here
}

fn spawn<'s>(
    s: &Scope<'s>,
    part: &'s ClosureNode,
    key: u64,
    cx: PartContext<'s>,
    sum: &'s AtomicU64,
) {
    let owned = cx.census.one();
    s.spawn(move |_| {
        let _owned = owned;
        cx.census.ran(1);
        sum.fetch_add(mix2(node(part, cx), key), Relaxed);
    });
}

fn flat(tasks: u64, seed: u64, shape: SpawnShape, census: &'static Census) -> u64 {
    let sum = AtomicU64::new(0);
    roving::scope(|s| match shape {
        SpawnShape::Bare => {
            census.ran(tasks);
            for index in 0..tasks {
                let sum = &sum;
                s.spawn(move |_| {
                    sum.fetch_add(leaf_value(seed, index), Relaxed);
                });
            }
        }
        SpawnShape::Owned => {
            for index in 0..tasks {
                let (sum, owned) = (&sum, census.one());
                s.spawn(move |_| {
                    census.ran(1);
                    sum.fetch_add(leaf_value(seed, index), Relaxed);
                    drop(owned);
                });
            }
        }
        SpawnShape::Chain => chain(s, tasks, seed, census, &sum),
        SpawnShape::Tree => grow(s, 0, tasks, seed, census, &sum),
    });
    sum.into_inner()
}

/// Each task spawns the next one.
fn chain<'s>(s: &Scope<'s>, left: u64, seed: u64, census: &'static Census, sum: &'s AtomicU64) {
    let Some(index) = left.checked_sub(1) else {
        return;
    };
    s.spawn(move |s| {
        census.ran(1);
        chain(s, index, seed, census, sum);
        sum.fetch_add(leaf_value(seed, index), Relaxed);
    });
}

/// Each task spawns the two below it, numbered as in a heap.
fn grow<'s>(
    s: &Scope<'s>,
    index: u64,
    end: u64,
    seed: u64,
    census: &'static Census,
    sum: &'s AtomicU64,
) {
    if index < end {
        let owned = census.one();
        s.spawn(move |s| {
            let _owned = owned;
            census.ran(1);
            grow(s, 2 * index + 1, end, seed, census, sum);
            grow(s, 2 * index + 2, end, seed, census, sum);
            sum.fetch_add(leaf_value(seed, index), Relaxed);
        });
    }
}

fn cancelled(tasks: u32, census: &'static Census) -> u64 {
    roving::scope(|s| {
        s.cancel();
        for _ in 0..tasks {
            let owned = census.one();
            s.spawn(move |_| {
                let _owned = owned;
                census.ran(1);
            });
        }
        u64::from(s.is_cancelled())
    })
}

fn cancelling(tasks: u32, by: u32, census: &'static Census) -> u64 {
    roving::scope(|s| {
        for task in 0..tasks {
            let owned = census.one();
            s.spawn(move |s| {
                let _owned = owned;
                census.ran(1);
                if task == by {
                    s.cancel();
                }
            });
        }
        2
    })
}

/// An accumulator whose copies are counted.
#[derive(Clone)]
struct CountedSum(u64, Counted);

fn counted_loop(
    kind: LoopKind,
    end: usize,
    seed: u64,
    throws: Option<(u32, Id)>,
    census: &'static Census,
) -> u64 {
    let item = |index: usize| {
        let _owned = census.one();
        match throws {
            Some((at, id)) if at as usize == index => throw(id, census),
            _ => leaf_value(seed, index as u64),
        }
    };
    let sum = AtomicU64::new(0);
    match kind {
        LoopKind::For => roving::par_for(0..end, |index| {
            sum.fetch_add(item(index), Relaxed);
        }),
        LoopKind::Chunks => {
            let mut values = vec![0; end];
            roving::par_chunks_mut(&mut values, 7, |number, chunk| {
                for (offset, value) in chunk.iter_mut().enumerate() {
                    *value = item(number * 7 + offset);
                }
            });
            let all = values
                .iter()
                .fold(0_u64, |sum, value| sum.wrapping_add(*value));
            sum.store(all, Relaxed);
        }
        LoopKind::Reduce => {
            let leaf = |index| (reduction::term(item(index)), census.one());
            let none = || (Reduction::NONE, census.one());
            let both = |a: (Reduction, Counted), b: (Reduction, Counted)| (a.0.then(b.0), a.1);
            let all = roving::reduce(0..end, reduction::GRAIN, none, leaf, both);
            sum.store(all.0.value(), Relaxed);
        }
        LoopKind::MapReduce => {
            let map = |index| CountedSum(item(index), census.one());
            let add = |a: CountedSum, b: CountedSum| CountedSum(a.0.wrapping_add(b.0), a.1);
            let all = roving::map_reduce(0..end, CountedSum(0, census.one()), map, add);
            sum.store(all.0, Relaxed);
        }
    }
    sum.into_inner()
}

fn broadcast(seed: u64, throws: Option<(u32, Id)>, census: &'static Census) -> u64 {
    let owned = census.one();
    let values = roving::broadcast(|worker| {
        let _owned = owned.clone();
        census.ran(1);
        match throws {
            Some((at, id)) if at as usize == worker => throw(id, census),
            _ => (leaf_value(seed, worker as u64), census.one()),
        }
    });
    values
        .iter()
        .fold(0, |sum, value| sum.wrapping_add(value.0))
}

/// The job runs until some time; the program's end waits for it.
fn job(priority: Option<Priority>, part: &Arc<ClosureNode>, cx: PartContext<'_>) -> u64 {
    let census = cx.census;
    let (part, owned) = (Arc::clone(part), census.one());
    let job = move || {
        census.ran(1);
        let value = node(&part, PartContext { census, pools: &[] });
        drop((owned, part));
        // The last thing, because somebody waits for it. A panic goes to the pool's handler.
        census.job_ended(Ok(mix(value)));
    };
    drop(match priority {
        None => roving::spawn(job),
        Some(priority) => cx.pools[0].spawn_with(priority, job),
    });
    3
}
