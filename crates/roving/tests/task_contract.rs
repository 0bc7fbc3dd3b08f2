//! The contract, for async tasks: waiting, locks, panics, what is refused.

mod common;
#[path = "common/panics.rs"]
mod panics;

use std::future::poll_fn;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::thread;
use std::time::Duration;

use common::{AMOUNTS, Census, forget, pool, pool_that_steals, size, tries, wait_until, watched};
use panics::{Because, caught, fail, on_pools};
use roving::policy::Amount;
use roving::policy::SpawnOrder;
use roving::task::{Scope, Task, block_on, branch, call, fork, scope, spawn};
use roving::{Pool, context, join};

/// Continuations are taken by idle workers while the child keeps its own busy.
#[test]
fn a_long_child_hides_no_continuation_from_idle_workers() {
    watched(|| {
        let pool = pool(2);
        for _ in 0..tries(20) {
            let gone_on = AtomicUsize::new(0);
            let gone_on = &gone_on;
            pool.run(|s| async move {
                let child = s
                    .fork(async move { wait_until(|| gone_on.load(SeqCst) == 1) })
                    .await;
                gone_on.store(1, SeqCst);
                child.await;
            });
        }
        let counters = pool.profile().total().counters;
        assert!(counters.continuations_stolen >= tries(20) as u64);
    });
}

/// One steal takes as many as the amount says, oldest first: a chain of forks whose innermost child
/// blocks its worker, so that all continuations lie on one stack, and are shown.
#[test]
fn a_thief_takes_as_many_continuations_as_the_amount_says() {
    #[derive(Clone, Copy)]
    struct Seen<'s> {
        resumed: &'s Mutex<Vec<usize>>,
        over: &'s AtomicUsize,
        elsewhere: &'s Pool,
    }
    fn chain<'s>(s: Scope<'s>, depth: usize, seen: Seen<'s>) -> impl Task<()> {
        async move {
            if depth == 0 {
                let over = seen.over;
                return seen
                    .elsewhere
                    .install(|| wait_until(|| over.load(SeqCst) == 1));
            }
            let child = s.fork(chain(s, depth - 1, seen)).await;
            let first = {
                let mut resumed = seen.resumed.lock().unwrap();
                resumed.push(depth);
                resumed.len() == 1
            };
            if first {
                thread::sleep(Duration::from_millis(5));
                seen.over.store(1, SeqCst);
            }
            child.await;
        }
    }
    const DEPTH: usize = 12;
    watched(|| {
        let elsewhere = pool(1);
        let first = [
            // The bottommost.
            (Amount::One, DEPTH),
            // The newest of those that were taken: the others are below it, as they were.
            (Amount::Fixed(3), DEPTH - 2),
            // floor((12 + 1) / 2) are taken.
            (Amount::Half, DEPTH - 5),
        ];
        for (amount, expected) in first {
            let pool = pool_that_steals(1, amount);
            let (resumed, over) = (Mutex::new(Vec::new()), AtomicUsize::new(0));
            pool.run(|s| {
                let seen = Seen {
                    resumed: &resumed,
                    over: &over,
                    elsewhere: &elsewhere,
                };
                chain(s, DEPTH, seen)
            });
            let resumed = resumed.into_inner().unwrap();
            assert_eq!(resumed.len(), DEPTH, "{amount}: each goes on once");
            assert_eq!(resumed[0], expected, "{amount}: {resumed:?}");
        }
    });
}

/// Contract 4: while a blocking root inside a task holds a lock, its worker runs nothing that
/// could want it.
#[test]
fn a_lock_held_across_a_root_does_not_deadlock() {
    on_pools(|pool| {
        let lock = Mutex::new(0_u64);
        let lock = &lock;
        pool.run(|s| async move {
            let tasks: Vec<_> = (0..20)
                .map(|_| {
                    s.spawn(async move {
                        let mut held = lock.lock().unwrap();
                        *held += block_on(async {
                            let child = fork(async { 1 }).await;
                            let other = spawn(async { thread::yield_now() });
                            other.await;
                            child.await
                        });
                        *held += join(|| 1, || block_on(call(async { 1 }))).0;
                    })
                })
                .collect();
            for task in tasks {
                task.await;
            }
        });
        assert_eq!(*lock.lock().unwrap(), 40);
    });
}

/// Nothing runs on top of a waiting frame but what descends from it.
#[test]
fn only_descendants_run_on_top_of_a_root() {
    thread_local! {
        static INSIDE: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
    }
    watched(|| {
        for amount in AMOUNTS {
            let pool = pool_that_steals(4, amount);
            pool.run(|_| async {
                let tasks: Vec<_> = (1..=size(64, 6))
                    .map(|number| {
                        spawn(async move {
                            let outer = INSIDE.replace(number);
                            assert_eq!(outer, 0, "{number} runs on top of {outer}");
                            block_on(async move {
                                let children: Vec<_> = (0..4)
                                    .map(|_| {
                                        spawn(async { thread::sleep(Duration::from_micros(20)) })
                                    })
                                    .collect();
                                for child in children {
                                    child.await;
                                }
                            });
                            INSIDE.set(0);
                        })
                    })
                    .collect();
                for task in tasks {
                    task.await;
                }
            });
        }
    });
}

