//! `roving bench` as its users meet it.

mod common;

use common::{directory, roving, text};

#[test]
fn rows_are_measured_and_written_down() {
    let out = directory("bench");
    let path = out.display().to_string();
    let output = roving(&["bench", "--quick", "--out", &path, "fib-1", "wake"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let said = text(&output.stdout);
    assert!(
        said.contains("fib(27), 1 worker: our time / chili's"),
        "{said}"
    );
    let csv = std::fs::read_to_string(out.join("fib-1.csv")).expect("the CSV");
    let head = "kind,what,unit,value,min,runs,must,stretch,verdict,command,machine";
    assert_eq!(csv.lines().next(), Some(head));
    let (measured, absent) = (
        csv.matches("\nmeasurement,").count(),
        csv.matches("\nabsent,").count(),
    );
    assert!(measured >= 6 && measured + absent == 8, "{csv}");
    assert_eq!(csv.matches("\nclaim,").count(), 2, "{csv}");
    assert!(
        csv.contains("--features rivals -- bench --quick fib-1"),
        "{csv}"
    );
    let summary = std::fs::read_to_string(out.join("README.md")).expect("the summary");
    for word in [
        "## fib-1",
        "## wake",
        "over a bare thread unpark",
        "fib(27), rayon, 1 worker",
    ] {
        assert!(summary.contains(word), "{summary}");
    }
}

#[test]
fn both_kinds_of_pool_make_each_call_of_the_row_about_arenas() {
    let out = directory("bench-arenas");
    let path = out.display().to_string();
    let output = roving(&["bench", "--quick", "--out", &path, "arenas"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let csv = std::fs::read_to_string(out.join("arenas.csv")).expect("the CSV");
    for kind in ["pool with threads", "share"] {
        assert_eq!(csv.matches(&format!(", {kind}, ")).count(), 5, "{csv}");
    }
}

#[test]
fn an_unknown_row_gets_one_line_and_status_2() {
    let output = roving(&["bench", "fib-7"]);
    let line = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{line}");
    assert!(
        line.contains("`fib-7`") && line.contains("uts-t3"),
        "{line}"
    );
    assert_eq!(line.matches('\n').count(), 1, "{line}");
}

#[test]
fn wrong_words_about_the_drop_in_get_one_line_and_status_2() {
    for (words, part) in [
        (["drop-in", "--rounds", "0"], "rounds `0`"),
        (["drop-in", "--rounds", "many"], "rounds `many`"),
        (["drop-in", "--threads", "0"], "threads `0`"),
        (
            ["drop-in", "--core", "no/such/folder"],
            "core `no/such/folder`",
        ),
        (["drop-in", "--round", "3"], "--round"),
    ] {
        let output = roving(&words);
        let line = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{line}");
        assert!(line.contains(part), "{line}");
        assert_eq!(line.matches('\n').count(), 1, "{line}");
    }
}

#[test]
fn probes_answer_with_one_number() {
    for (words, most) in [
        (["probe", "fib", "joins", "15"], 610.0),
        (["probe", "fib", "calls", "15"], 610.0),
    ] {
        let output = roving(&words);
        let said = text(&output.stdout);
        assert_eq!(
            said.trim().parse(),
            Ok(most),
            "{words:?}: {}",
            text(&output.stderr)
        );
    }
    assert_eq!(roving(&["probe", "nothing"]).status.code(), Some(2));
}
