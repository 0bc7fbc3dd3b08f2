//! `roving run … --device` as its users meet it.

mod common;

use common::{directory, roving, text};
use serde_json::Value;

/// Small runs of everything.
const SMALL: [(&str, &str); 7] = [
    ("matmul", "128,tile=32"),
    ("cholesky", "96,tile=24,numbers=f64"),
    ("nbody", "128,block=32,steps=2"),
    ("mandelbrot", "64,tile=16,most=100"),
    ("image-pipeline", "6,side=48"),
    ("fib", "15"),
    ("flat", "1000"),
];

/// The output of a good command.
fn printed(words: &[&str]) -> String {
    let output = roving(words);
    assert!(
        output.status.success(),
        "{words:?}: {}",
        text(&output.stderr)
    );
    text(&output.stdout)
}

/// The one line that a bad command prints, with exit status 2.
fn refused(words: &[&str]) -> String {
    let output = roving(words);
    let line = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{words:?}: {line}");
    assert_eq!(line.matches('\n').count(), 1, "{words:?}: {line}");
    line
}

fn json(words: &[&str]) -> Value {
    let text = printed(&[words, &["--json", "-"]].concat());
    serde_json::from_str(&text).expect("the output is JSON")
}

#[test]
fn every_program_is_listed_and_runs_and_is_verified() {
    let list = printed(&["list"]);
    for (name, input) in SMALL {
        assert!(list.contains(&format!("{name} --device: ")), "{list}");
        for device in ["none", "auto", "sim:10", "sim:2,split:0.5,fail:3"] {
            let words = [
                "run", name, "--input", input, "--repeat", "2", "--device", device,
            ];
            let result = json(&words);
            assert_eq!(result["workload"], name);
            assert_eq!(result["verified"], "serial");
            assert_eq!(result["device"], device);
            assert!(result["seconds"]["median"].as_f64() > Some(0.0), "{result}");
        }
    }
}

#[test]
fn tasks_without_a_second_side_are_compared_with_the_serial_run_as_it_was() {
    let words = [
        "run",
        "fib",
        "--input",
        "27",
        "--repeat",
        "1",
        "--workers",
        "2",
    ];
    let result = json(&[&words[..], &["--device", "sim:10"]].concat());
    // Two workers cannot be a thousand times as fast as one thread at the same speed; nor a hundred
    // times, however often that is kept from its core in so long a run.
    let speedup = result["speedup"].as_f64().expect("a number");
    assert!(speedup < 100.0, "{result}");
}

#[test]
fn programs_that_have_no_other_form_need_no_option() {
    let table = printed(&["run", "nbody", "--input", "64,steps=1", "--repeat", "1"]);
    assert!(
        table.contains("device auto") && table.contains("verified"),
        "{table}"
    );
}

#[test]
fn without_a_device_it_says_why_and_what_to_do() {
    let table = printed(&[
        "run", "matmul", "--input", "64", "--device", "none", "--repeat", "1",
    ]);
    assert!(table.contains("none, as --device none says"), "{table}");
}

#[test]
fn wrong_words_get_one_line_and_status_2() {
    let folder = directory("duals-wrong").join("no/such/trace.json");
    let folder = folder.display().to_string();
    for (words, part) in [
        (&["run", "matmul", "--device", "fast"][..], "`fast`"),
        (&["run", "matmul", "--device", "sim:0"], "`sim:0`"),
        (&["run", "matmul", "--device", "split:2"], "`split:2`"),
        (&["run", "sort", "--device", "auto"], "`sort`"),
        (&["run", "ring", "--device", "auto"], "`ring`"),
        (
            &["run", "matmul", "--device", "none", "--form", "fork"],
            "--form `fork`",
        ),
        (
            &["run", "nbody", "--placement", "stealing"],
            "--placement `stealing`",
        ),
        (
            &["run", "matmul", "--input", "100,tile=7", "--device", "none"],
            "`7`",
        ),
        (&["run", "matmul", "--trace", "t.json"], "--trace `t.json`"),
        (
            &["run", "matmul", "--explain"],
            "--explain is about the choice between CPU and device: add --device auto",
        ),
        (
            &["run", "matmul", "--device", "none", "--trace", &folder],
            "--trace",
        ),
        (&["compare", "nbody"], "`nbody`"),
    ] {
        let line = refused(words);
        assert!(line.contains(part), "{line}");
    }
}

