//! A watchdog.

use std::io::Write as _;
use std::panic::Location;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

/// Runs the body of a test that might hang: then the process is aborted, with a message.
#[track_caller]
pub(crate) fn watched(body: impl FnOnce()) {
    let place = Location::caller();
    let (over, is_over) = mpsc::channel::<()>();
    let dog = thread::spawn(move || {
        // Under Miri, all takes longer.
        let limit = Duration::from_secs(if cfg!(miri) { 3600 } else { 300 });
        if is_over.recv_timeout(limit) == Err(RecvTimeoutError::Timeout) {
            // Not with a macro: what those print is kept back until the test has ended.
            let text = format!("\nthe test at {place} hangs\n");
            let _ = std::io::stderr().write_all(text.as_bytes());
            std::process::abort();
        }
    });
    body();
    drop(over);
    dog.join().unwrap();
}
