//! Spans of the `tracing` crate in a trace.

use std::cell::RefCell;
use std::sync::{Once, mpsc};
use std::thread;

use tracing::subscriber::with_default;
use tracing_subscriber::layer::SubscriberExt as _;

/// For all threads, also those that are about to end.
fn with_spans() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let subscriber = tracing_subscriber::registry().with(roving::trace::SpanLayer);
        tracing::subscriber::set_global_default(subscriber).unwrap();
    });
}

#[test]
#[cfg_attr(miri, ignore = "it reads the file that was written")]
fn spans_of_tracing_are_in_the_trace() {
    let file = std::env::temp_dir().join(format!("roving-{}-tracing.json", std::process::id()));
    with_spans();
    let pool = roving::Pool::builder()
        .workers(2)
        .trace(&file)
        .build()
        .unwrap();
    pool.install(|| {
        let outer = tracing::info_span!("outer");
        let _outer = outer.enter();
        for _ in 0..3 {
            tracing::info_span!("inner").in_scope(|| outer.in_scope(|| ()));
        }
    });
    drop(pool);
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::remove_file(&file).unwrap();
    let trace: serde_json::Value = serde_json::from_str(&text).unwrap();
    let events = trace["traceEvents"].as_array().unwrap();
    let count = |name: &str| events.iter().filter(|event| event["name"] == name).count();
    assert_eq!((count("outer"), count("inner")), (4, 3));
}

/// A span that is entered when the thread has dropped what `SpanLayer` kept for it, and not yet
/// what the subscriber keeps, which had spans before.
#[test]
fn a_thread_local_destructor_enters_a_span() {
    struct AtEnd(mpsc::Sender<()>, tracing::Span);
    impl Drop for AtEnd {
        fn drop(&mut self) {
            self.1.in_scope(|| ());
            self.0.send(()).unwrap();
        }
    }
    thread_local! {
        static AT_END: RefCell<Option<AtEnd>> = const { RefCell::new(None) };
    }
    with_spans();
    let (sender, receiver) = mpsc::channel();
    let ends = thread::spawn(|| {
        let without = tracing_subscriber::registry();
        with_default(without, || tracing::info_span!("first").in_scope(|| ()));
        AT_END.set(Some(AtEnd(sender, tracing::info_span!("last"))));
        tracing::info_span!("second").in_scope(|| ());
    });
    ends.join().unwrap();
    assert_eq!(receiver.recv(), Ok(()));
}
