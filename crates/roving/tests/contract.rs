//! The contract of the README, line by line: each test fails when its promise is broken.
//!
//! Lines 1 and 6 (no allocation, bounded memory) are in `no_allocation.rs`, the panics of line 5
//! in `panics.rs` and `panics_in_drop.rs`, and line 7 in the programs that must not compile
//! (`src/forkjoin/compile_fail.rs`).

mod common;
#[path = "common/system.rs"]
mod system;

use std::hint;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Barrier, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use common::{
    AMOUNTS, BEYOND_THE_STACK, forever, holds_within, pool, pool_that_steals, size, wait_until,
    watched,
};
use roving::policy::Amount;
use roving::{Pool, current_worker, join, scope};

/// Timing on a shared machine: whether a try succeeds, out of so many. Each promise holds always;
/// that a try fails is the machine's doing unless all do.
fn succeeds_once(tries: usize, mut attempt: impl FnMut() -> Result<(), String>) {
    let mut failures = Vec::new();
    for _ in 0..tries {
        match attempt() {
            Ok(()) => return,
            Err(why) => failures.push(why),
        }
    }
    panic!("none of {tries} tries: {failures:#?}");
}

fn spin(time: Duration) {
    let start = Instant::now();
    while start.elapsed() < time {
        hint::spin_loop();
    }
}

/// Of one task stack.
const SLOTS: usize = size(8192, 32);

// 2. Quiet.

/// All workers at work at the same time, so each had to be woken.
fn meet(pool: &Pool) {
    let barrier = Barrier::new(pool.workers());
    pool.install(|| {
        scope(|s| {
            for _ in 1..pool.workers() {
                s.spawn(|_| {
                    barrier.wait();
                });
            }
            barrier.wait();
        });
    });
}

#[test]
#[cfg_attr(miri, ignore = "there is no account of processor time")]
fn an_idle_pool_uses_no_processor_and_work_wakes_it() {
    watched(|| {
        let builder = Pool::builder().workers(4).name("quiet");
        let pool = builder.build().unwrap();
        succeeds_once(5, || {
            meet(&pool);
            system::wait_until_asleep("quiet-");
            let before = system::used_by_threads("quiet-").unwrap_or_default();
            thread::sleep(Duration::from_secs(1));
            let after = system::used_by_threads("quiet-").unwrap_or_default();
            assert!(
                before.threads >= 4 || !cfg!(target_os = "linux"),
                "{before:?}"
            );
            // Not even a tick: a thread that never gets a processor does nothing.
            let turns = after.turns - before.turns;
            let cpu_ns = after.cpu_ns - before.cpu_ns;
            match turns <= 1 && cpu_ns < 300_000 {
                true => Ok(()),
                false => Err(format!("{turns} turns, {cpu_ns} ns")),
            }
        });
        meet(&pool);
    });
}

/// A worker that waits for a stolen task uses no processor either.
#[test]
#[cfg_attr(miri, ignore = "there is no account of processor time")]
fn a_waiting_worker_uses_no_processor() {
    watched(|| {
        let builder = Pool::builder().workers(2).name("waits");
        let pool = builder.build().unwrap();
        succeeds_once(10, || {
            let began = AtomicBool::new(false);
            let thief = || {
                began.store(true, SeqCst);
                system::wait_until_asleep("waits-");
                let before = system::used_by_threads("waits-");
                thread::sleep(Duration::from_millis(200));
                (before, system::used_by_threads("waits-"))
            };
            let owner = || wait_until(|| began.load(SeqCst));
            let ((), (before, after)) = pool.install(|| join(owner, thief));
            let (before, after) = (before.unwrap_or_default(), after.unwrap_or_default());
            // The thief's own turns, around its sleep, and its look-up.
            let turns = after.turns - before.turns;
            let cpu_ns = after.cpu_ns - before.cpu_ns;
            match turns <= 4 && cpu_ns < 3_000_000 {
                true => Ok(()),
                false => Err(format!("{turns} turns, {cpu_ns} ns")),
            }
        });
    });
}

// 3. Never starved.

/// Occupies workers of the pool until told otherwise.
struct Occupied {
    go: Vec<mpsc::Sender<()>>,
}

