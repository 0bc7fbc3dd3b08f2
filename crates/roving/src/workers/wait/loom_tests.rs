//! The loops of a worker that waits for a stolen task, explored by loom. A wake-up that is lost is
//! a thread that is parked for ever, which loom calls a deadlock.

use std::cell::Cell;
use std::sync::Arc;

use loom::thread;

use super::followed::Followed;
use super::wait_loop::{
    Chain, Found, Taken, Waiter, give_core, park_while_away, wait_for, wait_for_thief,
};
use crate::machine::meeting_points::park;
use crate::machine::prim::{explore, explore_within};
use crate::stack::loom_tests::{Made, run_and_finish, take};
use crate::stack::owner::{Owner, Popped};
use crate::stack::slot::Slot;
use crate::stack::task_word::TaskWord;
use crate::stack::thief::Claim;
use crate::stats::Activity;
use crate::workers::priority::Priority;
use crate::workers::sleep::Parts;
use crate::workers::sleep::lookers::Looking;
use crate::workers::sleep::loom_pool::{SmallPool, SmallWorker};
use crate::workers::sleep::loom_tests::run_or_sit_out;
use crate::workers::sleep::roster::resize;
use crate::workers::sleep::sleep_loop::{Sleeper, sleep};
use crate::workers::sleep::spares::StandIn;

/// A worker that has pushed a task, and waits for it. It parks as soon as it may.
struct Waiting<'s> {
    worker: &'s SmallWorker,
    owner: Owner<'s>,
    followed: Cell<Followed>,
}

impl<'s> Waiting<'s> {
    fn new(worker: &'s SmallWorker) -> Waiting<'s> {
        let (owner, followed) = (worker.owner(), Cell::default());
        Waiting {
            worker,
            owner,
            followed,
        }
    }

    /// Takes the newest task back: what it was, or what its thief has made of it.
    fn take(&self) -> u64 {
        let index = self.owner.top() - 1;
        self.owner.answer_alarm();
        if self.owner.pop_awake(index) == Popped::Away {
            let _: Taken = wait_for_thief(self, index);
        }
        take(self.owner.stack().slot(index))
    }
}

/// Runs a task that was begun; its owner, if it is parked, is woken.
fn run_begun(pool: &SmallPool, owner: usize, slot: &Slot) {
    run_and_finish(slot).1.pay(|| pool.unpark(owner));
}

impl Sleeper for Waiting<'_> {
    type Pool = SmallPool;

    fn pool(&self) -> &Arc<SmallPool> {
        &self.worker.pool
    }

    fn index(&self) -> usize {
        self.worker.index
    }

    fn victims(&self) -> impl Iterator<Item = usize> {
        self.worker.victims()
    }

    fn takes_of(&self, public: usize) -> bool {
        self.worker.takes_of(public)
    }

    fn wake_another(&self) {
        self.worker.wake_another();
    }

    fn looking(&self) -> &Looking {
        &self.worker.looking
    }

    fn serve_mailbox(&self) -> bool {
        self.worker.serve_mailbox()
    }

    fn count_park(&self) {}

    fn turn_to(&self, _: Activity) {}
}

impl<'s> Waiter<'s> for Waiting<'s> {
    fn owner(&self) -> &Owner<'s> {
        &self.owner
    }

    fn is_deep(&self) -> bool {
        false
    }

    fn steals_back(&self) -> bool {
        true
    }

    fn run_found(&self, chain: &Chain<'_>, found: Found) {
        let stack = self.worker.pool.stack(found.holder);
        assert!(chain.holds(), "the thief cannot end before this task");
        let slot = stack.slot(found.index);
        slot.begin(self.worker.index, self.owner.top());
        found.remind.pay(|| stack.raise_alarm());
        run_begun(&self.worker.pool, found.holder, slot);
    }

    fn round_after(&self, round: usize) -> usize {
        round
    }

    fn serve_parked(&self) -> bool {
        self.serve_mailbox()
    }

    fn run_job(&self, _: Priority) -> bool {
        self.worker.run_job()
    }

    fn class(&self) -> Priority {
        Priority::Low
    }

    fn pause(&self, _: usize) {
        thread::yield_now();
    }

    fn is_tired(&self, _: usize) -> bool {
        true
    }

    fn park_until(&self, done: impl Fn() -> bool) {
        park_while_away(self, done);
        let pool = self.pool();
        pool.spares().off_call(pool, self.index());
    }

    fn wake_for(&self, seat: usize) {
        self.worker.pool.wake_for(seat);
    }

    fn wake_for_left(&self, seat: usize, left: usize) {
        let _ = self.worker.pool.wake_for_left(seat, left);
    }

    fn count_take_back(&self) {}

    fn followed(&self) -> &Cell<Followed> {
        &self.followed
    }
}

