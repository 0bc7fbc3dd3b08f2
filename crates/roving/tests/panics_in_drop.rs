//! Panics in destructors: of closures, of results, of payloads.

#[path = "common/panics.rs"]
mod caught;
mod common;

use std::panic;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, mpsc};
use std::task::{Context, Wake, Waker};
use std::thread;
use std::time::Duration;

use caught::{caught, fail, on_pools, reason, works};
use common::{pool, size, wait_until, watched, yield_now};
use roving::raw::calls::Target;
use roving::{
    Cancel, Pool, context, current_worker, join, map_reduce, par_find_any, par_find_first, reduce,
    reduce_slice, scope, task,
};

/// Panics when dropped, unless told not to.
#[derive(Clone)]
struct Bomb<'a> {
    why: &'static str,
    dropped: &'a AtomicUsize,
}

impl Drop for Bomb<'_> {
    fn drop(&mut self) {
        self.dropped.fetch_add(1, SeqCst);
        if !self.why.is_empty() {
            fail(self.why);
        }
    }
}

/// A closure's captures may panic when they are dropped, before or after the closure has run.
#[test]
fn in_the_drop_of_what_a_closure_owns() {
    on_pools(|pool| {
        let dropped = AtomicUsize::new(0);
        let bomb = |why| Bomb {
            why,
            dropped: &dropped,
        };
        let (in_a, in_b) = (bomb("a's"), bomb(""));
        let run = || pool.install(|| join(move || drop(in_a), move || drop(in_b)));
        assert_eq!(caught(run), "a's");
        let (in_a, in_b) = (bomb(""), bomb("b's"));
        let run = || pool.install(|| join(move || drop(in_a), move || drop(in_b)));
        assert_eq!(caught(run), "b's");
        assert_eq!(dropped.into_inner(), 4);
    });
}

/// `a` panics, so `b`'s result is dropped on the way, and that panics too: not an abort.
#[test]
fn in_the_drop_of_a_result_that_nobody_gets() {
    on_pools(|pool| {
        let dropped = AtomicUsize::new(0);
        let bomb = || Bomb {
            why: "result",
            dropped: &dropped,
        };
        let why = caught(|| pool.install(|| join(|| fail("a"), bomb)));
        assert_eq!(why, "a");
        assert_eq!(dropped.load(SeqCst), 1);
        let why = caught(|| {
            pool.install(|| {
                scope(|s| {
                    s.spawn(|_| fail("task"));
                    bomb()
                })
            })
        });
        assert_eq!(why, "task");
        assert_eq!(dropped.load(SeqCst), 2);
    });
}

/// A result, or a closure, that does not fit a slot stands in the caller's frame, as do those of a
/// join that moves to the global pool.
#[test]
fn in_the_drop_of_a_result_in_the_frame_of_a_join() {
    on_pools(|pool| {
        let dropped = AtomicUsize::new(0);
        let bomb = || Bomb {
            why: "result",
            dropped: &dropped,
        };
        let large = || (bomb(), [0_u8; 100]);
        let owned = [0_u8; 100];
        let owns = || {
            let bomb = bomb();
            move || (bomb, std::hint::black_box(owned).len()).0
        };
        assert_eq!(caught(|| pool.install(|| join(|| fail("a"), large))), "a");
        assert_eq!(caught(|| pool.install(|| join(|| fail("a"), owns()))), "a");
        assert_eq!(caught(|| join(|| fail("a"), bomb)), "a");
        assert_eq!(caught(|| join(bomb, || fail("b"))), "b");
        assert_eq!(dropped.into_inner(), 4);
    });
}

/// `a` has returned when `b` panics, be that here or at a thief. So have items of a loop.
#[test]
fn in_the_drop_of_a_result_that_came_before() {
    on_pools(|pool| {
        let dropped = AtomicUsize::new(0);
        let bomb = |why| Bomb {
            why,
            dropped: &dropped,
        };
        let large = || (bomb("result"), [0_u8; 100]);
        let why = caught(|| pool.install(|| join(|| bomb("result"), || fail("b"))));
        assert_eq!((why, dropped.swap(0, SeqCst)), ("b", 1));
        let why = caught(|| pool.install(|| join(large, || fail("b"))));
        assert_eq!((why, dropped.swap(0, SeqCst)), ("b", 1));
        let map = |index: &usize| match *index {
            9 => fail("item"),
            _ => bomb("total"),
        };
        let add = |mut total: Bomb<'_>, next| {
            total.why = "";
            drop(total);
            next
        };
        let by_index = |index| map(&index);
        let run = || drop(map_reduce(0..10, bomb(""), by_index, add));
        assert_eq!(caught(|| pool.install(run)), "item");
        let run = || drop(reduce(0..10, 5, || bomb(""), by_index, add));
        assert_eq!(caught(|| pool.install(run)), "item");
        let items = [1, 2, 9];
        let run = || drop(reduce_slice(&items, 5, || bomb(""), map, add));
        assert_eq!(caught(|| pool.install(run)), "item");
    });
}