impl Occupied {
    fn new(pool: &Pool, workers: usize) -> Occupied {
        let (began, begins) = mpsc::channel();
        let go = (0..workers).map(|_| {
            let (go, wait) = mpsc::channel();
            let began = began.clone();
            pool.spawn(move || {
                began.send(()).unwrap();
                let _ = wait.recv();
            });
            go
        });
        let go = go.collect();
        (0..workers).for_each(|_| begins.recv().unwrap());
        Occupied { go }
    }

    /// They become idle.
    fn release(&self) {
        for go in &self.go {
            go.send(()).unwrap();
        }
    }
}

/// Long enough for the slowest machine, and over only if the test fails.
const LONG: Duration = Duration::from_secs(60);

/// Three nested joins, each with a pending sibling, then a leaf in which the owner makes no call
/// until `all_begun` says that each sibling has begun, which takes a worker each.
fn long_leaf(pool: &Pool, all_begun: impl Fn(&AtomicUsize) -> bool + Sync) {
    let busy = Occupied::new(pool, 3);
    let (begun, over) = (AtomicUsize::new(0), AtomicBool::new(false));
    let sibling = || {
        begun.fetch_add(1, SeqCst);
        holds_within(LONG, || over.load(SeqCst));
    };
    let all = pool.install(|| {
        let leaf = || {
            busy.release();
            let all = all_begun(&begun);
            over.store(true, SeqCst);
            all
        };
        join(|| join(|| join(leaf, sibling).0, sibling).0, sibling).0
    });
    assert!(all, "{begun:?} of 3 siblings began while the leaf ran");
}

/// Amounts by which a thief takes a single task, too. `Fixed(d)` leaves fewer than `d` alone.
const ANY_NUMBER: [Amount; 3] = [Amount::One, Amount::Fixed(1), Amount::Half];

#[test]
fn a_long_leaf_hides_no_work_from_idle_workers() {
    let sleeps = |begun: &AtomicUsize| holds_within(LONG, || begun.load(SeqCst) == 3);
    let computes = |begun: &AtomicUsize| {
        let start = Instant::now();
        while begun.load(SeqCst) < 3 && start.elapsed() < LONG {
            hint::spin_loop();
        }
        begun.load(SeqCst) == 3
    };
    watched(|| {
        for amount in ANY_NUMBER {
            let pool = pool_that_steals(4, amount);
            for _ in 0..size(20, 1) {
                long_leaf(&pool, sleeps);
                long_leaf(&pool, computes);
            }
        }
    });
}

/// A long leaf hides no work in tasks of scopes either, where each level is a scope of its own.
#[test]
fn a_long_leaf_in_scopes_hides_no_work_from_idle_workers() {
    watched(|| {
        let pool = pool(4);
        for _ in 0..size(20, 3) {
            let busy = Occupied::new(&pool, 3);
            let (begun, over) = (AtomicUsize::new(0), AtomicBool::new(false));
            let sibling = |_: &roving::Scope<'_>| {
                begun.fetch_add(1, SeqCst);
                holds_within(LONG, || over.load(SeqCst));
            };
            let all = pool.install(|| {
                scope(|s| {
                    s.spawn(sibling);
                    scope(|s| {
                        s.spawn(sibling);
                        s.spawn(sibling);
                        busy.release();
                        let all = holds_within(LONG, || begun.load(SeqCst) == 3);
                        over.store(true, SeqCst);
                        all
                    })
                })
            });
            assert!(all, "{begun:?} of 3 siblings began while the leaf ran");
        }
    });
}

/// Of `outer` spawned tasks all but `left` have run when one spawns `inner` more in a scope of its
/// own, and is a long leaf then. Returns how many idle workers run meanwhile.
fn taken_beside_a_leaf(pool: &Pool, outer: usize, left: usize, inner: usize) -> usize {
    let busy = Occupied::new(pool, 1);
    let (ran, taken) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let least = (left + inner).div_ceil(4);
    let leaf = || {
        scope(|s| {
            for _ in 0..inner {
                s.spawn(|_| {
                    ran.fetch_add(1, SeqCst);
                });
            }
            let before = ran.load(SeqCst);
            busy.release();
            holds_within(LONG, || ran.load(SeqCst) - before >= least);
            taken.store(ran.load(SeqCst) - before, SeqCst);
        });
    };
    pool.install(|| {
        scope(|s| {
            for number in 0..outer {
                let (ran, leaf) = (&ran, &leaf);
                s.spawn(move |_| {
                    ran.fetch_add(1, SeqCst);
                    if number == left {
                        leaf();
                    }
                });
            }
        });
    });
    taken.into_inner()
}

