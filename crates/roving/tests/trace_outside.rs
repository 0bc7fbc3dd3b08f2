//! Spans of threads that are no workers.

use std::thread;

use roving::{Pool, trace};

/// A server has a thread for each connection: of those that are gone not all are kept.
#[test]
#[cfg_attr(miri, ignore = "it reads the file that was written")]
fn spans_of_the_last_threads_are_kept() {
    let name = format!("outside-{}.json", std::process::id());
    let file = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let pool = Pool::builder().workers(1).trace(&file).build().unwrap();
    for number in 0..300 {
        let connection = move || drop(trace::span(format!("connection {number}.")));
        thread::spawn(connection).join().unwrap();
    }
    drop(pool);
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::remove_file(&file).unwrap();
    let kept = (0..300).filter(|number| text.contains(&format!("connection {number}.")));
    assert!(kept.eq(300 - 256..300));
}
