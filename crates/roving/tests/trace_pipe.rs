//! A trace that goes into a pipe.
#![cfg(target_os = "linux")]
#![allow(unsafe_code, reason = "mkfifo")]

mod common;

use std::ffi::CString;
use std::fs::{self, File};
use std::io::Read as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use roving::{Pool, trace};

/// A pipe takes no more than its reader has made room for. In the other file the spans of threads
/// outside are counted, so this test has a program of its own.
#[test]
#[cfg_attr(miri, ignore = "it makes a named pipe")]
fn a_trace_that_nobody_reads_yet_keeps_no_span_from_its_end() {
    let name = format!("pipe-{}.json", std::process::id());
    let pipe = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let path = CString::new(pipe.as_os_str().as_bytes()).unwrap();
    // SAFETY: the path is a string of C's.
    assert_eq!(unsafe { libc::mkfifo(path.as_ptr(), 0o600) }, 0);
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
