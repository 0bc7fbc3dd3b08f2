//! A pool without threads in a forked child.

use std::panic;
use std::sync::Barrier;
use std::thread;

use crate::Pool;
use crate::machine::forks;
use crate::raw::waits::run_one;

/// The pool's worker forks, while another thread is about to add a job and has the queue locked.
/// In the child nobody opens that: whoever is asked for a task runs none, and does not wait for it.
#[test]
fn a_worker_in_a_child_runs_no_job_of_a_queue_that_is_locked() {
    let pool = Pool::builder().caller_runs().build().unwrap();
    let step = Barrier::new(2);
    thread::scope(|s| {
        pool.install(|| {
            pool.spawn(|| ());
            s.spawn(|| {
                pool.registry().injector.locked(|| {
                    step.wait();
                    step.wait();
                });
            });
            step.wait();
            let in_child = || forks::in_child(|| run_one(false) == Some(false));
            let is_well = panic::catch_unwind(in_child);
            step.wait();
            assert!(is_well.unwrap_or(false), "the child hangs");
            assert_eq!(run_one(false), Some(true));
        });
    });
}
