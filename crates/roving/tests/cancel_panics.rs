//! Panics beside loops that were cancelled: such a loop unwinds as well, and it is the panic that
//! reaches the caller, whichever of the two came first.

mod common;

use std::panic::{self, AssertUnwindSafe};
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};

use common::{BEYOND_THE_STACK, join_stolen, pool, wait_until, watched};
use roving::task::block_on;
use roving::{Cancel, CancelledError, broadcast, context, join, par_for, scope};

/// A loop that was cancelled, by a token of its own.
fn cut() {
    let token = Cancel::new();
    let inside = token.run_partial(context::current).unwrap();
    token.cancel();
    inside.run(|| par_for(0..2, |_| ()));
    unreachable!("it unwinds");
}

fn fail() {
    panic::resume_unwind(Box::new("failed"));
}

/// The outcome of `f` below a token that is cancelled when `f` has unwound, or its panic.
fn below_a_token(f: impl FnOnce()) -> Result<Result<(), CancelledError>, &'static str> {
    struct Ends<'t>(&'t Cancel);
    impl Drop for Ends<'_> {
        fn drop(&mut self) {
            self.0.cancel();
        }
    }
    let token = Cancel::new();
    let run = || {
        token.run(|| {
            let _ends = Ends(&token);
            f();
        })
    };
    let outcome = panic::catch_unwind(AssertUnwindSafe(run));
    outcome.map_err(|payload| *payload.downcast::<&str>().expect("it is no other panic"))
}

type Ends = fn();

/// Calls `f` with two that are to run beside each other, each of which is cut or fails.
fn beside_each_other(f: impl Fn(Ends, Ends)) {
    watched(|| {
        let cancelled = Ok(Err(CancelledError));
        assert_eq!(below_a_token(|| f(cut, cut)), cancelled);
        let others: [(Ends, Ends); 3] = [(cut, fail), (fail, cut), (fail, fail)];
        for (one, other) in others {
            assert_eq!(below_a_token(|| f(one, other)), Err("failed"));
        }
    });
}

#[test]
fn in_a_join() {
    let (one, two) = (pool(1), pool(2));
    beside_each_other(|a, b| _ = one.install(|| join(a, b)));
    beside_each_other(|a, b| _ = two.install(|| join_stolen(a, b)));
    // What is too large for a slot.
    let large = [7_u64; 20];
    let with = |f: Ends| {
        f();
        large
    };
    beside_each_other(|a, b| _ = one.install(|| join(|| with(a), || with(b))));
    // On a thread that is no worker.
    beside_each_other(|a, b| _ = join(a, b));
    // On a task stack without room.
    beside_each_other(|a, b| {
        one.install(|| {
            scope(|s| {
                (0..BEYOND_THE_STACK).for_each(|_| s.spawn(|_| ()));
                join(a, b);
            });
        });
    });
}

/// The newest task of a scope runs first, when its closure has ended.
#[test]
fn in_a_scope() {
    let (one, two) = (pool(1), pool(2));
    beside_each_other(|a, b| {
        one.install(|| {
            scope(|s| {
                s.spawn(move |_| a());
                s.spawn(move |_| b());
            });
        });
    });
    beside_each_other(|a, b| {
        one.install(|| {
            scope(|s| {
                s.spawn(move |_| a());
                b();
            });
        });
    });
    beside_each_other(|a, b| {
        one.in_place_scope(|s| {
            s.spawn(move |_| a());
            s.spawn_broadcast(move |_, _| b());
        });
    });
    // One of them while the other is under way.
    beside_each_other(|a, b| {
        two.install(|| {
            let begun = AtomicBool::new(false);
            scope(|s| {
                let begun = &begun;
                s.spawn(move |_| {
                    begun.store(true, SeqCst);
                    a();
                });
                wait_until(|| begun.load(SeqCst));
                s.spawn(move |_| b());
            });
        });
    });
}

/// Calls a function when it is dropped.
struct Drops(Ends);

impl Drop for Drops {
    fn drop(&mut self) {
        (self.0)();
    }
}

#[test]
fn in_a_broadcast() {
    for workers in [2, 3] {
        let pool = pool(workers);
        beside_each_other(|a, b| _ = pool.broadcast(|index| if index == 0 { a() } else { b() }));
        // In the drop of the closure, which comes last.
        beside_each_other(|a, b| {
            let drops = Drops(b);
            pool.broadcast(move |_| {
                let _ = &drops;
                a();
            });
        });
    }
}

/// A task that is not awaited, and the one that waits for its end.
#[test]
fn in_async_tasks() {
    for pool in [pool(1), pool(2)] {
        beside_each_other(|a, b| {
            pool.run(|s| async move {
                drop(s.fork(async move { b() }).await);
                a();
            });
        });
    }
}

/// The payload that one of them has let pass is beside another one further out.
#[test]
fn in_one_inside_another() {
    let pool = pool(2);
    beside_each_other(|a, b| {
        pool.install(|| {
            scope(|s| {
                s.spawn(move |_| {
                    join(
                        || pool_of_one(|| _ = join(cut, a)),
                        || block_on(async move { b() }),
                    );
                });
                s.spawn(|_| _ = broadcast(|_| cut()));
            });
        });
    });
}

/// Calls `f` in a pool of another thread.
fn pool_of_one(f: impl FnOnce() + Send) {
    pool(1).install(f);
}