/// Another item has given the answer of a search when one panics.
#[test]
fn in_the_drop_of_an_answer_that_came_before() {
    watched(|| {
        let pool = pool(2);
        for first in [false, true] {
            let steps = [(); 3].map(|()| AtomicBool::new(false));
            let [came, waits, answers] = &steps;
            let dropped = AtomicUsize::new(0);
            let search = || {
                let caller = thread::current().id();
                let item = |_| {
                    if thread::current().id() != caller {
                        if came.swap(true, SeqCst) {
                            return None;
                        }
                        wait_until(|| waits.load(SeqCst));
                        answers.store(true, SeqCst);
                        return Some(Bomb {
                            why: "answer",
                            dropped: &dropped,
                        });
                    }
                    if came.load(SeqCst) {
                        waits.store(true, SeqCst);
                        wait_until(|| answers.load(SeqCst));
                        // Most often the answer is there by now.
                        thread::sleep(Duration::from_millis(20));
                        fail("item");
                    }
                    thread::sleep(Duration::from_micros(100));
                    None
                };
                match first {
                    true => drop(par_find_first(0..usize::MAX, item)),
                    false => drop(par_find_any(0..usize::MAX, item)),
                }
            };
            assert_eq!(caught(|| pool.install(search)), "item");
            assert_eq!(dropped.into_inner(), 1);
        }
        works(&pool);
    });
}

/// The drop of a result panics while `b`, with its result, is at a thief.
#[test]
fn in_the_drop_of_a_stolen_result_that_nobody_gets() {
    watched(|| {
        let pool = pool(2);
        let (began, dropped) = (AtomicBool::new(false), AtomicUsize::new(0));
        let why = caught(|| {
            pool.install(|| {
                join(
                    || {
                        wait_until(|| began.load(SeqCst));
                        fail("a")
                    },
                    || {
                        began.store(true, SeqCst);
                        Bomb {
                            why: "result",
                            dropped: &dropped,
                        }
                    },
                )
            })
        });
        assert_eq!(why, "a");
        assert_eq!(dropped.load(SeqCst), 1);
        works(&pool);
    });
}

/// Payloads that lose against the first are dropped, and their drop may panic.
#[test]
fn in_the_drop_of_a_payload() {
    struct Payload(Bomb<'static>);
    static DROPPED: AtomicUsize = AtomicUsize::new(0);
    let throw = || -> () {
        let bomb = Bomb {
            why: "payload",
            dropped: &DROPPED,
        };
        panic::resume_unwind(Box::new(Payload(bomb)))
    };
    on_pools(|pool| {
        DROPPED.store(0, SeqCst);
        assert_eq!(caught(|| pool.install(|| join(|| fail("a"), throw))), "a");
        let tasks = || {
            scope(|s| {
                s.spawn(|_| throw());
                s.spawn(|_| throw());
                fail("body")
            })
        };
        assert_eq!(caught(|| pool.install(tasks)), "body");
        assert_eq!(DROPPED.load(SeqCst), 3, "each payload is dropped once");
        // Of the tasks of a root, of which nobody awaits any.
        let root = || {
            pool.run(|_| async move {
                drop(task::spawn(async move { throw() }));
                drop(task::spawn(async move { throw() }));
                fail("root")
            })
        };
        assert_eq!(caught(root), "root");
        assert_eq!(DROPPED.load(SeqCst), 5, "each payload is dropped once");
    });
    let _ = |payload: Payload| payload.0;
}

/// A closure that a cancelled scope drops instead of running.
#[test]
fn in_the_drop_of_a_cancelled_task() {
    on_pools(|pool| {
        let dropped = AtomicUsize::new(0);
        let bomb = Bomb {
            why: "cancelled",
            dropped: &dropped,
        };
        let run = || {
            scope(|s| {
                s.cancel();
                s.spawn(move |_| {
                    let _bomb = bomb;
                });
            })
        };
        assert_eq!(caught(|| pool.install(run)), "cancelled");
        assert_eq!(dropped.into_inner(), 1);
    });
}

/// The results of a call whose closure panics when it is dropped, after all has gone well: they are
/// dropped too.
#[test]
fn in_the_drop_of_a_closure_whose_results_are_there() {
    on_pools(|pool| {
        let (dropped, results) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let bomb = || Bomb {
            why: "closure",
            dropped: &dropped,
        };
        let result = || Bomb {
            why: "",
            dropped: &results,
        };
        let owned = bomb();
        let run = || {
            pool.broadcast(move |_| {
                let _owned = &owned;
                result()
            })
        };
        assert_eq!(caught(run), "closure");
        assert_eq!(results.swap(0, SeqCst), pool.workers());

        /// Its copies count.
        struct Sum<'a>(&'a AtomicUsize, &'a AtomicUsize);
        impl Clone for Sum<'_> {
            fn clone(&self) -> Self {
                self.1.fetch_add(1, SeqCst);
                Sum(self.0, self.1)
            }
        }
        impl Drop for Sum<'_> {
            fn drop(&mut self) {
                self.0.fetch_add(1, SeqCst);
            }
        }
        let (made, gone, owned) = (AtomicUsize::new(1), AtomicUsize::new(0), bomb());
        let (made, gone) = (&made, &gone);
        let sum = Sum(gone, made);
        let map = move |_| {
            let _owned = &owned;
            made.fetch_add(1, SeqCst);
            Sum(gone, made)
        };
        let run = || pool.install(|| drop(map_reduce(0..size(100, 20), sum, map, |_, b| b)));
        assert_eq!(caught(run), "closure");
        assert_eq!(made.load(SeqCst), gone.load(SeqCst));
        assert_eq!(dropped.into_inner(), 2);
    });
}

