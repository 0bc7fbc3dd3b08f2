//! Deterministic pools: a schedule is a function of its seed, everything that it may do it does
//! under some seed, and nothing that the contract forbids under any.

mod common;

use std::cell::RefCell;
use std::collections::{BTreeSet, HashSet};
use std::panic::{self, AssertUnwindSafe};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use common::{seeds, size, watched, yield_now};
use roving::task::{Task, block_on, branch, call, fork, spawn};
use roving::{Pool, WorkerLocal};

/// Runs under every seed with 3 workers, and collects what it returns. What hangs is a single run:
/// on a busy machine all of them together may take long.
fn under_seeds<R: Send + Ord>(seeds: u64, program: impl Fn() -> R + Sync) -> BTreeSet<R> {
    let run = |seed| watched(|| drawn(seed, 3).install(&program));
    (0..size(seeds, 2)).map(run).collect()
}

/// All of this is seen under as many seeds as there are natively. Miri has time for few: nothing
/// else is.
fn assert_all<R: Ord + std::fmt::Debug>(seen: &BTreeSet<R>, all: &BTreeSet<R>) {
    match cfg!(miri) {
        true => assert!(seen.is_subset(all), "{seen:?}"),
        false => assert_eq!(seen, all),
    }
}

fn drawn(seed: u64, workers: usize) -> Pool {
    let builder = Pool::builder().deterministic(seed).workers(workers);
    builder
        .log_schedule(true)
        .build()
        .expect("it starts no thread")
}

/// A bit of everything; returns the order in which its parts ran, and where.
fn medley() -> Vec<(usize, usize)> {
    let trace = Mutex::new(Vec::new());
    let note = |what| {
        let worker = roving::current_worker().expect("in a pool");
        trace.lock().unwrap().push((what, worker));
    };
    fn tree(depth: usize, note: &(impl Fn(usize) + Sync)) {
        if depth == 0 {
            return note(0);
        }
        roving::join(|| tree(depth - 1, note), || tree(depth - 1, note));
        note(depth);
    }
    fn tasks<'t>(
        s: roving::task::Scope<'t>,
        depth: usize,
        note: &'t (impl Fn(usize) + Sync),
    ) -> impl Task<()> {
        async move {
            note(100 + depth);
            if depth > 0 {
                let a = s.fork(tasks(s, depth - 1, note)).await;
                let b = s.spawn(tasks(s, depth - 1, note));
                s.call(tasks(s, depth - 1, note)).await;
                b.await;
                yield_now().await;
                a.await;
            }
            note(200 + depth);
        }
    }
    tree(3, &note);
    roving::scope(|s| {
        for n in 0..5 {
            let note = &note;
            s.spawn(move |s| {
                note(300 + n);
                s.spawn(move |_| tree(1, note));
            });
        }
    });
    roving::par_for(0..size(500, 100), |n| {
        if n % 50 == 0 {
            note(400 + n);
        }
    });
    roving::task::scope(|s| tasks(s, 2, &note));
    roving::broadcast(|index| note(1000 + index));
    trace.into_inner().unwrap()
}

#[test]
fn one_seed_is_one_schedule_and_most_others_are_others() {
    let run = |seed| {
        let pool = drawn(seed, 3);
        let trace = pool.install(medley);
        (trace, pool.schedule_log())
    };
    let mut logs = HashSet::new();
    let mut traces = HashSet::new();
    let seeds = size(seeds(200), 1);
    for seed in 0..seeds {
        let (trace, log) = run(seed);
        assert!(!log.is_empty());
        assert_eq!(run(seed), (trace.clone(), log.clone()), "seed {seed}");
        logs.insert(log);
        traces.insert(trace);
    }
    let (logs, orders) = (logs.len() as u64, traces.len() as u64);
    assert_eq!(logs, seeds, "no two seeds draw one schedule");
    // Where hardly any thread gives its turn up, the program sees the same: 195 of 200 orders
    // differ, the same on every machine, and about as many in a thousand.
    assert!(
        orders >= seeds - seeds / 20,
        "{orders} of {seeds} orders differ"
    );
}

