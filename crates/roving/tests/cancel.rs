//! Cancellation: who hears of it, what is dropped and counted, what still runs, and who is woken.

mod common;

use std::future::pending;
use std::panic::{self, AssertUnwindSafe};
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, OnceLock, mpsc};
use std::task::{Context, Poll, RawWaker, RawWakerVTable, Waker};
use std::thread;
use std::time::{Duration, Instant};

use common::{Census, Counted, occupy_one, pool, size, tries, wait_until, watched, yield_now};
use roving::raw::tasks::OnCancel;
use roving::task::{self, call};
use roving::{Cancel, CancelledError, Pool, context, is_cancelled, join, scope};

fn in_place() -> Pool {
    Pool::builder().caller_runs().build().unwrap()
}

fn dropped(pool: &Pool) -> u64 {
    pool.profile().total().counters.tasks_dropped
}

#[test]
fn a_tree_is_cancelled_downwards() {
    let root = Cancel::new();
    let (left, right) = (root.child(), root.child());
    let leaf = left.child();
    left.cancel();
    assert!(left.is_cancelled() && leaf.is_cancelled() && left.child().is_cancelled());
    assert!(!root.is_cancelled() && !right.is_cancelled());
    root.cancel();
    assert!(right.is_cancelled());
    assert!(left.clone().is_cancelled());
}

#[test]
fn deadlines_are_seen_by_who_looks() {
    let past = Instant::now();
    assert!(Cancel::at(past).is_cancelled());
    let far = past + Duration::from_secs(3600);
    let token = Cancel::at(far);
    assert!(!token.is_cancelled());
    assert!(token.child_at(past).is_cancelled(), "its own");
    let late = Cancel::at(past).child_at(far);
    assert!(late.is_cancelled(), "its parent's");
    assert_eq!(late.deadline(), Some(past));
    assert_eq!(Cancel::new().deadline(), None);
}

#[test]
fn everything_inside_sees_it() {
    watched(|| {
        let (pool, elsewhere) = (pool(3), pool(1));
        pool.install(|| {
            let (outer, inner) = (Cancel::new(), Cancel::new());
            let see = || {
                assert!(is_cancelled());
                join(|| assert!(is_cancelled()), || assert!(is_cancelled()));
                elsewhere.install(|| assert!(is_cancelled()));
                let in_loop = || roving::par_for(0..10, |_| unreachable!("its loop has ended"));
                let unwound = panic::catch_unwind(in_loop).unwrap_err();
                assert!(unwound.is::<CancelledError>());
                roving::broadcast(|_| assert!(is_cancelled()));
                scope(|s| assert!(s.is_cancelled()));
            };
            let ran = outer.run_partial(|| {
                inner.run(|| {
                    assert!(!is_cancelled());
                    outer.cancel();
                    see();
                    let _: () = task::block_on(async {
                        assert!(is_cancelled());
                        call(async { assert!(is_cancelled()) }).await;
                    });
                })
            });
            assert_eq!(ran, Ok(Ok(())), "the inner one was not cancelled");
            assert!(!is_cancelled() && !inner.is_cancelled());
        });
    });
}

#[test]
fn what_is_cancelled_does_not_begin() {
    let token = Cancel::new();
    token.cancel();
    let census = Census::new();
    let counted = census.one();
    let began = token.run(move || {
        drop(counted);
        unreachable!()
    });
    assert_eq!(began, Err::<(), _>(CancelledError));
    census.check();
}

/// Spawns so many tasks that say whether they ran.
fn spawn_counted<'s>(
    s: &roving::Scope<'s>,
    census: &'s Census,
    ran: &'s AtomicUsize,
    count: usize,
) {
    for _ in 0..count {
        let counted = census.one();
        s.spawn(move |_| {
            let _counted = counted;
            ran.fetch_add(1, SeqCst);
        });
    }
}

