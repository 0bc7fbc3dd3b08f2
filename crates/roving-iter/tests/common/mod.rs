//! Items and helpers that the test programs of this crate share.
#![allow(dead_code, reason = "each test program uses its own part of it")]

use std::io::Write as _;
use std::panic::Location;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

/// One of two sizes: under Miri each step costs a thousand times as much.
pub(crate) const fn size<T: Copy>(native: T, miri: T) -> T {
    if cfg!(miri) { miri } else { native }
}

/// Runs the body of a test that might hang. If it does, the process is aborted with the place of
/// the test: a hung test that is merely ended by its caller says nothing.
#[track_caller]
pub(crate) fn watched<R>(body: impl FnOnce() -> R) -> R {
    let limit = Duration::from_secs(100);
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

/// Something that one thread does, and for which another one waits.
#[derive(Default)]
pub(crate) struct Signal(AtomicBool);

impl Signal {
    pub(crate) fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
    pub(crate) fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
    pub(crate) fn wait(&self) {
        while !self.is_set() {
            thread::yield_now();
        }
    }
}
