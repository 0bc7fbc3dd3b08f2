//! The command as a whole: every row a little, what it writes, and what it says to bad input.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn torture(words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_torture"));
    command.args(words).output().expect("the command is built")
}

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(name)
}

fn text(output: &Output) -> String {
    let (out, error) = (&output.stdout, &output.stderr);
    String::from_utf8_lossy(out).into_owned() + &String::from_utf8_lossy(error)
}

#[test]
fn all_rows_hold_and_are_written_down() {
    let out = folder("all");
    let path = out.to_str().unwrap();
    let words = [
        "all",
        "--quick",
        "--minutes",
        "0.05",
        "--seed",
        "7",
        "--out",
        path,
    ];
    let output = torture(&words);
    let said = text(&output);
    assert!(output.status.success(), "{said}");
    let csv = fs::read_to_string(out.join("torture.csv")).unwrap();
    let table = fs::read_to_string(out.join("torture.md")).unwrap();
    for row in [
        "programs", "pairs", "panics", "stops", "pools", "idle", "deep", "memory",
    ] {
        assert!(
            csv.lines().any(|line| line.starts_with(&format!("{row},"))),
            "{row}"
        );
        assert!(table.contains(&format!("| {row} |")), "{row}");
        assert!(
            said.lines().any(|line| line.starts_with(row)),
            "{row}: {said}"
        );
    }
    assert!(!csv.contains(",broken,"), "{csv}");
}

#[test]
fn a_round_is_replayed_by_its_seed() {
    let words = [
        "programs", "--replay", "3", "--tasks", "200", "--times", "2",
    ];
    let output = torture(&words);
    let said = text(&output);
    assert!(output.status.success(), "{said}");
    assert!(said.contains("all right"), "{said}");
    // The same pools and the same number of programs; of tasks that are cancelled more or fewer
    // run.
    let again = text(&torture(&words));
    assert_eq!(said.split(" with ").next(), again.split(" with ").next());
    let none = torture(&[
        "programs", "--replay", "3", "--tasks", "200", "--only", "999",
    ]);
    assert!(!none.status.success());
    assert!(text(&none).contains("--only 999: the round has programs 0 to"));
}

#[test]
fn bad_words_are_refused_with_the_range() {
    for (words, hint) in [
        (["idle", "--minutes", "0"], "say 0.05 to 10000 minutes"),
        (["idle", "--patience-s", "0"], "1..=100000"),
        (["idle", "--seed", "x"], "invalid digit"),
    ] {
        let output = torture(&words);
        assert_eq!(output.status.code(), Some(2), "{words:?}");
        assert!(text(&output).contains(hint), "{}", text(&output));
    }
}
