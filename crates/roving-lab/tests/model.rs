//! `roving model` as its users meet it.

mod common;

use common::{directory, roving, text};

/// The output of a good command.
fn printed(words: &[&str]) -> String {
    let output = roving(words);
    let complaint = text(&output.stderr);
    assert!(output.status.success(), "{words:?}: {complaint}");
    text(&output.stdout)
}

#[test]
fn equations_are_drawn() {
    let out = directory("model-equations");
    let place = out.display().to_string();
    let shown = printed(&[
        "model", "policies", "drain", "loads", "--load", "0.5", "--out", &place,
    ]);
    // The golden ratio, and the drain by halves.
    assert!(shown.contains("1.618") && shown.contains("6.42"), "{shown}");
    for file in [
        "model-policies.csv",
        "model-policies.svg",
        "model-drain-busy.svg",
    ] {
        let written = std::fs::read_to_string(out.join(file)).unwrap();
        assert!(written.contains("half, T=2"), "{file}");
    }
}

/// The loads that the command takes when none is named, up to 0.99; nobody stealing is M/M/1.
#[test]
fn equations_are_drawn_up_to_the_default_loads() {
    let out = directory("model-loads");
    let place = out.display().to_string();
    let shown = printed(&["model", "policies", "--out", &place]);
    let csv = std::fs::read_to_string(out.join("model-policies.csv")).unwrap();
    assert_eq!(csv.lines().count(), 1 + 6 * 6, "{csv}");
    assert!(csv.contains("none,0.99,100.0"), "{csv}");
    assert!(shown.contains("10.46"), "{shown}");
}

#[test]
fn a_figure_that_fails_leaves_the_others() {
    let out = directory("model-failure");
    std::fs::create_dir_all(out.join("model-policies.csv")).unwrap();
    let place = out.display().to_string();
    let output = roving(&[
        "model", "policies", "drain", "--load", "0.5", "--out", &place,
    ]);
    let complaint = text(&output.stderr);
    assert!(!output.status.success());
    assert!(complaint.contains("model-policies.csv"), "{complaint}");
    assert!(out.join("model-drain.csv").is_file(), "{complaint}");
}

#[test]
fn a_simulated_runtime_is_drawn_from_a_recorded_tree() {
    let out = directory("model-runtime");
    std::fs::create_dir_all(&out).unwrap();
    let (place, tree) = (out.display().to_string(), out.join("small.tree"));
    let record = tree.display().to_string();
    let work = "uts:-t0 -b100 -q0.124875 -m8 -r42";
    printed(&[
        "model", "--work", work, "--grain", "2000", "--record", &record,
    ]);
    let lines = std::fs::read_to_string(&tree).unwrap();
    assert_eq!(lines.lines().count(), 1 + 6797, "one line a node");
    let replay = format!("tree:{record}");
    let words = [
        "model",
        "busy",
        "speedup",
        "--work",
        &replay,
        "--workers",
        "1,20",
        "--steal",
        "one,half",
        "--stock-costs",
        "--out",
        &place,
    ];
    let shown = printed(&words);
    assert!(shown.contains("predicted speed-up"), "{shown}");
    assert_eq!(
        shown,
        printed(&words),
        "the same seed and costs, the same figures"
    );
    let csv = std::fs::read_to_string(out.join("model-speedup.csv")).unwrap();
    assert_eq!(csv.lines().count(), 1 + 4, "{csv}");
    assert!(out.join("model-busy-victims.svg").exists());
}

#[test]
fn where_amounts_cross_is_said() {
    let out = directory("model-crossing");
    let place = out.display().to_string();
    let shown = printed(&[
        "model",
        "crossing",
        "--work",
        "fib:16",
        "--workers",
        "30",
        "--stock-costs",
        "--grain",
        "5",
        "--out",
        &place,
    ]);
    assert!(
        shown.contains("speed-up by the length of a call"),
        "{shown}"
    );
    let csv = std::fs::read_to_string(out.join("model-crossing.csv")).unwrap();
    assert_eq!(csv.lines().count(), 1 + 3 * 7, "{csv}");
}

#[test]
fn what_is_wrong_is_one_line() {
    for (words, names) in [
        (vec!["model", "drains"], "policies, drain"),
        (vec!["model", "--workers", "10,5e6"], "4194304"),
        (vec!["model", "--steal", "fixed:65"], "fixed:D"),
        (vec!["model", "--work", "sort"], "uts:TREE"),
        (vec!["model", "--work", "tree:/no/such/file"], "--record"),
        (vec!["model", "--load", "1.5"], "`1.5`"),
        (vec!["model", "--load", "1"], "0.999"),
        (vec!["model", "--retry", "-2"], "from 0"),
        (vec!["model", "--loaded", "0"], "above 0"),
        (vec!["model", "--tasks", "0"], "1 to 4096"),
        (vec!["model", "--grain", "x"], "`x`"),
        (
            vec!["model", "--work", "fib:10", "--record", "x"],
            "UTS tree",
        ),
    ] {
        let output = roving(&words);
        let line = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{words:?}: {line}");
        assert_eq!(line.matches('\n').count(), 1, "{line}");
        assert!(line.contains(names), "{words:?}: {line}");
    }
}
