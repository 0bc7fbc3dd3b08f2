//! Networks of processes, as users of `roving run` and `roving bench` meet them.

mod common;

use common::{directory, roving, text};
use serde_json::Value;

/// Each network small, and what its answer is held against.
const SMALL: [(&str, &str, &str); 8] = [
    ("ring", "processes=20,rounds=30,capacity=1", "definition"),
    (
        "scatter-gather",
        "work=1us,processes=4,messages=1,rounds=20",
        "serial",
    ),
    (
        "kmeans",
        "rounds=5,points=1000,clusters=7,processes=4",
        "serial",
    ),
    ("h264", "processes=6,frames=4,frame_us=100", "serial"),
    (
        "random",
        "A,division=50,work_ms=1,messages=50,capacity=2",
        "serial",
    ),
    (
        "random",
        "B,division=50,work_ms=1,messages=50,capacity=2",
        "serial",
    ),
    ("chain", "processes=300,tokens=5,capacity=1", "definition"),
    (
        "compress",
        "megabytes=1,block_kib=64,lanes=3,capacity=1",
        "serial",
    ),
];

fn json(words: &[&str]) -> Value {
    let output = roving(&[words, &["--json", "-"]].concat());
    assert!(
        output.status.success(),
        "{words:?}: {}",
        text(&output.stderr)
    );
    serde_json::from_str(&text(&output.stdout)).expect("the output is JSON")
}

#[test]
fn every_network_is_listed_and_runs_under_every_placement_and_is_verified() {
    let list = text(&roving(&["list"]).stdout);
    for (network, input, evidence) in SMALL {
        assert!(list.contains(&format!("{network}: ")), "{list}");
        for placement in ["stealing", "partitioned", "adaptive"] {
            let result = json(&[
                "run",
                network,
                "--input",
                input,
                "--placement",
                placement,
                "--workers",
                "2",
                "--repeat",
                "2",
                "--profile",
            ]);
            assert_eq!(result["workload"], network);
            assert_eq!(result["input"], input);
            assert_eq!(result["placement"], placement);
            assert_eq!(result["verified"], evidence);
            assert!(result["processes"].as_u64() > Some(1), "{result}");
            assert!(result["channels"].as_u64() > Some(1), "{result}");
            let traffic = &result["traffic"];
            let count = |field: &str| traffic[field].as_u64().expect("a count");
            let received = count("local") + count("remote");
            // What nobody was left to receive was sent all the same.
            assert!((1..=count("messages")).contains(&received), "{traffic}");
            assert!(count("switches") > 0, "{traffic}");
            // Compensation threads that were started come after the workers.
            assert!(result["profile"]["workers"].as_array().map(Vec::len) >= Some(2));
        }
    }
}

#[test]
fn json_has_the_named_fields_and_no_others() {
    let result = json(&["run", "ring", "--input", "5,rounds=3", "--repeat", "1"]);
    let mut want = vec![
        "workload",
        "input",
        "workers",
        "placement",
        "policy",
        "verified",
        "seconds",
        "serial_seconds",
        "speedup",
        "items",
        "items_per_s",
        "build_seconds",
        "processes",
        "channels",
        "growths",
        "traffic",
        "profile",
    ];
    want.sort_unstable();
    let mut fields: Vec<&str> = result
        .as_object()
        .expect("an object")
        .keys()
        .map(String::as_str)
        .collect();
    fields.sort_unstable();
    assert_eq!(fields, want);
    assert!(result["traffic"].is_null() && result["profile"].is_null());
    assert_eq!(
        (&result["items"], &result["processes"]),
        (&15.into(), &5.into())
    );
}

#[test]
fn the_table_says_what_the_network_is_and_what_went_through_it() {
    let output = roving(&[
        "run",
        "ring",
        "--input",
        "9,rounds=20",
        "--workers",
        "2",
        "--repeat",
        "1",
        "--profile",
    ]);
    let table = text(&output.stdout);
    assert!(output.status.success(), "{}", text(&output.stderr));
    for part in [
        "ring processes=9,rounds=20,capacity=1 · 2 workers · steal one · stealing",
        "hops 180",
        "9 processes, 9 channels",
        "on one worker",
        "migrations",
        "█ busy",
    ] {
        assert!(table.contains(part), "no `{part}` in\n{table}");
    }
}

#[test]
fn a_network_is_drawn_into_a_file() {
    let words = [
        "run",
        "random",
        "--input",
        "B,division=20,work_ms=1",
        "--repeat",
        "1",
    ];
    for (name, begin) in [("network.svg", "<svg"), ("network.dot", "digraph")] {
        let path = directory(name);
        let path = path.to_str().expect("the path is UTF-8");
        let output = roving(&[&words[..], &["--graph", path]].concat());
        assert!(output.status.success(), "{}", text(&output.stderr));
        let picture = std::fs::read_to_string(path).expect("the picture");
        assert!(
            picture.starts_with(begin) && picture.contains("node 17"),
            "{picture}"
        );
    }
}

