//! Programs that use everything a pool has, each under many seeds: what holds of any schedule, on
//! pools that steal, spawn and replace threads in every way. Where `ROVING_DEEP` is set, there are
//! ten thousand seeds for each.

mod common;

use std::future::poll_fn;
use std::panic::{self, AssertUnwindSafe};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::mpsc;
use std::task::Poll;
use std::thread;

use common::{AMOUNTS, Census, size, watched, yield_now};
use roving::policy::SpawnOrder;
use roving::task::{self, Task, block_on};
use roving::{Cancel, Counters, Pool, context, join, scope};

/// Seeds for each program.
fn seeds() -> u64 {
    match std::env::var_os("ROVING_DEEP") {
        Some(_) => size(10_000, 10),
        None => size(60, 2),
    }
}

/// A pool for that seed: the settings go through all that matter.
fn pool(seed: u64) -> Pool {
    let builder = Pool::builder()
        .deterministic(seed)
        .workers(2 + (seed % 3) as usize);
    let builder = builder.steal(AMOUNTS[(seed / 3 % 3) as usize]);
    let builder = match seed / 9 % 3 {
        0 => builder.spawn_order(SpawnOrder::WorkFirst),
        1 => builder.spawn_order(SpawnOrder::HelpFirst),
        _ => builder,
    };
    let builder = match seed % 5 {
        0 => builder.task_slots(4),
        _ => builder,
    };
    let builder = match seed % 7 {
        0 => builder.migrate_at_each_fork(),
        _ => builder,
    };
    builder.workers_max(5).profile(true).build().unwrap()
}

/// Runs the program under each seed. Returns what the workers counted in all runs together.
fn under_seeds(program: impl Fn(&Pool) + Sync) -> Counters {
    let mut sum = Counters::default();
    for seed in 0..seeds() {
        watched(|| {
            let pool = pool(seed);
            let run = || program(&pool);
            if let Err(payload) = panic::catch_unwind(AssertUnwindSafe(run)) {
                eprintln!("seed {seed}");
                panic::resume_unwind(payload);
            }
            let more = pool.profile().total().counters;
            sum.steals_won += more.steals_won;
            sum.take_backs += more.take_backs;
            sum.leapfrogs += more.leapfrogs;
            sum.publications += more.publications;
            sum.continuations_stolen += more.continuations_stolen;
            sum.tasks_dropped += more.tasks_dropped;
            sum.suspensions += more.suspensions;
        });
    }
    sum
}

fn fib(n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (a, b) = join(|| fib(n - 1), || fib(n - 2));
    a + b
}

/// Tasks are stolen, taken back, and stolen back by who waits.
#[test]
fn joins() {
    let counted = under_seeds(|pool| {
        assert_eq!(pool.install(|| fib(7)), 13);
        assert_eq!(
            pool.install(|| join(|| fib(6), || pool.install(|| fib(5)))),
            (8, 5)
        );
    });
    let all = [
        counted.steals_won,
        counted.take_backs,
        counted.leapfrogs,
        counted.publications,
    ];
    assert!(
        all.iter().all(|&count| count > 0) || cfg!(miri),
        "{counted:?}"
    );
}

#[test]
fn scopes_and_panics() {
    fn tree<'s>(s: &roving::Scope<'s>, census: &'s Census, run: &'s AtomicUsize, depth: u32) {
        run.fetch_add(1, SeqCst);
        for _ in 0..depth {
            let counted = census.one();
            s.spawn(move |s| {
                let _counted = counted;
                tree(s, census, run, depth - 1);
                scope(|s| s.spawn(|_| drop(census.one())));
            });
        }
    }
    under_seeds(|pool| {
        let (census, run) = (Census::new(), AtomicUsize::new(0));
        pool.install(|| scope(|s| tree(s, &census, &run, 3)));
        assert_eq!(run.load(SeqCst), 16);
        let panicked = panic::catch_unwind(AssertUnwindSafe(|| {
            pool.in_place_scope(|s| {
                tree(s, &census, &run, 2);
                s.spawn(|_| panic::resume_unwind(Box::new("one of them")));
            });
        }));
        assert_eq!(panicked.unwrap_err().downcast_ref(), Some(&"one of them"));
        census.check();
    });
}

