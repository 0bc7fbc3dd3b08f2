//! Random trees of forks, spawns, calls and branches, against a serial evaluation.

mod common;
#[path = "common/panics.rs"]
mod panics;

use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::task::Poll;

use common::{AMOUNTS, Census, forget, size, watched};
use panics::{caught, fail};
use proptest::prelude::*;
use roving::policy::Amount;
use roving::policy::SpawnOrder;
use roving::task::{Forked, Task, branch, call, fork, spawn};
use roving::{Pool, join};

/// How a child is made.
#[derive(Clone, Copy, Debug)]
enum How {
    Fork,
    Spawn,
    Call,
    Branch,
    /// By `join`, in the middle of the task.
    Join,
}

/// The fate of a handle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    AwaitedAtOnce,
    AwaitedAtTheEnd,
    Dropped,
    Forgotten,
}

#[derive(Debug)]
struct Tree {
    value: u64,
    panics: bool,
    children: Vec<(How, Fate, Arc<Tree>)>,
}

impl Tree {
    /// The task's result, and the sum of all tasks below it.
    fn serial(&self) -> (u64, u64) {
        let (mut result, mut total) = (self.value, self.value);
        for (how, fate, child) in &self.children {
            let (of_child, below) = child.serial();
            total += below;
            let is_seen = matches!(fate, Fate::AwaitedAtOnce | Fate::AwaitedAtTheEnd)
                || matches!(how, How::Call | How::Join);
            if is_seen {
                result = result.wrapping_mul(3) + of_child;
            }
        }
        (result, total)
    }

    fn may_panic(&self) -> bool {
        self.panics || self.children.iter().any(|(_, _, child)| child.may_panic())
    }
}

/// The order in which `serial` combines results is that of the children; what is awaited at the end
/// keeps its place.
enum Result {
    Known(u64),
    Open(Forked<u64>),
    Ignored,
}

fn evaluate(tree: Arc<Tree>, total: Arc<AtomicU64>, census: &'static Census) -> impl Task<u64> {
    let argument = census.one();
    async move {
        let local = census.one();
        total.fetch_add(tree.value, Relaxed);
        if tree.value % 3 == 0 {
            yield_now().await;
        }
        let mut results = Vec::new();
        for (how, fate, child) in &tree.children {
            let make = || evaluate(Arc::clone(child), Arc::clone(&total), census);
            let handle = match how {
                How::Fork => fork(make()).await,
                How::Branch => branch(make()).await,
                How::Spawn => spawn(make()),
                How::Call => {
                    results.push(Result::Known(call(make()).await));
                    continue;
                }
                How::Join => {
                    let (below, ()) = join(
                        || roving::task::block_on(make()),
                        || assert!(tree.value < 1 << 40),
                    );
                    results.push(Result::Known(below));
                    continue;
                }
            };
            results.push(match fate {
                Fate::AwaitedAtOnce => Result::Known(handle.await),
                Fate::AwaitedAtTheEnd => Result::Open(handle),
                Fate::Dropped => Result::Ignored,
                Fate::Forgotten => {
                    forget(handle);
                    Result::Ignored
                }
            });
        }
        if tree.value % 4 == 0 {
            yield_now().await;
        }
        if tree.panics {
            fail("a task");
        }
        let mut result = tree.value;
        for of_child in results {
            let of_child = match of_child {
                Result::Known(of_child) => of_child,
                Result::Open(handle) => handle.await,
                Result::Ignored => continue,
            };
            result = result.wrapping_mul(3) + of_child;
        }
        drop((local, argument));
        result
    }
}

/// Suspends, and is woken at once: by the lent waker, or by a clone of it.
async fn yield_now() {
    let mut yields = 0;
    poll_fn(move |context| {
        yields += 1;
        match yields {
            1 => context.waker().wake_by_ref(),
            2 => {
                let own = context.waker().clone();
                own.wake();
            }
            _ => return Poll::Ready(()),
        }
        Poll::Pending
    })
    .await
}

fn trees(panics: bool) -> impl Strategy<Value = Arc<Tree>> {
    let panics = if panics { 0.1 } else { 0.0 };
    let leaf = (0..100_u64, proptest::bool::weighted(panics)).prop_map(|(value, panics)| Tree {
        value,
        panics,
        children: Vec::new(),
    });
    let how = prop_oneof![
        4 => Just(How::Fork),
        4 => Just(How::Spawn),
        2 => Just(How::Call),
        2 => Just(How::Branch),
        1 => Just(How::Join),
    ];
    let fate = prop_oneof![
        2 => Just(Fate::AwaitedAtOnce),
        4 => Just(Fate::AwaitedAtTheEnd),
        1 => Just(Fate::Dropped),
        1 => Just(Fate::Forgotten),
    ];
    leaf.prop_map(Arc::new)
        .prop_recursive(6, 200, 5, move |inner| {
            let child = (how.clone(), fate.clone(), inner);
            (
                0..100_u64,
                proptest::bool::weighted(panics),
                prop::collection::vec(child, 0..6),
            )
                .prop_map(|(value, panics, children)| {
                    Arc::new(Tree {
                        value,
                        panics,
                        children,
                    })
                })
        })
}

