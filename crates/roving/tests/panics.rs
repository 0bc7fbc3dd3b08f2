//! Panics: each reaches exactly one caller, after everything that borrows from its frame has ended,
//! and the pool is usable afterwards.

#[path = "common/panics.rs"]
mod caught;
mod common;

use std::any::Any;
use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, mpsc};
use std::task::{Context, Wake, Waker};
use std::thread;
use std::time::Duration;

use caught::{caught, fail, on_pools, reason, works};
use common::{Census, holds_within, pool, size, wait_until, watched};
use roving::{Pool, broadcast, join, map_reduce, par_chunks_mut, par_for, scope};

#[test]
fn in_the_first_closure_of_a_join() {
    on_pools(|pool| {
        let b_ran = AtomicBool::new(false);
        let why = caught(|| pool.install(|| join(|| fail("a"), || b_ran.store(true, SeqCst))));
        assert_eq!(why, "a");
        assert!(b_ran.load(SeqCst), "b runs all the same");
    });
}

#[test]
fn in_the_second_closure_of_a_join() {
    on_pools(|pool| {
        let census = Census::default();
        let why = caught(|| pool.install(|| join(|| census.one(), || fail("b"))));
        assert_eq!(why, "b");
        census.check();
    });
}

#[test]
fn in_both_closures_the_first_one_wins() {
    on_pools(|pool| {
        for _ in 0..size(50, 2) {
            let why = caught(|| pool.install(|| join(|| fail("a"), || -> u8 { fail("b") })));
            assert_eq!(why, "a");
        }
    });
}

/// A panic in `a` waits for the thief of `b`, which uses the frame.
#[test]
fn a_join_unwinds_only_when_its_stolen_half_has_ended() {
    watched(|| {
        let pool = pool(2);
        for _ in 0..size(20, 2) {
            let (began, ended) = (AtomicBool::new(false), AtomicBool::new(false));
            let why = caught(|| {
                pool.install(|| {
                    let in_frame = AtomicUsize::new(0);
                    join(
                        || {
                            wait_until(|| began.load(SeqCst));
                            fail("a")
                        },
                        || {
                            began.store(true, SeqCst);
                            thread::sleep(Duration::from_millis(2));
                            in_frame.fetch_add(1, SeqCst);
                            ended.store(true, SeqCst);
                        },
                    )
                })
            });
            assert_eq!(why, "a");
            assert!(ended.load(SeqCst), "the frame went while a thief used it");
        }
        works(&pool);
    });
}

#[test]
fn in_a_stolen_half_of_a_join() {
    watched(|| {
        let pool = pool(2);
        for _ in 0..size(20, 2) {
            let began = AtomicBool::new(false);
            let why = caught(|| {
                pool.install(|| {
                    let owner = thread::current().id();
                    join(
                        || wait_until(|| began.load(SeqCst)),
                        || {
                            assert_ne!(thread::current().id(), owner, "stolen");
                            began.store(true, SeqCst);
                            fail("stolen")
                        },
                    )
                })
            });
            assert_eq!(why, "stolen");
        }
        works(&pool);
    });
}

#[test]
fn in_both_halves_while_the_second_is_stolen() {
    watched(|| {
        let pool = pool(2);
        for _ in 0..size(20, 2) {
            let began = AtomicBool::new(false);
            let why = caught(|| {
                pool.install(|| {
                    join(
                        || {
                            wait_until(|| began.load(SeqCst));
                            fail("a")
                        },
                        || {
                            began.store(true, SeqCst);
                            fail("b")
                        },
                    )
                })
            });
            assert_eq!(why, "a");
        }
        works(&pool);
    });
}

/// Each level has a sibling that must have ended when the panic passes.
#[test]
fn through_nested_joins() {
    fn nest(depth: usize, open: &AtomicUsize) {
        if depth == 0 {
            fail("bottom");
        }
        open.fetch_add(1, SeqCst);
        let sibling = || {
            open.fetch_sub(1, SeqCst);
        };
        join(|| nest(depth - 1, open), sibling);
    }
    on_pools(|pool| {
        let open = AtomicUsize::new(0);
        let why = caught(|| pool.install(|| nest(size(300, 40), &open)));
        assert_eq!(why, "bottom");
        assert_eq!(open.into_inner(), 0, "siblings were left behind");
    });
}

#[test]
fn in_the_body_of_a_scope() {
    on_pools(|pool| {
        let ran = AtomicUsize::new(0);
        let why = caught(|| {
            pool.install(|| {
                scope(|s| {
                    for _ in 0..size(100, 20) {
                        s.spawn(|_| {
                            ran.fetch_add(1, SeqCst);
                        });
                    }
                    fail("body")
                })
            })
        });
        assert_eq!(why, "body");
        assert_eq!(
            ran.into_inner(),
            size(100, 20),
            "the tasks end before the scope does"
        );
    });
}

