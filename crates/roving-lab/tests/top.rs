//! `roving top` on a program that runs.
#![cfg(unix)]

mod common;

use std::ffi::OsStr;
use std::process::{Child, Command, Output, Stdio};
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

/// A program of two workers that runs long, with these variables.
fn watched(variables: &[(&str, &OsStr)]) -> Watched {
    let input = "leaf=10000,depth=4,repeats=100";
    let words = ["run", "stress", "--input", input, "--workers", "2"];
    let watched = Command::new(env!("CARGO_BIN_EXE_roving"))
        .args(words)
        .args(["--repeat", "100000"])
        .envs(variables.iter().copied())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    Watched(watched.unwrap())
}

/// The output of `look`, as soon as it shows both workers.
fn shown(look: impl Fn() -> Output) -> String {
    let patience = Instant::now() + Duration::from_secs(60);
    loop {
        let output = look();
        let seen = text(&output.stdout);
        if seen.contains("worker 1") {
            return seen;
        }
        assert!(Instant::now() < patience, "{seen}{}", text(&output.stderr));
        thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn the_only_program_is_found_without_its_number() {
    // A folder where other tests start no program.
    let folder = std::env::temp_dir().join(format!("roving-only-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder for sockets");
    let places = [
        ("XDG_RUNTIME_DIR", folder.as_os_str()),
        ("TMPDIR", folder.as_os_str()),
    ];
    let watched = watched(&[&places[..], &[("ROVING_TOP", OsStr::new("1"))]].concat());
    let seen = shown(|| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_roving"));
        let command = command.args(["top", "--once"]).envs(places);
        command.output().expect("the command starts")
    });
    let begin = format!("program {}\n", watched.0.id());
    assert!(seen.starts_with(&begin), "{seen}");
    drop(watched);
    std::fs::remove_dir_all(&folder).expect("the folder of the test");
}

#[test]
fn one_look_shows_each_worker() {
    // A socket's path is short by law.
    let socket = std::env::temp_dir().join(format!("roving-watched-{}.sock", std::process::id()));
    let watched = watched(&[("ROVING_TOP", socket.as_os_str())]);
    let path = socket.to_str().unwrap();
    let seen = shown(|| roving(&["top", path, "--once"]));
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
