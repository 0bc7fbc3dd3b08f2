//! Workers that look around, or wait, give their cores away between two looks, unless other
//! programs compute: there a thread is charged for it, and gets cores milliseconds late, also when
//! it is woken from its next park.
//! Counted, never timed.
#![cfg(all(target_os = "linux", not(miri)))]

mod common;

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::SeqCst};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use common::{join_stolen, tries, watched};
use roving::Pool;

/// One test at a time counts.
static COUNTS: Mutex<()> = Mutex::new(());
/// For how long others have a core that is given away, at least, in microseconds.
static AWAY_US: AtomicU64 = AtomicU64::new(0);
/// Calls of [`sched_yield`] in this program.
static YIELDS: AtomicUsize = AtomicUsize::new(0);

/// In place of the C library's, for the standard library too.
// SAFETY: nothing else in this program has this name. It is as POSIX declares it, and may return at
// once.
#[unsafe(no_mangle)]
extern "C" fn sched_yield() -> i32 {
    YIELDS.fetch_add(1, SeqCst);
    match AWAY_US.load(SeqCst) {
        0 => (),
        away => thread::sleep(Duration::from_micros(away)),
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

/// One of four workers that share one core, as far as they know, and one with a core for each.
fn pools() -> [Pool; 2] {
    let cores = thread::available_parallelism().map_or(1, |n| n.get());
    [(4, 1), (cores.clamp(2, 4), cores)].map(|(workers, cores)| {
        let builder = Pool::builder().workers(workers).assume_cores(cores);
        builder.build().unwrap()
    })
}

/// A worker waits for a stolen task that is under way for long, the others and the thread in its
/// place look for work in vain, and all park.
fn wait_and_look(pool: &Pool) {
    let long = || thread::sleep(Duration::from_millis(1));
    pool.install(|| join_stolen(|| (), long));
}

#[test]
fn workers_give_their_cores_away() {
    counting(|| {
        for pool in pools() {
            YIELDS.store(0, SeqCst);
            while YIELDS.load(SeqCst) == 0 {
                wait_and_look(&pool);
            }
        }
    });
}

/// The time of others does not count, so a worker does not park after the first yield.
#[test]
fn a_worker_whose_core_others_use_for_a_moment_looks_again() {
    counting(|| {
        let pool = Pool::builder().workers(1).assume_cores(1).build().unwrap();
        // Linux adds 50 to it, so that one yield takes longer than a worker looks around.
        AWAY_US.store(10, SeqCst);
        loop {
            YIELDS.store(0, SeqCst);
            pool.install(|| ());
            // Until it has parked.
            let mut seen = usize::MAX;
            while seen != YIELDS.load(SeqCst) {
                seen = YIELDS.load(SeqCst);
                thread::sleep(Duration::from_millis(10));
            }
            if seen > 6 {
                break;
            }
        }
        AWAY_US.store(0, SeqCst);
    });
}

/// As soon as they have found that others compute, which takes 30 ms of late yields; for a second
/// then.
#[test]
fn workers_beside_other_programs_keep_their_cores() {
    counting(|| {
        for pool in pools() {
            AWAY_US.store(2000, SeqCst);
            let (mut quiet, mut before) = (0, 0);
            while quiet < tries(100) {
                wait_and_look(&pool);
                let now = YIELDS.load(SeqCst);
                quiet = if now == before { quiet + 1 } else { 0 };
                before = now;
            }
            AWAY_US.store(0, SeqCst);
        }
    });
}
