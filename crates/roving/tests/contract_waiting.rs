//! Line 4 of the contract: nothing unrelated runs on top of a waiting frame, so a lock may be held
//! across `join` and `scope`.

mod common;
#[path = "common/system.rs"]
mod system;

use std::cell::RefCell;
use std::hint::black_box;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::SeqCst};
use std::thread;
use std::time::Duration;

use common::{AMOUNTS, Random, pool_that_steals, size, tries, watched};
use roving::{Pool, join, par_for, scope};

/// The numbers of workers of the pools.
const POOLS: &[usize] = size(&[1, 2, 8], &[2]);

/// The levels of a computation that holds a lock at each, across a join or a scope by turns.
struct Locks {
    levels: Vec<Mutex<u64>>,
    leaves: AtomicUsize,
}

impl Locks {
    /// Below this level all is done under the locks of all levels above.
    fn nest(&self, level: usize) {
        let Some(lock) = self.levels.get(level) else {
            return;
        };
        let mut held = lock.lock().unwrap();
        *held += 1;
        if level % 2 == 0 {
            join(|| self.nest(level + 1), || self.leaf(level));
        } else {
            scope(|s| {
                s.spawn(|_| self.leaf(level));
                self.nest(level + 1);
            });
        }
        *held += 1;
    }

    /// Long enough now and then to be stolen and waited for.
    fn leaf(&self, level: usize) {
        self.leaves.fetch_add(1, SeqCst);
        if level % 64 < 2 {
            thread::yield_now();
        }
    }

    /// Work that has nothing to do with the nest but the locks.
    fn other(&self, level: usize) {
        let mut held = self.levels[level].lock().unwrap();
        join(|| black_box(1), || black_box(2));
        scope(|s| {
            s.spawn(|_| {
                black_box(3);
            })
        });
        *held += 1;
    }
}

#[test]
fn locks_held_across_join_and_scope_ten_thousand_deep() {
    let depth = if cfg!(roving_tsan) {
        1_000
    } else {
        size(10_000, 20)
    };
    watched(|| {
        for (workers, amount) in POOLS.iter().flat_map(|&w| AMOUNTS.map(|a| (w, a))) {
            let builder = Pool::builder().workers(workers).steal(amount);
            let pool = builder.stack_size(256 << 20).build().unwrap();
            let steals = || pool.profile().total().counters.steals_won;
            // Until something was stolen, which on a busy machine need not be in the first run.
            loop {
                nest_among_others(&pool, depth);
                if workers == 1 || steals() > 0 {
                    break;
                }
            }
        }
    });
}

/// Four nests of that depth, and tasks that need one of their locks each.
fn nest_among_others(pool: &Pool, depth: usize) {
    let others = depth / 5;
    let locks = Locks {
        levels: (0..depth).map(|_| Mutex::new(0)).collect(),
        leaves: AtomicUsize::new(0),
    };
    let locks = &locks;
    pool.install(|| {
        scope(|s| {
            let mut random = Random(pool.workers() as u64);
            for number in 0..others {
                let level = random.below(depth as u64) as usize;
                s.spawn(move |_| locks.other(level));
                if number % (others / 4) == 0 {
                    s.spawn(|_| locks.nest(0));
                }
            }
        });
    });
    let total: u64 = locks.levels.iter().map(|l| *l.lock().unwrap()).sum();
    assert_eq!(total as usize, 4 * 2 * depth + others);
    assert_eq!(locks.leaves.load(SeqCst), 4 * depth);
}