#[test]
fn tasks_of_a_scope_are_dropped_once_and_counted() {
    const COUNT: usize = size(100, 6);
    let (census, ran) = (Census::new(), AtomicUsize::new(0));
    let pool = in_place();
    pool.install(|| {
        // By the scope.
        scope(|s| {
            spawn_counted(s, &census, &ran, COUNT);
            s.cancel();
        });
        // By what the scope belongs to.
        let token = Cancel::new();
        let outcome = token.child().run(|| {
            scope(|s| {
                spawn_counted(s, &census, &ran, COUNT);
                token.cancel();
                assert!(s.is_cancelled());
            })
        });
        assert_eq!(outcome, Err(CancelledError), "a part of them ran");
        // By what the tasks belong to, but not their scope.
        let token = Cancel::new();
        scope(|s| {
            spawn_counted(s, &census, &ran, 1);
            let outcome = token.run(|| {
                spawn_counted(s, &census, &ran, COUNT);
                token.cancel();
                assert!(!s.is_cancelled());
            });
            assert_eq!(outcome, Err(CancelledError), "a part of them ran");
        });
    });
    assert_eq!(ran.load(SeqCst), 1);
    assert_eq!(dropped(&pool), 3 * COUNT as u64);
    census.check();
}

#[test]
fn broadcast_tasks_and_those_from_outside_are_dropped() {
    watched(|| {
        let pool = pool(2);
        let census = Census::new();
        let token = Cancel::new();
        let (go, gate) = mpsc::channel::<()>();
        let gate = std::sync::Mutex::new(gate);
        let outcome = token.run(|| {
            pool.in_place_scope(|s| {
                // Both workers wait, so nothing of the rest can begin.
                s.spawn_broadcast(|_, index| {
                    if index == 0 {
                        let _ = gate.lock().unwrap().recv();
                    } else {
                        wait_until(is_cancelled);
                    }
                });
                let counted = census.one();
                s.spawn_broadcast(move |_, _| {
                    let _counted = &counted;
                    assert!(!is_cancelled(), "it has begun before");
                });
                token.cancel();
                for _ in 0..10 {
                    let counted = census.one();
                    s.spawn(move |_| {
                        drop(counted);
                        unreachable!("made after it was cancelled");
                    });
                }
                drop(go);
            });
        });
        assert_eq!(outcome, Err(CancelledError));
        assert!(dropped(&pool) >= 10);
        census.check();
    });
}

#[test]
fn detached_tasks_are_dropped() {
    watched(|| {
        let pool = pool(1);
        let census = Arc::new(Census::new());
        let token = Cancel::new();
        // The only worker is busy meanwhile. (A compensation thread is not called for.)
        let occupied = occupy_one(&pool);
        struct Held(Arc<Census>);
        impl Drop for Held {
            fn drop(&mut self) {
                drop(self.0.one());
            }
        }
        let ran = Arc::new(AtomicUsize::new(0));
        token
            .run(|| {
                for _ in 0..10 {
                    let (held, ran) = (Held(Arc::clone(&census)), Arc::clone(&ran));
                    pool.spawn(move || {
                        let _held = held;
                        ran.fetch_add(1, SeqCst);
                    });
                }
            })
            .unwrap();
        token.cancel();
        drop(occupied);
        let counters = pool.install(|| dropped(&pool));
        assert!(counters <= 10);
        wait_until(|| census.dropped.load(SeqCst) == 10);
        wait_until(|| dropped(&pool) == 10);
        assert_eq!(ran.load(SeqCst), 0);
    });
}

#[test]
fn async_tasks_are_dropped_once_and_counted() {
    const COUNT: usize = size(100, 6);
    let (census, ran) = (Census::new(), AtomicUsize::new(0));
    let (census_of, ran_of) = (&census, &ran);
    let pool = in_place();
    let body = move || {
        let counted: Counted<'_> = census_of.one();
        async move {
            let _counted = counted;
            ran_of.fetch_add(1, SeqCst);
        }
    };
    let token = Cancel::new();
    let outcome = token.run_partial(|| {
        pool.run(|s| {
            let token = token.clone();
            async move {
                let spawned: Vec<_> = (0..COUNT).map(|_| s.spawn(body())).collect();
                let abandoned: Vec<_> = (0..COUNT).map(|_| s.spawn(body())).collect();
                drop(abandoned);
                token.cancel();
                for spawned in spawned {
                    assert_eq!(spawned.or_cancelled().await, Err(CancelledError));
                }
                let forked = s.fork(body()).await;
                assert_eq!(forked.or_cancelled().await, Err(CancelledError));
                let branched = s.branch(body()).await;
                assert_eq!(branched.or_cancelled().await, Err(CancelledError));
                s.call(body()).await;
            }
        });
    });
    assert_eq!(outcome, Ok(()), "nobody has heard of it unawares");
    assert_eq!(ran.load(SeqCst), 1, "a call is a part of who calls");
    assert_eq!(dropped(&pool), 2 * COUNT as u64 + 2);
    census.check();
}

