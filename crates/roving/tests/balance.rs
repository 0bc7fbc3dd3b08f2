//! Line 3 of the contract for many workers: as many tasks are under way at once as the pool has
//! workers, also where these are more than the cores. Counted by tasks that wait for each other,
//! never timed.

mod common;

use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::thread;
use std::time::Duration;

use common::{holds_within, join_stolen, size, tries, wait_until_quiet, watched};
use roving::{Arena, Pool, current_worker, join, scope};

/// Long enough for the slowest machine, and over only if the test fails.
const LIMIT: Duration = Duration::from_secs(120);

/// Tasks that have begun, and wait until as many have as are to be under way at once.
struct Together {
    begun: AtomicUsize,
    tasks: usize,
}

impl Together {
    fn of(tasks: usize) -> Together {
        Together {
            begun: AtomicUsize::new(0),
            tasks,
        }
    }

    /// One more has begun. Returns when all have.
    fn meet(&self) {
        self.begun.fetch_add(1, SeqCst);
        self.wait_for(self.tasks);
    }

    fn wait_for(&self, tasks: usize) {
        let met = holds_within(LIMIT, || self.begun.load(SeqCst) >= tasks);
        let begun = self.begun.load(SeqCst);
        assert!(met, "{begun} tasks are under way instead of {tasks}");
    }
}

/// A worker waits for a task that blocks, and a third one has a task for which only a thread in the
/// place of the first is left. The pool is told of one core: those who ask for more workers get
/// them.
#[test]
fn a_worker_that_waits_is_stood_in_for_on_fewer_cores_than_workers() {
    watched(|| {
        let builder = Pool::builder().workers(3).assume_cores(1);
        let pool = builder.build().unwrap();
        let together = Together::of(3);
        pool.install(|| {
            scope(|s| {
                // The oldest, so it is taken first; its own task is nothing that the other wait is
                // for.
                s.spawn(|_| {
                    together.begun.fetch_add(1, SeqCst);
                    together.wait_for(2);
                    scope(|s| {
                        s.spawn(|_| together.meet());
                        together.wait_for(3);
                    });
                });
                join(|| together.wait_for(2), || together.meet());
            });
        });
        let profile = pool.profile();
        let stand_ins = profile.workers.iter().skip(3);
        let ran: u64 = stand_ins.map(|spare| spare.counters.steals_won).sum();
        assert_eq!(ran, 1, "the task ran on a thread in the worker's place");
    });
}

/// A recursion shows as many tasks as there are workers to take them before it turns to a long
/// leaf.
#[test]
fn a_long_leaf_hides_no_work_from_forty_workers() {
    fn nest(levels: usize, together: &Together) {
        match levels {
            0 => together.meet(),
            _ => {
                join(|| nest(levels - 1, together), || together.meet());
            }
        }
    }
    watched(|| {
        const WORKERS: usize = size(40, 6);
        let pool = Pool::new(WORKERS).unwrap();
        let together = Together::of(WORKERS);
        pool.install(|| nest(WORKERS - 1, &together));
    });
}

/// A scope that has spawned its tasks shows them to all who may take them before it runs one, which
/// may be long: it kept half of them for itself.
#[test]
fn a_scope_hides_none_of_its_tasks_behind_the_first_that_it_runs() {
    watched(|| {
        const WORKERS: usize = size(40, 6);
        let pool = Pool::builder().workers(WORKERS).assume_cores(WORKERS);
        let pool = pool.build().unwrap();
        for _ in 0..size(20, 3) {
            let together = Together::of(WORKERS);
            pool.install(|| {
                scope(|s| (0..WORKERS).for_each(|_| s.spawn(|_| together.meet())));
            });
        }
    });
}

/// The others run several short tasks each while the spawner runs a long one and looks at no
/// request, so it shows several for each of them: it showed one, or half of all.
#[test]
fn a_scope_hides_no_further_round_behind_a_long_task() {
    watched(|| {
        const WORKERS: usize = size(24, 6);
        const TASKS: usize = 3 * WORKERS;
        let pool = Pool::builder().workers(WORKERS).assume_cores(WORKERS);
        let pool = pool.build().unwrap();
        let (busy, open, ended) = (
            Together::of(WORKERS - 1),
            Together::of(1),
            Together::of(TASKS),
        );
        let short = || {
            busy.begun.fetch_add(1, SeqCst);
            open.wait_for(1);
        };
        let scope = || {
            // So nobody asks for tasks while they are spawned.
            busy.wait_for(WORKERS - 1);
            scope(|s| {
                for _ in 0..TASKS {
                    s.spawn(|_| {
                        ended.begun.fetch_add(1, SeqCst);
                    });
                }
                // The newest, which the spawner runs first.
                s.spawn(|_| {
                    open.meet();
                    ended.wait_for(TASKS);
                });
            });
        };
        pool.install(|| beside(WORKERS - 1, &short, &scope));
    });
}

/// Calls `last` with so many calls of `others` left to other workers.
fn beside(count: usize, others: &(impl Fn() + Sync), last: &(impl Fn() + Sync)) {
    match count {
        0 => last(),
        _ => {
            join(|| beside(count - 1, others, last), others);
        }
    }
}