#[test]
fn no_log_is_kept_unless_it_is_asked_for() {
    let pool = Pool::builder().deterministic(1).build().unwrap();
    assert_eq!(pool.workers(), 4, "of any machine");
    pool.install(medley);
    assert_eq!(pool.schedule_log(), "");
}

#[test]
fn a_join_runs_its_closures_in_both_orders_here_and_elsewhere() {
    let seen = under_seeds(200, || {
        let order = AtomicUsize::new(0);
        let here = roving::current_worker();
        let (a, b) = roving::join_context(
            |migrated| {
                (
                    order.fetch_add(1, Ordering::Relaxed),
                    migrated,
                    roving::current_worker(),
                )
            },
            |migrated| {
                (
                    order.fetch_add(1, Ordering::Relaxed),
                    migrated,
                    roving::current_worker(),
                )
            },
        );
        assert_eq!((a.1, a.2), (false, here), "the first stays");
        assert_eq!(b.1, b.2 != here, "who migrates is elsewhere");
        assert!(b.2 < Some(3), "a worker of the pool");
        (a.0, b.1)
    });
    // First and here, first and stolen, second though stolen.
    assert_all(&seen, &BTreeSet::from([(0, false), (0, true), (1, true)]));
}

/// Two thieves take the oldest one each, and the owner the newest: so the first to run is one of
/// these three, and after that anything goes.
#[test]
fn tasks_of_a_scope_run_in_every_order_that_can_be() {
    let orders = under_seeds(seeds(2000), || {
        let order = Mutex::new(Vec::new());
        roving::scope(|s| {
            for n in 0..4 {
                let order = &order;
                s.spawn(move |_| order.lock().unwrap().push(n));
            }
        });
        order.into_inner().unwrap()
    });
    assert!(orders.iter().all(|order| order[0] != 2), "{orders:?}");
    assert!(orders.len() > 12 || cfg!(miri), "{orders:?}");
}

#[test]
fn a_task_of_a_scope_may_run_before_its_spawner_goes_on() {
    let seen = under_seeds(100, || {
        let ran = AtomicUsize::new(usize::MAX);
        roving::scope(|s| {
            s.spawn(|_| ran.store(roving::current_worker().unwrap(), Ordering::Relaxed));
            let ran = ran.load(Ordering::Relaxed);
            (ran != usize::MAX, Some(ran) == roving::current_worker())
        })
    });
    assert_all(&seen, &BTreeSet::from([(false, false), (true, false)]));
}

/// A task on the stack of a worker that holds a lock wants the lock too, and must not run before it
/// is free.
#[test]
fn a_lock_can_be_held_across_everything_that_waits() {
    fn under(lock: &Mutex<u32>, depth: u32) {
        let mut count = lock.lock().unwrap();
        *count += 1;
        roving::join(|| (), || ());
        roving::scope(|s| (0..3).for_each(|_| s.spawn(|_| ())));
        roving::par_for(0..size(100, 10), |_| ());
        block_on(async {
            let child = fork(yield_now()).await;
            spawn(yield_now()).await;
            child.await;
        });
        drop(count);
        if depth > 0 {
            roving::join(|| under(lock, depth - 1), || under(lock, depth - 1));
            roving::scope(|s| (0..2).for_each(|_| s.spawn(|_| under(lock, 0))));
        }
    }
    under_seeds(seeds(200), || {
        let lock = Mutex::new(0);
        under(&lock, size(2, 1));
        assert_eq!(*lock.lock().unwrap(), size(7 + 2 * 3, 3 + 2));
    });
}

/// A task of a scope that a frame further out has opened must not run at a join which it has
/// nothing to do with: the closure that opened the scope may hold its lock.
#[test]
fn what_was_spawned_before_a_join_does_not_run_in_it() {
    under_seeds(200, || {
        let lock = Mutex::new(());
        roving::scope(|s| {
            // Before the lock is taken: at once is fine, later as well, but not between.
            s.spawn(|_| drop(lock.lock().unwrap()));
            let held = lock.lock().unwrap();
            roving::join(|| (), || ());
            roving::scope(|s| s.spawn(|_| ()));
            drop(held);
        });
    });
}