#[test]
fn of_tasks_in_scopes_that_come_and_go_a_quarter_is_public() {
    watched(|| {
        let pool = pool(2);
        for (outer, left, inner) in [(300, 100, 50), (300, 100, 100), (40, 20, 15), (40, 20, 19)] {
            let taken = taken_beside_a_leaf(&pool, outer, left, inner);
            let pending = left + inner;
            assert!(4 * taken >= pending, "{taken} of {pending} tasks");
        }
    });
}

/// A worker that hears at the end of a scope that somebody wants a task, and has none left, shows
/// the next one that it spawns.
#[test]
fn a_request_heard_at_a_scopes_end_is_answered_by_the_next_spawn() {
    watched(|| {
        let pool = pool(2);
        for _ in 0..size(50, 5) {
            let (begun, ends, ran) = (
                AtomicBool::new(false),
                AtomicBool::new(false),
                AtomicBool::new(false),
            );
            pool.install(|| {
                scope(|s| {
                    s.spawn(|_| {
                        begun.store(true, SeqCst);
                        wait_until(|| ends.load(SeqCst));
                    });
                    wait_until(|| begun.load(SeqCst));
                    scope(|s| {
                        // Nobody has asked for it.
                        s.spawn(|_| ());
                        ends.store(true, SeqCst);
                        // The other worker asks, and sleeps.
                        thread::sleep(Duration::from_millis(2));
                    });
                    s.spawn(|_| ran.store(true, SeqCst));
                    wait_until(|| ran.load(SeqCst));
                });
            });
        }
    });
}

/// `Fixed(d)` takes `d` tasks at once, or none where the victim has fewer.
#[test]
fn fixed_takes_all_of_its_number_or_nothing() {
    watched(|| {
        for (siblings, is_taken) in [(2, false), (3, true)] {
            let pool = pool_that_steals(2, Amount::Fixed(3));
            let ran = AtomicUsize::new(0);
            let early = pool.install(|| {
                scope(|s| {
                    for _ in 0..siblings {
                        s.spawn(|_| {
                            ran.fetch_add(1, SeqCst);
                        });
                    }
                    match is_taken {
                        true => wait_until(|| ran.load(SeqCst) == siblings),
                        false => thread::sleep(Duration::from_millis(20)),
                    }
                    ran.load(SeqCst)
                })
            });
            assert_eq!(early, if is_taken { siblings } else { 0 });
            assert_eq!(ran.load(SeqCst), siblings);
            let stolen = pool.profile().total().counters;
            assert_eq!(stolen.tasks_stolen, stolen.steals_won * 3);
        }
    });
}

/// More tasks than the stack holds, so that the owner runs most of them in place: what is on the
/// stack must be shown all the same, and what has ended make room, or the second worker starves.
#[test]
fn a_full_stack_keeps_all_workers_busy() {
    const TASKS: usize = 6 * SLOTS;
    watched(|| {
        for amount in AMOUNTS {
            let pool = pool_that_steals(2, amount);
            succeeds_once(10, || {
                let order: Vec<AtomicUsize> = (0..TASKS).map(|_| AtomicUsize::new(9)).collect();
                let turn = AtomicUsize::new(0);
                pool.install(|| {
                    scope(|s| {
                        for _ in 0..TASKS {
                            s.spawn(|_| {
                                let turn = turn.fetch_add(1, SeqCst);
                                order[turn].store(current_worker().unwrap(), SeqCst);
                                spin(Duration::from_micros(5));
                            });
                        }
                    });
                });
                // At the end the owner has nothing left to spawn: before that.
                let late = &order[TASKS / 6 * 4..TASKS / 6 * 5];
                let shares = [0, 1].map(|worker| {
                    let by_worker = |by: &&AtomicUsize| by.load(SeqCst) == worker;
                    late.iter().filter(by_worker).count()
                });
                match shares.iter().all(|&share| share >= late.len() / 5) {
                    true => Ok(()),
                    false => Err(format!("{amount}: shares of the late tasks {shares:?}")),
                }
            });
        }
    });
}

