//! Workers that look around, or wait, give their cores away between two looks, unless other
//! programs compute: there a thread is charged for it, and gets cores milliseconds late, also when
//! it is woken from its next park.
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

/// As soon as they have found that others compute, which takes two yields; for a second then.
#[test]
fn workers_beside_other_programs_keep_their_cores() {
    counting(|| {
        for pool in pools() {
            IS_BUSY.store(true, SeqCst);
            let (mut quiet, mut before) = (0, 0);
            while quiet < tries(100) {
                wait_and_look(&pool);
                let now = YIELDS.load(SeqCst);
                quiet = if now == before { quiet + 1 } else { 0 };
                before = now;
            }
            IS_BUSY.store(false, SeqCst);
        }
    });
}