#[test]
fn who_awaits_a_dropped_child_unwinds_up_to_the_token() {
    watched(|| {
        for pool in [in_place(), pool(1), pool(4)] {
            let token = Cancel::new();
            let outcome = token.run(|| {
                pool.run(|s| {
                    let token = token.clone();
                    async move {
                        token.cancel();
                        let child = s.fork(async { unreachable!() }).await;
                        let _: () = child.await;
                        unreachable!()
                    }
                })
            });
            assert_eq!(outcome, Err::<(), _>(CancelledError));
            assert_eq!(pool.install(|| join(|| 1, || 2)), (1, 2));
        }
    });
}

/// A cancellation of an inner token goes on to an outer one that was cancelled too; other panics
/// are no business of tokens.
#[test]
fn a_token_answers_for_itself_alone() {
    let (outer, inner) = (Cancel::new(), Cancel::new());
    inner.cancel();
    let unwound = panic::catch_unwind(AssertUnwindSafe(|| {
        let outcome = outer.run(|| panic::resume_unwind(Box::new(CancelledError)));
        assert_eq!(outcome, Err::<(), _>(CancelledError));
    }));
    assert!(unwound.unwrap_err().is::<CancelledError>());
    let unwound = panic::catch_unwind(AssertUnwindSafe(|| {
        outer.cancel();
        outer.child().run(|| ())
    }));
    assert_eq!(unwound.unwrap(), Err(CancelledError));
    let token = Cancel::new();
    let unwound = panic::catch_unwind(AssertUnwindSafe(|| {
        token.run(|| {
            token.cancel();
            panic::resume_unwind(Box::new(5));
        })
    }));
    assert_eq!(unwound.unwrap_err().downcast_ref(), Some(&5));
}

#[test]
fn children_in_a_context_of_their_own_are_dropped_there() {
    watched(|| {
        for pool in [in_place(), pool(3)] {
            let census = Census::new();
            let of = &census;
            pool.run(|s| async move {
                let token = Cancel::new();
                let children = token.run_partial(|| {
                    token.cancel();
                    let children = (0..10).map(|_| {
                        let counted = of.one();
                        s.spawn(async move {
                            let _counted = counted;
                            unreachable!("made after it was cancelled")
                        })
                    });
                    children.collect::<Vec<_>>()
                });
                assert!(!is_cancelled());
                for child in children.unwrap() {
                    assert_eq!(child.or_cancelled().await, Err::<(), _>(CancelledError));
                }
                // The root itself is not concerned.
                assert_eq!(s.spawn(async { 1 }).await, 1);
            });
            census.check();
            assert_eq!(dropped(&pool), 10);
        }
    });
}

#[test]
fn what_is_suspended_is_woken() {
    watched(|| {
        let pool = pool(2);
        for _ in 0..tries(100) {
            let token = Cancel::new();
            let waits = AtomicUsize::new(0);
            thread::scope(|threads| {
                let (token, waits, pool) = (&token, &waits, &pool);
                let thread = threads.spawn(move || {
                    token.child().run_partial(|| {
                        pool.run(|s| async move {
                            let child = s.spawn(async move {
                                waits.fetch_add(1, SeqCst);
                                context::cancelled().await;
                            });
                            waits.fetch_add(1, SeqCst);
                            context::cancelled().await;
                            child.or_cancelled().await
                        })
                    })
                });
                wait_until(|| waits.load(SeqCst) > 0);
                token.cancel();
                assert!(thread.join().unwrap().is_ok());
            });
        }
    });
}

#[test]
fn what_is_suspended_is_woken_by_a_deadline() {
    watched(|| {
        let pool = pool(1);
        for micros in [0, 1, 100, 3000] {
            let token = Cancel::after(Duration::from_micros(micros));
            let ended = token.run(|| pool.run(|_| context::until_cancelled(pending::<()>())));
            assert!(matches!(
                ended,
                Err(CancelledError) | Ok(Err(CancelledError))
            ));
            assert!(token.is_cancelled());
        }
        // The thread of the timer is there again after it has ended.
        thread::sleep(Duration::from_millis(1100));
        let token = Cancel::after(Duration::from_millis(1)).child();
        task::block_on(async move { token.cancelled().await });
    });
}