/// A worker's own value is in use in at most one closure at a time, except below one that waits: as
/// it is with threads. That some program has borrowed it across a join is found.
#[test]
fn a_borrow_across_a_join_is_found() {
    let borrow = || {
        let local = WorkerLocal::new(|| RefCell::new(0));
        fn tree(local: &WorkerLocal<RefCell<i32>>, depth: u32) {
            if depth > 0 {
                let both = || roving::join(|| tree(local, depth - 1), || tree(local, depth - 1));
                local.with(|value| {
                    let borrowed = value.try_borrow_mut().map(|mut value| *value += 1);
                    borrowed.expect("another part of the computation has it");
                    // Let go before the join.
                });
                both();
            }
        }
        tree(&local, 4);
        let sum: i32 = local.into_iter().map(RefCell::into_inner).sum();
        assert_eq!(sum, 15);
    };
    under_seeds(100, borrow);
    let found = (0..size(100, 3)).filter(|&seed| {
        let pool = drawn(seed, 2);
        let run = AssertUnwindSafe(|| {
            pool.install(|| {
                let local = WorkerLocal::new(|| RefCell::new(()));
                let held = |f: &(dyn Fn() + Sync)| {
                    local.with(|value| {
                        let _held = value.try_borrow_mut().expect("borrowed across a join");
                        f();
                    });
                };
                // The second is stolen; its own second comes back to the first worker, which waits.
                held(&|| {
                    roving::join(
                        || (),
                        || {
                            roving::join(|| (), || held(&|| ()));
                        },
                    );
                });
            });
        });
        panic::catch_unwind(run).is_err()
    });
    assert!(found.count() > 10 || cfg!(miri));
}

#[test]
fn both_panics_of_a_join_come_to_the_first() {
    let drops = Arc::new(AtomicUsize::new(0));
    struct Counted(Arc<AtomicUsize>);
    impl Drop for Counted {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
    for seed in 0..size(60, 3) {
        let pool = drawn(seed, 3);
        let before = drops.load(Ordering::Relaxed);
        let (one, other) = (Counted(Arc::clone(&drops)), Counted(Arc::clone(&drops)));
        let joined = panic::catch_unwind(AssertUnwindSafe(|| {
            pool.install(|| {
                roving::join(
                    move || {
                        let _one = one;
                        panic::resume_unwind(Box::new("first"))
                    },
                    move || {
                        let _other = other;
                        if seed % 2 == 0 {
                            panic::resume_unwind(Box::new("second"));
                        }
                    },
                )
            })
        }));
        let payload = joined.map(|((), ())| ()).unwrap_err();
        assert_eq!(payload.downcast_ref(), Some(&"first"));
        assert_eq!(drops.load(Ordering::Relaxed) - before, 2);
        assert_eq!(
            pool.install(|| roving::join(|| 1, || 2)),
            (1, 2),
            "usable after"
        );
    }
}

#[test]
fn a_panic_in_a_scope_waits_for_all_tasks_under_every_seed() {
    for seed in 0..size(60, 3) {
        let ran = AtomicUsize::new(0);
        let pool = drawn(seed, 3);
        let scoped = panic::catch_unwind(AssertUnwindSafe(|| {
            pool.install(|| {
                roving::scope(|s| {
                    for n in 0..6 {
                        let ran = &ran;
                        s.spawn(move |_| {
                            ran.fetch_add(1, Ordering::Relaxed);
                            if n == 2 {
                                panic::resume_unwind(Box::new(n));
                            }
                        });
                    }
                });
            });
        }));
        assert_eq!(scoped.unwrap_err().downcast_ref(), Some(&2));
        assert_eq!(ran.into_inner(), 6);
    }
}

#[test]
fn forks_spawns_and_wakes_come_in_many_orders_and_always_to_the_same_result() {
    fn fib(n: u32) -> impl Task<u64> {
        async move {
            if n < 2 {
                return n.into();
            }
            let a = branch(fib(n - 1)).await;
            let b = call(fib(n - 2)).await;
            yield_now().await;
            a.await + b
        }
    }
    let orders = under_seeds(1000, || {
        let order = Arc::new(Mutex::new(Vec::new()));
        assert_eq!(block_on(fib(size(9, 5))), size(34, 5));
        let there = Arc::clone(&order);
        block_on(async move {
            let step = |n: u32| {
                let order = Arc::clone(&there);
                async move {
                    yield_now().await;
                    order.lock().unwrap().push(n);
                }
            };
            let children = [fork(step(0)).await, spawn(step(1)), fork(step(2)).await];
            there.lock().unwrap().push(3);
            for child in children {
                child.await;
            }
        });
        Arc::into_inner(order).unwrap().into_inner().unwrap()
    });
    // Of 24 orders of the four events, those in which the parent is ahead of all three included.
    assert!(orders.len() > 20 || cfg!(miri), "{orders:?}");
}

#[test]
fn a_task_moves_between_workers() {
    let seen = under_seeds(100, || {
        block_on(async {
            let mut workers = BTreeSet::new();
            for _ in 0..8 {
                workers.insert(roving::current_worker());
                drop(fork(async {}).await);
            }
            workers.len()
        })
    });
    let is_any = seen.contains(&1) && seen.contains(&3);
    assert!(is_any || cfg!(miri), "{seen:?}");
}

#[test]
fn a_fork_in_a_loop_holds_few_frames() {
    struct Alive<'a>(&'a AtomicUsize);
    impl Drop for Alive<'_> {
        fn drop(&mut self) {
            self.0.fetch_sub(1, Ordering::Relaxed);
        }
    }
    let most = under_seeds(20, || {
        let (alive, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let (alive, highest) = (&alive, &most);
        roving::task::scope(|s| async move {
            for _ in 0..size(1000, 20) {
                let now = alive.fetch_add(1, Ordering::Relaxed) + 1;
                highest.fetch_max(now, Ordering::Relaxed);
                let one = Alive(alive);
                drop(s.fork(async move { drop(one) }).await);
            }
        });
        most.into_inner()
    });
    // One for each worker that has taken a child and not begun it, and the one being made.
    assert!(most.iter().all(|&most| most <= 4), "{most:?}");
    assert!(most.len() > 1 || cfg!(miri));
}