#[test]
fn in_tasks_of_a_scope() {
    on_pools(|pool| {
        let (ran, census) = (AtomicUsize::new(0), Census::default());
        let why = caught(|| {
            pool.install(|| {
                scope(|s| {
                    for number in 0..size(100, 20) {
                        let owned = census.one();
                        let ran = &ran;
                        s.spawn(move |_| {
                            ran.fetch_add(1, SeqCst);
                            let _owned = owned;
                            if number % 10 == 0 {
                                fail("task");
                            }
                        });
                    }
                })
            })
        });
        assert_eq!(why, "task");
        assert_eq!(ran.into_inner(), size(100, 20), "a panic stops nobody else");
        census.check();
    });
}

#[test]
fn in_the_body_and_in_tasks_the_body_wins() {
    on_pools(|pool| {
        let why = caught(|| {
            pool.install(|| {
                scope(|s| {
                    s.spawn(|_| fail("task"));
                    fail("body")
                })
            })
        });
        assert_eq!(why, "body");
    });
}

/// Of a scope in a task of a scope: the inner one has the panic, the outer one sees it as its
/// task's.
#[test]
fn from_an_inner_scope_to_the_outer_one() {
    on_pools(|pool| {
        let inner_passed = AtomicBool::new(false);
        let why = caught(|| {
            pool.install(|| {
                scope(|s| {
                    s.spawn(|_| {
                        let why = caught(|| scope(|s| s.spawn(|s| s.spawn(|_| fail("deep")))));
                        inner_passed.store(why == "deep", SeqCst);
                        fail("again")
                    });
                })
            })
        });
        assert_eq!(why, "again");
        assert!(inner_passed.into_inner());
    });
}

#[test]
fn in_install_from_outside() {
    on_pools(|pool| {
        assert_eq!(caught(|| pool.install(|| fail("install"))), "install");
        let in_place = Pool::builder().caller_runs().build().unwrap();
        assert_eq!(caught(|| in_place.install(|| fail("in place"))), "in place");
        works(&in_place);
    });
}

#[test]
fn in_install_from_another_pool() {
    on_pools(|pool| {
        let other = common::pool(1);
        let why = caught(|| other.install(|| pool.install(|| fail("across"))));
        assert_eq!(why, "across");
        works(&other);
    });
}

#[test]
fn in_broadcast_the_lowest_index_wins() {
    on_pools(|pool| {
        let visits = AtomicUsize::new(0);
        let visit = |index: usize| -> usize {
            visits.fetch_add(1, SeqCst);
            if index > 0 || pool.workers() == 1 {
                fail(["0", "1", "2", "3"][index]);
            }
            index
        };
        let lowest = if pool.workers() == 1 { "0" } else { "1" };
        assert_eq!(caught(|| pool.broadcast(visit)), lowest);
        assert_eq!(
            visits.swap(0, SeqCst),
            pool.workers(),
            "each worker is visited"
        );
        assert_eq!(caught(|| pool.install(|| broadcast(visit))), lowest);
        assert_eq!(visits.into_inner(), pool.workers());
    });
}

/// A pool whose panic handler sends the reasons.
fn pool_with_handler(workers: usize) -> (Pool, mpsc::Receiver<&'static str>) {
    let (sender, receiver) = mpsc::channel();
    let builder = Pool::builder().workers(workers);
    let handler = move |payload: Box<dyn Any + Send>| sender.send(reason(&*payload)).unwrap();
    (builder.panic_handler(handler).build().unwrap(), receiver)
}

#[test]
fn of_a_detached_task_goes_to_the_handler_once() {
    watched(|| {
        for workers in [1, 2, 4] {
            let (pool, reasons) = pool_with_handler(workers);
            for _ in 0..10 {
                pool.spawn(|| fail("detached"));
            }
            pool.install(|| roving::spawn(|| fail("detached")));
            works(&pool);
            drop(pool);
            assert_eq!(reasons.iter().collect::<Vec<_>>(), ["detached"; 11]);
        }
    });
}

#[test]
fn of_a_detached_task_without_a_handler_ends_nothing() {
    on_pools(|pool| {
        for _ in 0..10 {
            pool.spawn(|| fail("nobody hears"));
        }
    });
}

#[test]
fn in_the_panic_handler() {
    watched(|| {
        let called = std::sync::Arc::new(AtomicUsize::new(0));
        let count = std::sync::Arc::clone(&called);
        let handler = move |_| {
            count.fetch_add(1, SeqCst);
            fail("handler")
        };
        let pool = Pool::builder()
            .workers(2)
            .panic_handler(handler)
            .build()
            .unwrap();
        for _ in 0..5 {
            pool.spawn(|| fail("detached"));
        }
        assert!(holds_within(Duration::from_secs(60), || called
            .load(SeqCst)
            == 5));
        works(&pool);
    });
}

#[test]
fn in_on_start_and_on_exit_go_to_the_handler() {
    watched(|| {
        let (sender, reasons) = mpsc::channel();
        let pool = Pool::builder()
            .workers(3)
            .on_start(|_| fail("start"))
            .on_exit(|_| fail("exit"))
            .panic_handler(move |payload| sender.send(reason(&*payload)).unwrap())
            .build()
            .unwrap();
        works(&pool);
        drop(pool);
        let reasons: Vec<_> = reasons.iter().collect();
        let count = |what| reasons.iter().filter(|reason| **reason == what).count();
        // Spare threads start where the workers wait for long, as on a busy machine.
        assert!(count("start") >= 3, "{reasons:?}");
        assert_eq!(count("start"), count("exit"), "{reasons:?}");
        assert_eq!(count("start") + count("exit"), reasons.len());
    });
}