#[test]
fn a_panic_reaches_who_awaits_it() {
    on_pools(|pool| {
        let caught_by = |make: fn() -> std::pin::Pin<Box<dyn Future<Output = ()> + Send>>| {
            caught(|| pool.run(|_| make()))
        };
        assert_eq!(
            caught_by(|| Box::pin(async { fail("the root") })),
            "the root"
        );
        assert_eq!(
            caught_by(|| Box::pin(async { call(async { fail("called") }).await })),
            "called"
        );
        assert_eq!(
            caught_by(|| Box::pin(async {
                let child = fork(async { fail("forked") }).await;
                child.await;
            })),
            "forked"
        );
        assert_eq!(
            caught_by(|| Box::pin(async { spawn(async { fail("spawned") }).await })),
            "spawned"
        );
        // Who awaits it may go on.
        let because = pool.run(|_| async {
            let child = fork(async { fail("caught") }).await;
            let mut child = Box::pin(child);
            poll_fn(move |context| {
                let polled = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                    child.as_mut().poll(context)
                }));
                match polled {
                    Ok(Poll::Pending) => Poll::Pending,
                    Ok(Poll::Ready(())) => Poll::Ready("no panic"),
                    Err(payload) => Poll::Ready(payload.downcast::<Because>().unwrap().0),
                }
            })
            .await
        });
        assert_eq!(because, "caught");
    });
}

/// The siblings of a task that panics, and its children, end before the root does.
#[test]
fn a_panic_waits_for_everybody() {
    static CENSUS: Census = Census::new();
    on_pools(|pool| {
        for _ in 0..tries(50) {
            let ended = AtomicUsize::new(0);
            let ended = &ended;
            let because = caught(|| {
                pool.run(|s| async move {
                    let counted = CENSUS.one();
                    let _slow = s
                        .fork(async move {
                            let _inner = CENSUS.one();
                            thread::sleep(Duration::from_micros(100));
                            ended.fetch_add(1, SeqCst);
                        })
                        .await;
                    let _spawned = s.spawn(async move {
                        let _inner = CENSUS.one();
                        ended.fetch_add(1, SeqCst);
                    });
                    drop(counted);
                    let _also = s.fork(async move { fail("a child") }).await;
                    fail("the task")
                })
            });
            assert_eq!(because, "the task");
            assert_eq!(ended.load(SeqCst), 2);
            CENSUS.check();
        }
    });
}

/// A task that asks for a child, and ends or panics in the same poll.
#[test]
fn a_child_whose_parent_ends_in_the_poll_that_asked_for_it() {
    on_pools(|pool| {
        for panics in [false, true] {
            let ran = AtomicUsize::new(0);
            let ran = &ran;
            let run = || {
                pool.run(|s| async move {
                    for called in [false, true] {
                        let parent = s.spawn(async move {
                            let mut child = Box::pin(s.fork(async move {
                                ran.fetch_add(1, SeqCst);
                            }));
                            let mut callee = Box::pin(s.call(async move {
                                ran.fetch_add(1, SeqCst);
                            }));
                            poll_fn(move |context| {
                                let pending = match called {
                                    false => child.as_mut().poll(context).is_pending(),
                                    true => callee.as_mut().poll(context).is_pending(),
                                };
                                assert!(pending);
                                if panics {
                                    fail("in the poll that asked");
                                }
                                Poll::Ready(())
                            })
                            .await
                        });
                        if !panics {
                            parent.await;
                        }
                    }
                });
            };
            match panics {
                true => assert_eq!(caught(run), "in the poll that asked"),
                false => run(),
            }
            assert_eq!(ran.load(SeqCst), 2);
        }
    });
}

#[test]
fn what_is_not_a_task_is_told_so() {
    let message = |call: fn()| {
        let payload = std::panic::catch_unwind(call).unwrap_err();
        let text = payload
            .downcast_ref::<&str>()
            .map(|text| (*text).to_owned());
        text.or_else(|| payload.downcast_ref::<String>().cloned())
            .unwrap()
    };
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| ()));
    let outside = message(|| drop(spawn(async {})));
    let other_root = message(|| {
        block_on(async {
            let inner = scope(|s| async move { s });
            inner.fork(async {}).await;
        });
    });
    let moved = message(|| {
        block_on(async {
            let mut child = Some(Box::pin(fork(async {})));
            let polled = poll_fn(|context| {
                assert!(child.as_mut().unwrap().as_mut().poll(context).is_pending());
                Poll::Ready(child.take().unwrap())
            })
            .await;
            spawn(polled).await;
        });
    });
    std::panic::set_hook(hook);
    assert!(outside.starts_with("not inside a task"), "{outside}");
    assert!(
        other_root.starts_with("a child was made for another root"),
        "{other_root}"
    );
    assert!(moved.starts_with("a fork or call was moved"), "{moved}");
}