#[test]
fn what_cannot_be_done_is_said_in_one_line() {
    for (words, parts) in [
        (
            &["run", "ring", "--input", "0"][..],
            &["ring processes `0`", "from 1 to"][..],
        ),
        (
            &["run", "ring", "--input", "speed=1"],
            &["`speed`", "processes, rounds"],
        ),
        (&["run", "random", "--input", "C"], &["`C`", "A or B"]),
        (
            &["run", "scatter-gather", "--input", "work=9s"],
            &["`9s`", "1ns to 1s"],
        ),
        (
            &["run", "compress", "--input", "file=/no/such"],
            &["`/no/such`", "can be read"],
        ),
        (
            &["run", "ring", "--form", "fork"],
            &["--form `fork`", "leave it out"],
        ),
        (
            &["run", "ring", "--placement", "random"],
            &["--placement `random`", "stealing"],
        ),
        (&["run", "ring", "--workers", "0"], &["--workers `0`"]),
        (
            &["run", "ring", "--json", "/no/such/folder/x.json"],
            &["/no/such/folder/x.json"],
        ),
        (
            &["run", "fib", "--placement", "stealing"],
            &["--placement `stealing`", "no network"],
        ),
        (
            &["run", "fib", "--graph", "x.svg"],
            &["--graph `x.svg`", "no network"],
        ),
        (
            &["run", "ring", "--graph", "x.png"],
            &["--graph `x.png`", ".svg"],
        ),
        #[cfg(feature = "rivals")]
        (&["compare", "ring"], &["`ring`", "bench networks"]),
    ] {
        let output = roving(words);
        let line = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{words:?}: {line}");
        assert_eq!(line.matches('\n').count(), 1, "{words:?}: {line}");
        for part in parts {
            assert!(line.contains(part), "no `{part}` in: {line}");
        }
    }
}

#[cfg(feature = "rivals")]
#[test]
fn rows_about_networks_are_measured_and_written_down() {
    let out = directory("bench-networks");
    let path = out.display().to_string();
    let rows = ["networks-ring", "networks-compress", "networks-chain"];
    let output = roving(&[&["bench", "--quick", "--out", &path], &rows[..]].concat());
    assert!(output.status.success(), "{}", text(&output.stderr));
    let said = text(&output.stdout);
    for part in [
        "ring small, 2 workers: hops a second",
        "time of the best rival",
        "peak memory a process",
    ] {
        assert!(
            said.contains(part) || cfg!(not(target_os = "linux")),
            "no `{part}` in\n{said}"
        );
    }
    for row in rows {
        let csv = std::fs::read_to_string(out.join(format!("{row}.csv"))).expect("the CSV");
        assert!(csv.contains("\nmeasurement,"), "{csv}");
    }
}

#[cfg(feature = "rivals")]
#[test]
fn the_figures_of_the_paper_have_their_files() {
    let out = directory("bench-paper");
    let path = out.display().to_string();
    let output = roving(&["bench", "--quick", "--out", &path, "networks-paper"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    // Of figure 7 a row is a run: a lane that is slow, as on a busy machine, has one.
    for (sheet, head, rows) in [
        ("table-1", "placement,workers,runs,seconds_median", 6..=6),
        (
            "figure-4",
            "network,parameter,placement,workers,runs,",
            6 * 6..=6 * 6,
        ),
        (
            "figure-5",
            "work_division,placement,workers,",
            2 * 6..=2 * 6,
        ),
        ("figure-6", "work_us,placement,workers,", 3 * 2..=3 * 2),
        (
            "figure-7",
            "idle_threshold_us,run,seconds,repartitions",
            11..=11 * 2,
        ),
    ] {
        let name = format!("networks-paper-{sheet}.csv");
        let csv = std::fs::read_to_string(out.join(&name)).expect("the CSV");
        assert!(csv.starts_with(head), "{name}: {csv}");
        assert!(rows.contains(&(csv.lines().count() - 1)), "{name}: {csv}");
    }
    let csv = std::fs::read_to_string(out.join("networks-paper-figure-7.csv")).expect("the CSV");
    let thresholds = csv.lines().skip(1).map(|row| row.split(',').next());
    assert_eq!(
        thresholds.collect::<std::collections::BTreeSet<_>>().len(),
        11,
        "{csv}"
    );
    for figure in ["figure-5", "figure-6"] {
        let name = format!("networks-paper-{figure}.svg");
        let svg = std::fs::read_to_string(out.join(&name)).expect("the plot");
        assert!(
            svg.starts_with("<svg") && svg.contains("stealing, 2 workers"),
            "{name}: {svg}"
        );
    }
}
