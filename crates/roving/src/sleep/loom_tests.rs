//! The loop in which a worker sleeps, and all that wakes it, explored by loom. A wake-up that is
//! lost is a thread that is parked for ever, which loom calls a deadlock.

use std::sync::Arc;

use loom::thread;

use super::loom_pool::{SmallPool, SmallWorker};
use super::parts::Parts;
use super::rest::{Sleeper, Woken, sleep};
use super::spares::StandIn;
use crate::prim::{explore, explore_within};

fn no_spare(_: SmallWorker) {
    unreachable!("this test starts no spare thread");
}

/// Worker 1 goes to sleep while `wakes` does what is to wake it.
fn wakes(wakes: impl Fn(&Arc<SmallPool>) + Send + Sync + 'static) {
    explore(move || {
        let pool = SmallPool::new(2, StandIn::ForAll, no_spare);
        let sleeper = {
            let pool = Arc::clone(&pool);
            thread::spawn(move || assert_eq!(sleep(&SmallWorker::begin(&pool, 1)), Woken::ToWork))
        };
        wakes(&pool);
        sleeper.join().unwrap();
    });
}

#[test]
fn loom_a_published_task_wakes_a_sleeper() {
    wakes(|pool| {
        let worker = SmallWorker::begin(pool, 0);
        worker.push(&worker.owner(), 7);
    });
}

#[test]
fn loom_a_job_from_outside_wakes_a_sleeper() {
    wakes(SmallPool::inject);
}

#[test]
fn loom_a_spawned_job_wakes_a_sleeper() {
    wakes(|pool| pool.spawn(0));
}

#[test]
fn loom_mail_wakes_the_worker_it_is_for() {
    wakes(|pool| pool.post(1));
}

/// A compensation thread is started, and shows a task, while the only worker goes to sleep: either
/// that worker has looked at the new stack, or the compensation thread knows that it sleeps.
#[test]
fn loom_a_new_thread_sees_who_sleeps() {
    explore_within(Some(3), || {
        let pool = SmallPool::new(1, StandIn::ForAll, |spare| {
            spare.push(&spare.owner(), 7);
        });
        let starter = {
            let pool = Arc::clone(&pool);
            thread::spawn(move || assert!(pool.start_thread(1).unwrap()))
        };
        assert_eq!(sleep(&SmallWorker::begin(&pool, 0)), Woken::ToWork);
        starter.join().unwrap();
        pool.join();
    });
}

/// Models the main loop of a worker whose pool closes: it runs jobs until the pool has ended.
fn run_until_the_end(worker: &SmallWorker) {
    loop {
        while worker.run_job() {}
        if sleep(worker) == Woken::ToEnd {
            return;
        }
    }
}

/// Two threads that start, find nothing and end while the pool closes: neither is left asleep.
#[test]
fn loom_a_pool_that_closes_ends() {
    explore_within(Some(2), || {
        let pool = SmallPool::new(2, StandIn::ForAll, no_spare);
        pool.start(0, |worker| run_until_the_end(&worker));
        pool.start(1, |worker| run_until_the_end(&worker));
        pool.close();
        pool.join();
    });
}

/// The last job of a pool posts something to a worker that is quiet already.
#[test]
fn loom_a_pool_ends_when_no_worker_has_mail() {
    explore_within(Some(1), || {
        let pool = SmallPool::new(2, StandIn::ForAll, no_spare);
        pool.start(0, |worker| {
            worker.pool.post(1);
            run_until_the_end(&worker);
        });
        pool.start(1, |worker| run_until_the_end(&worker));
        pool.close();
        pool.join();
        assert_eq!(pool.has_run(), 1, "mail is served before the end");
    });
}

/// An adopted thread adds a job while the pool closes, and leaves.
#[test]
fn loom_threads_do_not_end_before_the_adopted_one_has_left() {
    explore_within(Some(3), || {
        let pool = SmallPool::adopting(1, no_spare);
        pool.start(0, |worker| run_until_the_end(&worker));
        pool.close();
        pool.inject();
        pool.let_go();
        pool.join();
        assert_eq!(pool.has_run(), 1);
    });
}

/// Who drops a pool waits for what it holds, and not for the thread that it has adopted.
#[test]
fn loom_who_drops_a_pool_hears_that_its_threads_are_quiet() {
    explore_within(Some(3), || {
        let pool = SmallPool::adopting(1, no_spare);
        pool.inject();
        pool.start(0, |worker| run_until_the_end(&worker));
        pool.close();
        pool.crew().wait_until_quiet(|| pool.has_mail());
        assert_eq!(pool.has_run(), 1);
        pool.let_go();
        pool.join();
    });
}

/// The only worker waits. A job from outside has a compensation thread started; a second one comes
/// while that is about to rest: either the compensation thread sees the job, or the job finds it
/// resting.
#[test]
fn loom_a_job_finds_a_spare_thread_or_is_seen_by_it() {
    explore_within(Some(3), || {
        let pool = SmallPool::new(1, StandIn::ForJobs, |spare| {
            let pool = &spare.pool;
            loop {
                while spare.run_job() {}
                if pool.has_run() == 2 {
                    return;
                }
                pool.spares().rest(pool.as_ref(), spare.index());
            }
        });
        pool.spares().replace_me(&pool);
        pool.inject();
        pool.inject();
        pool.join();
        assert_eq!(pool.has_run(), 2);
    });
}

/// A worker that waits gives its core to a compensation thread, comes back, and gives it again: the
/// compensation thread does not rest while the core is free.
#[test]
fn loom_a_core_that_is_given_twice_finds_a_spare_thread() {
    explore_within(Some(3), || {
        let pool = SmallPool::new(1, StandIn::ForAll, |spare| {
            let pool = &spare.pool;
            pool.spares().rest(pool.as_ref(), spare.index());
        });
        pool.spares().replace_me(&pool);
        pool.spares().back_again();
        pool.spares().replace_me(&pool);
        pool.join();
    });
}