fn pools() -> Vec<Pool> {
    let build = |workers, amount: Amount, order, migrate: bool| {
        let builder = Pool::builder()
            .workers(workers)
            .steal(amount)
            .spawn_order(order);
        match migrate {
            true => builder.migrate_at_each_fork().build().unwrap(),
            false => builder.build().unwrap(),
        }
    };
    let mut pools = vec![
        build(1, Amount::One, SpawnOrder::Adaptive, false),
        build(1, Amount::One, SpawnOrder::HelpFirst, true),
        build(2, Amount::One, SpawnOrder::WorkFirst, true),
        build(4, Amount::Half, SpawnOrder::Adaptive, true),
    ];
    pools.extend(AMOUNTS.map(|amount| build(3, amount, SpawnOrder::Adaptive, false)));
    pools.push(Pool::builder().caller_runs().build().unwrap());
    pools
}

/// Each pool is there for one run, or many: forced migration finds other orders each time.
const RUNS: usize = 3;

#[test]
fn random_trees_come_to_what_they_come_to_serially() {
    static CENSUS: Census = Census::new();
    let pools = pools();
    watched(|| {
        proptest!(ProptestConfig::with_cases(size(300, 2)), |(tree in trees(false))| {
            let (result, sum) = tree.serial();
            for pool in &pools {
                for _ in 0..RUNS {
                    let total = Arc::new(AtomicU64::new(0));
                    let task = evaluate(Arc::clone(&tree), Arc::clone(&total), &CENSUS);
                    prop_assert_eq!(pool.run(|_| task), result);
                    prop_assert_eq!(total.load(Relaxed), sum);
                    CENSUS.check();
                }
            }
        });
    });
}

#[test]
fn a_panic_anywhere_in_a_random_tree_reaches_the_root_and_leaks_nothing() {
    static CENSUS: Census = Census::new();
    let pools = pools();
    watched(|| {
        proptest!(ProptestConfig::with_cases(size(300, 2)), |(tree in trees(true))| {
            for pool in &pools {
                let total = Arc::new(AtomicU64::new(0));
                let task = evaluate(Arc::clone(&tree), Arc::clone(&total), &CENSUS);
                if !tree.may_panic() {
                    pool.run(|_| task);
                } else {
                    // A task may panic before it makes the child that would, and a forgotten
                    // handle tells nobody.
                    let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                        pool.run(|_| task)
                    }));
                    if let Err(payload) = outcome {
                        prop_assert_eq!(panics::reason(&*payload), "a task");
                    }
                }
                CENSUS.check();
            }
        });
    });
}

#[test]
fn the_first_panic_that_nobody_awaits_reaches_the_root() {
    watched(|| {
        for pool in pools() {
            let forked = || {
                pool.run(|_| async {
                    drop(fork(async { fail("forked") }).await);
                })
            };
            assert_eq!(caught(forked), "forked");
            let spawned = || {
                pool.run(|_| async {
                    drop(spawn(async { fail("spawned") }));
                })
            };
            assert_eq!(caught(spawned), "spawned");
            panics::works(&pool);
        }
    });
}

/// A child of a loop: most end at once, some do one thing more.
fn small(number: u64) -> impl Task<u64> {
    async move {
        let (half, rest) = (number / 2, number.div_ceil(2));
        match number % 16 {
            1 => fork(async move { number }).await.await,
            3 => call(async move { number }).await,
            5 => spawn(async move { number }).await,
            7 => {
                let (half, rest) = join(move || half, move || rest);
                half + rest
            }
            9 => {
                let sum = AtomicU64::new(half);
                roving::scope(|scope| {
                    scope.spawn(|_| {
                        sum.fetch_add(rest, Relaxed);
                    });
                });
                sum.into_inner()
            }
            11 => {
                yield_now().await;
                number
            }
            _ => number,
        }
    }
}

/// The rest of the loop is all that a thief can take, and comes and goes with each child. With
/// three workers one public task is not enough.
#[test]
fn a_loop_of_small_forks_comes_to_its_sum() {
    let many = size(40_000, 200);
    for workers in [2, 3] {
        let pool = Pool::builder().workers(workers).build().unwrap();
        let sum = pool.run(move |_| async move {
            let (mut kept, mut sum) = (Vec::new(), 0);
            for number in 0..many {
                let child = fork(small(number)).await;
                match number % 19 {
                    0 => kept.push(child),
                    1 => drop(child),
                    _ => sum += child.await,
                }
            }
            for child in kept {
                sum += child.await;
            }
            sum
        });
        let counted = (0..many).filter(|number| number % 19 != 1);
        assert_eq!(sum, counted.sum::<u64>(), "{workers} workers");
    }
}
