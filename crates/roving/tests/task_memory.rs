//! Frames: what is allocated is freed, and work-first spawning holds as many as tasks are nested.

mod common;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::{AtomicIsize, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use common::{AMOUNTS, Census, pool, pool_that_steals, size, tries, watched};
use roving::task::{Forked, Task, block_on, branch, call, fork, spawn};
use roving::{Counters, Pool};

/// Counts allocations of each thread, and blocks that are alive.
struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<usize> = const { Cell::new(0) };
}
static BLOCKS: AtomicIsize = AtomicIsize::new(0);

// SAFETY: everything is left to the system's allocator; the counts allocate nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        BLOCKS.fetch_add(1, Relaxed);
        // SAFETY: the caller's promise is handed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        BLOCKS.fetch_sub(1, Relaxed);
        // SAFETY: the block came from the system's allocator, with this layout.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The tests look at what the whole process allocates, so they take turns.
static TURN: Mutex<()> = Mutex::new(());

fn alone(test: impl FnOnce()) {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    watched(test);
}

fn fib(n: u32) -> impl Task<u64> {
    async move {
        if n < 2 {
            return n.into();
        }
        let a = fork(fib(n - 1)).await;
        let b = call(fib(n - 2)).await;
        a.await + b
    }
}

fn help_first(n: u32) -> impl Task<u64> {
    async move {
        if n < 2 {
            return n.into();
        }
        let a = spawn(help_first(n - 1));
        let b = branch(help_first(n - 2)).await;
        a.await + b.await
    }
}

fn counters(pool: &Pool) -> Counters {
    pool.profile().total().counters
}

/// Frames that are in use.
fn in_use(pool: &Pool) -> u64 {
    let counters = counters(pool);
    counters.frames_allocated - counters.frames_freed - counters.frames_kept
}

#[test]
fn tasks_allocate_nothing_in_steady_state() {
    alone(|| {
        let pool = pool(1);
        let allocations = pool.run(|_| async {
            call(fib(12)).await;
            spawn(help_first(12)).await;
            let before = ALLOCATIONS.get();
            assert_eq!(call(fib(12)).await, 144);
            let forks = ALLOCATIONS.get() - before;
            let children: [Forked<u64>; 8] = std::array::from_fn(|n| spawn(fib(n as u32)));
            let mut sum = 0;
            for child in children {
                sum += child.await;
            }
            assert_eq!(sum, 33);
            (forks, ALLOCATIONS.get() - before - forks)
        });
        // The root is woken once, through a queue, when the children have ended.
        assert_eq!(allocations.0, 0, "forks and calls");
        assert!(allocations.1 <= 2, "spawns: {}", allocations.1);
    });
}

#[test]
fn every_frame_is_given_back() {
    alone(|| {
        for amount in AMOUNTS {
            for workers in [1, 2, 4] {
                let pool = pool_that_steals(workers, amount);
                for _ in 0..tries(10) {
                    assert_eq!(pool.run(|_| fib(size(14, 6))), size(377, 8));
                    assert_eq!(pool.run(|_| help_first(size(12, 6))), size(144, 8));
                    assert_eq!(pool.install(|| block_on(fib(size(10, 5)))), size(55, 5));
                    assert_eq!(in_use(&pool), 0, "{workers} workers, {amount}");
                }
            }
        }
    });
}

/// Of a root that panics, of children that do, and of those that nobody awaits.
#[test]
fn every_frame_that_comes_to_no_value_is_given_back() {
    fn fails() -> u64 {
        std::panic::resume_unwind(Box::new("it fails"))
    }
    alone(|| {
        let pool = pool(1);
        let caught = |f: &dyn Fn() -> u64| {
            let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(f));
            assert!(result.is_err());
        };
        for _ in 0..tries(5) {
            caught(&|| pool.run(|_| async { fails() }));
            caught(&|| pool.run(|_| async { spawn(async { fails() }).await }));
            caught(&|| pool.run(|_| async { call(async { fails() }).await }));
            caught(&|| {
                pool.run(|_| async {
                    drop(spawn(async { fails() }));
                    drop(fork(async { fails() }).await);
                    7
                })
            });
            pool.run(|_| async {
                drop(spawn(async { 1 }));
                drop(fork(async { 2 }).await);
                // Never polled.
                drop(fork(async { 3 }));
            });
            assert_eq!(in_use(&pool), 0);
        }
    });
}

