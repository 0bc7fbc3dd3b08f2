//! The loop in which a worker sleeps, and all that wakes it, explored by loom. A wake-up that is
//! lost is a thread that is parked for ever, which loom calls a deadlock.

use std::sync::Arc;

use loom::thread;

use super::loom_pool::{SmallPool, SmallWorker};
use super::parts::Parts;
use super::roster::{is_benched, let_go, look_for_orphan, resize, vacate};
use super::sleep_loop::{Sleeper, Woken, bench, has_found, last_look, rest_unless_needed, sleep};
use super::spares::StandIn;
use crate::machine::meeting_points::park;
use crate::machine::prim::{explore, explore_within};
use crate::stack::owner::Owner;

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

/// A worker that looks around goes to sleep while an owner publishes something, and leaves it to
/// those that look.
#[test]
fn loom_what_was_left_to_a_looker_is_found_before_it_sleeps() {
    explore_within(Some(3), || {
        let pool = SmallPool::new(2, StandIn::ForAll, no_spare);
        let looker = {
            let pool = Arc::clone(&pool);
            thread::spawn(move || {
                let looker = SmallWorker::begin(&pool, 1);
                looker.looking.begin(pool.lookers());
                assert_eq!(sleep(&looker), Woken::ToWork);
            })
        };
        let owner = SmallWorker::begin(&pool, 0);
        owner.push(&owner.owner(), 7);
        looker.join().unwrap();
    });
}

/// An owner wakes nobody for what it leaves to one that looks around.
#[test]
fn loom_who_leaves_something_to_a_looker_wakes_nobody() {
    explore(|| {
        let pool = SmallPool::new(3, StandIn::ForAll, no_spare);
        let [owner, asleep, looker] = [0, 1, 2].map(|index| SmallWorker::begin(&pool, index));
        pool.idle().announce(1);
        assert!(!last_look(&asleep, true));
        looker.looking.begin(pool.lookers());
        owner.push(&owner.owner(), 7);
        assert!(pool.idle().contains(1));
        has_found(&looker);
        assert!(!pool.idle().contains(1));
    });
}

/// The one that looks around finds something else meanwhile, and a third one sleeps.
#[test]
fn loom_what_was_left_to_a_looker_wakes_another_if_that_found_something_else() {
    explore_within(Some(2), || {
        let pool = SmallPool::new(3, StandIn::ForAll, no_spare);
        let looker = SmallWorker::begin(&pool, 2);
        looker.looking.begin(pool.lookers());
        let looker = thread::spawn(move || has_found(&looker));
        let sleeper = {
            let pool = Arc::clone(&pool);
            thread::spawn(move || assert_eq!(sleep(&SmallWorker::begin(&pool, 1)), Woken::ToWork))
        };
        let owner = SmallWorker::begin(&pool, 0);
        owner.push(&owner.owner(), 7);
        looker.join().unwrap();
        sleeper.join().unwrap();
    });
}

/// The one that looks around is benched meanwhile, and a third one sleeps.
#[test]
fn loom_what_was_left_to_a_looker_that_is_benched_wakes_another() {
    explore_within(Some(2), || {
        let pool = SmallPool::new(3, StandIn::Nobody, no_spare);
        resize(&pool, 2);
        pool.start(2, |looker| {
            looker.looking.begin(looker.pool.lookers());
            bench(&looker);
        });
        let sleeper = {
            let pool = Arc::clone(&pool);
            thread::spawn(move || assert_eq!(sleep(&SmallWorker::begin(&pool, 1)), Woken::ToWork))
        };
        let owner = SmallWorker::begin(&pool, 0);
        owner.push(&owner.owner(), 7);
        sleeper.join().unwrap();
        pool.close();
        pool.join();
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
            spare.pool.wait_for_thieves();
        });
        let starter = {
            let pool = Arc::clone(&pool);
            thread::spawn(move || assert!(pool.start_thread(1).unwrap()))
        };
        assert_eq!(sleep(&SmallWorker::begin(&pool, 0)), Woken::ToWork);
        pool.no_thieves_of(1);
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
        while !pool.crew().is_quiet(|| pool.has_mail()) {
            park();
        }
        assert_eq!(pool.has_run(), 1);
        pool.let_go();
        pool.join();
    });
}

