//! Tokens of `task::scope` that are kept too long, or taken where they do not belong. A child that
//! borrows by such a token could outlive what it borrows, so each use panics, and drops the child
//! unstarted.

#![forbid(unsafe_code)]

mod common;

use std::any::Any;
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

use common::{pool, tries, watched};
use roving::policy::SpawnOrder;
use roving::raw::tasks::{Place, spawn_kept, spawn_placed};
use roving::task::{Scope, Task, block_on, scope};
use roving::{Cancel, Pool, context};

const BYTES: usize = 48;

/// Lets a child wait until it is told to look at what it has borrowed.
#[derive(Clone, Default)]
struct Gate(Arc<(AtomicBool, Mutex<Option<Waker>>)>);

impl Gate {
    fn open(&self) {
        self.0.0.store(true, SeqCst);
        if let Some(waker) = self.0.1.lock().unwrap().take() {
            waker.wake();
        }
    }

    fn opened(&self) -> impl Future<Output = ()> + use<> {
        let gate = self.clone();
        poll_fn(move |context| {
            *gate.0.1.lock().unwrap() = Some(context.waker().clone());
            match gate.0.0.load(SeqCst) {
                true => Poll::Ready(()),
                false => Poll::Pending,
            }
        })
    }
}

/// The message of a call's panic; `None` when it returns.
fn panicked<R>(call: impl FnOnce() -> R) -> Option<String> {
    let payload = catch_unwind(AssertUnwindSafe(call)).err()?;
    Some(text(&*payload))
}

fn text(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<String>().cloned();
    let text = text.or_else(|| payload.downcast_ref::<&str>().map(|text| text.to_string()));
    text.unwrap_or_default()
}

#[track_caller]
fn assert_refused(outcome: Option<String>) {
    let text = outcome.expect("a token of another call was good for a child");
    assert!(text.contains("made for another root"), "{text}");
}

/// Asks a future once, as a program may that has none to await it with.
fn poll_once<F: Future>(future: Pin<&mut F>) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}

/// A future that is suspended once, and counts on being polled again.
fn once_pending() -> impl Future<Output = ()> {
    let mut is_again = false;
    poll_fn(move |context| {
        context.waker().wake_by_ref();
        match std::mem::replace(&mut is_again, true) {
            true => Poll::Ready(()),
            false => Poll::Pending,
        }
    })
}

/// Calls a function in a context of its own.
type Enter = fn(&mut (dyn FnMut() + Send));

const CONTEXTS: [Enter; 3] = [
    |f| context::with((), f),
    |f| Cancel::new().run(f).unwrap(),
    |f| {
        let other = context::with(7_u8, context::current);
        other.run(f);
    },
];

/// The token of a scope that is over, used in a context, where a root is made for the child: in
/// place of the one that is gone. What the child has borrowed is gone when it looks.
fn keeps_a_token_for_a_context(enter: Enter, gate: &Gate) -> Option<String> {
    let local = vec![7_u8; BYTES];
    let mut token = None;
    scope(|s| {
        token = Some(s);
        async {}
    });
    let mut outcome = None;
    enter(&mut || {
        let (view, gate) = (&local, gate.clone());
        outcome = panicked(|| {
            token.unwrap().spawn(async move {
                gate.opened().await;
                assert_eq!(*view, [7; BYTES], "borrowed from a frame that is gone");
            })
        });
    });
    outcome
}

#[test]
fn a_token_that_is_too_old_is_refused_in_each_kind_of_context() {
    watched(|| {
        let pool = pool(2);
        for enter in CONTEXTS {
            for _ in 0..tries(400) {
                pool.run(|_| async move {
                    let gate = Gate::default();
                    let outcome = keeps_a_token_for_a_context(enter, &gate);
                    let _in_its_place = std::hint::black_box(vec![0_u8; BYTES]);
                    gate.open();
                    assert_refused(outcome);
                });
            }
        }
    });
}

