//! `roving compare` as its users meet it.

mod common;

use common::{directory, roving, text};

#[test]
fn a_comparison_prints_a_table_and_writes_a_csv_and_a_plot() {
    let out = directory("compare");
    let path = out.display().to_string();
    let tree = "-t0 -b100 -q0.124875 -m8 -r42";
    let words = [
        "compare",
        "uts",
        "--input",
        tree,
        "--against",
        "rayon,forte",
        "--workers",
        "1,2",
    ];
    let output = roving(&[&words[..], &["--repeat", "2", "--out", &path]].concat());
    let table = text(&output.stdout);
    assert!(output.status.success(), "{}", text(&output.stderr));
    for word in [
        "serial",
        "roving",
        "rayon",
        "forte",
        "× the time of the best rival",
    ] {
        assert!(table.contains(word), "{table}");
    }
    let stem = "compare-uts--t0_-b100_-q0_124875_-m8_-r42";
    let csv = std::fs::read_to_string(out.join(format!("{stem}.csv"))).expect("the CSV");
    assert_eq!(csv.lines().count(), 1 + 1 + 2 * 3, "{csv}");
    let columns = csv.lines().next().unwrap_or_default().split(',').count();
    assert_eq!(columns, 11);
    assert!(
        csv.contains("--against rayon,forte --steal one --workers 1,2 --repeat 2"),
        "{csv}"
    );
    let svg = std::fs::read_to_string(out.join(format!("{stem}.svg"))).expect("the plot");
    assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"));
}

#[test]
fn sleepers_are_compared_with_rivals_and_bounds() {
    let out = directory("sleepers");
    let path = out.display().to_string();
    let words = [
        "compare",
        "sleepers",
        "--workers",
        "12,20",
        "--repeat",
        "1",
        "--out",
        &path,
    ];
    let shapes = ["--shapes", "flat-even,two-pools,callers", "--load", "1"];
    let forms = [
        "--forms",
        "rayon,tokio,chili,forte,roving-fork,roving-spawn",
    ];
    let output = roving(&[&words[..], &shapes, &forms].concat());
    let table = text(&output.stdout);
    assert!(output.status.success(), "{}", text(&output.stderr));
    for word in [
        "callers",
        "20 workers",
        "left out: forte on 20",
        "geometric mean over rayon",
        "worst: ",
    ] {
        assert!(table.contains(word), "{table}");
    }
    let csv = std::fs::read_to_string(out.join("compare-sleepers.csv")).expect("the CSV");
    // Not all have a second pool, or callers that are no workers.
    assert_eq!(csv.lines().count(), 1 + 2 * (2 + 5 + 6) + 1, "{csv}");
    assert!(csv.contains("--load 1 --spin 0"), "{csv}");
    let svg = std::fs::read_to_string(out.join("compare-sleepers.svg")).expect("the plot");
    assert!(
        svg.contains("roving-fork") && svg.contains("workers"),
        "{svg}"
    );
}

#[test]
fn wrong_words_get_one_line_and_status_2() {
    let inside_a_file = concat!(env!("CARGO_BIN_EXE_roving"), "/results");
    for (words, named) in [
        (["compare", "uts", "--against", "cilk"], "`cilk`"),
        (["compare", "uts", "--against", "rayon,rayon"], "`rayon`"),
        (["compare", "uts", "--workers", "1,0"], "`0`"),
        (["compare", "uts", "--repeat", "0"], "`0`"),
        (["compare", "uts", "--steal", "one,two"], "`two`"),
        (["compare", "uts", "--input", "T9"], "T9"),
        (["compare", "nothing", "--repeat", "1"], "`nothing`"),
        (["compare", "sleepers", "--shapes", "cube"], "`cube`"),
        (["compare", "sleepers", "--load", "-1"], "`-1`"),
        (["compare", "sleepers", "--input", "T3"], "--shapes"),
        (["compare", "uts", "--load", "2"], "compare sleepers"),
        (["compare", "uts", "--out", inside_a_file], inside_a_file),
    ] {
        let output = roving(&words);
        let line = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{words:?}: {line}");
        assert!(
            line.contains(named) && line.matches('\n').count() == 1,
            "{words:?}: {line}"
        );
        assert_eq!(text(&output.stdout), "");
    }
}
