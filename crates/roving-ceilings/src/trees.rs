//! Recursions without a cut-off: a task for each call.

use std::hint::black_box;

use roving::Pool;
use roving::join;
use roving::task::{Task, call, fork};

use crate::Path;

/// Which Fibonacci number the closures compute.
const FIB: u64 = 15;
/// The depth of the binary trees.
const DEPTH: u64 = 10;
/// The leaves of the tree of ten children a node.
const LEAVES: u64 = 1000;

pub(crate) const JOIN_BY_REFERENCE: Path = Path {
    name: "join-by-reference",
    operations: calls(FIB),
    run: |pool, rounds| repeat(pool, rounds, || by_reference(black_box(FIB)), number(FIB)),
};

pub(crate) const JOIN_BY_MOVE: Path = Path {
    name: "join-by-move",
    operations: calls(FIB),
    run: |pool, rounds| repeat(pool, rounds, || by_move(black_box(FIB)), number(FIB)),
};

pub(crate) const JOIN_OF_4_WORDS: Path = Path {
    name: "join-of-4-words",
    operations: (1 << DEPTH) - 1,
    run: |pool, rounds| {
        let tree = || four(black_box(DEPTH), 1, 2, 3);
        repeat(pool, rounds, tree, 6 << DEPTH);
    },
};

pub(crate) const JOIN_OF_6_WORDS: Path = Path {
    name: "join-of-6-words",
    operations: (1 << DEPTH) - 1,
    run: |pool, rounds| {
        let tree = || six(black_box(DEPTH), 1, 2, 3, 4, 5);
        repeat(pool, rounds, tree, 15 << DEPTH);
    },
};

pub(crate) const SKYNET: Path = Path {
    name: "skynet-leaf",
    operations: LEAVES,
    run: |pool, rounds| {
        let tree = || skynet(0, black_box(LEAVES));
        repeat(pool, rounds, tree, LEAVES * (LEAVES - 1) / 2);
    },
};

pub(crate) const SKYNET_BY_SCOPE: Path = Path {
    name: "skynet-leaf-by-scope",
    operations: LEAVES,
    run: |pool, rounds| {
        let tree = || skynet_by_scope(0, black_box(LEAVES));
        repeat(pool, rounds, tree, LEAVES * (LEAVES - 1) / 2);
    },
};

pub(crate) const FORK_AND_CALL: Path = Path {
    name: "fork-and-call",
    operations: calls(FIB),
    run: |pool, rounds| {
        for _ in 0..rounds {
            assert_eq!(pool.run(|_| by_tasks(black_box(FIB))), number(FIB));
        }
    },
};

fn repeat(pool: &Pool, rounds: u64, tree: impl Fn() -> u64 + Send + Sync, sum: u64) {
    pool.install(|| (0..rounds).for_each(|_| assert_eq!(tree(), sum)));
}

/// The n-th Fibonacci number.
const fn number(n: u64) -> u64 {
    let (mut one, mut next, mut at) = (0, 1, 0);
    while at < n {
        (one, next) = (next, one + next);
        at += 1;
    }
    one
}

/// The calls that it takes.
const fn calls(n: u64) -> u64 {
    2 * number(n + 1) - 1
}

fn by_reference(n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (a, b) = join(|| by_reference(n - 1), || by_reference(n - 2));
    a + b
}

fn by_move(n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (a, b) = join(move || by_move(n - 1), move || by_move(n - 2));
    a + b
}

fn four(depth: u64, a: u64, b: u64, c: u64) -> u64 {
    if depth == 0 {
        return a + b + c;
    }
    let (x, y) = join(
        move || four(depth - 1, a, b, c),
        move || four(depth - 1, a, b, c),
    );
    x + y
}

fn six(depth: u64, a: u64, b: u64, c: u64, d: u64, e: u64) -> u64 {
    if depth == 0 {
        return a + b + c + d + e;
    }
    let (x, y) = join(
        move || six(depth - 1, a, b, c, d, e),
        move || six(depth - 1, a, b, c, d, e),
    );
    x + y
}

/// The sum of the numbers from `first` on, as many as `leaves`, a power of ten.
fn skynet(first: u64, leaves: u64) -> u64 {
    if leaves == 1 {
        return first;
    }
    let leaves = leaves / 10;
    let child = |place: u64| skynet(first + place * leaves, leaves);
    let pair = |place: u64| sum(|| child(place), || child(place + 1));
    sum(
        || sum(|| pair(0), || pair(2)),
        || sum(|| pair(4), || sum(|| pair(6), || pair(8))),
    )
}

/// [`skynet`], with the children of a node spawned into a scope of its own.
fn skynet_by_scope(first: u64, leaves: u64) -> u64 {
    if leaves == 1 {
        return first;
    }
    let leaves = leaves / 10;
    let mut sums = [0; 10];
    roving::scope(|scope| {
        for (place, sum) in (0..).zip(&mut sums) {
            scope.spawn(move |_| *sum = skynet_by_scope(first + place * leaves, leaves));
        }
    });
    sums.iter().sum()
}

#[inline(always)]
fn sum(a: impl FnOnce() -> u64 + Send, b: impl FnOnce() -> u64 + Send) -> u64 {
    let (a, b) = join(a, b);
    a + b
}

fn by_tasks(n: u64) -> impl Task<u64> {
    async move {
        if n < 2 {
            return n;
        }
        let a = fork(by_tasks(n - 1)).await;
        let b = call(by_tasks(n - 2)).await;
        a.await + b
    }
}