#[test]
fn every_block_is_freed_with_the_pool() {
    alone(|| {
        let once = || {
            for workers in [1, 3] {
                for migrate in [false, true] {
                    let builder = Pool::builder().workers(workers);
                    let pool = match migrate {
                        true => builder.migrate_at_each_fork().build().unwrap(),
                        false => builder.build().unwrap(),
                    };
                    assert_eq!(pool.run(|_| fib(size(10, 5))), size(55, 5));
                    assert_eq!(pool.run(|_| help_first(size(8, 5))), size(21, 5));
                    // Too large and too aligned for the free lists.
                    pool.run(|_| async {
                        let large = [1_u8; 5000];
                        fork(async move { large.iter().map(|&b| u64::from(b)).sum::<u64>() })
                            .await
                            .await;
                        #[repr(align(256))]
                        struct Aligned(u8);
                        let aligned = call(async { Aligned(9) }).await;
                        assert_eq!(std::ptr::from_ref(&aligned).addr() % 256, 0);
                        assert_eq!(aligned.0, 9);
                    });
                }
            }
        };
        // Whatever the process allocates once.
        once();
        let left = || {
            let before = BLOCKS.load(Relaxed);
            for _ in 0..tries(5) {
                once();
            }
            // Threads give their last memory back some time after they were joined.
            let mut left = BLOCKS.load(Relaxed) - before;
            for _ in 0..100 {
                if left <= 0 {
                    break;
                }
                thread::sleep(Duration::from_millis(10));
                left = BLOCKS.load(Relaxed) - before;
            }
            left
        };
        // Another test's thread may begin meanwhile, and waits for its turn with what it has
        // allocated: once, where what a pool leaks would be left each time.
        let left = [left(), left(), left()];
        let left = left.into_iter().min().unwrap_or_default();
        assert!(left <= 0, "{left} blocks are left");
    });
}

/// Contract 6: n children in a loop take few frames, whatever n is. With every steal a frame may
/// end up in the list of another worker than took it, until that list, a megabyte at most, is full.
#[test]
fn a_loop_that_forks_holds_few_frames() {
    const LIST: u64 = 1 << 20;
    const FRAME: u64 = 64;
    alone(|| {
        let children = size(200_000, 50);
        for workers in [1, 2, 4] {
            let pool = pool(workers);
            pool.run(|_| async move {
                for _ in 0..children {
                    drop(fork(async {}).await);
                }
            });
            let counters = counters(&pool);
            let in_memory = counters.frames_allocated - counters.frames_freed;
            let stray = counters.continuations_stolen;
            assert!(
                counters.frames_allocated <= 4 + stray
                    && in_memory <= 4 + (LIST / FRAME).min(stray) * workers as u64,
                "{workers} workers, {counters:?}"
            );
        }
    });
}

/// Results are kept in the handles; the frames of children that have ended are used again.
#[test]
fn handles_of_ended_children_hold_no_frames() {
    alone(|| {
        let pool = pool(1);
        let sum = pool.run(|_| async {
            let mut children = Vec::new();
            for n in 0..size(1000_u64, 40) {
                children.push(fork(async move { n }).await);
            }
            let mut sum = 0;
            for child in children {
                sum += child.await;
            }
            sum
        });
        assert_eq!(sum, size(499_500, 780));
        let allocated = counters(&pool).frames_allocated;
        assert!(allocated <= 4, "{allocated} frames");
    });
}

/// A task that is nested deeper than the stack has slots, and far deeper than the native stack.
#[test]
fn nesting_is_bounded_by_memory_only() {
    fn chain(depth: u64, forks: bool) -> impl Task<u64> {
        async move {
            match (depth, forks) {
                (0, _) => 0,
                (_, true) => 1 + fork(chain(depth - 1, forks)).await.await,
                (_, false) => 1 + call(chain(depth - 1, forks)).await,
            }
        }
    }
    alone(|| {
        let depth = size(100_000, 100);
        for workers in [1, 2] {
            let pool = pool(workers);
            for forks in [true, false] {
                assert_eq!(pool.run(|_| chain(depth, forks)), depth);
            }
            assert_eq!(in_use(&pool), 0);
        }
    });
}

/// More children than the stack has slots: some run in place, all once.
#[test]
fn spawns_beyond_the_end_of_the_stack() {
    static CENSUS: Census = Census::new();
    alone(|| {
        let children = size(30_000, 50);
        for workers in [1, 2] {
            let pool = pool(workers);
            pool.run(|_| async move {
                let mut handles = Vec::new();
                for n in 0..children {
                    let counted = CENSUS.one();
                    handles.push(spawn(async move {
                        drop(counted);
                        n
                    }));
                }
                for (n, handle) in handles.into_iter().enumerate() {
                    assert_eq!(handle.await, n);
                }
            });
            CENSUS.check();
            assert_eq!(in_use(&pool), 0);
        }
    });
}

/// Children that were made and never started.
#[test]
fn what_is_never_awaited_is_dropped_unstarted() {
    static CENSUS: Census = Census::new();
    alone(|| {
        let pool = pool(2);
        pool.run(|_| async {
            for _ in 0..10 {
                let (a, b) = (CENSUS.one(), CENSUS.one());
                drop(fork(async move {
                    drop(a);
                    unreachable!("never awaited");
                }));
                drop(call(async move {
                    drop(b);
                    unreachable!("never awaited");
                }));
            }
        });
        // Outside of a pool, too.
        let c = CENSUS.one();
        drop(fork(async move { drop(c) }));
        CENSUS.check();
        assert_eq!(in_use(&pool), 0);
    });
}
