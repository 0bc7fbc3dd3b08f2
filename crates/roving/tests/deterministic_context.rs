//! Inheritance and dropping in deterministic pools: under every seed as on threads.

mod common;

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;

use common::{size, watched};
use roving::task::{block_on, fork, spawn};
use roving::testing::Explorer;
use roving::{Cancel, Pool, context, join};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Request(u32);

fn request() -> Option<Request> {
    context::get()
}

/// Whatever is made inside has it, on whichever worker it runs, and nothing outside.
#[test]
fn a_context_is_inherited_under_every_seed() {
    fn tree(depth: u32, expected: Option<Request>) {
        assert_eq!(request(), expected);
        if depth > 0 {
            roving::join(|| tree(depth - 1, expected), || tree(depth - 1, expected));
            roving::scope(|s| {
                s.spawn(move |_| tree(0, expected));
                let inner = Some(Request(depth));
                context::with(Request(depth), || {
                    roving::join(|| tree(depth - 1, inner), || tree(depth - 1, inner));
                    s.spawn(move |_| assert_eq!(request(), inner));
                });
                s.spawn(move |_| assert_eq!(request(), expected));
            });
        }
        assert_eq!(request(), expected);
    }
    watched(|| {
        Explorer::new().seeds(0..size(150, 2)).run(|| {
            tree(3, None);
            context::with(Request(9), || tree(3, Some(Request(9))));
        })
    });
}

#[test]
fn async_tasks_inherit_it_where_they_are_started() {
    watched(|| {
        Explorer::new().seeds(0..size(150, 2)).run(|| {
            let child = |expected| async move {
                assert_eq!(request(), expected);
                roving::join(
                    || assert_eq!(request(), expected),
                    || assert_eq!(request(), expected),
                );
                request()
            };
            let tasks = |outer: Option<Request>| {
                block_on(async move {
                    assert_eq!(request(), outer);
                    let first = fork(child(outer)).await;
                    let inner = Some(Request(2));
                    let second = context::with(Request(2), || spawn(child(inner)));
                    assert_eq!(second.await, inner);
                    assert_eq!(request(), outer);
                    assert_eq!(first.await, outer);
                });
            };
            tasks(None);
            context::with(Request(1), || tasks(Some(Request(1))));
        })
    });
}

/// Tasks that have begun before somebody cancels run to their end, all others are dropped and
/// counted. How many that are depends on the schedule.
#[test]
fn what_has_not_begun_is_dropped_under_every_seed() {
    struct Held<'h>(&'h AtomicUsize);
    impl Drop for Held<'_> {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
    let run = |seed| {
        let pool = roving::Pool::builder().deterministic(seed).workers(3);
        let pool = pool.profile(true).build().unwrap();
        let (ran, gone) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let token = Cancel::new();
        let _ = pool.install(|| {
            token.run(|| {
                roving::scope(|s| {
                    for index in 0..8 {
                        let (held, ran, token) = (Held(&gone), &ran, &token);
                        s.spawn(move |_| {
                            let _held = held;
                            ran.fetch_add(1, Ordering::Relaxed);
                            if index == 3 {
                                token.cancel();
                            }
                        });
                    }
                });
            })
        });
        assert_eq!(gone.into_inner(), 8, "dropped once each");
        let (ran, dropped) = (
            ran.into_inner(),
            pool.profile().total().counters.tasks_dropped,
        );
        assert_eq!(ran as u64 + dropped, 8);
        ran
    };
    let ran: BTreeSet<usize> = watched(|| (0..size(300, 3)).map(run).collect());
    // The one that cancels may be the last to run, or among the first.
    let is_any = ran.contains(&8) && ran.len() > 4;
    assert!(is_any || cfg!(miri), "{ran:?}");
}

#[test]
fn async_children_that_have_not_begun_are_dropped_under_every_seed() {
    let run = |seed| {
        let pool = roving::Pool::builder().deterministic(seed).workers(3);
        let pool = pool.profile(true).build().unwrap();
        let ran = AtomicUsize::new(0);
        let token = Cancel::new();
        let _ = token.run(|| {
            pool.run(|s| {
                let (ran, token) = (&ran, &token);
                async move {
                    for index in 0..6 {
                        let child = async move {
                            ran.fetch_add(1, Ordering::Relaxed);
                            if index == 2 {
                                token.cancel();
                            }
                        };
                        match index % 2 {
                            0 => drop(s.spawn(child)),
                            _ => drop(s.fork(child).await),
                        }
                    }
                }
            });
        });
        let (ran, dropped) = (
            ran.into_inner(),
            pool.profile().total().counters.tasks_dropped,
        );
        assert_eq!(ran as u64 + dropped, 6, "seed {seed}");
        ran
    };
    let ran: BTreeSet<usize> = watched(|| (0..size(300, 3)).map(run).collect());
    assert!(ran.len() > 3 || cfg!(miri), "{ran:?}");
}

/// But for one that the other worker is about to begin at that moment.
#[test]
fn a_child_that_is_cancelled_before_it_begins_never_runs() {
    watched(|| {
        Explorer::new().workers(2).seeds(0..size(100, 3)).run(|| {
            let (begun, cancel) = (Arc::new(AtomicUsize::new(0)), Cancel::new());
            let own = cancel.clone();
            let before = cancel.run_partial(|| {
                let begun = &begun;
                block_on(async move {
                    let children = [(); 3].map(|()| {
                        let begun = Arc::clone(begun);
                        spawn(async move { begun.fetch_add(1, Ordering::SeqCst) })
                    });
                    let before = begun.load(Ordering::SeqCst);
                    own.cancel();
                    drop(children);
                    before
                })
            });
            let before = before.unwrap_or(0);
            let late = begun.load(Ordering::SeqCst) - before;
            assert!(late <= 1, "{late}");
        });
    });
}

/// The destructor of a thread-local value uses a deterministic pool, when the values that were made
/// after it, as by an earlier use of such a pool, are gone.
#[test]
fn a_thread_local_destructor_uses_a_deterministic_pool() {
    struct AtEnd(mpsc::Sender<(u32, u32)>);
    impl Drop for AtEnd {
        fn drop(&mut self) {
            let pool = deterministic();
            self.0.send(pool.install(|| join(|| 1, || 2))).unwrap();
        }
    }
    fn deterministic() -> Pool {
        Pool::builder().workers(2).deterministic(7).build().unwrap()
    }
    thread_local! {
        static AT_END: RefCell<Option<AtEnd>> = const { RefCell::new(None) };
    }
    watched(|| {
        let (sender, receiver) = mpsc::channel();
        let ends = thread::spawn(|| {
            AT_END.set(Some(AtEnd(sender)));
            deterministic().install(|| join(|| 3, || 4))
        });
        assert_eq!(ends.join().unwrap(), (3, 4));
        assert_eq!(receiver.recv(), Ok((1, 2)));
    });
}