fn no_spare(_: SmallWorker) {
    unreachable!("this test starts no spare thread");
}

/// A pool without a thread to bring in: `most` is what it has.
fn pool(stand_in: StandIn) -> Arc<SmallPool> {
    SmallPool::new(2, stand_in, no_spare)
}

/// The owner of a task waits for it, while a thief that has claimed the task tries to `begin` it,
/// and runs it if it has.
fn wait_beside_a_thief(begin: fn(&Slot) -> bool) {
    explore_within(Some(3), move || {
        let pool = pool(StandIn::ForJobs);
        let worker = SmallWorker::begin(&pool, 0);
        let waiting = Waiting::new(&worker);
        worker.push(&waiting.owner, 7);
        let thief = {
            let pool = Arc::clone(&pool);
            thread::spawn(move || {
                let Claim::Won { index, remind, .. } = pool.stack(0).claim(0, |_| 1) else {
                    return false;
                };
                remind.waive("the owner has no more to show");
                let slot = pool.stack(0).slot(index);
                let begun = begin(slot);
                if begun {
                    run_begun(&pool, 0, slot);
                }
                begun
            })
        };
        let value = waiting.take();
        let stolen = thief.join().unwrap();
        assert_eq!(value, if stolen { 107 } else { 7 });
    });
}

/// A thief steals the task, or does not; its owner parks, and gets the task or its result.
#[test]
fn loom_the_owner_of_a_stolen_task_is_woken() {
    wait_beside_a_thief(|slot| {
        slot.begin(1, 0);
        true
    });
}

/// A thief claims the task and offers it on; its owner takes it back, unless somebody begins it
/// first.
#[test]
fn loom_the_owner_of_an_offered_task_gets_it() {
    wait_beside_a_thief(|slot| {
        let offered = slot.offer();
        slot.begin_offered(offered, 1, 0)
    });
}

/// A thief leaves a subtask that nobody but the waiting owner of its task can run: the owner finds
/// it, or is woken for it.
#[test]
fn loom_a_waiting_worker_is_woken_for_a_subtask_of_its_thief() {
    explore_within(Some(1), || {
        let pool = pool(StandIn::ForJobs);
        let worker = SmallWorker::begin(&pool, 0);
        let waiting = Waiting::new(&worker);
        worker.push(&waiting.owner, 7);
        // The task is stolen.
        let Claim::Won { index, remind, .. } = pool.stack(0).claim(0, |_| 1) else {
            panic!("nobody else is there");
        };
        assert_eq!(index, 0);
        remind.waive("the owner has no more to show");
        pool.stack(0).slot(0).begin(1, 0);
        let thief = {
            let pool = Arc::clone(&pool);
            thread::spawn(move || {
                let thief = SmallWorker::begin(&pool, 1);
                pool.set_works_for(1, 0);
                let owner = thief.owner();
                thief.push(&owner, 8);
                // It does not run its subtask itself: it waits until the other has.
                let child = pool.stack(1).slot(0);
                loop {
                    let state = child.state();
                    if state.is_done() {
                        break;
                    }
                    if state.phase() != crate::stack::slot_state::Phase::Ready
                        && child.announce_waiter(state)
                    {
                        park_until_done(child);
                    } else {
                        thread::yield_now();
                    }
                }
                assert_eq!(owner.pop_awake(0), Popped::Away);
                owner.retire(0);
                run_begun(&pool, 0, pool.stack(0).slot(0));
                pool.wait_for_thieves();
            })
        };
        assert_eq!(waiting.take(), 107);
        pool.no_thieves_of(1);
        thief.join().unwrap();
    });
}

/// The caller of a loop waits for the word of the whole. A thief says in another word that it runs
/// a part, and leaves a subtask there, which the caller takes if it comes in time. The caller is
/// woken at the end, and sees what the part did.
#[test]
fn loom_the_caller_of_a_loop_is_woken() {
    explore_within(Some(2), || {
        let pool = pool(StandIn::ForAll);
        let words = Arc::new([TaskWord::new(), TaskWord::new()]);
        let made = Arc::new(Made::new());
        let worker = SmallWorker::begin(&pool, 0);
        words[0].begin(0, 0);
        let thief = {
            let (pool, words, made) = (Arc::clone(&pool), Arc::clone(&words), Arc::clone(&made));
            thread::spawn(move || {
                let [whole, run] = &*words;
                let thief = SmallWorker::begin(&pool, 1);
                let waiting = Waiting::new(&thief);
                assert!(run.begin_free(1, waiting.owner.top()));
                thief.push(&waiting.owner, 8);
                let value = waiting.take();
                run.leave();
                made.make();
                whole.finish().pay(|| pool.unpark(0));
                value
            })
        };
        let [whole, run] = &*words;
        let waiting = Waiting::new(&worker);
        assert_eq!(
            wait_for(&waiting, whole, std::slice::from_ref(run)),
            Taken::Ended
        );
        made.see();
        assert!([8, 108].contains(&thief.join().unwrap()));
    });
}