/// A thief that leaves two tasks behind wakes two workers for them, so that a burst reaches all
/// sleepers in few steps: each woke one, and the last of many came late.
#[test]
fn a_thief_wakes_two_for_what_it_leaves() {
    watched(|| {
        const WORKERS: usize = size(12, 6);
        const BURSTS: usize = size(40, 4);
        let pool = Pool::builder().workers(WORKERS).assume_cores(WORKERS);
        let pool = pool.profile(true).build().unwrap();
        let wakes = || -> Vec<u64> {
            let profile = pool.profile();
            profile
                .workers
                .iter()
                .map(|one| one.counters.wakes)
                .collect()
        };
        let burst = || {
            // So all of them have parked, and are woken.
            wait_until_quiet(&pool);
            let before = wakes();
            let together = Together::of(WORKERS);
            let spawner = pool.install(|| {
                scope(|s| (0..WORKERS).for_each(|_| s.spawn(|_| together.meet())));
                current_worker()
            });
            let woke = wakes()
                .into_iter()
                .zip(before)
                .map(|(after, before)| after - before);
            // Each of them has claimed one task, and no other before all had begun.
            woke.enumerate()
                .any(|(worker, woke)| Some(worker) != spawner && woke >= 2)
        };
        let bursts = (0..BURSTS).filter(|_| burst()).count();
        assert!(
            bursts >= BURSTS / 8,
            "a thief woke two in {bursts} bursts of {BURSTS}"
        );
    });
}

/// In how many of so many bursts, each into a pool that sleeps, the spawner has woken three
/// workers. All tasks of a burst are under way together.
fn bursts_that_wake_three(pool: &Pool, bursts: usize) -> usize {
    let workers = pool.workers();
    let woken_by = |worker: usize| pool.profile().workers[worker].counters.wakes;
    let burst = || {
        wait_until_quiet(pool);
        let together = Together::of(workers);
        let woke = pool.install(|| {
            let spawner = current_worker().expect("this is a worker");
            let before = woken_by(spawner);
            scope(|s| {
                (0..workers).for_each(|_| s.spawn(|_| together.meet()));
                woken_by(spawner) - before
            })
        });
        woke >= 3
    };
    (0..bursts).filter(|_| burst()).count()
}

const BURST_OF: usize = size(12, 6);
const BURSTS: usize = size(40, 4);

/// Who pushes a burst wakes some sleepers itself: it woke one, and all others had to wait until
/// that one had come, woken two, and so on.
#[test]
fn who_pushes_a_burst_wakes_several() {
    watched(|| {
        let pool = Pool::builder().workers(BURST_OF).assume_cores(BURST_OF);
        let pool = pool.profile(true).build().unwrap();
        let bursts = bursts_that_wake_three(&pool, BURSTS);
        let least = BURSTS / 2;
        assert!(
            bursts >= least,
            "a spawner woke three in {bursts} bursts of {BURSTS}"
        );
    });
}

/// Where the workers have no threads of their own, a burst calls threads of the arena to several of
/// them: also while another share does the same.
#[test]
fn who_pushes_a_burst_calls_threads_to_several_seats() {
    watched(|| {
        let arena = Arena::new(2 * BURST_OF).unwrap();
        let share = || {
            arena
                .pool()
                .workers(BURST_OF)
                .assume_cores(BURST_OF)
                .profile(true)
                .build()
        };
        let pools = [share().unwrap(), share().unwrap()];
        let bursts: usize = thread::scope(|s| {
            let running = pools
                .each_ref()
                .map(|pool| s.spawn(|| bursts_that_wake_three(pool, BURSTS)));
            running.map(|one| one.join().unwrap()).iter().sum()
        });
        assert!(
            bursts >= BURSTS / 2,
            "spawners woke three in {bursts} bursts of {}",
            2 * BURSTS
        );
    });
}

/// Threads that stood in for workers which waited are asleep when these go on, and are woken for
/// jobs that find no worker idle. They ran them, so that more jobs were under way than the pool has
/// workers.
#[test]
fn threads_that_are_not_needed_any_more_run_no_jobs() {
    watched(|| {
        const WORKERS: usize = 2;
        let pool = Pool::builder().workers(WORKERS).assume_cores(WORKERS);
        let pool = pool.profile(true).build().unwrap();
        let stood_in = || pool.profile().workers.len() - WORKERS;
        let waits = || {
            let long = || thread::sleep(Duration::from_millis(1));
            pool.install(|| join_stolen(|| (), || join_stolen(|| (), long)));
        };
        assert!(holds_within(LIMIT, || {
            waits();
            stood_in() > 0
        }));
        let round = || {
            waits();
            // What stood in has nothing to do, and goes to sleep.
            wait_until_quiet(&pool);
            let (now, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
            let job = || {
                most.fetch_max(now.fetch_add(1, SeqCst) + 1, SeqCst);
                thread::sleep(Duration::from_millis(1));
                now.fetch_sub(1, SeqCst);
            };
            thread::scope(|callers| {
                (0..8).for_each(|_| drop(callers.spawn(|| pool.install(job))));
            });
            most.load(SeqCst) > WORKERS
        };
        let rounds = tries(40);
        let over = (0..rounds).filter(|_| round()).count();
        assert!(
            over <= rounds.div_ceil(4),
            "too many jobs at once in {over} rounds of {rounds}"
        );
    });
}
