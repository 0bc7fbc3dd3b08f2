//! Tools for several test programs: a watchdog, and a way to wait.
#![allow(dead_code, reason = "each test program uses its own part of it")]

use std::io::Write as _;
use std::panic::Location;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use rayon_core::{ThreadPool, ThreadPoolBuilder};

/// Runs the body of a test that might hang. If it does, the process is aborted with the name of
/// the test: a hung test that is merely ended by its caller says nothing.
#[track_caller]
pub(crate) fn watched<R>(body: impl FnOnce() -> R) -> R {
    let limit = Duration::from_secs(300);
    let place = Location::caller();
    let (over, is_over) = mpsc::channel::<()>();
    let dog = thread::spawn(move || {
        if is_over.recv_timeout(limit) == Err(RecvTimeoutError::Timeout) {
            // Not with a macro: what those print is kept back until the test has ended.
            let text = format!("\nthe test at {place} hangs: not over after {limit:?}\n");
            let _ = std::io::stderr().write_all(text.as_bytes());
            std::process::abort();
        }
    });
    let result = body();
    drop(over);
    dog.join().expect("the watchdog does not panic");
    result
}

/// Waits, asleep, until the condition holds.
pub(crate) fn wait_until(condition: impl Fn() -> bool) {
    while !condition() {
        thread::sleep(Duration::from_micros(200));
    }
}

/// A pool with so many threads.
pub(crate) fn pool(threads: usize) -> ThreadPool {
    let builder = ThreadPoolBuilder::new().num_threads(threads);
    builder.build().expect("a small pool can be built")
}

/// A pool with so many threads, all of them the test's own.
pub(crate) fn own_threads(threads: usize) -> ThreadPool {
    let builder = ThreadPoolBuilder::new().num_threads(threads);
    let builder = builder.spawn_handler(|thread| {
        thread::Builder::new().spawn(|| thread.run())?;
        Ok(())
    });
    builder.build().expect("a small pool can be built")
}
