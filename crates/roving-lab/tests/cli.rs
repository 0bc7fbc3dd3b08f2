//! The `roving` command as its users meet it.

mod common;

use std::process::{Command, Stdio};

use common::{directory, roving, text};
use serde_json::Value;

/// The output of a good command.
fn printed(words: &[&str]) -> String {
    let output = roving(words);
    assert!(
        output.status.success(),
        "{words:?}: {}",
        text(&output.stderr)
    );
    assert_eq!(text(&output.stderr), "", "{words:?}");
    text(&output.stdout)
}

/// The one line that a bad command prints, with exit status 2.
fn refused(words: &[&str]) -> String {
    let output = roving(words);
    let line = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{words:?}: {line}");
    assert_eq!(text(&output.stdout), "", "{words:?}");
    assert_eq!(line.matches('\n').count(), 1, "{words:?}: {line}");
    line
}

fn json(words: &[&str]) -> Value {
    let text = printed(&[words, &["--json", "-"]].concat());
    serde_json::from_str(&text).expect("the output is JSON")
}

#[test]
fn every_workload_is_listed_and_runs_and_is_verified() {
    let list = printed(&["list"]);
    for (workload, input, evidence) in [
        ("fib", "20", "definition"),
        ("uts", "-t1 -a3 -d5 -b4 -r19", "serial"),
        ("stress", "leaf=10,depth=3,repeats=50", "serial"),
        ("nqueens", "7", "published"),
        ("flat", "2000", "definition"),
        ("matmul", "64", "serial"),
        ("sort", "20000", "definition"),
        ("strassen", "128", "definition"),
        ("sparselu", "9x12", "definition"),
        ("fft", "4096", "definition"),
        ("cholesky", "rows=150,pairs=300", "definition"),
        ("substring", "12", "definition"),
        ("skynet", "1000", "definition"),
        ("skynet", "1000,by=scope", "definition"),
    ] {
        assert!(list.contains(&format!("{workload}: ")), "{list}");
        for form in ["join", "fork", "spawn", "branch"] {
            let result = json(&[
                "run", workload, "--input", input, "--repeat", "2", "--form", form,
            ]);
            assert_eq!(result["workload"], workload);
            assert_eq!(result["input"], input);
            assert_eq!(result["form"], form);
            assert_eq!(result["verified"], evidence);
            assert!(result["spawns"].as_u64() > Some(0), "{result}");
        }
    }
}

#[test]
fn json_has_the_named_fields_and_no_others() {
    let words = [
        "run",
        "uts",
        "--input",
        "-t0 -b100 -q0.2 -m4 -r0",
        "--workers",
        "2",
    ];
    let result = json(
        &[
            &words[..],
            &["--steal", "half", "--repeat", "3", "--profile"],
        ]
        .concat(),
    );
    let fields: Vec<&String> = result.as_object().expect("an object").keys().collect();
    let mut want = vec![
        "workload",
        "input",
        "workers",
        "form",
        "policy",
        "verified",
        "seconds",
        "serial_seconds",
        "speedup",
        "items",
        "items_per_s",
        "spawns",
        "overhead_ns_per_spawn",
        "profile",
    ];
    want.sort_unstable();
    let mut fields: Vec<&str> = fields.into_iter().map(String::as_str).collect();
    fields.sort_unstable();
    assert_eq!(fields, want);
    assert_eq!(result["workers"], 2);
    assert_eq!(result["policy"], "half");
    assert_eq!(result["items"], 489);
    let seconds = &result["seconds"];
    assert!(
        seconds["min"].as_f64() > Some(0.0)
            && seconds["median"].as_f64() >= seconds["min"].as_f64()
    );
    let speedup = result["serial_seconds"].as_f64().unwrap() / seconds["median"].as_f64().unwrap();
    assert!((result["speedup"].as_f64().unwrap() - speedup).abs() < 1e-9);
    // Compensation threads that were started come after the workers.
    assert!(result["profile"]["workers"].as_array().map(Vec::len) >= Some(2));
    assert!(result["profile"]["total"]["counters"]["tasks"].is_u64());
    let plain = json(&["run", "fib", "--input", "1", "--repeat", "1"]);
    assert!(
        plain["profile"].is_null() && plain["overhead_ns_per_spawn"].is_null(),
        "{plain}"
    );
}

#[test]
fn the_table_says_what_was_found_and_how_it_was_verified() {
    // A whole sample tree takes long without optimisation.
    let tree = if cfg!(debug_assertions) {
        "-t0 -b100 -q0.124875 -m8 -r42"
    } else {
        "T3"
    };
    let found = if cfg!(debug_assertions) {
        [
            "nodes 6,797, depth 67, leaves 5,959",
            "equal to a serial run",
        ]
    } else {
        [
            "nodes 4,112,897, depth 1,572, leaves 3,599,034",
            "equal to the published figures",
        ]
    };
    let words = [
        "run",
        "uts",
        "--input",
        tree,
        "--repeat",
        "1",
        "--workers",
        "2",
        "--profile",
    ];
    let table = printed(&words);
    let heading = format!("uts {tree} · 2 workers · steal one");
    for part in [
        &heading, found[0], found[1], "speed-up", "nodes/s", "worker 1", "█ busy",
    ] {
        assert!(table.contains(part), "no `{part}` in\n{table}");
    }
}

#[test]
fn json_goes_into_a_file_beside_the_table() {
    let file = directory("fib.json");
    let path = file.to_str().expect("the path is UTF-8");
    let table = printed(&[
        "run", "fib", "--input", "15", "--repeat", "1", "--json", path,
    ]);
    assert!(table.contains("fib 15"), "{table}");
    let result: Value = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
    assert_eq!(result["workload"], "fib");
}