/// A future that keeps the token of a scope of its own, and is then polled as a task of another
/// root.
fn half_polled(outcome: Arc<Mutex<Option<String>>>, gate: Gate) -> impl Task<()> {
    async move {
        let local = vec![7_u8; BYTES];
        let mut token = None;
        scope(|s| {
            token = Some(s);
            async {}
        });
        once_pending().await;
        let view = &local;
        let found = panicked(|| {
            token.unwrap().spawn(async move {
                gate.opened().await;
                assert_eq!(*view, [7; BYTES], "borrowed from a frame that is gone");
            })
        });
        *outcome.lock().unwrap() = found;
    }
}

/// The future was polled by hand when its scope was made, so the root below which it ends may lie
/// where that of the scope was.
#[test]
fn a_token_that_a_half_polled_future_has_kept_is_refused() {
    watched(|| {
        let pool = pool(2);
        for _ in 0..tries(400) {
            let (outcome, gate) = (Arc::default(), Gate::default());
            let mut half = Box::pin(half_polled(Arc::clone(&outcome), gate.clone()));
            pool.install(|| {
                assert!(poll_once(half.as_mut()).is_pending());
                block_on(async move {
                    half.await;
                    let _in_its_place = std::hint::black_box(vec![0_u8; BYTES]);
                    gate.open();
                });
            });
            assert_refused(outcome.lock().unwrap().take());
        }
    });
}

/// A half-polled future is refused within a task too, which polls it by hand and passes it to a
/// root of its own.
#[test]
fn a_token_that_a_half_polled_future_has_kept_is_refused_in_a_nested_root() {
    watched(|| {
        let pool = pool(2);
        for _ in 0..tries(400) {
            let outcome = Arc::default();
            let gate = Gate::default();
            let (kept, opens) = (Arc::clone(&outcome), gate.clone());
            pool.run(|_| async move {
                let mut half = Box::pin(half_polled(kept, gate));
                assert!(poll_once(half.as_mut()).is_pending());
                block_on(async move {
                    half.await;
                    opens.open();
                });
            });
            assert_refused(outcome.lock().unwrap().take());
        }
    });
}

/// Counts how often what a child owns is dropped.
struct Owned<'d>(&'d AtomicUsize);

impl Drop for Owned<'_> {
    fn drop(&mut self) {
        self.0.fetch_add(1, SeqCst);
    }
}

/// A way to make a child by a token.
type Make = for<'s> fn(Scope<'s>, Owned<'s>, &'s Place) -> Pin<Box<dyn Task<()> + 's>>;

const WAYS: [(&str, Make); 6] = [
    ("fork", |s, owned, _| {
        Box::pin(async move { drop(s.fork(async move { drop(owned) }).await) })
    }),
    ("spawn", |s, owned, _| {
        Box::pin(async move { s.spawn(async move { drop(owned) }).await })
    }),
    ("call", |s, owned, _| {
        Box::pin(async move { s.call(async move { drop(owned) }).await })
    }),
    ("branch", |s, owned, _| {
        Box::pin(async move { drop(s.branch(async move { drop(owned) }).await) })
    }),
    ("spawn_kept", |s, owned, _| {
        Box::pin(async move { spawn_kept(s, async move { drop(owned) }).await })
    }),
    ("spawn_placed", |s, owned, place| {
        Box::pin(async move { spawn_placed(s, place, async move { drop(owned) }).await })
    }),
];

/// Tries each way with a token, in a task of another root: each is refused, and what the child owns
/// is dropped once.
async fn refuses_all<'s>(token: Scope<'s>, drops: &'s [AtomicUsize], place: &'s Place) {
    for ((name, make), drops) in WAYS.into_iter().zip(drops) {
        let before = drops.load(SeqCst);
        let mut task = make(token, Owned(drops), place);
        let outcome = poll_fn(|context| {
            let polled = catch_unwind(AssertUnwindSafe(|| task.as_mut().poll(context)));
            Poll::Ready(polled.err().map(|payload| text(&*payload)))
        })
        .await;
        drop(task);
        assert_refused(outcome);
        assert_eq!(drops.load(SeqCst), before + 1, "{name}: dropped once");
    }
}