/// One worker takes them as they came; of two none is lost.
#[test]
fn detached_tasks_start_in_order_on_one_worker() {
    let orders = |workers| {
        let run = |seed| {
            let pool = drawn(seed, workers);
            let order = Arc::new(Mutex::new(Vec::new()));
            pool.install(|| {
                for n in 0..4 {
                    let order = Arc::clone(&order);
                    roving::spawn(move || order.lock().unwrap().push(n));
                }
            });
            drop(pool);
            Arc::into_inner(order).unwrap().into_inner().unwrap()
        };
        let runs = (0..size(300, 3)).map(|seed| watched(|| run(seed)));
        runs.collect::<BTreeSet<Vec<usize>>>()
    };
    assert_eq!(orders(1), BTreeSet::from([vec![0, 1, 2, 3]]));
    for mut order in orders(2) {
        order.sort_unstable();
        assert_eq!(order, [0, 1, 2, 3]);
    }
}

#[test]
fn an_async_task_can_wait_for_a_detached_one() {
    under_seeds(50, || {
        let (sender, receiver) = async_channel::bounded(1);
        roving::spawn(move || sender.send_blocking(5).unwrap());
        assert_eq!(block_on(async move { receiver.recv().await }), Ok(5));
    });
}

#[test]
fn a_broadcast_reaches_each_worker_once_in_any_order() {
    let orders = under_seeds(200, || {
        let order = Mutex::new(Vec::new());
        let results = roving::broadcast(|index| {
            assert_eq!(roving::current_worker(), Some(index));
            order.lock().unwrap().push(index);
            index * 10
        });
        assert_eq!(results, [0, 10, 20]);
        let spawned = AtomicUsize::new(0);
        roving::scope(|s| {
            s.spawn_broadcast(|_, index| {
                assert_eq!(roving::current_worker(), Some(index));
                spawned.fetch_add(1 << (8 * index), Ordering::Relaxed);
            });
        });
        assert_eq!(spawned.into_inner(), 0x01_01_01);
        order.into_inner().unwrap()
    });
    assert!(orders.len() == 6 || cfg!(miri), "{orders:?}");
}

