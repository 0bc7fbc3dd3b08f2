//! A thread that gives its core away between two looks is charged for it: beside programs that
//! compute it gets cores milliseconds late, also when it is woken from its next park. So workers
//! look around, and wait, without that. Counted, never timed.
#![cfg(all(target_os = "linux", not(miri)))]

mod common;

use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::thread;
use std::time::Duration;

use common::{join_stolen, tries, watched};
use roving::Pool;

/// Calls of [`sched_yield`] in this program.
static YIELDS: AtomicUsize = AtomicUsize::new(0);

/// In place of the C library's, for the standard library too.
// SAFETY: nothing else in this program has this name. It is as POSIX declares it, and may return at
// once.
#[unsafe(no_mangle)]
extern "C" fn sched_yield() -> i32 {
    YIELDS.fetch_add(1, SeqCst);
    0
}

/// A worker waits for a stolen task that is under way for long, the others and the thread in its
/// place look for work in vain, and all park.
#[test]
fn workers_that_look_around_and_wait_give_no_core_away() {
    watched(|| {
        thread::yield_now();
        assert_eq!(YIELDS.swap(0, SeqCst), 1, "it counts those of this program");
        // A pool that has a core for each worker, and one whose workers have to share.
        for cores in [4, 1] {
            let builder = Pool::builder().workers(4).assume_cores(cores);
            let pool = builder.build().unwrap();
            let parks = || pool.profile().total().counters.parks;
            let mut rounds = 0;
            // Who has lost its core for long may find what it waits for, and need not park.
            while rounds < tries(100) || parks() < tries(100) as u64 {
                let long = || thread::sleep(Duration::from_millis(1));
                pool.install(|| join_stolen(|| (), long));
                rounds += 1;
            }
            let parks = parks();
            let yields = YIELDS.load(SeqCst);
            assert_eq!(yields, 0, "given away in {rounds} rounds, {parks} parks");
        }
    });
}
