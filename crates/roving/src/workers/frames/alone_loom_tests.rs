//! A loop of small forks beside a worker that goes to sleep, explored by loom.

use std::sync::Arc;

use loom::thread;

use crate::machine::prim::explore;
use crate::stack::loom_tests::not_run;
use crate::stack::owner::Popped;
use crate::workers::sleep::loom_pool::{SmallPool, SmallWorker};
use crate::workers::sleep::sleep_loop::{Woken, sleep};
use crate::workers::sleep::spares::StandIn;

/// A worker that is about to sleep sees a task that comes alone, or its flag makes the fork push by
/// the general way, which wakes it.
#[test]
fn loom_a_task_that_comes_alone_keeps_nobody_asleep() {
    explore(|| {
        let no_spare = |_| unreachable!("this test starts no spare thread");
        let pool = SmallPool::new(2, StandIn::ForAll, no_spare);
        let worker = SmallWorker::begin(&pool, 0);
        let owner = worker.owner();
        // Until the wake-ups of the first publication are over.
        for _ in 0..4 {
            worker.push(&owner, 1);
            assert_eq!(owner.pop_awake(0), Popped::Here);
        }
        let sleeper = {
            let pool = Arc::clone(&pool);
            thread::spawn(move || assert_eq!(sleep(&SmallWorker::begin(&pool, 1)), Woken::ToWork))
        };
        if !owner.push_alone(not_run, 2_u64) {
            worker.push(&owner, 2);
        }
        sleeper.join().unwrap();
    });
}