/// Who drops a pool hears that its threads have left, also of one that starts while it closes.
#[test]
fn loom_who_drops_a_pool_hears_that_its_threads_are_gone() {
    explore_within(Some(3), || {
        let pool = SmallPool::new(1, StandIn::ForAll, no_spare);
        pool.start(0, |worker| {
            run_until_the_end(&worker);
            worker.pool.crew().go();
        });
        pool.close();
        while !pool.crew().is_gone() {
            park();
        }
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

/// The only thread of a pool, which was adopted, goes while `adds` brings something to run: either
/// it finds that, or is missed, and the worker gets another thread.
fn orphan_gets(adds: fn(&Arc<SmallPool>)) {
    explore_within(Some(2), move || {
        let pool = SmallPool::adopting(1, |heir| run_until_the_end(&heir));
        let goes = {
            let pool = Arc::clone(&pool);
            thread::spawn(move || let_go(&pool))
        };
        adds(&pool);
        goes.join().unwrap();
        pool.wait_until_run(1);
        pool.close();
        pool.join();
    });
}

#[test]
fn loom_a_job_finds_an_orphan_or_is_found_by_who_goes() {
    orphan_gets(SmallPool::inject_awaited);
}

#[test]
fn loom_mail_finds_an_orphan_or_is_found_by_who_goes() {
    orphan_gets(|pool| {
        pool.post_awaited(0);
        look_for_orphan(pool);
    });
}

/// Two compensation threads sleep, of which one is too many, while the only worker is away and
/// `adds` something: the one that is woken runs it, or rests, and then the other one runs it.
fn passes_on(run_spare: fn(SmallWorker), adds: fn(&SmallWorker, &Owner<'_>)) {
    explore_within(Some(1), move || {
        let pool = SmallPool::with_two_spares(1, run_spare);
        let worker = SmallWorker::begin(&pool, 0);
        let owner = worker.owner();
        for spare in [1, 2] {
            pool.spares().replace_me(&pool);
            while !pool.idle().contains(spare) {
                thread::yield_now();
            }
        }
        // The first of the two waited for a while, and was replaced.
        pool.spares().back_again();
        adds(&worker, &owner);
        pool.wait_until_run(1);
        pool.close();
        pool.join();
    });
}

/// A compensation thread that finds nothing and sleeps: when it is woken, it `runs` one thing, or
/// rests.
fn wake_up(spare: &SmallWorker, runs: fn(&SmallWorker) -> bool) {
    let pool = &spare.pool;
    let _ = pool.stack(0).want();
    pool.idle().announce(spare.index());
    while pool.idle().contains(spare.index()) && !pool.crew().is_closing() {
        park();
    }
    rest_unless_needed(spare);
    while !runs(spare) && !pool.crew().is_closing() {
        thread::yield_now();
        rest_unless_needed(spare);
    }
}

#[test]
fn loom_a_spare_thread_that_rests_passes_a_job_on() {
    passes_on(
        |spare| wake_up(&spare, SmallWorker::run_job),
        |worker, _| worker.pool.inject_awaited(),
    );
}

#[test]
fn loom_a_spare_thread_that_rests_passes_a_task_on() {
    passes_on(
        |spare| wake_up(&spare, |spare| spare.run_task_of(0)),
        |worker, owner| worker.push(owner, 7),
    );
}

/// The loop of a worker in a pool that changes its size.
pub(crate) fn run_or_sit_out(worker: &SmallWorker) {
    let pool = &worker.pool;
    loop {
        if is_benched(pool.as_ref(), worker.index()) && !pool.crew().is_closing() {
            bench(worker);
        }
        while worker.run_job() {
            // Worker 0 may wait for it.
            pool.unpark(0);
        }
        if sleep(worker) == Woken::ToEnd {
            return;
        }
    }
}

/// A benched worker is to work again at the moment at which it parks.
#[test]
fn loom_a_worker_that_is_brought_back_works() {
    explore_within(Some(3), || {
        let pool = SmallPool::new(2, StandIn::Nobody, no_spare);
        resize(&pool, 1);
        pool.start(1, |worker| run_or_sit_out(&worker));
        pool.inject_awaited();
        resize(&pool, 2);
        pool.wait_until_run(1);
        pool.close();
        pool.join();
    });
}

/// A benched worker runs a job that is addressed to it.
#[test]
fn loom_mail_wakes_a_benched_worker() {
    explore_within(Some(3), || {
        let pool = SmallPool::new(2, StandIn::Nobody, no_spare);
        resize(&pool, 1);
        pool.start(1, |worker| bench(&worker));
        pool.post_awaited(1);
        pool.wait_until_run(1);
        pool.close();
        pool.join();
    });
}

/// One worker goes for good while something is posted to it: either it is dropped by the one who
/// posts, or by the one who goes.
#[test]
fn loom_mail_to_a_worker_that_goes_is_dropped() {
    explore(|| {
        let pool = SmallPool::new(2, StandIn::Nobody, no_spare);
        let posts = {
            let pool = Arc::clone(&pool);
            thread::spawn(move || pool.post(1))
        };
        assert!(vacate(&pool, 1, true));
        posts.join().unwrap();
        assert!(pool.mailbox(1).is_surely_empty());
        assert!(!vacate(&pool, 0, true), "it is the last");
    });
}

/// Worker 0 waits for a job while the pool gets smaller by the worker that could run it: whoever of
/// the two comes second brings in a compensation thread.
#[test]
fn loom_a_worker_that_waits_is_replaced_when_the_others_are_benched() {
    explore_within(Some(3), || {
        let pool = SmallPool::new(2, StandIn::ForJobs, |spare| {
            while !spare.run_job() {
                spare.pool.spares().rest(spare.pool.as_ref(), spare.index());
            }
        });
        pool.inject_awaited();
        let resizes = {
            let pool = Arc::clone(&pool);
            thread::spawn(move || resize(&pool, 1))
        };
        pool.spares().replace_me(&pool);
        resizes.join().unwrap();
        pool.wait_until_run(1);
        pool.join();
    });
}