fn park_until_done(slot: &Slot) {
    while !slot.state().is_done() {
        park();
    }
}

/// In a pool without compensation threads a worker that waits runs a job on top of its frame: it
/// sees the job, or is woken for it.
#[test]
fn loom_a_waiting_worker_runs_a_job() {
    explore(|| {
        let pool = pool(StandIn::Nobody);
        let waiter = {
            let pool = Arc::clone(&pool);
            thread::spawn(move || {
                let worker = SmallWorker::begin(&pool, 0);
                Waiting::new(&worker).park_until(|| pool.has_run() == 1);
            })
        };
        pool.inject();
        waiter.join().unwrap();
    });
}

/// A job comes while a worker begins to wait for it, and no compensation thread is to be had: the
/// worker runs it.
#[test]
fn loom_a_worker_runs_a_job_when_all_compensation_threads_are_away() {
    explore(|| {
        let pool = SmallPool::without_spares();
        let waiter = {
            let pool = Arc::clone(&pool);
            thread::spawn(move || {
                let worker = SmallWorker::begin(&pool, 0);
                let waiting = Waiting::new(&worker);
                give_core(&waiting, &Cell::new(false), || {
                    park_while_away(&waiting, || pool.has_run() == 1);
                });
            })
        };
        pool.inject();
        waiter.join().unwrap();
    });
}

/// Two workers wait without compensation threads. A job calls the first of them at the very moment
/// when its wait ends: then the other one runs the job.
#[test]
fn loom_a_job_of_a_wait_that_ends_goes_to_another() {
    explore_within(Some(2), || {
        let pool = pool(StandIn::Nobody);
        let stays = {
            let pool = Arc::clone(&pool);
            thread::spawn(move || {
                let worker = SmallWorker::begin(&pool, 1);
                Waiting::new(&worker).park_until(|| pool.has_run() == 1);
            })
        };
        let worker = SmallWorker::begin(&pool, 0);
        let looks = Cell::new(0);
        pool.unpark(0);
        Waiting::new(&worker).park_until(|| {
            looks.set(looks.get() + 1);
            let ends = looks.get() == 2;
            if ends {
                pool.inject();
            }
            ends
        });
        stays.join().unwrap();
    });
}

/// A compensation thread takes the tasks of the worker that blocks.
fn run_two_tasks(spare: &SmallWorker) {
    while spare.pool.has_run() < 2 {
        if !spare.run_task_of(0) {
            let _ = sleep(spare);
        }
    }
}

/// A worker with two tasks, one of which it has shown to nobody, blocks until both have run: a
/// compensation thread takes its core, and finds both.
#[test]
fn loom_what_a_worker_has_pushed_runs_while_it_blocks() {
    explore_within(Some(1), || {
        let run_spare = |spare: SmallWorker| run_two_tasks(&spare);
        let pool = SmallPool::new(1, StandIn::ForAll, run_spare);
        let worker = SmallWorker::begin(&pool, 0);
        let waiting = Waiting::new(&worker);
        worker.push(&waiting.owner, 7);
        worker.push(&waiting.owner, 8);
        give_core(&waiting, &Cell::new(false), || pool.wait_until_run(2));
        assert_eq!((waiting.take(), waiting.take()), (108, 107));
        pool.join();
    });
}

/// Worker 1 is called for a job, and benched before it can look at it. The only other worker waits,
/// maybe for that very job: it is called instead.
#[test]
fn loom_a_call_of_a_benched_worker_goes_to_one_that_waits() {
    explore_within(Some(1), || {
        let pool = pool(StandIn::Nobody);
        let worker = SmallWorker::begin(&pool, 0);
        pool.start(1, |worker| run_or_sit_out(&worker));
        let resizes = {
            let pool = Arc::clone(&pool);
            thread::spawn(move || {
                pool.inject();
                resize(&pool, 1);
            })
        };
        Waiting::new(&worker).park_until(|| pool.has_run() == 1);
        resizes.join().unwrap();
        pool.close();
        pool.join();
    });
}