/// A worker that parks, for another pool here, shows all that it has pending.
#[test]
fn a_parked_worker_hides_no_work_from_idle_workers() {
    watched(|| {
        for amount in ANY_NUMBER {
            let (one, other) = (pool_that_steals(2, amount), pool(1));
            let ran = AtomicUsize::new(0);
            let sibling = || {
                ran.fetch_add(1, SeqCst);
            };
            // The other worker has to run all seven while this one is away.
            let away = || other.install(|| wait_until(|| ran.load(SeqCst) == 7));
            let nested = || join(|| join(away, sibling), sibling);
            let nested = || join(|| join(nested, sibling), sibling);
            let nested = || join(|| join(nested, sibling), sibling);
            one.install(|| join(nested, sibling));
        }
    });
}

// 4. Nothing unrelated runs on top of a waiting frame.

#[test]
fn what_does_not_fit_the_stack_runs_in_place() {
    watched(|| {
        let builder = Pool::builder().workers(1).profile(true);
        let pool = builder.build().unwrap();
        let ran = AtomicUsize::new(0);
        pool.install(|| {
            scope(|s| {
                let mut spawned = 0;
                // The first task that has run before the next is spawned did not fit.
                while ran.load(SeqCst) == 0 {
                    s.spawn(|_| {
                        ran.fetch_add(1, SeqCst);
                    });
                    spawned += 1;
                    assert!(spawned <= SLOTS + 1, "the stack has {SLOTS} slots");
                }
                assert_eq!(spawned, SLOTS + 1);
            });
        });
        assert_eq!(ran.into_inner(), SLOTS + 1);
        assert_eq!(pool.profile().total().counters.max_depth, SLOTS as u64);
    });
}

#[test]
fn joins_beyond_the_end_of_the_stack_give_their_results() {
    fn chain(depth: u64) -> u64 {
        if depth == 0 {
            return 0;
        }
        let (below, here) = join(|| chain(depth - 1), || depth);
        below + here
    }
    watched(|| {
        for workers in [1, 2, 8] {
            let builder = Pool::builder().workers(workers).stack_size(256 << 20);
            let pool = builder.build().unwrap();
            let depth = BEYOND_THE_STACK;
            assert_eq!(pool.install(|| chain(depth)), depth * (depth + 1) / 2);
        }
    });
}

/// Dropping a pool runs what it was given, also what that brings in turn, and joins its threads.
#[test]
fn dropping_a_pool_runs_what_it_holds_and_joins_its_threads() {
    watched(|| {
        for workers in [1, 2, 8] {
            let (ran, ended) = (forever(AtomicUsize::new(0)), forever(AtomicUsize::new(0)));
            let builder = Pool::builder().workers(workers).name("dropped");
            let on_exit = |_| {
                // Longer than it takes to forget to join.
                thread::sleep(Duration::from_millis(20));
                ended.fetch_add(1, SeqCst);
            };
            let pool = builder.on_exit(on_exit).build().unwrap();
            for _ in 0..size(200, 10) {
                pool.spawn(|| {
                    ran.fetch_add(1, SeqCst);
                    roving::spawn(|| {
                        scope(|s| {
                            s.spawn(|_| {
                                ran.fetch_add(1, SeqCst);
                            });
                        });
                    });
                });
            }
            drop(pool);
            assert_eq!(ran.load(SeqCst), size(400, 20));
            assert!(ended.load(SeqCst) >= workers, "threads are left");
            // A thread that has been joined may be on the system's list for a moment.
            wait_until(|| system::threads("dropped-").unwrap_or(0) == 0);
        }
    });
}

/// The drop of a pool also joins compensation threads that it has needed.
#[test]
fn dropping_a_pool_joins_its_spare_threads() {
    watched(|| {
        let (started, ended) = (forever(AtomicUsize::new(0)), forever(AtomicUsize::new(0)));
        let builder = Pool::builder().workers(2).on_start(|_| {
            started.fetch_add(1, SeqCst);
        });
        let builder = builder.on_exit(|_| {
            thread::sleep(Duration::from_millis(20));
            ended.fetch_add(1, SeqCst);
        });
        let (this, other) = (builder.build().unwrap(), pool(2));
        // Both workers wait for the other pool, and that one for a third job of this pool.
        let gate = Barrier::new(3);
        let meet = || {
            gate.wait();
        };
        thread::scope(|threads| {
            threads.spawn(|| this.install(|| other.install(meet)));
            threads.spawn(|| this.install(|| other.install(meet)));
            threads.spawn(|| this.install(meet));
        });
        drop(this);
        let (started, ended) = (started.load(SeqCst), ended.load(SeqCst));
        assert_eq!(started, ended, "threads are left");
        // Where the jobs came one after the other, a worker was free for the third.
        assert!(started >= 2);
    });
}
