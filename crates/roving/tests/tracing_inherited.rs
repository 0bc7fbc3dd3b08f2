//! The span of the `tracing` crate is inherited, whoever runs what was made in it.

mod common;

use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, mpsc};

use common::{join_stolen, pool, tries, wait_until, watched};
use roving::context::in_current_span;
use roving::task::{fork, spawn};
use roving::{join, scope};
use tracing::span::{Attributes, Id, Record};
use tracing::{Dispatch, Event, Metadata, Span, Subscriber};
use tracing_core::span::Current;

fn name() -> Option<&'static str> {
    Span::current().metadata().map(|data| data.name())
}

/// Both run at the same time, on two workers.
fn names_of_both() -> (Option<&'static str>, Option<&'static str>) {
    join_stolen(name, name)
}

/// The subscriber is that of one thread: those that steal have none of their own.
#[test]
fn spans_are_inherited() {
    watched(|| {
        let pool = pool(3);
        let subscriber = tracing_subscriber::registry();
        tracing::subscriber::with_default(subscriber, || {
            for _ in 0..tries(50) {
                let outer = tracing::info_span!("outer").entered();
                in_current_span(|| {
                    let both = (Some("outer"), Some("outer"));
                    pool.install(|| {
                        assert_eq!(names_of_both(), both);
                        tracing::info_span!("inner").in_scope(|| {
                            let inner = in_current_span(names_of_both);
                            assert_eq!(inner, (Some("inner"), Some("inner")));
                            assert_eq!(name(), Some("inner"));
                        });
                        scope(|s| s.spawn(|_| assert_eq!(name(), Some("outer"))));
                        assert_eq!(names_of_both(), both);
                    });
                    pool.run(|_| async {
                        let forked = fork(async { name() }).await;
                        let spawned = spawn(async { name() });
                        assert_eq!(forked.await, Some("outer"));
                        assert_eq!(spawned.await, Some("outer"));
                    });
                    let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                        pool.install(|| std::panic::resume_unwind(Box::new(())))
                    }));
                    assert!(caught.is_err());
                });
                assert_eq!(name(), Some("outer"));
                drop(outer);
                assert_eq!(name(), None);
                assert_eq!(
                    pool.broadcast(|_| name()),
                    [None; 3],
                    "nothing is left there"
                );
            }
        });
    });
}

/// In one span, with a subscriber that panics when a thread enters or leaves it; and when it is
/// dropped, if the last says so.
struct Panics(&'static Metadata<'static>, Arc<AtomicUsize>, bool);

impl Drop for Panics {
    fn drop(&mut self) {
        if self.2 {
            self.panic();
        }
    }
}

impl Panics {
    fn panic(&self) {
        self.1.fetch_add(1, SeqCst);
        std::panic::resume_unwind(Box::new(()));
    }
}

impl Subscriber for Panics {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, _: &Event<'_>) {}

    fn enter(&self, _: &Id) {
        self.panic();
    }

    fn exit(&self, _: &Id) {
        self.panic();
    }

    fn try_close(&self, _: Id) -> bool {
        self.panic();
        true
    }

    fn current_span(&self) -> Current {
        Current::new(Id::from_u64(1), self.0)
    }
}

fn known() -> &'static Metadata<'static> {
    let known = || tracing::info_span!("known").metadata().unwrap();
    tracing::subscriber::with_default(tracing_subscriber::registry(), known)
}

/// Neither a task in a span nor the worker that runs it is ended by the subscriber.
#[test]
fn a_subscriber_that_panics_ends_nothing() {
    watched(|| {
        let (pool, panics) = (pool(1), Arc::new(AtomicUsize::new(0)));
        let subscriber = Dispatch::new(Panics(known(), Arc::clone(&panics), false));
        let subscriber = tracing::dispatcher::set_default(&subscriber);
        in_current_span(|| {
            assert_eq!(pool.spawn(|| 1).join().unwrap(), 1);
            assert_eq!(pool.install(|| 2), 2);
            assert_eq!(pool.run(|_| async { spawn(async { 3 }).await }), 3);
            pool.in_place_scope(|s| s.spawn(|_| ()));
        });
        drop(subscriber);
        let here = format!("{:?}", roving::context::current());
        assert!(here.contains("empty: true"), "{here}");
        assert_eq!(pool.install(|| join(|| 1, || 2)), (1, 2));
        assert!(panics.load(SeqCst) > 8, "{panics:?}");
    });
}

/// A task is the last to have it: the close of the span panics, and so does the drop.
#[test]
fn a_subscriber_that_panics_when_it_is_dropped_ends_nothing() {
    watched(|| {
        let (pool, panics) = (pool(1), Arc::new(AtomicUsize::new(0)));
        let (go, goes) = mpsc::channel::<()>();
        let subscriber = Panics(known(), Arc::clone(&panics), true);
        let handle = tracing::subscriber::with_default(subscriber, || {
            in_current_span(|| pool.spawn(move || goes.recv().is_err()))
        });
        drop(go);
        assert!(handle.join().unwrap());
        wait_until(|| Arc::strong_count(&panics) == 1);
        assert_eq!(pool.install(|| join(|| 1, || 2)), (1, 2));
    });
}

#[test]
fn without_a_span_it_just_calls() {
    assert_eq!(in_current_span(|| 5), 5);
}