/// Of a broadcast whose parts have panicked as well, for the last of which the closure is dropped.
#[test]
fn in_the_drop_of_a_broadcast_closure_that_has_panicked() {
    on_pools(|pool| {
        let dropped = AtomicUsize::new(0);
        let part = || {
            let owned = Bomb {
                why: "owned",
                dropped: &dropped,
            };
            move || -> () {
                let _owned = &owned;
                fail("part")
            }
        };
        let run = || {
            let part = part();
            scope(|s| s.spawn_broadcast(move |_, _| part()))
        };
        assert_eq!(caught(|| pool.install(run)), "part");
        assert_eq!(dropped.load(SeqCst), 1);
        let part = part();
        assert_eq!(caught(|| pool.broadcast(move |_| part())), "part");
        assert_eq!(dropped.into_inner(), 2);
    });
}

/// Nobody waits for the parts: the pool's handler hears of each panic.
#[test]
fn in_the_drop_of_a_detached_broadcast_closure_that_has_panicked() {
    static DROPPED: AtomicUsize = AtomicUsize::new(0);
    watched(|| {
        let (told, hears) = mpsc::channel();
        let builder = Pool::builder().workers(1);
        let builder = builder.panic_handler(move |payload| told.send(reason(&*payload)).unwrap());
        let pool = builder.build().unwrap();
        let owned = Bomb {
            why: "owned",
            dropped: &DROPPED,
        };
        pool.install(|| {
            Target::of(&pool).spawn_broadcast(move |_| {
                let _owned = &owned;
                fail("part")
            });
        });
        let mut heard = [hears.recv().unwrap(), hears.recv().unwrap()];
        heard.sort_unstable();
        assert_eq!(heard, ["owned", "part"]);
        assert_eq!(DROPPED.load(SeqCst), 1);
        works(&pool);
    });
}

