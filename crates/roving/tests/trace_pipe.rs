//! A trace that goes into a pipe.
#![cfg(target_os = "linux")]
#![allow(unsafe_code, reason = "mkfifo")]

mod common;

use std::ffi::CString;
use std::fs::{self, File};
use std::io::Read as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use roving::{Pool, trace};
use serde_json::Value;

/// A pipe takes no more than its reader has made room for. In the other file the spans of threads
/// outside are counted, so these tests have a program of their own.
fn pipe(name: &str) -> PathBuf {
    let name = format!("{name}-{}.json", std::process::id());
    let pipe = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let path = CString::new(pipe.as_os_str().as_bytes()).unwrap();
    // SAFETY: the path is a string of C's.
    assert_eq!(unsafe { libc::mkfifo(path.as_ptr(), 0o600) }, 0);
    pipe
}

#[test]
#[cfg_attr(miri, ignore = "it makes a named pipe")]
fn a_trace_that_nobody_reads_yet_keeps_no_span_from_its_end() {
    let pipe = pipe("pipe");
    let pool = Pool::builder().workers(1).trace(&pipe).build().unwrap();
    // More than a pipe holds.
    drop(trace::span("long ".repeat(1 << 20)));
    common::watched(|| {
        let writer = thread::spawn(|| drop(pool));
        let mut reader = File::open(&pipe).unwrap();
        // What comes first is there: the rest is being written.
        let mut text = vec![0; 1];
        reader.read_exact(&mut text).unwrap();
        let (ended, ends) = mpsc::channel();
        thread::spawn(move || {
            drop(trace::span("short"));
            ended.send(()).unwrap();
        });
        ends.recv_timeout(Duration::from_secs(60)).unwrap();
        reader.read_to_end(&mut text).unwrap();
        writer.join().unwrap();
        assert!(String::from_utf8(text).unwrap().contains("long long"));
    });
    fs::remove_file(&pipe).unwrap();
}

/// It began before all that the trace tells of, whose times count from there.
#[test]
#[cfg_attr(miri, ignore = "it makes a named pipe")]
fn a_span_that_ends_while_a_trace_is_written_is_no_shorter_there() {
    let pipe = pipe("late");
    // From here on spans are kept.
    let before = Pool::builder().workers(1).trace(Path::new("/dev/null"));
    let before = before.build().unwrap();
    common::watched(|| {
        let (late, began) = (trace::span("late"), Instant::now());
        thread::sleep(Duration::from_millis(10));
        let pool = Pool::builder().workers(1).trace(&pipe).build().unwrap();
        // This thread has a lane, which comes after more than a pipe holds.
        drop(trace::span("early"));
        pool.install(|| drop(trace::span("long ".repeat(1 << 20))));
        let writer = thread::spawn(|| drop(pool));
        let mut reader = File::open(&pipe).unwrap();
        let mut text = vec![0; 1];
        reader.read_exact(&mut text).unwrap();
        let at_least = began.elapsed().as_micros() as f64;
        drop(late);
        reader.read_to_end(&mut text).unwrap();
        writer.join().unwrap();
        let trace: Value = serde_json::from_slice(&text).unwrap();
        let events = trace["traceEvents"].as_array().unwrap();
        let named = |name| events.iter().filter(move |event| event["name"] == name);
        assert_eq!(named("early").count(), 1);
        for late in named("late") {
            assert!(late["dur"].as_f64().unwrap() >= at_least, "{late}");
        }
    });
    drop(before);
    fs::remove_file(&pipe).unwrap();
}