/// Every kind of pool and of root: on a worker, for a thread outside, in place, and each order of
/// `branch`.
fn pools() -> Vec<Pool> {
    let orders = [
        SpawnOrder::WorkFirst,
        SpawnOrder::HelpFirst,
        SpawnOrder::Adaptive,
    ];
    let threads = orders.map(|order| Pool::builder().workers(2).spawn_order(order));
    let here = Pool::builder().workers(1).caller_runs();
    let builders = threads.into_iter().chain([here]);
    builders.map(|builder| builder.build().unwrap()).collect()
}

#[test]
fn each_use_of_a_token_that_is_too_old_is_refused_in_each_kind_of_root() {
    watched(|| {
        let (drops, place) = (
            [const { AtomicUsize::new(0) }; WAYS.len()],
            Place::new(None),
        );
        for pool in pools() {
            let mut token = None;
            pool.run(|s| {
                token = Some(s);
                async {}
            });
            let token = token.unwrap();
            let (drops, place) = (&drops, &place);
            pool.run(|_| refuses_all(token, drops, place));
            pool.install(|| block_on(refuses_all(token, drops, place)));
            pool.run(|s| async move { s.spawn(refuses_all(token, drops, place)).await });
        }
        assert!(drops.iter().all(|drops| drops.load(SeqCst) == 12));
    });
}

/// The call that made the token still runs, but the task belongs to another: within it, or beside
/// it in another pool.
#[test]
fn each_use_of_a_token_in_another_call_is_refused() {
    watched(|| {
        let (drops, place) = (
            [const { AtomicUsize::new(0) }; WAYS.len()],
            Place::new(None),
        );
        let (drops, place) = (&drops, &place);
        let other = &pool(1);
        for pool in pools() {
            pool.run(|outer| async move {
                scope(|inner| async move {
                    refuses_all(outer, drops, place).await;
                    assert_eq!(inner.spawn(async { 1 }).await, 1);
                });
                other.run(|_| refuses_all(outer, drops, place));
                assert_eq!(outer.spawn(async { 2 }).await, 2);
            });
        }
        assert!(drops.iter().all(|drops| drops.load(SeqCst) == 8));
    });
}

/// Outside of tasks the message is that of `spawn` there.
#[test]
fn a_token_is_refused_outside_of_tasks() {
    let drops = AtomicUsize::new(0);
    let mut token = None;
    pool(1).run(|s| {
        token = Some(s);
        async {}
    });
    let owned = Owned(&drops);
    let text = panicked(|| token.unwrap().spawn(async move { drop(owned) }));
    assert!(text.unwrap().contains("not inside a task"));
    let start = pin!(token.unwrap().fork(async {}));
    let text = panicked(|| poll_once(start));
    assert!(text.unwrap().contains("not inside a task"));
    assert_eq!(drops.load(SeqCst), 1);
}

/// The allowed cases: below its own root a token is good in every task, and in every context.
#[test]
fn a_token_is_good_in_each_context_of_its_own_call() {
    watched(|| {
        let pool = pool(2);
        let words = [String::from("seven"), String::from("letters")];
        let words = &words;
        let length = pool.run(|s| async move {
            let mut handles = Vec::new();
            for enter in CONTEXTS {
                enter(&mut || {
                    handles.push(s.spawn(async move {
                        let deeper = context::with(1_u8, || s.spawn(async { words[1].len() }));
                        words[0].len() + deeper.await + s.call(async { words.len() }).await
                    }));
                });
            }
            let mut sum = 0;
            for handle in handles {
                sum += handle.await;
            }
            sum
        });
        assert_eq!(length, 3 * (5 + 7 + 2));
    });
}