/// Of the waker of another executor, which whoever waits for a token has left there and takes back
/// while it unwinds.
#[test]
fn in_the_drop_of_a_waker_that_was_left_with_a_token() {
    struct Wakes(Bomb<'static>);
    impl Wake for Wakes {
        fn wake(self: Arc<Self>) {}
    }
    static DROPPED: AtomicUsize = AtomicUsize::new(0);
    let outer = Cancel::new();
    let run = || {
        let mut waits = pin!(outer.child().cancelled());
        let waker = Waker::from(Arc::new(Wakes(Bomb {
            why: "waker",
            dropped: &DROPPED,
        })));
        let poll = waits.as_mut().poll(&mut Context::from_waker(&waker));
        assert!(poll.is_pending());
        drop(waker);
        fail("who waits")
    };
    assert_eq!(caught(run), "who waits");
    assert_eq!(DROPPED.load(SeqCst), 1);
    let _ = |wakes: Wakes| wakes.0;
}

/// Of an async task that is dropped instead of begun: whoever awaits it hears of it, or the root.
#[test]
fn in_the_drop_of_a_task_that_was_cancelled() {
    on_pools(|pool| {
        let dropped = AtomicUsize::new(0);
        for awaited in [true, false] {
            let bomb = Bomb {
                why: "cancelled",
                dropped: &dropped,
            };
            let run = || {
                let request = Cancel::new();
                request.run(|| {
                    task::scope(|s| {
                        let request = request.clone();
                        async move {
                            request.cancel();
                            let child = s.spawn(async move { drop(bomb) });
                            if awaited {
                                let _ = child.or_cancelled().await;
                            }
                        }
                    });
                })
            };
            assert_eq!(caught(|| pool.install(run)), "cancelled");
        }
        assert_eq!(dropped.into_inner(), 2);
    });
}

/// A value of a context, which panics when it is dropped.
struct Inherited {
    _alive: Arc<()>,
}

impl Drop for Inherited {
    fn drop(&mut self) {
        fail("inherited");
    }
}

/// Calls `f` in a context that nobody else keeps: what `f` makes there is the last to have it.
fn in_a_context<R>(alive: &Arc<()>, f: impl FnOnce() -> R) -> R {
    let _alive = Arc::clone(alive);
    context::with(Inherited { _alive }, f)
}

fn wait_until_dropped(alive: &Arc<()>) {
    wait_until(|| Arc::strong_count(alive) == 1);
}

/// A worker drops the last handle of a context, with the task that was spawned there.
#[test]
fn in_the_drop_of_what_a_detached_task_inherits() {
    on_pools(|pool| {
        let alive = Arc::new(());
        let (go, goes) = mpsc::channel::<()>();
        in_a_context(&alive, || drop(pool.spawn(move || goes.recv())));
        drop(go);
        works(pool);
        let (go, goes) = mpsc::channel::<()>();
        let handle = in_a_context(&alive, || pool.spawn(move || goes.recv().is_err()));
        drop(go);
        assert!(handle.join().unwrap());
        wait_until_dropped(&alive);
    });
}

/// A task that a thread outside has spawned into a scope is the last in its context. The scope
/// ends all the same.
#[test]
fn in_the_drop_of_what_a_task_from_outside_inherits() {
    on_pools(|pool| {
        let (alive, ran) = (Arc::new(()), AtomicUsize::new(0));
        pool.in_place_scope(|s| {
            for _ in 0..10 {
                in_a_context(&alive, || {
                    s.spawn(|_| {
                        ran.fetch_add(1, SeqCst);
                    });
                });
            }
        });
        assert_eq!(ran.into_inner(), 10);
        wait_until_dropped(&alive);
    });
}

/// A worker that waits in a `join` runs a part of a broadcast, and drops the last handle of the
/// part's context: the frame that waits stays until the thief has come back.
#[test]
fn in_the_drop_of_what_a_part_of_a_broadcast_inherits() {
    // The part is for one worker alone, and that one has to be the one that waits.
    watched(|| while !part_on_top_of_a_join() {});
}

/// False if the other worker has got the `join`.
fn part_on_top_of_a_join() -> bool {
    let pool = pool(2);
    let (begun, left, gone) = (&flag(), &flag(), &flag());
    let thief = || {
        let data = vec![7_u8; 48];
        join(
            || wait_until(|| begun.load(SeqCst)),
            || {
                begun.store(true, SeqCst);
                wait_until(|| gone.load(SeqCst));
                assert_eq!(data, [7; 48]);
            },
        );
    };
    thread::scope(|threads| {
        let alive = Arc::new(());
        let (here, is_here) = mpsc::channel();
        let pool = &pool;
        let waits = threads.spawn(move || {
            pool.install(|| {
                let is_first = current_worker() == Some(0);
                here.send(is_first).unwrap();
                if is_first {
                    thief();
                }
            });
            gone.store(true, SeqCst);
        });
        if !is_here.recv().unwrap() {
            return false;
        }
        wait_until(|| begun.load(SeqCst));
        pool.resize(1).unwrap();
        pool.in_place_scope(|s| {
            in_a_context(&alive, || {
                s.spawn_broadcast(|_, _| wait_until(|| left.load(SeqCst)))
            });
            left.store(true, SeqCst);
        });
        gone.store(true, SeqCst);
        waits.join().unwrap();
        wait_until_dropped(&alive);
        true
    })
}

fn flag() -> AtomicBool {
    AtomicBool::new(false)
}

/// The root of what a task makes in a context is freed before the root above it is closed.
#[test]
fn in_the_drop_of_what_a_root_inherits() {
    on_pools(|pool| {
        let alive = Arc::new(());
        for _ in 0..size(20, 2) {
            let run = || async {
                in_a_context(&alive, || drop(task::spawn(async { yield_now().await })));
                7
            };
            assert_eq!(pool.run(|_| run()), 7);
            assert_eq!(pool.install(|| task::block_on(run())), 7);
        }
        wait_until_dropped(&alive);
    });
}

/// The root's value is the handle of a task that failed as well: it is dropped with the first
/// panic in hand.
#[test]
fn the_handle_of_a_task_that_failed_is_the_value_beside_another_panic() {
    on_pools(|pool| {
        let run = || {
            pool.run(|s| async move {
                drop(s.spawn(async { fail("first") }));
                let second = s.spawn(async { fail("second") });
                [second]
            })
        };
        let why = caught(|| drop(run()));
        assert!(why == "first" || why == "second", "{why}");
        works(pool);
    });
}