/// A lock around the fork and join of each task, needed by all tasks that are unrelated.
#[test]
fn one_lock_for_all() {
    fn tree(depth: u32, lock: &Mutex<u64>, steps: &AtomicU64) {
        if depth == 0 {
            let mut count = lock.lock().unwrap();
            let (a, b) = join(|| step(4, steps), || step(4, steps));
            *count += a + b;
            return;
        }
        join(
            || tree(depth - 1, lock, steps),
            || tree(depth - 1, lock, steps),
        );
    }
    fn step(depth: u32, steps: &AtomicU64) -> u64 {
        if depth == 0 {
            steps.fetch_add(1, SeqCst);
            thread::yield_now();
            return 1;
        }
        let (a, b) = join(|| step(depth - 1, steps), || step(depth - 1, steps));
        a + b
    }
    watched(|| {
        for &workers in POOLS {
            for amount in AMOUNTS {
                let pool = pool_that_steals(workers, amount);
                let (lock, steps) = (Mutex::new(0), AtomicU64::new(0));
                pool.install(|| tree(size(6, 2), &lock, &steps));
                assert_eq!(lock.into_inner().unwrap(), size(64, 4) * 32);
                assert_eq!(steps.into_inner(), size(64, 4) * 32);
            }
        }
    });
}

thread_local! {
    /// The tasks on the native stack of this thread, innermost last, each by its path.
    static ON_STACK: RefCell<Vec<Path>> = const { RefCell::new(Vec::new()) };
}

/// Where a task stands in the tree of a program: 1 is the root, and each digit to the right a
/// child.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Path(u64);

impl Path {
    fn child(self, number: u64) -> Path {
        Path(self.0 << 2 | number)
    }

    fn is_under(self, other: Path) -> bool {
        let mut path = self.0;
        while path > other.0 {
            path >>= 2;
        }
        path == other.0
    }

    /// Runs the task: what it runs on top of must be its ancestors, all of them different.
    fn enter<R>(self, deepest: &AtomicUsize, body: impl FnOnce() -> R) -> R {
        ON_STACK.with_borrow_mut(|stack| {
            if let Some(&below) = stack.last() {
                assert!(
                    self != below && self.is_under(below),
                    "{self:?} runs on top of {below:?}, which it has nothing to do with"
                );
            }
            stack.push(self);
            deepest.fetch_max(stack.len(), SeqCst);
        });
        let result = body();
        ON_STACK.with_borrow_mut(|stack| assert_eq!(stack.pop(), Some(self)));
        result
    }
}

/// An irregular program of joins, scopes and loops, whose leaves take long enough to be waited for.
fn program(path: Path, depth: u32, seed: u64, deepest: &AtomicUsize) {
    path.enter(deepest, || {
        let mut random = Random(seed ^ path.0);
        if depth == 0 || random.below(6) == 0 {
            if random.below(3) == 0 {
                thread::sleep(Duration::from_micros(random.below(150)));
            }
            return;
        }
        let child = |number| program(path.child(number), depth - 1, seed, deepest);
        match random.below(4) {
            0 | 1 => {
                join(|| child(0), || child(1));
                join(|| child(2), || child(3));
            }
            2 => scope(|s| {
                let child = &child;
                s.spawn(move |s| {
                    child(0);
                    s.spawn(move |_| child(1));
                });
                s.spawn(move |_| child(2));
                child(3);
            }),
            _ => par_for(0..4, |number| child(number as u64)),
        }
    });
}

/// Contract 4 and 6: what runs on top of a waiting frame descends from it. So the native stack of
/// a worker holds at most one task a level of the program, however long it waits.
#[test]
fn only_descendants_run_on_top_of_a_waiting_frame() {
    const DEPTH: u32 = size(6, 3);
    watched(|| {
        let mut leapfrogs = 0;
        for &workers in size(&[2, 3, 8][..], &[3]) {
            for amount in AMOUNTS {
                let pool = pool_that_steals(workers, amount);
                for seed in 0..tries(6) as u64 {
                    let deepest = AtomicUsize::new(0);
                    let run = |root| program(root, DEPTH, seed, &deepest);
                    // Two programs at once, which have nothing to do with each other.
                    thread::scope(|threads| {
                        for root in [Path(1), Path(2)] {
                            let (run, pool) = (&run, &pool);
                            threads.spawn(move || pool.install(|| run(root)));
                        }
                    });
                    assert!(deepest.into_inner() <= DEPTH as usize + 1);
                }
                leapfrogs += pool.profile().total().counters.leapfrogs;
            }
        }
        assert!(leapfrogs > 0, "nobody has waited for a thief with subtasks");
    });
}

// 5. Nothing is lost.