/// When one hears of the other is in no seed.
#[test]
fn pools_within_each_other_come_to_their_end() {
    let run = |seed| {
        let sum = AtomicUsize::new(0);
        let (outer, inner) = (drawn(seed, 3), drawn(seed + 1, 2));
        outer.install(|| {
            roving::par_for(0..size(50, 4), |_| {
                inner.install(|| {
                    let count = || _ = sum.fetch_add(1, Ordering::Relaxed);
                    let again = || roving::join(count, count);
                    roving::join(|| outer.install(again), again);
                });
            });
        });
        assert_eq!(sum.into_inner(), 4 * size(50, 4));
    };
    (0..size(seeds(40), 1)).for_each(|seed| watched(|| run(seed)));
}

#[test]
fn threads_take_turns_in_a_drawn_pool() {
    let pool = drawn(3, 3);
    let inside = AtomicBool::new(false);
    watched(|| {
        std::thread::scope(|threads| {
            for _ in 0..4 {
                threads.spawn(|| {
                    for _ in 0..size(50, 2) {
                        pool.install(|| {
                            assert!(!inside.swap(true, Ordering::Relaxed));
                            roving::par_for(0..20, |_| ());
                            inside.store(false, Ordering::Relaxed);
                        });
                    }
                });
            }
        });
    });
}

#[test]
fn scopes_fill_their_stack_and_go_on() {
    under_seeds(3, || {
        let count = AtomicUsize::new(0);
        roving::scope(|s| {
            for _ in 0..size(20_000, 50) {
                s.spawn(|_| {
                    count.fetch_add(1, Ordering::Relaxed);
                });
            }
        });
        assert_eq!(count.into_inner(), size(20_000, 50));
    });
}

/// With threads such chains take no native stack, and they must not overflow it here.
#[test]
fn chains_of_tasks_take_little_native_stack() {
    const LENGTH: usize = size(1_000, 40);
    fn link<'s>(s: &roving::Scope<'s>, left: usize, count: &'s AtomicUsize) {
        count.fetch_add(1, Ordering::Relaxed);
        if left > 1 {
            s.spawn(move |s| link(s, left - 1, count));
        }
    }
    fn task(left: usize) -> impl Task<usize> {
        async move {
            match left {
                0 => 0,
                _ => 1 + spawn(task(left - 1)).await,
            }
        }
    }
    under_seeds(seeds(8), || {
        let count = AtomicUsize::new(0);
        roving::scope(|s| link(s, LENGTH, &count));
        assert_eq!(count.into_inner(), LENGTH);
        assert_eq!(block_on(task(LENGTH)), LENGTH);
    });
}

/// That of the first closure runs before the join takes its second back, or is stolen with all
/// that is older; that of the second may run after the join.
#[test]
fn tasks_of_an_outer_scope_run_in_the_join_or_after_it() {
    let seen = under_seeds(400, || {
        let ran = AtomicUsize::new(0);
        let count = || _ = ran.fetch_add(1, Ordering::SeqCst);
        let in_join = roving::scope(|s| {
            roving::join(|| s.spawn(|_| count()), || s.spawn(|_| count()));
            ran.load(Ordering::SeqCst)
        });
        assert_eq!(ran.load(Ordering::SeqCst), 2);
        in_join
    });
    assert_all(&seen, &[1, 2].into());
}

/// A root that waits runs one detached job after the other, for the last may be what it waits for.
#[test]
fn a_root_runs_all_jobs_that_it_may_wait_for() {
    under_seeds(100, || {
        let (sender, receiver) = async_channel::bounded(1);
        roving::spawn(move || {
            roving::spawn(move || {
                roving::spawn(move || sender.send_blocking(7).unwrap());
            });
        });
        assert_eq!(block_on(async { receiver.recv().await }), Ok(7));
    });
}