#[test]
fn a_profile_has_lanes_and_a_trace_is_written() {
    let folder = directory("duals-trace");
    std::fs::create_dir_all(&folder).expect("a folder");
    let path = folder.join("trace.json").display().to_string();
    let words = [
        "run",
        "matmul",
        "--input",
        "96,tile=32",
        "--device",
        "sim:4,gpu",
        "--repeat",
        "1",
    ];
    let table = printed(&[&words[..], &["--profile", "--trace", &path]].concat());
    for part in [
        "kernel ",
        "transfer ",
        "idle ",
        "multiply f32",
        "as chosen",
        "simulated 4",
    ] {
        assert!(table.contains(part), "{part}: {table}");
    }
    let trace = std::fs::read_to_string(&path).expect("the trace");
    let trace: Value = serde_json::from_str(&trace).expect("the trace is JSON");
    assert!(trace.to_string().contains("multiply f32"), "{trace}");
    let result = json(&[&words[..], &["--profile"]].concat());
    let lane = &result["lanes"][0];
    // A launch for each of 27 products, in one run.
    assert_eq!(lane["launches"], 27, "{lane}");
    assert_eq!(
        result["decisions"][0]["gpu"]["as chosen"].as_u64(),
        Some(27),
        "{result}"
    );
}

#[test]
fn devices_beside_each_other_have_a_lane_each() {
    let words = [
        "run",
        "cholesky",
        "--input",
        "200,tile=40",
        "--device",
        "sim:4,gpu,devices:2",
        "--profile",
    ];
    let table = printed(&words);
    for part in [
        "2, simulated: each 4 times",
        "simulated 4 #1 ",
        "simulated 4 #2 ",
        " of the tasks taken from other devices; ",
    ] {
        assert!(table.contains(part), "{part}: {table}");
    }
    let result = json(&words);
    let lanes = result["lanes"].as_array().expect("lanes");
    let sum = |name: &str| {
        lanes
            .iter()
            .map(|lane| lane[name].as_u64())
            .sum::<Option<u64>>()
    };
    // What one gave another one has got.
    assert_eq!(lanes.len(), 2);
    assert_eq!(sum("bytes_from_peers"), sum("bytes_to_peers"), "{lanes:?}");
    assert!(sum("tasks_taken") <= sum("tasks"), "{lanes:?}");
}

#[test]
fn choices_are_explained() {
    let words = [
        "run",
        "matmul",
        "--input",
        "96,tile=32",
        "--device",
        "sim:4",
    ];
    let heading = "The times that were expected of each kind and size, and that came";
    assert!(!printed(&words).contains(heading));
    let table = printed(&[&words[..], &["--explain"]].concat());
    for part in [
        heading,
        "multiply f32, work ",
        " decided; expected ",
        " ms on the CPU",
    ] {
        assert!(table.contains(part), "{part}: {table}");
    }
    let none = [
        "run",
        "matmul",
        "--input",
        "96,tile=32",
        "--device",
        "none",
        "--explain",
    ];
    assert!(printed(&none).contains("no task was chosen for by times of both sides"));
}

#[test]
fn rows_are_measured_and_say_what_is_not_here() {
    let out = directory("duals-bench");
    let path = out.display().to_string();
    let said = printed(&[
        "bench",
        "--quick",
        "--out",
        &path,
        "duals-overhead",
        "duals-cuda",
    ]);
    assert!(said.contains("time per task beyond fib(22)"), "{said}");
    let csv = std::fs::read_to_string(out.join("duals-overhead.csv")).expect("the CSV");
    assert_eq!(csv.matches("\nclaim,").count(), 5, "{csv}");
    assert!(
        csv.contains("with a CPU side only, 1 worker, beside a device"),
        "{csv}"
    );
    let csv = std::fs::read_to_string(out.join("duals-cuda.csv")).expect("the CSV");
    let absent = csv.contains("no CUDA device");
    assert!(absent || csv.contains("cuBLAS"), "{csv}");
}
