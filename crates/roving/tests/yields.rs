//! A thread that gives its core away between two looks is charged for it: beside programs that
//! compute it gets cores milliseconds late, also when it is woken from its next park. So workers
//! look around, and wait, without that, unless they share cores with nobody but each other.
//! Counted, never timed.
#![cfg(all(target_os = "linux", not(miri)))]

mod common;

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use common::{join_stolen, tries, watched};
use roving::Pool;

/// One test at a time counts.
static COUNTS: Mutex<()> = Mutex::new(());
/// Another program has the core for a while when one is given away.
static IS_BUSY: AtomicBool = AtomicBool::new(false);
/// Calls of [`sched_yield`] in this program.
static YIELDS: AtomicUsize = AtomicUsize::new(0);

/// In place of the C library's, for the standard library too.
// SAFETY: nothing else in this program has this name. It is as POSIX declares it, and may return at
// once.
#[unsafe(no_mangle)]
extern "C" fn sched_yield() -> i32 {
    YIELDS.fetch_add(1, SeqCst);
    if IS_BUSY.load(SeqCst) {
        thread::sleep(Duration::from_millis(2));
    }
    0
}

fn counting(test: impl FnOnce() + Send + 'static) {
    watched(|| {
        let _one = COUNTS.lock().unwrap_or_else(PoisonError::into_inner);
        YIELDS.store(0, SeqCst);
        thread::yield_now();
        assert_eq!(YIELDS.swap(0, SeqCst), 1, "it counts those of this program");
        test();
    });
}

/// Of four workers that share one core, as far as they know.
fn crowded_pool() -> Pool {
    let builder = Pool::builder().workers(4).assume_cores(1);
    builder.build().unwrap()
}

/// A worker waits for a stolen task that is under way for long, the others and the thread in its
/// place look for work in vain, and all park.
fn wait_and_look(pool: &Pool) {
    let long = || thread::sleep(Duration::from_millis(1));
    pool.install(|| join_stolen(|| (), long));
}

#[test]
fn workers_with_a_core_each_give_none_away() {
    counting(|| {
        let cores = thread::available_parallelism().map_or(1, |n| n.get());
        let workers = cores.min(4);
        let builder = Pool::builder().workers(workers).assume_cores(cores);
        let pool = builder.build().unwrap();
        let round = match workers {
            // Nobody steals from it: it only looks for work.
            1 => |pool: &Pool| drop(pool.spawn(|| ()).join()),
            _ => wait_and_look,
        };
        let parks = || pool.profile().total().counters.parks;
        let mut rounds = 0;
        // Who has lost its core for long may find what it waits for, and need not park.
        while rounds < tries(100) || parks() < tries(100) as u64 {
            round(&pool);
            rounds += 1;
        }
        let (parks, yields) = (parks(), YIELDS.load(SeqCst));
        assert_eq!(yields, 0, "given away in {rounds} rounds, {parks} parks");
    });
}

/// Of four workers one is left, where there is one core.
#[test]
fn workers_that_are_left_with_a_core_each_give_none_away() {
    counting(|| {
        let pool = crowded_pool();
        pool.resize(1).unwrap();
        // The others may be looking around until they have run something, or parked.
        let round = |_| drop(pool.spawn(|| ()).join());
        (0..tries(100)).for_each(round);
        thread::sleep(Duration::from_millis(5));
        YIELDS.store(0, SeqCst);
        (0..tries(100)).for_each(round);
        assert_eq!(YIELDS.load(SeqCst), 0);
        pool.resize(4).unwrap();
        while YIELDS.load(SeqCst) == 0 {
            wait_and_look(&pool);
        }
    });
}

#[test]
fn workers_that_share_cores_give_them_to_each_other() {
    counting(|| {
        let pool = crowded_pool();
        while YIELDS.load(SeqCst) == 0 {
            wait_and_look(&pool);
        }
    });
}

/// As soon as they have found that others compute, which takes two yields; for a second then.
#[test]
fn workers_that_share_cores_with_other_programs_keep_them() {
    counting(|| {
        let pool = crowded_pool();
        IS_BUSY.store(true, SeqCst);
        let (mut quiet, mut before) = (0, 0);
        while quiet < tries(100) {
            wait_and_look(&pool);
            let now = YIELDS.load(SeqCst);
            quiet = if now == before { quiet + 1 } else { 0 };
            before = now;
        }
        IS_BUSY.store(false, SeqCst);
    });
}