#[test]
fn loops() {
    under_seeds(|pool| {
        pool.install(|| {
            let sum = AtomicUsize::new(0);
            roving::par_for(0..100, |n| _ = sum.fetch_add(n, SeqCst));
            assert_eq!(sum.into_inner(), 4950);
            assert_eq!(roving::map_reduce(0..50, 0, |n| n, |a, b| a + b), 1225);
            assert_eq!(
                roving::par_find_first(0..100, |n| (n % 30 == 29).then_some(n)),
                Some(29)
            );
            let tree = roving::reduce(0..40, 3, String::new, |n| n.to_string(), |a, b| a + &b);
            assert!(tree.starts_with("0123") && tree.ends_with("3839"));
        });
    });
}

#[test]
fn async_tasks() {
    fn tree(n: u64) -> impl Task<u64> {
        async move {
            if n < 2 {
                return n;
            }
            let a = task::fork(tree(n - 1)).await;
            let b = task::spawn(tree(n - 2));
            if n % 2 == 0 {
                yield_now().await;
            }
            let c = task::call(tree(n - 2)).await;
            let (d, _) = join(
                || block_on(async { task::branch(async { 1 }).await.await }),
                || fib(3),
            );
            assert_eq!(c, b.await);
            a.await + c * d
        }
    }
    let counted = under_seeds(|pool| {
        assert_eq!(pool.run(|_| tree(5)), 5);
        assert_eq!(pool.install(|| block_on(tree(4))), 3);
    });
    let all = [counted.continuations_stolen, counted.suspensions];
    assert!(
        all.iter().all(|&count| count > 0) || cfg!(miri),
        "{counted:?}"
    );
}

/// Nothing is lost between those that run, those that are dropped, and those that the panic of a
/// cancelled join leaves.
#[test]
fn cancelled_tasks() {
    let counted = under_seeds(|pool| {
        let (census, run) = (Census::new(), AtomicUsize::new(0));
        let (census, run) = (&census, &run);
        let token = Cancel::new();
        let before = pool.profile().total().counters.tasks_dropped;
        let _ = pool.install(|| {
            token.run(|| {
                scope(|s| {
                    for n in 0..6 {
                        let (counted, token) = (census.one(), &token);
                        s.spawn(move |_| {
                            let _counted = counted;
                            run.fetch_add(1, SeqCst);
                            if n == 2 {
                                token.cancel();
                            }
                        });
                    }
                });
            })
        });
        let dropped = pool.profile().total().counters.tasks_dropped - before;
        assert_eq!(run.load(SeqCst) as u64 + dropped, 6);
        let _ = Cancel::new().run(|| {
            pool.run(|s| async move {
                for n in 0..4 {
                    let counted = census.one();
                    let child = s.spawn(async move {
                        let _counted = counted;
                        yield_now().await;
                    });
                    if n == 1 {
                        drop(child);
                    } else {
                        child.await;
                    }
                }
            });
        });
        census.check();
    });
    assert!(counted.tasks_dropped > 0 || cfg!(miri), "{counted:?}");
}

#[test]
fn contexts_are_inherited() {
    #[derive(Clone, Copy, Debug, PartialEq)]
    struct Request(u32);
    fn tree(depth: u32, expected: Option<Request>) {
        assert_eq!(context::get(), expected);
        if depth > 0 {
            let inner = Some(Request(depth));
            join(
                || context::with(Request(depth), || tree(depth - 1, inner)),
                || tree(depth - 1, expected),
            );
            scope(|s| s.spawn(move |_| tree(depth - 1, expected)));
            block_on(async move { task::spawn(async move { tree(0, expected) }).await });
        }
        assert_eq!(context::get(), expected);
    }
    under_seeds(|pool| pool.install(|| tree(2, None)));
}

/// Calls and forks that were polled once, and are dropped by another task while their child runs or
/// after it: each child has its value to itself, and nobody else's.
#[test]
fn half_polled_calls_and_forks_are_dropped_elsewhere() {
    under_seeds(|pool| {
        let census = Census::new();
        let census = &census;
        pool.run(|s| async move {
            let mut drops = Vec::new();
            for n in 0..6 {
                let child = async move {
                    let counted = census.one();
                    if n % 3 > 0 {
                        yield_now().await;
                    }
                    counted
                };
                if n % 2 == 0 {
                    let mut call = Box::pin(s.call(child));
                    poll_fn(|context| Poll::Ready(_ = call.as_mut().poll(context))).await;
                    drops.push(s.spawn(async move { drop(call) }));
                } else {
                    let mut fork = Box::pin(s.fork(child));
                    poll_fn(|context| Poll::Ready(_ = fork.as_mut().poll(context))).await;
                    drops.push(s.spawn(async move { drop(fork) }));
                }
                yield_now().await;
            }
            for one in drops {
                one.await;
            }
        });
        census.check();
    });
}