#[test]
fn in_a_parallel_loop() {
    on_pools(|pool| {
        let census = Census::default();
        let why = caught(|| {
            pool.install(|| {
                par_for(0..size(10_000, 100), |i| {
                    let _owned = census.one();
                    if i == size(7_777, 77) {
                        fail("loop");
                    }
                })
            })
        });
        assert_eq!(why, "loop");
        let mut slice = vec![0; size(10_000, 100)];
        let fill = |number: usize, chunk: &mut [usize]| {
            let _owned = census.one();
            chunk.fill(number);
            if number == size(99, 9) {
                fail("chunks");
            }
        };
        assert_eq!(
            caught(|| pool.install(|| par_chunks_mut(&mut slice, 10, fill))),
            "chunks"
        );
        census.check();
    });
}

/// The values that are on their way when it panics are dropped, each once.
#[test]
fn in_map_and_in_reduce() {
    struct Value<'c>(
        usize,
        &'c Census,
        #[expect(dead_code, reason = "its drop is counted")] common::Counted<'c>,
    );
    impl Clone for Value<'_> {
        fn clone(&self) -> Self {
            Value(self.0, self.1, self.1.one())
        }
    }
    on_pools(|pool| {
        for bad in ["map", "reduce"] {
            let census = Census::default();
            let value = |i| Value(i, &census, census.one());
            let map = |i| {
                if bad == "map" && i == size(5_000, 50) {
                    fail("map");
                }
                value(i)
            };
            let reduce = |a: Value<'_>, b: Value<'_>| {
                if bad == "reduce" && b.0 == size(5_000, 50) {
                    fail("reduce");
                }
                value(a.0.max(b.0))
            };
            // The closures stay apart from the lifetimes of `reduce`'s arguments.
            let reduce = |a, b| reduce(a, b);
            let run = || pool.install(|| map_reduce(0..size(10_000, 100), value(0), map, reduce).0);
            assert_eq!(caught(run), bad);
            census.check();
        }
    });
}

/// Destructors of a frame that unwinds may use the pool.
#[test]
fn while_unwinding_the_pool_can_be_used() {
    struct Joins<'a>(&'a Cell<u64>);
    impl Drop for Joins<'_> {
        fn drop(&mut self) {
            let (a, b) = join(|| 1, || 2);
            let mut c = 0;
            scope(|s| s.spawn(|_| c = 3));
            self.0.set(a + b + c);
        }
    }
    on_pools(|pool| {
        let why = caught(|| {
            pool.install(|| {
                let sum = Cell::new(0);
                let result = panic::catch_unwind(AssertUnwindSafe(|| {
                    let _joins = Joins(&sum);
                    fail("unwinds")
                }));
                assert_eq!(sum.get(), 6);
                match result {
                    Ok(never) => never,
                    Err(payload) => panic::resume_unwind(payload),
                }
            })
        });
        assert_eq!(why, "unwinds");
    });
}

/// Neither needs an `AssertUnwindSafe`, which would be the caller's word for what is promised here:
/// a panic ends no pool and no scope.
#[test]
fn a_pool_and_a_scope_may_stand_inside_a_catch_unwind() {
    on_pools(|pool| {
        let caught = panic::catch_unwind(|| pool.install(|| fail("in a pool")));
        assert_eq!(reason(&*caught.unwrap_err()), "in a pool");
        let done = AtomicUsize::new(0);
        pool.install(|| {
            let here = Pool::current();
            let caught = panic::catch_unwind(|| here.install(|| fail("in this pool")));
            assert_eq!(reason(&*caught.unwrap_err()), "in this pool");
            scope(|s| {
                let caught = panic::catch_unwind(|| {
                    s.spawn(|_| _ = done.fetch_add(1, SeqCst));
                    fail("beside a task")
                });
                assert_eq!(reason(&*caught.unwrap_err()), "beside a task");
                s.spawn(|_| _ = done.fetch_add(1, SeqCst));
            });
        });
        assert_eq!(done.load(SeqCst), 2);
    });
}

/// Whoever waits for a task panics when it is woken: the worker that wakes it goes on.
#[test]
fn in_a_waker_that_a_worker_calls() {
    struct Panics;
    impl Wake for Panics {
        fn wake(self: Arc<Self>) {
            fail("waker");
        }
    }
    on_pools(|pool| {
        let waker = Waker::from(Arc::new(Panics));
        let mut context = Context::from_waker(&waker);
        let (go, goes) = mpsc::channel::<()>();
        let mut handle = pool.spawn(move || goes.recv().is_err());
        assert!(Pin::new(&mut handle).poll(&mut context).is_pending());
        drop(go);
        works(pool);
        assert!(handle.join().unwrap());
    });
}