#[test]
fn what_cannot_be_done_is_said_in_one_line() {
    for (words, parts) in [
        (
            &["run", "fibb"][..],
            &["`fibb`", "fib, uts", "roving list"][..],
        ),
        (&["run", "fib", "--input", "61"], &["`61`", "from 0 to 60"]),
        (&["run", "uts", "--input", "T9"], &["T9", "roving list"]),
        (
            &["run", "strassen", "--input", "1000"],
            &["`1000`", "power of two from 64", "take strassen 1024"],
        ),
        (
            &["run", "sparselu", "--input", "50"],
            &["`50`", "BLOCKSxSIDE", "take sparselu 25x100"],
        ),
        (
            &["run", "fft", "--input", "1000"],
            &["`1000`", "power of two", "take fft 1M"],
        ),
        (
            &["run", "cholesky", "--input", "rows=0"],
            &["`0`", "from 1 to 16384", "take cholesky 2000"],
        ),
        (
            &["run", "substring", "--input", "31"],
            &["`31`", "from 1 to 30", "take substring 20"],
        ),
        (
            &["run", "uts", "--input", "-q7"],
            &["-q `7`", "from 0 to 1"],
        ),
        (
            &["run", "fib", "--workers", "0"],
            &["--workers `0`", "from 1 to", "leave it out"],
        ),
        (
            &["run", "fib", "--workers", "-1"],
            &["--workers `-1`", "from 1 to"],
        ),
        (
            &["run", "fib", "--repeat", "none"],
            &["--repeat `none`", "from 1 to"],
        ),
        (
            &["run", "fib", "--steal", "fixed:0"],
            &["--steal `fixed:0`", "fixed:D", "half"],
        ),
        (&["run", "fib", "--steal", "all"], &["--steal `all`", "one"]),
        (
            &["run", "fib", "--form", "await"],
            &["--form `await`", "join, fork, spawn, branch"],
        ),
        (
            &["run", "fib", "--json", "/no/such/folder/x.json"],
            &["/no/such/folder/x.json"],
        ),
        (&["run"], &["WORKLOAD", "--help"]),
        (&["run", "fib", "--speed", "9"], &["--speed", "--help"]),
        (&["dance"], &["dance", "--help"]),
    ] {
        let line = refused(words);
        for part in parts {
            assert!(line.contains(part), "no `{part}` in: {line}");
        }
    }
}

#[test]
fn an_option_that_is_out_of_place_is_told_where_to_go() {
    for (words, parts) in [
        (
            &["run", "fib", "--inptu", "9"][..],
            &["'--inptu' found; a similar argument exists: '--input'"][..],
        ),
        (
            &["run", "fib", "--explain"],
            &["--explain is about", "add --device auto"],
        ),
        (
            &["run", "fib", "--trace", "it.json"],
            &["--trace `it.json`", "add --device auto", "ROVING_TRACE"],
        ),
    ] {
        let line = refused(words);
        for part in parts {
            assert!(line.contains(part), "no `{part}` in: {line}");
        }
    }
}

#[test]
fn the_number_of_workers_may_come_from_the_environment() {
    let run = |workers: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_roving"));
        command.args(["run", "fib", "--input", "20", "--repeat", "1"]);
        let output = command.env("ROVING_WORKERS", workers).output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (
            output.status.success(),
            text(&output.stdout),
            text(&output.stderr),
        )
    };
    let (ok, said, _) = run("3");
    assert!(ok && said.contains("3 workers"), "{said}");
    let (ok, said, _) = run("");
    assert!(ok && said.contains("worker"), "{said}");
    let (ok, _, error) = run("many");
    assert!(
        !ok && error.contains("ROVING_WORKERS `many`") && error.contains("unset it"),
        "{error}"
    );
}

#[test]
fn help_and_version_are_no_errors() {
    assert!(printed(&["--help"]).contains("Usage: roving"));
    assert!(printed(&["run", "--help"]).contains("--steal"));
    assert!(printed(&["--version"]).starts_with("roving "));
}

/// As under `roving list | head -0`.
#[test]
fn a_reader_that_leaves_is_no_error() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_roving"))
        .arg("list")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{:?}", output.status);
    assert_eq!(text(&output.stderr), "");
}

#[cfg(not(feature = "rivals"))]
#[test]
fn what_is_not_built_says_how_it_is() {
    for (words, what, call) in [
        (
            &["compare", "uts", "--against", "rayon"][..],
            "`roving compare`",
            "--features rivals -- compare uts --against rayon",
        ),
        (
            &["bench", "--help"],
            "`roving bench`",
            "--features rivals -- bench --help",
        ),
        (&["repro"], "`roving repro`", "--features rivals -- repro"),
        (
            &["top", "--once"],
            "`roving top`",
            "--features top -- top --once",
        ),
        (
            &["run", "nbody"],
            "the GPU side of `nbody`",
            "--features gpu -- run nbody",
        ),
        (
            &["run", "uts", "--device", "auto"],
            "the GPU side of `uts`",
            "--features gpu -- run uts --device auto",
        ),
        (
            &["run", "uts", "--dist"],
            "`--dist`",
            "--features mpi -- run uts --dist",
        ),
    ] {
        let line = refused(words);
        let start = format!("roving: {what} is not in this build; it needs: ");
        assert!(line.starts_with(&start), "{line}");
        assert!(
            line.ends_with(&format!("cargo run --release {call}\n")),
            "{line}"
        );
    }
    let help = printed(&["--help"]);
    assert!(help.contains("Not in this build: compare"), "{help}");
}
