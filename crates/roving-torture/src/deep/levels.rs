//! Ways to nest, each of which counts its levels and notes how far down the native stack they
//! reach.

use std::cell::Cell;
use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use roving::Pool;
use roving::task::{Scope, Task};

/// Where the levels lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LevelStorage {
    /// On the native stack.
    Native,
    /// In frames of async tasks.
    Frames,
}

/// A way to nest.
pub(crate) struct Nesting {
    pub(crate) name: &'static str,
    pub(crate) kind: LevelStorage,
    run: fn(&Pool, u64) -> u64,
}

const fn native(name: &'static str, run: fn(&Pool, u64) -> u64) -> Nesting {
    let kind = LevelStorage::Native;
    Nesting { name, kind, run }
}

const fn frames(name: &'static str, run: fn(&Pool, u64) -> u64) -> Nesting {
    let kind = LevelStorage::Frames;
    Nesting { name, kind, run }
}

/// All of them.
pub(crate) const SHAPES: [Nesting; 9] = [
    native("joins, on the first side", |pool, depth| {
        pool.install(|| first(depth))
    }),
    native("joins, on the second side", |pool, depth| {
        pool.install(|| second(depth))
    }),
    native("joins, on one side or the other", |pool, depth| {
        pool.install(|| either(depth))
    }),
    native("joins, each with a small tree beside it", |pool, depth| {
        pool.install(|| bushy(depth))
    }),
    native("scopes", |pool, depth| pool.install(|| scopes(depth))),
    frames("async calls", |pool, depth| pool.run(|s| calls(s, depth))),
    frames("async forks", |pool, depth| pool.run(|s| forks(s, depth))),
    frames("async spawns", |pool, depth| pool.run(|s| spawns(s, depth))),
    frames("async branches", |pool, depth| {
        pool.run(|s| branches(s, depth))
    }),
];

thread_local! {
    /// Where this thread's stack begins, about.
    static START: Cell<usize> = const { Cell::new(0) };
}

/// The furthest that any worker's stack has reached.
static USED: AtomicU64 = AtomicU64::new(0);

/// An address in the caller's frame, or near it.
#[inline(always)]
fn here() -> usize {
    let local = 0_u8;
    (&raw const *black_box(&local)).addr()
}

/// The calling thread's stack is counted from here.
pub(crate) fn begin_thread() {
    START.set(here());
}

/// A level is there.
#[inline(always)]
fn note() {
    let used = START.get().saturating_sub(here()) as u64;
    if used > USED.load(Relaxed) {
        USED.fetch_max(used, Relaxed);
    }
}

/// Bytes of native stack that the worker takes which takes most; an error if a level is lost.
pub(crate) fn stack_used(pool: &Pool, shape: &Nesting, depth: u64) -> Result<u64, String> {
    USED.store(0, Relaxed);
    let levels = (shape.run)(pool, depth);
    match levels == depth {
        true => Ok(USED.load(Relaxed)),
        false => Err(format!(
            "{}: {levels} levels, should be {depth}",
            shape.name
        )),
    }
}

fn first(depth: u64) -> u64 {
    note();
    let Some(below) = depth.checked_sub(1) else {
        return 0;
    };
    let (a, b) = roving::join(|| first(below), || 1);
    a + b
}

fn second(depth: u64) -> u64 {
    note();
    let Some(below) = depth.checked_sub(1) else {
        return 0;
    };
    let (a, b) = roving::join(|| 1, || second(below));
    a + b
}

fn either(depth: u64) -> u64 {
    note();
    let Some(below) = depth.checked_sub(1) else {
        return 0;
    };
    let (a, b) = match depth.count_ones() % 2 {
        0 => roving::join(|| either(below), || 1),
        _ => roving::join(|| 1, || either(below)),
    };
    a + b
}

fn bushy(depth: u64) -> u64 {
    fn tree(depth: u32) -> u64 {
        note();
        match depth {
            0 => 0,
            _ => roving::join(|| tree(depth - 1), || tree(depth - 1)).0,
        }
    }
    note();
    let Some(below) = depth.checked_sub(1) else {
        return 0;
    };
    let (tree, a) = roving::join(|| tree((depth % 4) as u32), || bushy(below));
    tree + a + 1
}

fn scopes(depth: u64) -> u64 {
    note();
    let Some(below) = depth.checked_sub(1) else {
        return 0;
    };
    let mut levels = 0;
    roving::scope(|s| s.spawn(|_| levels = scopes(below)));
    levels + 1
}

fn calls<'s>(s: Scope<'s>, depth: u64) -> impl Task<u64> + 's {
    async move {
        note();
        match depth.checked_sub(1) {
            None => 0,
            Some(below) => s.call(calls(s, below)).await + 1,
        }
    }
}

fn forks<'s>(s: Scope<'s>, depth: u64) -> impl Task<u64> + 's {
    async move {
        note();
        match depth.checked_sub(1) {
            None => 0,
            Some(below) => s.fork(forks(s, below)).await.await + 1,
        }
    }
}

fn spawns<'s>(s: Scope<'s>, depth: u64) -> impl Task<u64> + 's {
    async move {
        note();
        match depth.checked_sub(1) {
            None => 0,
            Some(below) => s.spawn(spawns(s, below)).await + 1,
        }
    }
}

fn branches<'s>(s: Scope<'s>, depth: u64) -> impl Task<u64> + 's {
    async move {
        note();
        match depth.checked_sub(1) {
            None => 0,
            Some(below) => {
                let child = s.branch(branches(s, below)).await;
                s.call(async {}).await;
                child.await + 1
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shape_has_all_its_levels() {
        let builder = Pool::builder().workers(2).stack_size(64 << 20);
        let pool = builder.on_start(|_| begin_thread()).build().unwrap();
        for shape in &SHAPES {
            assert!(stack_used(&pool, shape, 500).unwrap() > 0, "{}", shape.name);
        }
    }
}
