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

/// What a good command prints.
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
        for device in [
            "none",
            "auto",
            "sim:10",
            "sim:0.5,gpu",
            "sim:2,split:0.5,fail:3",
        ] {
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
            &["run", "matmul", "--device", "none", "--trace", &folder],
            "--trace",
        ),
        (&["compare", "nbody"], "`nbody`"),
    ] {
        let line = refused(words);
        assert!(line.contains(part), "{line}");
    }
}
