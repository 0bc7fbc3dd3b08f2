//! `roving repro` as its users meet it.

mod common;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use common::{directory, roving, text};

/// How long one step of a test may take before it counts as hung.
const PATIENCE: Duration = Duration::from_secs(300);

/// An empty folder.
fn fresh(name: &str) -> PathBuf {
    let out = directory(name);
    let _ = fs::remove_dir_all(&out);
    fs::create_dir_all(&out).expect("a folder for the test");
    out
}

/// The lines of the one file of points in a folder, less the last where it is not whole.
fn lines(out: &Path) -> Vec<String> {
    let files = fs::read_dir(out).expect("the folder").flatten();
    let mut files = files
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "jsonl"));
    let Some(file) = files.next() else {
        return Vec::new();
    };
    assert!(files.next().is_none(), "one file of points");
    let text = fs::read_to_string(file).unwrap_or_default();
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    whole.lines().map(str::to_owned).collect()
}

/// How many groups are complete.
fn done(lines: &[String]) -> usize {
    lines
        .iter()
        .filter(|line| line.starts_with("{\"done\":"))
        .count()
}

#[test]
fn a_run_that_was_killed_goes_on_with_the_points_it_has() {
    let out = fresh("repro-killed");
    let path = out.display().to_string();
    let words = [
        "repro",
        "wool-stress",
        "wool-steals",
        "--quick",
        "--out",
        &path,
    ];
    let mut child = Command::new(env!("CARGO_BIN_EXE_roving"))
        .args(words)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("the command starts");
    let start = Instant::now();
    while done(&lines(&out)) < 2 {
        assert!(start.elapsed() < PATIENCE, "no group was completed");
        if child.try_wait().expect("its state").is_some() {
            break;
        }
        sleep(Duration::from_millis(5));
    }
    let _ = child.kill();
    child.wait().expect("it ends");
    let kept = lines(&out);
    let complete = done(&kept);
    let end = kept
        .iter()
        .rposition(|line| line.starts_with("{\"done\":"))
        .expect("a group");
    let kept = &kept[..=end];

    let again = roving(&words);
    assert!(again.status.success(), "{}", text(&again.stderr));
    let said = text(&again.stdout);
    assert!(
        said.contains(&format!("continues with {complete} groups")),
        "{said}"
    );
    let now = lines(&out);
    assert_eq!(&now[..kept.len()], kept, "the points are the same");
    assert_eq!(done(&now), 6, "five leaves and the steals");
    let page = fs::read_to_string(out.join("report/index.html")).expect("the report");
    for name in ["wool-stress", "wool-steals"] {
        let article = page
            .split(&format!("<article id=\"{name}\""))
            .nth(1)
            .expect("its article");
        let article = article.split("</article>").next().unwrap_or_default();
        assert!(
            article.contains("<svg") && !article.contains("Not measured yet."),
            "{name}"
        );
        assert!(out.join(format!("report/{name}.csv")).exists());
    }
    assert!(page.contains("Not measured yet."), "of the other figures");

    // Everything is there: nothing is measured again, and the same is drawn.
    let third = roving(&words);
    assert!(third.status.success(), "{}", text(&third.stderr));
    assert_eq!(text(&third.stderr), "", "no group is measured");
    assert_eq!(lines(&out), now);
}

#[test]
fn wrong_words_get_one_line_and_status_2() {
    let inside_a_file = concat!(env!("CARGO_BIN_EXE_roving"), "/results");
    for (words, named) in [
        (vec!["repro", "cilk"], "`cilk`"),
        (vec!["repro", "nornir-figure-9"], "nornir-figure-7"),
        (vec!["repro", "wool", "wool-ladder"], "`wool-ladder`"),
        (vec!["repro", "--quick", "--full"], "--full"),
        (vec!["repro", "--slow"], "--slow"),
        (vec!["repro", "--against", "nowhere"], "`nowhere`"),
        (
            vec!["repro", "wool-ladder", "--out", inside_a_file],
            inside_a_file,
        ),
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
