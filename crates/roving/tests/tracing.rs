//! Spans of the `tracing` crate in a trace.

use tracing_subscriber::layer::SubscriberExt as _;

#[test]
#[cfg_attr(miri, ignore = "it reads the file that was written")]
fn spans_of_tracing_are_in_the_trace() {
    let file = std::env::temp_dir().join(format!("roving-{}-tracing.json", std::process::id()));
    let subscriber = tracing_subscriber::registry().with(roving::trace::SpanLayer);
    tracing::subscriber::set_global_default(subscriber).unwrap();
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