/// A job that is run on top of a task which waits is no part of that task: nothing that it makes is
/// a child there, whoever runs it, and in whatever context either is.
#[test]
fn a_job_on_top_of_a_task_is_no_part_of_it() {
    fn makes_a_child() -> bool {
        let made = std::panic::catch_unwind(|| drop(spawn(async { panic!("of nobody") })));
        assert!(made.is_err(), "it is nobody's child");
        block_on(async { spawn(async {}).await });
        made.is_err()
    }
    on_pools(|pool| {
        let spawned_and_joined = || async {
            assert!(roving::spawn(makes_a_child).join().unwrap());
            let in_context = context::with(1_u8, || roving::spawn(makes_a_child).join());
            assert!(in_context.unwrap());
            let inherits = context::with(2_u8, || roving::spawn(makes_a_child));
            assert!(inherits.join().unwrap());
            spawn(async { 7 }).await
        };
        assert_eq!(pool.run(|_| spawned_and_joined()), 7);
        assert_eq!(pool.install(|| block_on(spawned_and_joined())), 7);
    });
}

/// Data that a task borrows outlives the root, whatever becomes of its handles.
#[test]
fn borrowed_data_is_there_until_the_root_has_ended() {
    on_pools(|pool| {
        for _ in 0..tries(20) {
            let mut counts = vec![0_u64; size(100, 8)];
            pool.run(|s| {
                let counts = &mut counts;
                async move {
                    for (at, count) in counts.iter_mut().enumerate() {
                        let task = async move {
                            thread::yield_now();
                            *count += 1;
                        };
                        match at % 4 {
                            0 => drop(s.fork(task).await),
                            1 => forget(s.fork(task).await),
                            2 => drop(s.spawn(task)),
                            _ => forget(s.branch(task).await),
                        }
                    }
                }
            });
            assert!(counts.iter().all(|&count| count == 1));
        }
    });
}

#[test]
fn spawn_orders_come_to_the_same() {
    fn tree(depth: u32) -> impl Task<u64> {
        async move {
            let mut children = Vec::new();
            for _ in 0..depth {
                children.push(branch(tree(depth - 1)).await);
            }
            let mut nodes = 1;
            for child in children {
                nodes += child.await;
            }
            nodes
        }
    }
    watched(|| {
        for order in [
            SpawnOrder::WorkFirst,
            SpawnOrder::HelpFirst,
            SpawnOrder::Adaptive,
        ] {
            for workers in [1, 2, 4] {
                let builder = Pool::builder().workers(workers).spawn_order(order);
                let pool = builder.build().unwrap();
                assert_eq!(pool.run(|_| tree(size(6, 3))), size(1957, 16));
            }
            assert_eq!(order.to_string().parse(), Ok(order));
        }
    });
}

/// `join` and `scope` inside a task, tasks inside a `join`.
#[test]
fn closures_and_tasks_in_each_other() {
    on_pools(|pool| {
        let sum = pool.run(|_| async {
            let mut sum = 0;
            for n in 0..size(20_u64, 3) {
                let child = fork(async move { join(|| n, || block_on(async move { n })) }).await;
                roving::scope(|s| {
                    s.spawn(|_| {
                        block_on(async {
                            fork(async {}).await;
                        })
                    });
                });
                let (a, b) = child.await;
                sum += a + b;
            }
            sum
        });
        assert_eq!(sum, size(380, 6));
        // Spawned in a closure of the task itself, while a join is open below.
        let ran = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&ran);
        pool.run(|_| async move {
            join(
                || {
                    for _ in 0..10 {
                        let ran = Arc::clone(&counter);
                        drop(spawn(async move {
                            ran.fetch_add(1, SeqCst);
                        }));
                    }
                },
                || (),
            );
        });
        assert_eq!(ran.load(SeqCst), 10);
    });
}

/// Roots on several pools, from inside each other and from many threads at once.
#[test]
fn roots_of_several_pools() {
    fn fib(n: u32) -> impl Task<u64> {
        async move {
            if n < 2 {
                return n.into();
            }
            let a = fork(fib(n - 1)).await;
            call(fib(n - 2)).await + a.await
        }
    }
    watched(|| {
        let (one, other) = (pool(2), pool(1));
        let in_place = Pool::builder().caller_runs().build().unwrap();
        thread::scope(|threads| {
            for _ in 0..size(4, 2) {
                threads.spawn(|| {
                    for n in 1..size(12, 6) {
                        let sum = one.run(|_| {
                            let other = &other;
                            async move { other.run(|_| fib(n)) + call(fib(n)).await }
                        });
                        assert_eq!(sum, 2 * in_place.run(|_| fib(n)));
                    }
                });
            }
        });
    });
}
