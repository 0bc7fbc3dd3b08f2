//! `roving top` on a program that runs.
#![cfg(unix)]

mod common;

use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use common::{roving, text};

/// A program that is ended with the test.
struct Watched(Child);

impl Drop for Watched {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn one_look_shows_each_worker() {
    // A socket's path is short by law.
    let socket = std::env::temp_dir().join(format!("roving-watched-{}.sock", std::process::id()));
    let input = "leaf=10000,depth=4,repeats=100";
    let words = [
        "run",
        "stress",
        "--input",
        input,
        "--workers",
        "2",
        "--repeat",
        "100000",
    ];
    let watched = Command::new(env!("CARGO_BIN_EXE_roving"))
        .args(words)
        .env("ROVING_TOP", &socket)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    let watched = Watched(watched.unwrap());
    let path = socket.to_str().unwrap();
    let patience = Instant::now() + Duration::from_secs(60);
    let seen = loop {
        let output = roving(&["top", path, "--once"]);
        let seen = text(&output.stdout);
        if seen.contains("worker 1") {
            break seen;
        }
        assert!(Instant::now() < patience, "{seen}{}", text(&output.stderr));
        thread::sleep(Duration::from_millis(20));
    };
    assert!(
        seen.starts_with(&format!("program {}\n", watched.0.id())),
        "{seen}"
    );
    assert!(
        seen.contains("2 workers") && seen.contains("worker 0"),
        "{seen}"
    );
    drop(watched);
    let output = roving(&["top", path, "--once"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("is the program still running?"));
    std::fs::remove_file(&socket).expect("who is killed leaves its socket behind");
}

#[test]
fn what_cannot_be_watched_is_one_line() {
    for (words, part) in [
        (&["top", "4294967295"][..], "ROVING_TOP=1"),
        (
            &["top", "/no/such/socket"],
            "a program's number or its socket",
        ),
        (&["top", "--every", "1"], "from 20 to 60000"),
    ] {
        let output = roving(words);
        let line = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{line}");
        assert!(
            line.contains(part) && line.matches('\n').count() == 1,
            "{line}"
        );
    }
}