/// The token of a scope that has returned is refused, whatever stands where the root of that scope
/// was: also that of what a task makes in a context of its own, on whichever worker it goes on.
#[test]
fn tokens_that_are_too_old_are_refused() {
    let is_refused = |token: task::Scope<'_>| {
        let spawns = || drop(token.spawn(async {}));
        panic::catch_unwind(AssertUnwindSafe(spawns)).is_err()
    };
    under_seeds(|pool| {
        pool.install(|| {
            block_on(async move {
                for n in 0..4 {
                    let other = task::spawn(async move { task::scope(|_| async {}) });
                    let mut kept = None;
                    task::scope(|s| {
                        kept = Some(s);
                        async move {
                            if n % 2 == 0 {
                                yield_now().await;
                            }
                        }
                    });
                    let kept = kept.expect("the scope has run");
                    assert!(context::with(n, || is_refused(kept)), "in a context");
                    assert!(
                        Cancel::new().run(|| is_refused(kept)).unwrap(),
                        "cancellable"
                    );
                    yield_now().await;
                    assert!(is_refused(kept), "in the task itself");
                    other.await;
                }
            });
        });
    });
}

/// A worker whose thread of the user's own never comes is given up while others broadcast: they
/// wait for it before, and go on without it.
#[test]
fn broadcasts_beside_a_worker_that_is_given_up() {
    for seed in 0..seeds() {
        watched(|| {
            let (mut threads, mut kept) = (Vec::new(), None);
            let builder = Pool::builder().deterministic(seed).workers(3);
            let pool = builder.build_with(|worker| {
                match worker.index() {
                    1 => kept = Some(worker),
                    _ => threads.push(thread::spawn(|| worker.run())),
                }
                Ok(())
            });
            let pool = pool.unwrap();
            let here = || join(|| drop(kept.take()), || roving::broadcast(|index| index)).1;
            assert_eq!(pool.install(here), [0, 2], "seed {seed}");
            assert_eq!(pool.broadcast(|index| index), [0, 2], "seed {seed}");
            drop(pool);
            threads.into_iter().for_each(|one| one.join().unwrap());
        });
    }
}

/// Detached tasks, their handles, broadcasts, and regions in which a worker blocks while another
/// thread has its core.
#[test]
fn detached_tasks_broadcasts_and_blocking() {
    let spares = AtomicUsize::new(0);
    under_seeds(|pool| {
        let workers = pool.workers();
        pool.install(|| {
            let (send, receive) = mpsc::channel();
            let answers: Vec<_> = (0..3).map(|n| roving::spawn(move || fib(n))).collect();
            let sends = roving::spawn(move || {
                send.send(roving::current_worker()).unwrap();
            });
            let from = roving::blocking(|| receive.recv().unwrap());
            let is_spare = from >= Some(5);
            spares.fetch_add(usize::from(is_spare), SeqCst);
            let answers: Vec<_> = answers.into_iter().map(|one| one.join().unwrap()).collect();
            assert_eq!(answers, [0, 1, 1]);
            sends.join().unwrap();
            assert_eq!(
                roving::broadcast(|index| index),
                (0..workers).collect::<Vec<_>>()
            );
        });
        let ran = AtomicUsize::new(0);
        pool.in_place_scope(|s| s.spawn_broadcast(|_, _| _ = ran.fetch_add(1, SeqCst)));
        assert_eq!(ran.into_inner(), workers);
    });
    assert!(
        spares.into_inner() > 0 || cfg!(miri),
        "compensation threads run tasks"
    );
}

#[test]
fn pools_are_resized_while_they_work() {
    under_seeds(|pool| {
        pool.install(|| {
            let (a, b) = join(
                || {
                    pool.resize(1).unwrap();
                    fib(4)
                },
                || {
                    pool.resize(5).unwrap();
                    fib(5)
                },
            );
            assert_eq!((a, b), (3, 5));
        });
        pool.resize(3).unwrap();
        assert_eq!(pool.install(|| fib(5)), 5);
        assert_eq!(pool.broadcast(|index| index), [0, 1, 2]);
    });
}
