//! Tasks that are spawned into a scope from inside of another call, which has its own frame: that
//! call neither runs them nor waits for them.

mod common;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Mutex, mpsc};

use common::{size, watched};
use roving::{Pool, Scope, context, in_place_scope, scope};

/// The numbers of workers of the pools.
const POOLS: &[usize] = size(&[1, 2, 4], &[1, 2]);

/// The calls, each of which calls what it is given on a worker of that pool.
type Call = (&'static str, fn(&Pool, &(dyn Fn() + Sync)));

const CALLS: [Call; 5] = [
    ("scope", |_, f| scope(|_| f())),
    ("in_place_scope", |_, f| in_place_scope(|_| f())),
    ("install", |pool, f| pool.install(f)),
    ("broadcast", |pool, f| {
        let first = AtomicUsize::new(0);
        pool.broadcast(|_| {
            if first.fetch_add(1, SeqCst) == 0 {
                f();
            }
        });
    }),
    ("scope in scope", |_, f| {
        scope(|outer| {
            scope(|_| f());
            outer.spawn(|_| ());
        });
    }),
];

/// Has each call tried on a worker of each pool. But a broadcast waits for all workers, and one of
/// them may be in a task that wants what the caller has.
fn each(f: impl Fn(&Pool, &str, &(dyn Fn(&(dyn Fn() + Sync)) + Sync)) + Sync) {
    watched(|| {
        for &workers in POOLS {
            let pool = Pool::new(workers).unwrap();
            for (name, call) in CALLS {
                if name == "broadcast" && workers > 1 {
                    continue;
                }
                pool.install(|| f(&pool, name, &|inner| call(&pool, inner)));
            }
        }
    });
}

#[test]
fn a_lock_may_be_held_across_a_call_that_spawns_into_a_scope_further_out() {
    each(|_, name, call| {
        let total = Mutex::new(0);
        scope(|s| {
            for _ in 0..3 {
                let held = total.lock().unwrap();
                call(&|| {
                    for _ in 0..5 {
                        s.spawn(|_| *total.lock().unwrap() += 1);
                    }
                });
                drop(held);
            }
        });
        assert_eq!(total.into_inner().unwrap(), 15, "{name}");
    });
}

#[test]
fn a_task_may_wait_for_what_comes_after_the_call_in_which_it_was_spawned() {
    each(|_, name, call| {
        let (sent, received) = mpsc::channel::<i32>();
        let received = Mutex::new(received);
        let sum = AtomicUsize::new(0);
        scope(|s| {
            call(&|| {
                s.spawn(|_| {
                    for number in received.lock().unwrap().iter() {
                        sum.fetch_add(number as usize, SeqCst);
                    }
                });
            });
            for number in [3, 4] {
                sent.send(number).unwrap();
            }
            drop(sent);
        });
        assert_eq!(sum.into_inner(), 7, "{name}");
    });
}

/// Tasks of one scope, spawned each from inside of a scope in the one before, lie on no stack.
#[test]
fn a_chain_of_such_tasks_takes_no_native_stack() {
    fn step<'scope>(s: &Scope<'scope>, left: usize, run: &'scope AtomicUsize) {
        if left > 0 {
            run.fetch_add(1, SeqCst);
            scope(|_| s.spawn(move |s| step(s, left - 1, run)));
        }
    }
    const STEPS: usize = size(100_000, 50);
    watched(|| {
        for &workers in POOLS {
            let run = AtomicUsize::new(0);
            let pool = Pool::new(workers).unwrap();
            pool.install(|| scope(|s| step(s, STEPS, &run)));
            assert_eq!(run.into_inner(), STEPS);
        }
    });
}

/// They belong to their scope in all other respects: context, cancellation, panics, and subtasks,
/// which lie on the stack of whoever runs them.
#[test]
fn such_tasks_are_tasks_of_their_scope() {
    each(|_, name, call| {
        let ran = AtomicUsize::new(0);
        let count = |s: &Scope<'_>| {
            assert!(s.worker_index().is_some());
            ran.fetch_add(1, SeqCst);
        };
        context::with("outer", || {
            scope(|s| {
                call(&|| {
                    s.spawn(|s| {
                        assert_eq!(context::get::<&str>(), Some("outer"), "{name}");
                        for _ in 0..10 {
                            s.spawn(count);
                        }
                        scope(|_| s.spawn(count));
                        count(s);
                    });
                });
                s.spawn(count);
            });
        });
        assert_eq!(ran.load(SeqCst), 13, "{name}");

        let dropped = scope(|s| {
            s.cancel();
            call(&|| s.spawn(|_| panic!("it is cancelled")));
            s.is_cancelled()
        });
        assert!(dropped);

        let panics = || {
            scope(|s| {
                call(&|| s.spawn(|_| panic!("{name}")));
                s.spawn(count);
            });
        };
        let payload = catch_unwind(AssertUnwindSafe(panics)).unwrap_err();
        assert_eq!(payload.downcast_ref::<String>().unwrap(), name);
        assert_eq!(ran.load(SeqCst), 14, "{name}");
    });
}

/// A pool's scope, and that of another pool, have tasks spawned into them by turns.
#[test]
fn scopes_of_two_pools_take_their_own() {
    watched(|| {
        let pools = [1, 2].map(|workers| Pool::new(workers).unwrap());
        let ran = AtomicUsize::new(0);
        for _ in 0..size(50, 2) {
            pools[0].in_place_scope(|first| {
                first.spawn(|first| {
                    pools[1].in_place_scope(|second| {
                        for _ in 0..10 {
                            first.spawn(|s| {
                                assert!(s.worker_index().is_some());
                                ran.fetch_add(1, SeqCst);
                            });
                            second.spawn(|s| {
                                s.spawn(|_| _ = ran.fetch_add(1, SeqCst));
                                assert!(s.worker_index().is_some());
                            });
                        }
                    });
                });
            });
            assert_eq!(ran.swap(0, SeqCst), 20);
        }
    });
}
