//! The span of the `tracing` crate is inherited, whoever runs what was made in it.

mod common;

use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use common::{join_stolen, pool, tries, watched};
use roving::context::in_current_span;
use roving::scope;
use roving::task::{fork, spawn};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Span, Subscriber};
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

/// In one span, which can be entered once.
struct EnteredOnce(AtomicUsize);

impl Subscriber for EnteredOnce {
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
        assert_eq!(self.0.fetch_add(1, SeqCst), 0, "entered again");
    }

    fn exit(&self, _: &Id) {}

    fn current_span(&self) -> Current {
        let span = tracing::info_span!("known");
        Current::new(Id::from_u64(1), span.metadata().unwrap())
    }
}

#[test]
fn a_subscriber_that_panics_leaves_nobody_in_a_context() {
    tracing::subscriber::with_default(EnteredOnce(AtomicUsize::new(0)), || {
        let _known = tracing::info_span!("known").entered();
        let caught = std::panic::catch_unwind(|| in_current_span(|| unreachable!()));
        assert!(caught.is_err());
        let here = format!("{:?}", roving::context::current());
        assert!(here.contains("empty: true"), "{here}");
    });
}

#[test]
fn without_a_span_it_just_calls() {
    assert_eq!(in_current_span(|| 5), 5);
}
