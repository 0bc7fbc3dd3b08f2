//! Contract 1 and 6: what nobody steals allocates nothing, and memory does not grow with the
//! number of tasks.

mod common;
#[path = "common/system.rs"]
mod system;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::collections::VecDeque;
use std::hint::black_box;
use std::sync::atomic::{AtomicBool, AtomicIsize, AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

use common::{AMOUNTS, BEYOND_THE_STACK, pool, pool_that_steals, size, tries, wait_until, watched};
use roving::policy::Amount;
use roving::{Pool, Priority, join, map_reduce, par_chunks_mut, par_for, scope};

/// Counts each thread's allocations, and everybody's bytes.
struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<usize> = const { Cell::new(0) };
}
static BYTES: AtomicIsize = AtomicIsize::new(0);
static BYTES_MAX: AtomicIsize = AtomicIsize::new(0);

fn count(bytes: isize) {
    let now = BYTES.fetch_add(bytes, Relaxed) + bytes;
    if bytes > 0 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        BYTES_MAX.fetch_max(now, Relaxed);
    }
}

// SAFETY: everything is left to the system's allocator; the counts allocate nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as isize);
        // SAFETY: the caller's promise is handed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as isize);
        // SAFETY: the caller's promise about the layout is handed on.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        count(-(layout.size() as isize));
        // SAFETY: the block came from the system's allocator, with this layout.
        unsafe { System.dealloc(at, layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(size as isize - layout.size() as isize);
        // SAFETY: the block came from the system's allocator, with this layout; the caller promises
        // the new size.
        unsafe { System.realloc(at, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// One test at a time: they look at what the process uses.
fn alone() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// How often the calling thread allocates in a call.
fn allocations<R>(call: impl FnOnce() -> R) -> usize {
    let before = ALLOCATIONS.get();
    drop(black_box(call()));
    ALLOCATIONS.get() - before
}

fn fib(n: u32) -> u64 {
    if n < 2 {
        return n.into();
    }
    let (a, b) = join(|| fib(n - 1), || fib(n - 2));
    a + b
}

/// Runs the check where nobody steals: on pools of one worker, and on a pool whose other worker
/// is busy.
fn unstolen(check: impl Fn() + Send + Sync) {
    let _alone = alone();
    watched(|| {
        let in_place = Pool::builder().caller_runs();
        let profiled = Pool::builder().workers(1).profile(true);
        in_place.build().unwrap().install(&check);
        profiled.build().unwrap().install(&check);
        pool(1).install(&check);
        for amount in AMOUNTS {
            let pool = pool_that_steals(2, amount);
            let (began, over) = (AtomicBool::new(false), AtomicBool::new(false));
            thread::scope(|threads| {
                threads.spawn(|| {
                    pool.install(|| {
                        began.store(true, Relaxed);
                        wait_until(|| over.load(Relaxed));
                    });
                });
                wait_until(|| began.load(Relaxed));
                pool.install(&check);
                over.store(true, Relaxed);
            });
        }
    });
}

/// A worker that is busy for long runs the tasks itself that it has spawned, or drops them.
#[test]
fn tasks_that_were_taken_by_their_handles_take_no_memory() {
    let _alone = alone();
    let classes = [Priority::Low, Priority::Normal, Priority::High];
    let rounds = |pool: &Pool, rounds: usize| {
        for round in 0..rounds {
            let spawned = || pool.spawn_with(classes[round % 3], || ());
            spawned().join().unwrap();
            spawned().abort();
            drop(spawned().abort_on_drop());
            let mut several = VecDeque::from_iter((0..4).map(|_| spawned()));
            for _ in 0..4 {
                several.pop_front().unwrap().join().unwrap();
                several.push_back(spawned());
            }
            several
                .into_iter()
                .for_each(|handle| handle.join().unwrap());
        }
    };
    watched(|| {
        let in_place = Pool::builder().caller_runs().build().unwrap();
        for pool in [in_place, pool(1)] {
            pool.install(|| {
                rounds(&pool, 100);
                let before = BYTES.load(Relaxed);
                rounds(&pool, size(1000, 10));
                let more = BYTES.load(Relaxed) - before;
                assert!(more < 2000, "{more} bytes");
            });
        }
    });
}

#[test]
fn the_count_counts() {
    assert_eq!(allocations(|| Box::new(1)), 1);
    assert_eq!(allocations(|| vec![0_u8; 100]), 1);
    assert_eq!(allocations(|| 1), 0);
}

#[test]
fn a_join_that_nobody_steals_allocates_nothing() {
    unstolen(|| {
        assert_eq!(allocations(|| fib(size(16, 6))), 0);
        // What fits no slot stays in the frame.
        let large = [7_u64; 100];
        let sum = |numbers: [u64; 100]| numbers.iter().sum::<u64>();
        let both = || join(move || sum(large), move || sum(large));
        assert_eq!(allocations(both), 0);
        let results = || join(|| black_box([1_u8; 1000]), || black_box([2_u8; 1000]));
        assert_eq!(allocations(results), 0);
    });
}

#[test]
fn joins_beyond_the_end_of_the_stack_allocate_nothing() {
    fn chain(depth: u64) -> u64 {
        if depth == 0 {
            return 0;
        }
        let (below, one) = join(|| chain(depth - 1), || black_box(1));
        below + one
    }
    let _alone = alone();
    watched(|| {
        let builder = Pool::builder().workers(1).stack_size(64 << 20);
        let pool = builder.build().unwrap();
        let run = || assert_eq!(chain(BEYOND_THE_STACK), BEYOND_THE_STACK);
        pool.install(|| assert_eq!(allocations(run), 0));
    });
}

#[test]
fn a_small_task_of_a_scope_allocates_nothing() {
    unstolen(|| {
        let sum = AtomicUsize::new(0);
        let tasks = || {
            scope(|s| {
                for i in 0..size(20_000, 100) {
                    let sum = &sum;
                    s.spawn(move |_| {
                        sum.fetch_add(i, Relaxed);
                    });
                }
            });
        };
        assert_eq!(allocations(tasks), 0);
        assert_eq!(sum.load(Relaxed), size(199_990_000, 4_950));
    });
}

#[test]
fn loops_that_nobody_helps_with_allocate_nothing() {
    unstolen(|| {
        let sum = AtomicUsize::new(0);
        let add = |i| {
            sum.fetch_add(i, Relaxed);
        };
        assert_eq!(allocations(|| par_for(0..size(10_000, 100), add)), 0);
        let mut numbers = [0_u32; size(1000, 50)];
        let fill = |number, chunk: &mut [u32]| chunk.fill(number as u32);
        assert_eq!(allocations(|| par_chunks_mut(&mut numbers, 7, fill)), 0);
        let max = || map_reduce(0..size(10_000, 100), 0, |i| i % 77, usize::max);
        assert_eq!(allocations(max), 0);
    });
}

/// Spawns a million tasks, and says how many bytes the process used at most beyond what it used
/// before.
fn bytes_of_a_million(pool: &Pool) -> isize {
    let before = BYTES.load(Relaxed);
    BYTES_MAX.store(before, Relaxed);
    let ran = AtomicUsize::new(0);
    let number = size(tries(1_000_000), 300);
    pool.install(|| {
        scope(|s| {
            for _ in 0..number {
                s.spawn(|_| {
                    ran.fetch_add(1, Relaxed);
                });
            }
        });
    });
    assert_eq!(ran.into_inner(), number);
    BYTES_MAX.load(Relaxed) - before
}

/// The stack of each worker has 8192 slots of 64 bytes. A million tasks would be 61 MiB.
const MIB_MAX: isize = 8;

#[test]
fn a_million_tasks_take_no_memory_of_their_own() {
    let _alone = alone();
    watched(|| {
        for (workers, amount) in [(1, Amount::One), (2, Amount::One), (4, Amount::Half)] {
            let pool = pool_that_steals(workers, amount);
            let resets = system::reset_peak();
            let resident = system::memory_kib("VmHWM");
            let mib = bytes_of_a_million(&pool) >> 20;
            assert!(mib <= MIB_MAX, "{workers} workers: {mib} MiB of heap");
            if let (true, false, Some(before)) =
                (resets, cfg!(any(roving_asan, roving_tsan)), resident)
            {
                let after = system::memory_kib("VmHWM").expect("it was there before");
                let mib = after.saturating_sub(before) as isize >> 10;
                assert!(mib <= MIB_MAX, "{workers} workers: {mib} MiB in memory");
            }
        }
    });
}

/// A million tasks take no memory of their own where each task spawns, in a binary tree.
#[test]
fn a_million_tasks_in_a_tree_take_no_memory_of_their_own() {
    fn tree<'scope>(s: &roving::Scope<'scope>, depth: u32, ran: &'scope AtomicUsize) {
        ran.fetch_add(1, Relaxed);
        if depth > 0 {
            s.spawn(move |s| tree(s, depth - 1, ran));
            s.spawn(move |s| tree(s, depth - 1, ran));
        }
    }
    let _alone = alone();
    watched(|| {
        let pool = pool(2);
        let depth = if cfg!(roving_tsan) { 12 } else { size(19, 6) };
        let before = BYTES.load(Relaxed);
        BYTES_MAX.store(before, Relaxed);
        let ran = AtomicUsize::new(0);
        pool.install(|| scope(|s| tree(s, depth, &ran)));
        assert_eq!(ran.into_inner(), (2 << depth) - 1);
        let mib = (BYTES_MAX.load(Relaxed) - before) >> 20;
        assert!(mib <= MIB_MAX, "{mib} MiB of heap");
    });
}