#[test]
fn a_future_is_dropped_where_it_is_suspended() {
    watched(|| {
        let census = Census::new();
        let token = Cancel::new();
        let (of, stops) = (&census, token.clone());
        let ended = token.run_partial(|| {
            task::scope(|s| async move {
                let counted = of.one();
                let waits = s.spawn(context::until_cancelled(async move {
                    let _counted = counted;
                    pending::<()>().await
                }));
                yield_now().await;
                stops.cancel();
                waits.or_cancelled().await
            })
        });
        assert!(
            matches!(ended, Ok(Err(CancelledError) | Ok(Err(CancelledError)))),
            "{ended:?}"
        );
        census.check();
        let kept = task::block_on(context::until_cancelled(async { 5 }));
        assert_eq!(kept, Ok(5));
    });
}

/// A panic in the drop of a closure that is not run goes where that of the closure itself would.
#[test]
fn a_panic_in_the_drop_of_what_never_begins_is_told() {
    struct Bomb;
    impl Drop for Bomb {
        fn drop(&mut self) {
            if !thread::panicking() {
                panic::resume_unwind(Box::new("dropped"));
            }
        }
    }
    let pool = in_place();
    let token = Cancel::new();
    let unwound = panic::catch_unwind(AssertUnwindSafe(|| {
        token.run(|| {
            pool.install(|| {
                scope(|s| {
                    let bomb = Bomb;
                    s.spawn(move |_| std::mem::forget(bomb));
                    token.cancel();
                })
            })
        })
    }));
    assert_eq!(unwound.unwrap_err().downcast_ref(), Some(&"dropped"));
    assert!(!is_cancelled());
}

#[test]
fn a_fork_in_a_loop_ends_early() {
    let pool = in_place();
    let token = Cancel::new();
    let ran = AtomicUsize::new(0);
    let outcome = token.run_partial(|| {
        pool.run(|s| {
            let (token, ran) = (token.clone(), &ran);
            async move {
                for number in 0..100 {
                    let token = token.clone();
                    let child = s.fork(async move {
                        ran.fetch_add(1, SeqCst);
                        if number == 9 {
                            token.cancel();
                        }
                    });
                    if child.await.or_cancelled().await.is_err() {
                        break;
                    }
                }
            }
        })
    });
    assert_eq!((outcome, ran.load(SeqCst)), (Ok(()), 10));
}

/// A clone of a waker runs whatever it likes: here it cancels what is about to be waited for.
#[test]
#[allow(unsafe_code, reason = "a waker of its own")]
fn no_waker_is_cloned_under_a_lock() {
    static TOKEN: OnceLock<Cancel> = OnceLock::new();
    static CANCELS: RawWakerVTable = RawWakerVTable::new(clone, |_| (), |_| (), |_| ());
    const WAKER: RawWaker = RawWaker::new(std::ptr::null(), &CANCELS);
    fn clone(_: *const ()) -> RawWaker {
        TOKEN.get().unwrap().cancel();
        WAKER
    }
    watched(|| {
        let token = TOKEN.get_or_init(Cancel::new);
        // SAFETY: its functions use no data, and may be called by any thread.
        let waker = unsafe { Waker::from_raw(WAKER) };
        let mut waits = pin!(token.cancelled());
        let polled = waits.as_mut().poll(&mut Context::from_waker(&waker));
        assert_eq!(polled, Poll::Ready(()));
    });
}

/// A callback is left with the tokens of all contexts around it, and cancels an outer one when an
/// inner one is cancelled.
#[test]
fn a_callback_cancels_another_of_its_tokens() {
    let pool = Pool::new(1).unwrap();
    let outer = Cancel::new();
    let (inner, ends) = (outer.child(), outer.clone());
    let calls = Arc::new(AtomicUsize::new(0));
    let called = Arc::clone(&calls);
    let callback = move || {
        called.fetch_add(1, SeqCst);
        ends.cancel();
    };
    let _callback = inner.run_partial(|| OnCancel::new(&pool, callback));
    watched(|| inner.cancel());
    assert!(outer.is_cancelled());
    assert_eq!(calls.load(SeqCst), 1);
}
